"""The compiled loops behind `corpusmill.stages.dedup.minhash`. Import inside functions only."""

from __future__ import annotations

import numpy as np
from numba import types

from corpusmill.stages.compiled import array, kernel, out
from corpusmill.stages.words_kernel import mix

_U16, _U32, _U64, _I64 = types.uint16, types.uint32, types.uint64, types.int64

_BASE = np.uint64(0xD1342543DE82EF95)
_LENGTH = np.uint64(0x9E3779B97F4A7C15)
_LAST = np.uint64(0xFFFFFFFFFFFFFFFF)


@kernel(types.void(array(_U64), array(_I64), _I64, out(_U64), out(_I64)))
def shingle(words, doc_start, ngram, found, found_start):  # type: ignore[no-untyped-def]
    """Hashes of the word n-grams of each document, in order, repeated ones too.

    `words` are word hashes, `doc_start` bounds of documents in them; `found_start` gets the
    bounds in `found`. A document of fewer than `ngram` words has one shingle of all its words,
    one without words none.
    """
    drop = np.uint64(1)  # _BASE ** ngram
    for _ in range(ngram):
        drop *= _BASE
    count = 0
    for doc in range(len(doc_start) - 1):
        found_start[doc] = count
        first = doc_start[doc]
        stop = doc_start[doc + 1]
        size = min(ngram, stop - first)
        rolling = np.uint64(0)
        for at in range(first, stop):
            rolling = rolling * _BASE + words[at]
            if at - first >= size:
                rolling -= words[at - size] * drop
            if at - first + 1 >= size:
                found[count] = mix(rolling + _LENGTH * np.uint64(size))
                count += 1
    found_start[len(doc_start) - 1] = count


@kernel(
    types.void(array(_U64), array(_I64), array(_U64), array(_U64), _I64,
               out(_U64, dims=2), out(_U64, dims=2), out(_U16, dims=3))
)  # fmt: skip
def sketch(  # type: ignore[no-untyped-def]
    shingles, start, factors, terms, rows, mins, keys, sides
):
    """MinHash of each document. Fills, a row a document, `mins` (64-bit minima, one a
    permutation), `keys` (one a band of `rows` permutations, the band's number mixed in) and
    `sides` (for each band 16 bits of the first minimum of the next band, and of the one after
    it). Rows of documents without shingles stay unset."""
    width = len(factors)
    bands = width // rows
    for doc in range(len(start) - 1):
        first = start[doc]
        stop = start[doc + 1]
        if first == stop:
            continue
        own = shingles[first:stop]  # from 0, so that no index can be negative: vector code
        for p in range(0, width - 3, 4):  # four at once: a sixth of the time less
            f_0, f_1, f_2, f_3 = factors[p], factors[p + 1], factors[p + 2], factors[p + 3]
            t_0, t_1, t_2, t_3 = terms[p], terms[p + 1], terms[p + 2], terms[p + 3]
            m_0 = m_1 = m_2 = m_3 = _LAST
            for at in range(len(own)):
                value = own[at]
                m_0 = min(m_0, value * f_0 + t_0)
                m_1 = min(m_1, value * f_1 + t_1)
                m_2 = min(m_2, value * f_2 + t_2)
                m_3 = min(m_3, value * f_3 + t_3)
            mins[doc, p], mins[doc, p + 1], mins[doc, p + 2], mins[doc, p + 3] = m_0, m_1, m_2, m_3
        for p in range(width - width % 4, width):
            factor = factors[p]
            term = terms[p]
            least = _LAST
            for at in range(len(own)):
                least = min(least, own[at] * factor + term)
            mins[doc, p] = least
        for band in range(bands):
            key = mix(np.uint64(band + 1) * _LENGTH)
            for p in range(band * rows, (band + 1) * rows):
                key = mix(key ^ mins[doc, p]) + _LENGTH
            keys[doc, band] = key
            for side in range(2):
                other = (band + 1 + side) % bands * rows
                sides[doc, band, side] = np.uint16(mix(mins[doc, other]) & np.uint64(0xFFFF))


