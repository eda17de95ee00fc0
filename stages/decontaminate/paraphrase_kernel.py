"""The compiled loop that looks for paraphrases. Import inside functions only."""

from __future__ import annotations

import numpy as np
from numba import types

from corpusmill.stages.compiled import array, kernel, out

from .paraphrase import ANCHORS

_I32, _I64, _U64 = types.int32, types.int64, types.uint64


@kernel(types.void(array(_U64), array(_I32), out(_U64), out(_I32)))
def fill(hashes, classes, keys, values):  # type: ignore[no-untyped-def]
    """Puts (hash, class) pairs into an open table; `values` is -1 where a slot is free."""
    mask = np.uint64(len(keys) - 1)
    for n in range(len(hashes)):
        at = hashes[n] & mask
        while values[at] >= 0:
            at = (at + np.uint64(1)) & mask
        keys[at] = hashes[n]
        values[at] = classes[n]


@kernel(types.void(array(_U64), array(_U64), array(_I32), out(_I32)))
def classify(hashes, keys, values, classes):  # type: ignore[no-untyped-def]
    """The class of each word, or -1."""
    mask = np.uint64(len(keys) - 1)
    for n in range(len(hashes)):
        at = hashes[n] & mask
        found = -1
        while values[at] >= 0:
            if keys[at] == hashes[n]:
                found = values[at]
                break
            at = (at + np.uint64(1)) & mask
        classes[n] = found


@kernel(
    _I64(array(_I64), array(_I32),
         array(_I64), array(_I32), array(_I32), array(_I32, dims=2),
         array(_I32), array(_I32), array(_I64), array(_I32), array(_I32), array(_I32),
         _I64, _I64, _I64, out(_I64, dims=2))
)  # fmt: skip
def scan(  # type: ignore[no-untyped-def]
    doc_start, classes,
    post_first, post_item, post_slot, anchor_bits,
    width, anchors_needed, class_first, class_list, class_bits, total,
    min_percent, min_bits, tail, rows,
):  # fmt: skip
    """Fills `rows` with (document, item, first word, word after the last, bits) of windows that
    hold enough of an item; windows of one item in one document do not overlap. Returns their
    number, or -1 - number if `rows` is too short.

    An item is looked at where three of its anchors, with `anchors_needed` bits together, stand in
    its width. Only then are all words of the window looked up among the item's.
    """
    items = len(width)
    epoch = np.full(items, -1, np.int64)
    place = np.full((items, ANCHORS), -1, np.int64)
    before = np.full(items, -1, np.int64)  # places of the last two anchors
    earlier = np.full(items, -1, np.int64)
    last_row = np.full(items, -1, np.int64)
    seen = np.zeros(len(class_list), np.uint8)
    n = 0
    for d in range(len(doc_start) - 1):
        begin = doc_start[d]
        stop = doc_start[d + 1]
        for p in range(begin, stop):
            c = classes[p]
            if c < 0:
                continue
            for k in range(post_first[c], post_first[c + 1]):
                i = post_item[k]
                if epoch[i] != d:
                    epoch[i] = d
                    for s in range(ANCHORS):
                        place[i, s] = -1
                    before[i] = -1
                    earlier[i] = -1
                    last_row[i] = -1
                low = p - width[i]
                third = earlier[i]
                place[i, post_slot[k]] = p
                earlier[i] = before[i]
                before[i] = p
                if third < begin or third <= low:
                    continue
                bits = 0
                count = 0
                for s in range(ANCHORS):
                    q = place[i, s]
                    if q >= begin and q > low:
                        bits += anchor_bits[i, s]
                        count += 1
                if count < 3 or bits < anchors_needed[i]:
                    continue
                first = max(begin, low + 1)
                end = min(stop, p + tail)
                f = class_first[i]
                g = class_first[i + 1]
                for u in range(f, g):
                    seen[u] = 0
                held = 0
                x = end
                y = first
                for q in range(first, end):
                    cc = classes[q]
                    if cc < 0:
                        continue
                    u = f
                    v = g
                    while u < v:
                        mid = (u + v) // 2
                        if class_list[mid] < cc:
                            u = mid + 1
                        else:
                            v = mid
                    if u < g and class_list[u] == cc:
                        if class_bits[u] >= 4:  # "the" does not say where an item begins
                            if q < x:
                                x = q
                            y = q + 1
                        if seen[u] == 0:
                            seen[u] = 1
                            held += class_bits[u]
                if held < min_bits or held * 100 < min_percent * total[i]:
                    continue
                r = last_row[i]
                if r >= 0 and x < rows[r, 3]:
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
