"""The compiled loops that look for paraphrases. Import inside functions only.

The classes of words are in an open table of 2**k slots: a slot has the upper bits of a word's hash
over 1 + its class, so that one look tells both; 0 where it is free.
"""

from __future__ import annotations

import numpy as np

from corpusmill.stages import kernel_types as types
from corpusmill.stages.compiled import array, kernel, out

from .grams_kernel import has_bit, shift_of

_U8, _I32, _I64, _U64 = types.uint8, types.int32, types.int64, types.uint64
_1 = np.uint64(1)

CLASS_BITS = 24
"""Bits of a slot that have the class."""
_CLASS = np.uint64((1 << CLASS_BITS) - 1)

SLOT_BITS = 4
"""Lower bits of a posting, which say which of its item's anchors a class is."""
_SLOT = np.uint64((1 << SLOT_BITS) - 1)

WIDEST = (1 << 16) - 1
"""Words of the widest window."""
_PLACE = np.uint64(WIDEST)
_4, _16, _32, _48, _52 = (np.uint64(n) for n in (SLOT_BITS, 16, 32, 48, 48 + SLOT_BITS))


@kernel(_U64(_U64, _U64, _U64), inline=True)
def moved_on(state, slot, place):  # type: ignore[no-untyped-def]
    """What is known of an item when one more of its anchors is met.

    All of it is one integer, since it is read and written for every anchor of a text: the places
    (lower 16 bits) of the last three anchors, each another one, from the lowest bits on; and which
    ones the last two were.
    """
    last = (state >> _48) & _SLOT
    if last == slot:
        return (state & ~_PLACE) | place
    third = (state >> _32) & _PLACE
    if (state >> _52) & _SLOT != slot:
        third = (state >> _16) & _PLACE
    second = state & _PLACE
    return place | (second << _16) | (third << _32) | (slot << _48) | (last << _52)


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
    _I64(array(_U64), array(_I64), array(_I64), array(_U8), array(_U64), array(_I64), out(_I64),
         out(_I32))
)  # fmt: skip
def anchors(  # type: ignore[no-untyped-def]
    words, begin, stop, filter_, slots, post_first, at, classes
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
        kept += c >= 0 and post_first[c + 1] > post_first[c]
    return kept


@kernel(_I64(array(_I64), array(_I32), _I64, _I64, out(_I32), array(_I32)))
def anchored(at, at_class, k, first, place, class_anchor):  # type: ignore[no-untyped-def]
    """The bits of an item's different anchors from `first` to the one of number `k`, 0 if they are
    less than three. `place` has 1 + the number of each class of the item, and loses those seen."""
    bits = 0
    different = 0
    while k >= 0 and at[k] >= first:
        u = place[at_class[k]] - 1
        if u >= 0:
            place[at_class[k]] = 0
            bits += class_anchor[u]
            different += class_anchor[u] > 0
        k -= 1
    return bits if different >= 3 else 0


@kernel(types.UniTuple(_I64, 3)(array(_U64), _I64, _I64, array(_U64), out(_I32), array(_I32)))
def held_in(words, first, end, slots, place, class_bits):  # type: ignore[no-untyped-def]
    """The bits of an item's different classes among ``words[first:end]``, and where the first and
    behind the last of them stand. `place` has 1 + the number of each class of the item, and has it
    negative when it was seen."""
    held = 0
    low = end
    high = first
    for q in range(first, end):
        c = class_of(words[q], slots)
        if c < 0 or place[c] == 0:
            continue
        bits = class_bits[abs(place[c]) - 1]
        if bits >= 4:  # "the" does not say where an item begins
            low = min(low, q)
            high = q + 1
        if place[c] > 0:
            place[c] = -place[c]
            held += bits
    return held, low, high


@kernel(
    _I64(array(_U64), array(_I64), array(_I64), array(_I64), array(_I32),
         array(_U64), array(_I64), array(_U64), array(_I32), array(_I32),
         array(_I64), array(_I32), array(_I32), array(_I32), array(_I32),
         _I64, _I64, _I64, out(_I64, dims=2))
)  # fmt: skip
def scan(  # type: ignore[no-untyped-def]
    words, begin, stop, at, at_class,
    slots, post_first, postings, width, anchors_needed,
    class_first, class_list, class_bits, class_anchor, total,
    min_percent, min_bits, tail, rows,
):  # fmt: skip
    """Fills `rows` with (document, item, first word, word after the last, bits) of windows that
    hold enough of an item; windows of one item in one document do not overlap. Returns their
    number, or -1 - number if `rows` is too short.

    An item is looked at where three of its anchors stand in its width. Only then are all words of
    the window looked up: its anchors must have `anchors_needed` bits together, all its classes
    `min_bits` and `min_percent` of the item's.
    """
    state = np.full(len(width), ~np.uint64(0), np.uint64)
    last_row = np.full(len(width), -1, np.int64)
    place = np.zeros(len(post_first), np.int32)
    n = 0
    d = 0
    for k in range(len(at)):
        p = at[k]
        while d < len(stop) and p >= stop[d]:
            d += 1
        c = at_class[k]
        for m in range(post_first[c], post_first[c + 1]):
            i = postings[m] >> _4
            known = moved_on(state[i], postings[m] & _SLOT, np.uint64(p) & _PLACE)
            state[i] = known
            # May be of an earlier document, or so many places before: few are.
            if (np.uint64(p) - (known >> _32)) & _PLACE >= np.uint64(width[i]):
                continue
            first = max(begin[d], p - width[i] + 1)
            f = class_first[i]
            g = class_first[i + 1]
            for u in range(f, g):
                place[class_list[u]] = u + 1
            held = np.int64(0)
            x = y = first
            if anchored(at, at_class, k, first, place, class_anchor) >= anchors_needed[i]:
                for u in range(f, g):
                    place[class_list[u]] = u + 1
                end = min(stop[d], p + tail)
                held, x, y = held_in(words, first, end, slots, place, class_bits)
            for u in range(f, g):
                place[class_list[u]] = 0
            if held < min_bits or held * 100 < min_percent * total[i]:
                continue
            r = last_row[i]
            if r >= 0 and rows[r, 0] == d and x < rows[r, 3]:
                if held <= rows[r, 4]:
                    continue
            else:
                if n == len(rows):
                    return -1 - n
                r = n
                n += 1
                last_row[i] = r
            rows[r, 0] = d
            rows[r, 1] = i
            rows[r, 2] = x
            rows[r, 3] = y
            rows[r, 4] = held
    return n