@kernel(types.UniTuple(_I64, 2)(array(_U32), _I64, _I64, array(_U32), _I64, _I64, _I64))
def overlap(one, first, stop, other, from_, to, most):  # type: ignore[no-untyped-def]
    """(shared, in either) of two sorted sets, ``one[first:stop]`` and ``other[from_:to]``.

    Sets of `most` values may be the smallest values of larger sets: then only the `most`
    smallest values of the union count, which are those of the union of the larger sets.
    """
    limit = (stop - first) + (to - from_)
    if stop - first >= most or to - from_ >= most:
        limit = min(limit, most)
    shared = 0
    either = 0
    while either < limit and (first < stop or from_ < to):
        if from_ == to or (first < stop and one[first] < other[from_]):
            first += 1
        elif first == stop or other[from_] < one[first]:
            from_ += 1
        else:
            shared += 1
            first += 1
            from_ += 1
        either += 1
    return shared, either


@kernel(
    types.void(array(_U32), array(_I64), array(_I64), array(_I64), array(_U32), array(_I64),
               array(_I64), array(_I64), _I64, out(_I64), out(_I64))
)  # fmt: skip
def overlaps(  # type: ignore[no-untyped-def]
    one, one_start, one_stop, left, other, other_start, other_stop, right, most, shared, either
):
    """`overlap` of set ``left[n]`` of one table with set ``right[n]`` of another, for each n."""
    for n in range(len(left)):
        a = left[n]
        b = right[n]
        shared[n], either[n] = overlap(
            one, one_start[a], one_stop[a], other, other_start[b], other_stop[b], most
        )


@kernel(types.void(array(_I64), array(_I64), out(_I64)))
def join(left, right, parent):  # type: ignore[no-untyped-def]
    """Adds pairs to a union-find; `parent` is 0 … n - 1 before the first call. Roots are the
    smallest of their component, in whatever order the pairs come."""
    for pair in range(len(left)):
        a = left[pair]
        b = right[pair]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if a < b:
            parent[b] = a
        elif b < a:
            parent[a] = b


@kernel(types.void(out(_I64)))
def settle(parent):  # type: ignore[no-untyped-def]
    """After the last `join`: gives each node the smallest of its component."""
    for node in range(len(parent)):  # parents are smaller, so theirs are final already
        parent[node] = parent[parent[node]]


@kernel(
    types.void(array(_U32), array(_I64), array(_I64), array(_I64), array(_I64), _I64, array(_I64),
               out(_I64), out(_I64), out(_I64), out(_I64), out(_I64))
)  # fmt: skip
def stars(  # type: ignore[no-untyped-def]
    values, start, stop, near_start, near, most, need, tried, queue, survivor, shared, either
):
    """Cuts components into stars around survivors.

    Row n has the set ``values[start[n]:stop[n]]`` and the neighbours
    ``near[near_start[n]:near_start[n + 1]]``; rows of a component are ordered best first. In that
    order each row that no survivor has taken yet joins the best survivor among those of its
    neighbours whose set shares ``need[in either]`` values with its own, or becomes a survivor.
    Then the survivor takes every untaken row that it resembles and that is reached from the row
    through rows that it took. A row is compared once for each edge at most, whatever the length
    of a chain. The outcome does not depend on the order of neighbours.

    Fills `survivor` (given as -1), `shared` and `either`; `tried` (given as -1) and `queue` are
    room to work in, one entry a row each.
    """
    for row in range(len(survivor)):
        if survivor[row] >= 0:
            continue
        centre = row
        for at in range(near_start[row], near_start[row + 1]):
            found = survivor[near[at]]
            if found < 0 or found >= centre or tried[found] == row:
                continue
            tried[found] = row
            a, b = overlap(values, start[found], stop[found], values, start[row], stop[row], most)
            if a >= need[b]:
                centre = found
                shared[row] = a
                either[row] = b
        if centre == row:
            shared[row] = stop[row] - start[row]
            either[row] = shared[row]
        survivor[row] = centre
        queue[0] = row
        waiting = 1
        done = 0
        while done < waiting:
            via = queue[done]
            done += 1
            for at in range(near_start[via], near_start[via + 1]):
                other = near[at]
                if survivor[other] >= 0:
                    continue
                a, b = overlap(
                    values, start[centre], stop[centre], values, start[other], stop[other], most
                )
                if a >= need[b]:
                    survivor[other] = centre
                    shared[other] = a
                    either[other] = b
                    queue[waiting] = other
                    waiting += 1
