"""The compiled loops that look for paraphrases. Import inside functions only.

The classes of words are in an open table of 2**k slots: a slot has the upper bits of a word's hash
over 1 + its class, so that one look tells both; 0 where it is free.
"""

from __future__ import annotations

import numpy as np

from corpusmill.stages import kernel_types as types
from corpusmill.stages.compiled import array, kernel, out
from corpusmill.stages.wide import fetch, upper16, zeros_below

from .anchors import ANCHORS, BITS_OF_CLASS, FIRST, LAST, LEAST, NEEDED, SIZE_BITS, SLOT_BITS
from .grams_kernel import has_bit, shift_of

_U8, _I32, _U32, _I64, _U64 = (
    types.uint8, types.int32, types.uint32, types.int64, types.uint64
)  # fmt: skip
_1 = np.uint64(1)

CLASS_BITS = 24
"""Bits of a slot that have the class."""
_CLASS = np.uint64((1 << CLASS_BITS) - 1)

_AHEAD = 8
"""So many turns before, what is far away in memory is asked for."""

_SLOT = np.uint64((1 << SLOT_BITS) - 1)

WIDEST = (1 << 16) - 1
"""Words of the widest window."""

_MET = np.uint64((1 << 32) - (1 << SLOT_BITS))
_WIDTH = np.uint64(WIDEST << 32)
_4, _32 = np.uint64(SLOT_BITS), np.uint64(32)
_BITS = np.uint32((1 << BITS_OF_CLASS) - 1)
_SHIFT = np.uint32(BITS_OF_CLASS)
_SIZE, _SIZES = np.uint32(SIZE_BITS), np.uint32((1 << SIZE_BITS) - 1)
_ANY = np.uint64((1 << ANCHORS) - 1)


@kernel(types.void(array(_U64), array(_I32), out(_U64)))
def fill(hashes, classes, slots):  # type: ignore[no-untyped-def]
    """Puts (hash, class) pairs into a table."""
    mask = np.uint64(len(slots) - 1)
    for n in range(len(hashes)):
        at = hashes[n] & mask
        while slots[at] != 0:
            at = (at + _1) & mask
        slots[at] = (hashes[n] & ~_CLASS) | np.uint64(classes[n] + 1)


@kernel(_I64(_U64, array(_U64)), inline=True)
def class_of(word, slots):  # type: ignore[no-untyped-def]
    """The class of a word, or -1."""
    mask = np.uint64(len(slots) - 1)
    at = word & mask
    while slots[at] != 0:
        if (slots[at] ^ word) & ~_CLASS == 0:
            return np.int64(slots[at] & _CLASS) - 1
        at = (at + _1) & mask
    return -1


@kernel(types.void(array(_U64), array(_U64), out(_I32)))
def classify(words, slots, classes):  # type: ignore[no-untyped-def]
    """The class of each word, or -1."""
    for n in range(len(words)):
        classes[n] = class_of(words[n], slots)


@kernel(
    _I64(array(_U64), array(_I64), array(_I64), array(_U8), array(_U64), array(_U8), out(_I64),
         out(_I32))
)  # fmt: skip
def anchors(  # type: ignore[no-untyped-def]
    words, begin, stop, filter_, slots, is_anchor, at, classes
):
    """Fills `at` and `classes` with the places of anchors of any item, and returns their number.

    Two loops, so that the looks into the table, which few words need, do not wait for each other.
    """
    shift = shift_of(filter_)
    n = 0
    for d in range(len(begin)):
        for p in range(begin[d], stop[d]):
            at[n] = p
            n += has_bit(filter_, words[p] >> shift)
    kept = 0
    for k in range(n):
        c = class_of(words[at[k]], slots)
        at[kept] = at[k]
        classes[kept] = c
        kept += c >= 0 and is_anchor[c]
    return kept


