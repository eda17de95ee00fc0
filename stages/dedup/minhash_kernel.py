"""The compiled loops behind `corpusmill.stages.dedup.minhash`. Import inside functions only."""

from __future__ import annotations

import numpy as np
from numba import types

from corpusmill.stages.compiled import array, kernel, out
from corpusmill.stages.words_kernel import mix

_U8, _U16, _U64, _I32, _I64 = types.uint8, types.uint16, types.uint64, types.int32, types.int64

_BASE = np.uint64(0xD1342543DE82EF95)
_LENGTH = np.uint64(0x9E3779B97F4A7C15)
_LAST = np.uint64(0xFFFFFFFFFFFFFFFF)


@kernel(
    types.void(array(_U64), array(_I64), _I64, array(_U64), array(_U64), _I64,
               out(_U64, dims=2), out(_U64, dims=2), out(_U16, dims=2))
)  # fmt: skip
def sketch(  # type: ignore[no-untyped-def]
    words, doc_start, ngram, factors, terms, rows, mins, keys, bits
):
    """MinHash of each document over its word n-grams.

    `words` are word hashes, `doc_start` bounds of documents in them. Fills, a row a document,
    `mins` (64-bit minima, one a permutation), `keys` (one a band of `rows` permutations, the
    band's number mixed in) and `bits` (16 bits of each minimum). A document of fewer than
    `ngram` words has one shingle of all its words; rows of documents without words stay unset.
    """
    width = len(factors)
    drop = np.uint64(1)  # _BASE ** ngram
    for _ in range(ngram):
        drop *= _BASE
    longest = 0
    for doc in range(len(doc_start) - 1):
        longest = max(longest, doc_start[doc + 1] - doc_start[doc])
    shingles = np.empty(longest, np.uint64)
    for doc in range(len(doc_start) - 1):
        first = doc_start[doc]
        stop = doc_start[doc + 1]
        if first == stop:
            continue
        size = min(ngram, stop - first)
        count = 0
        rolling = np.uint64(0)
        for at in range(first, stop):
            rolling = rolling * _BASE + words[at]
            if at - first >= size:
                rolling -= words[at - size] * drop
            if at - first + 1 >= size:
                shingles[count] = mix(rolling + _LENGTH * np.uint64(size))
                count += 1
        for p in range(width):  # in this order the inner loop becomes vector code
            factor = factors[p]
            term = terms[p]
            least = _LAST
            for at in range(count):
                least = min(least, shingles[at] * factor + term)
            mins[doc, p] = least
        for band in range(width // rows):
            key = mix(np.uint64(band + 1) * _LENGTH)
            for p in range(band * rows, (band + 1) * rows):
                key = mix(key ^ mins[doc, p]) + _LENGTH
            keys[doc, band] = key
        for p in range(width):
            bits[doc, p] = np.uint16(mix(mins[doc, p]) & np.uint64(0xFFFF))


@kernel(types.void(array(_U16, dims=2), array(_I64), array(_I64), out(_I32)))
def matches(bits, left, right, found):  # type: ignore[no-untyped-def]
    """Fills `found` with how many of the permutations agree, for each pair of rows of `bits`."""
    for pair in range(len(left)):
        count = 0
        for p in range(bits.shape[1]):
            count += int(bits[left[pair], p] == bits[right[pair], p])
        found[pair] = count


@kernel(types.void(array(_I64), array(_I64), out(_I64)))
def components(left, right, parent):  # type: ignore[no-untyped-def]
    """Connected components of the pairs. `parent` holds 0 … n - 1 and gets, for each, the
    smallest number of its component: the same in whatever order the pairs come."""
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
    for node in range(len(parent)):  # parents are smaller, so theirs are final already
        parent[node] = parent[parent[node]]


@kernel(types.void(array(_U16, dims=2), array(_I64), array(_I64), _I64, out(_I64), out(_I32)))
def split(bits, members, start, floor, survivor, similar):  # type: ignore[no-untyped-def]
    """Cuts each component into stars around its survivors.

    ``members[start[g]:start[g + 1]]`` are the rows of component g, best first. The best takes
    all those that share at least `floor` permutations with it; the best of the rest does the
    same, until none is left. Fills `survivor` (a row) and `similar` (permutations shared with
    it) for each member row.
    """
    width = bits.shape[1]
    for group in range(len(start) - 1):
        stop = start[group + 1]
        for at in range(start[group], stop):
            survivor[members[at]] = -1
        for at in range(start[group], stop):
            best = members[at]
            if survivor[best] >= 0:
                continue
            survivor[best] = best
            similar[best] = width
            for other in range(at + 1, stop):
                row = members[other]
                if survivor[row] >= 0:
                    continue
                count = 0
                for p in range(width):
                    count += int(bits[best, p] == bits[row, p])
                if count >= floor:
                    survivor[row] = best
                    similar[row] = count
