"""The compiled loops behind `corpusmill.stages.dedup.minhash`. Import inside functions only."""

from __future__ import annotations

import numpy as np

from corpusmill.stages import kernel_types as types
from corpusmill.stages.compiled import array, kernel, out
from corpusmill.stages.fold_kernel import mix
from corpusmill.stages.words_kernel import ALL_DIGITS, tokenise

_U8, _U16, _U32, _U64 = types.uint8, types.uint16, types.uint32, types.uint64
_I64, _BOOL = types.int64, types.boolean

_BASE = np.uint64(0xD1342543DE82EF95)
_LENGTH = np.uint64(0x9E3779B97F4A7C15)
_LAST = np.uint64(0xFFFFFFFFFFFFFFFF)
_32 = np.uint64(32)


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


@kernel(types.void(array(_U64), _U64, _U64, _U64, _U64, out(_U64), out(_U64)))
def fill(own, factor, term, factor_2, term_2, bins, bins_2):  # type: ignore[no-untyped-def]
    """Deals the values of `own` among the bins of two functions x -> x factor + term, by the upper
    bits, and leaves the smallest in each bin. Two at once: neither waits for the other's stores."""
    count = np.uint64(len(bins))
    for bin_ in range(len(bins)):
        bins[bin_] = _LAST
        bins_2[bin_] = _LAST
    for at in range(len(own)):
        value = own[at]
        one = value * factor + term
        two = value * factor_2 + term_2
        at_1 = ((one >> _32) * count) >> _32
        at_2 = ((two >> _32) * count) >> _32
        bins[at_1] = min(bins[at_1], one)
        bins_2[at_2] = min(bins_2[at_2], two)


@kernel(
    types.void(array(_U64), array(_U64), array(_U64), _I64, _I64, _I64, out(_U64, dims=2),
               out(_U64), out(_U64), out(_U8, dims=2))
)  # fmt: skip
def sketch(own, factors, terms, bands, rows, turns, dealt, found, keys, sides):  # type: ignore[no-untyped-def]
    """MinHash of a document, given its shingles `own`, of which there must be one. Fills `found`
    (64-bit minima, that of row r in band b at r * bands + b), `keys` (one a band, its number mixed
    in) and `sides` (for each band 8 bits of the first minimum of the next band, and of the one
    after it). `dealt` is room for two rows of bands.

    Each row of all bands has a function of its own, which deals the shingles among the bands.
    Bands that got none are dealt to again, `turns` times in all; what is left has the minimum of
    all shingles under a function of its own. So `factors` and `terms` are turns * rows and then
    bands * rows long.
    """
    width = bands * rows
    for p in range(width):
        found[p] = _LAST
    open_ = width
    for turn in range(turns):
        if open_ == 0:
            break
        open_ = 0
        for row in range(0, rows, 2):
            next_ = min(row + 1, rows - 1)
            a, b = turn * rows + row, turn * rows + next_
            fill(own, factors[a], terms[a], factors[b], terms[b], dealt[0], dealt[1])
            for side in range(next_ - row + 1):
                for band in range(bands):
                    p = (row + side) * bands + band
                    if found[p] == _LAST:
                        found[p] = dealt[side, band]
                        open_ += found[p] == _LAST
    if open_:
        for p in range(width):
            if found[p] == _LAST:
                factor, term = factors[turns * rows + p], terms[turns * rows + p]
                for at in range(len(own)):
                    found[p] = min(found[p], own[at] * factor + term)
    for band in range(bands):
        key = mix(np.uint64(band + 1) * _LENGTH)
        for row in range(rows):
            key = mix(key ^ found[row * bands + band]) + _LENGTH
        keys[band] = key
        for side in range(2):
            other = found[(band + 1 + side) % bands]
            sides[band, side] = np.uint8(mix(other) & np.uint64(0xFF))


@kernel(
    types.void(array(_U8), array(_I64), array(_U8), array(_U8), array(_U16), array(_U32),
               array(_U32), array(_U8), array(_U64), array(_U32), _I64, _BOOL, _U64,
               array(_U64), array(_U64), _I64, _I64, _I64,
               out(_BOOL), out(_U64, dims=2), out(_U64, dims=2), out(_U8, dims=3))
)  # fmt: skip
def sketches(  # type: ignore[no-untyped-def]
    data, byte_start, flags, ccc, fold, offsets, pool, ascii_word, pieces, simple,
    ngram, collapse, number, factors, terms, bands, rows, turns, has_words, mins, keys, sides,
):  # fmt: skip
    """`tokenise`, `shingle` and `sketch` of one document after the other, so that what one gives
    the next is still in a core's cache. With `collapse` words of digits have the hash `number`.
    Rows of documents without words stay unset."""
    longest = 0
    for doc in range(len(byte_start) - 1):
        longest = max(longest, byte_start[doc + 1] - byte_start[doc])
    most = longest // 2 + 1
    pend, spare = np.empty(longest + 32, np.uint32), np.empty(longest + 32, np.uint32)
    places = np.empty(257, np.int64)
    bounds, found_bounds = np.empty(2, np.int64), np.empty(2, np.int64)
    start, end = np.empty(most, np.int32), np.empty(most, np.int32)
    chars, kinds = np.empty(most, np.int32), np.empty(most, np.uint8)
    hashes, found = np.empty(most, np.uint64), np.empty(most, np.uint64)
    dealt = np.empty((2, bands), np.uint64)
    for doc in range(len(byte_start) - 1):
        count = tokenise(
            data, byte_start[doc : doc + 2], flags, ccc, fold, offsets, pool, ascii_word, pieces,
            simple, pend, spare, places, bounds, start, end, chars, hashes, kinds,
        )  # fmt: skip
        if count == 0:
            continue
        has_words[doc] = True
        if collapse:
            for word in range(count):
                if kinds[word] & ALL_DIGITS:
                    hashes[word] = number
        shingle(hashes, bounds, ngram, found, found_bounds)
        sketch(
            found[: found_bounds[1]], factors, terms, bands, rows, turns, dealt,
            mins[doc], keys[doc], sides[doc],
        )  # fmt: skip


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


@kernel(types.void(array(_U64), array(_U64), out(_I64)))
def join(left, right, parent):  # type: ignore[no-untyped-def]
    """Adds pairs to a union-find; `parent` is -1 before the first call and stays so for what is in
    no pair. Roots are the smallest of their component, in whatever order the pairs come."""
    for pair in range(len(left)):
        a = np.int64(left[pair])
        b = np.int64(right[pair])
        if parent[a] < 0:
            parent[a] = a
        if parent[b] < 0:
            parent[b] = b
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
    """After the last `join`: gives each node that is in a pair the smallest of its component."""
    for node in range(len(parent)):  # parents are smaller, so theirs are final already
        if parent[node] >= 0:
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