@kernel(
    types.UniTuple(_I64, 3)(
        array(_U64), _I64, _I64, array(_U64), array(_U32), _I64, _I64, out(_I32), out(_I32)
    )
)
def held_in(words, low, high, slots, classes, f, g, class_at, place):  # type: ignore[no-untyped-def]
    """The bits of the classes ``classes[f:g]`` that stand in ``words[low:high]``, and where the
    first and behind the last of them do. `class_at` has what was looked up before: 2 + the class of
    a word, or 0; `place` is 0 before and after."""
    for u in range(f, g):
        place[classes[u] >> BITS_OF_CLASS] = classes[u] & _BITS
    mask = np.uint64(len(slots) - 1)
    for q in range(low, high):
        if class_at[q] == 0:
            fetch(slots, words[q] & mask)
    held = 0
    x = high
    y = low
    for q in range(low, high):
        if class_at[q] == 0:
            class_at[q] = class_of(words[q], slots) + 2
        c = class_at[q] - 2
        if c < 0 or place[c] == 0:
            continue
        bits = abs(place[c])
        if bits >= 4:  # "the" does not say where an item begins
            x = min(x, q)
            y = q + 1
        if place[c] > 0:
            place[c] = -bits
            held += bits
    for u in range(f, g):
        place[classes[u] >> BITS_OF_CLASS] = 0
    return held, x, y


@kernel(types.boolean(array(_I64), array(_U32), _I64, _I64))
def enough(where, anchors, low, needed):  # type: ignore[no-untyped-def]
    """Whether three or more of an item's anchors, with the bits `needed` together, stand at the
    word `low` or behind it. `where`: where each was met last."""
    held = different = 0
    for u in range(len(where)):
        is_there = where[u] >= low
        held += is_there * np.int64(anchors[u] & _BITS)
        different += is_there
    return different >= 3 and held >= needed


@kernel(types.boolean(array(_I32), _I64, _I64, array(_U32)), inline=True)
def may_be_enough(at_class, low, high, item):  # type: ignore[no-untyped-def]
    """Whether three or more of an item's anchors, with the bits that it needs together, are among
    those of number ``low:high``: no less often than `enough` says so of a window in there."""
    met = np.uint64(0)
    for j in range(low, high):
        met |= np.uint64(upper16(item, 0, np.uint32(at_class[j]), _SHIFT))
    met &= _ANY
    held = different = np.int64(0)
    while met != 0:
        held += np.int64(item[zeros_below(met)] & _BITS)
        met &= met - _1
        different += 1
    return different >= 3 and held >= item[NEEDED]


@kernel(
    _I64(array(_U64), array(_U64), array(_I64), array(_I32), _I64, _I64, _I64, _I64, _I64, _I64,
         _I64, _I64, _I64, array(_U32), array(_U32), _I64, out(_I32), out(_I32), out(_I32),
         out(_I64), _I64, _I64, out(_I64, dims=2))
)  # fmt: skip
def look_around(  # type: ignore[no-untyped-def]
    words, slots, at, at_class, k, low, high, d, begin, stop, i, done,
    width, item, classes, tail, class_at, place, own_place, where, r,
    n, rows,
):  # fmt: skip
    """Adds to `rows`, of which there are `n`, the windows of item `i` that end at one of its
    anchors less than its width behind the one of number `k`, of document `d`, ``begin:stop``; those
    that end before the word `done` are there. ``low:high`` are the anchors less than its width
    away, `r` the last row of the item. Returns the number of rows, or -1 - number if `rows` is too
    short.

    `place` and `own_place` are 0 before and after; `where` is written over.
    """
    p = at[k]
    for u in range(len(where)):
        where[u] = -1
        if item[u]:
            own_place[item[u] >> BITS_OF_CLASS] = u + 1
    for j in range(low, high):
        q = at[j]
        u = own_place[at_class[j]] - 1
        if u < 0:
            continue
        where[u] = q
        first = max(begin, q - width + 1)
        if q < max(p, done) or not enough(where, item, first, item[NEEDED]):
            continue
        held, x, y = held_in(
            words, first, min(stop, q + tail), slots, classes, item[FIRST], item[LAST], class_at,
            place,
        )  # fmt: skip
        if held < item[LEAST]:
            continue
        if r >= 0 and rows[r, 0] == d and x < rows[r, 3]:
            if held <= rows[r, 4]:
                continue
        else:
            if n == len(rows):
                n = -1 - n
                break
            r = n
            n += 1
        rows[r, 0] = d
        rows[r, 1] = i
        rows[r, 2] = x
        rows[r, 3] = y
        rows[r, 4] = held
    for u in range(len(where)):
        if item[u]:
            own_place[item[u] >> BITS_OF_CLASS] = 0
    return n


@kernel(
    _I64(array(_I64), array(_I64), array(_I32), array(_U32), array(_U32), array(_I32),
         out(_I64, dims=2))
)  # fmt: skip
def near_pairs(  # type: ignore[no-untyped-def]
    stop, at, at_class, of, postings, width, found
):
    """Fills `found` with (document, number of an anchor, item) where an anchor stands less than the
    item's width behind another one of it, of those in `postings`; some are of two documents, or
    stand farther apart. Returns their number, or -1 - number if `found` is too short."""
    # Of each item, in one number since it is read and written for every posting: its width, and
    # where (lower 28 bits of the place) which of its anchors was met last.
    state = np.empty(len(width), np.uint64)
    for i in range(len(width)):
        state[i] = np.uint64(width[i]) << _32
    n = d = 0
    for k in range(len(at)):
        while at[k] >= stop[d]:
            d += 1
        fetch(postings, np.uint64(of[at_class[min(k + _AHEAD, len(at) - 1)]] >> _SIZE))
        met = np.uint64(at[k]) << _4 & _MET
        here = of[at_class[k]]
        first = np.int64(here >> _SIZE)
        for m in range(first, first + np.int64(here & _SIZES)):
            posting = np.uint64(postings[m])
            item = posting >> _4
            known = state[item]
            state[item] = (known & _WIDTH) | met | (posting & _SLOT)
            near = (met - (known & _MET)) & _MET < known >> _32 << _4
            if near & ((known ^ posting) & _SLOT != 0):
                if n == len(found):
                    return -1 - n
                found[n, 0] = d
                found[n, 1] = k
                found[n, 2] = item
                n += 1
    return n


@kernel(
    _I64(array(_U64), array(_I64), array(_I64), array(_I64), array(_I32), array(_U64),
         array(_I64, dims=2), array(_I32), array(_U32, dims=2), array(_U32), _I64,
         out(_I32), out(_I32, dims=2), out(_I64, dims=2))
)  # fmt: skip
def windows(  # type: ignore[no-untyped-def]
    words, begin, stop, at, at_class, slots,
    pairs, width, items, classes, tail,
    class_at, places, rows,
):  # fmt: skip
    """Fills `rows` with (document, item, first word, word after the last, bits) of windows that
    hold enough of an item; windows of one item in one document do not overlap. Returns their
    number, or -1 - number if `rows` is too short.

    Looked at are the windows around `pairs`, those of `near_pairs`, that end at an anchor of the
    item: its anchors must have the bits that are `NEEDED` together, all its classes the `LEAST`.
    `class_at` has a 0 for each word, `places` two for each class.
    """
    done = np.zeros(len(width), np.int64)  # windows that end before this word are in `rows`
    last_row = np.full(len(width), -1, np.int64)
    where = np.empty(ANCHORS, np.int64)
    n = 0
    for m in range(len(pairs)):
        fetch(items, items.shape[1] * pairs[min(m + _AHEAD, len(pairs) - 1), 2])
        d, k, i = pairs[m]
        p = at[k]
        low = k
        while low > 0 and at[low - 1] > p - width[i] and at[low - 1] >= begin[d]:
            low -= 1
        high = k + 1
        behind = min(stop[d], p + width[i])
        while high < len(at) and at[high] < behind:
            high += 1
        until, done[i] = done[i], behind
        if not may_be_enough(at_class, low, high, items[i]):
            continue
        before = n
        n = look_around(
            words, slots, at, at_class, k, low, high, d, begin[d], stop[d], i, until,
            width[i], items[i], classes, tail, class_at, places[0], places[1], where,
            last_row[i], n, rows,
        )  # fmt: skip
        if n < 0:
            return n
        if n > before:
            last_row[i] = n - 1
    return n
