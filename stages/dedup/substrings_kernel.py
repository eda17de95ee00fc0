"""The compiled loops behind `corpusmill.stages.dedup.substrings`. Import inside functions only.

The texts of a batch are given as `values`, a 64-bit number a unit (word or byte), with the bounds
`start` of the texts in them. A run of `size` units is a window; the smallest of the hashes of its
runs of `small` units is its anchor. Equal windows have equal anchors.
"""

from __future__ import annotations

import numpy as np

from corpusmill.stages import kernel_types as types
from corpusmill.stages.compiled import array, kernel, out
from corpusmill.stages.fold_kernel import mix

_U64, _I64, _U8 = types.uint64, types.int64, types.uint8

_BASE = np.uint64(0xD1342543DE82EF95)
_PRIME = np.uint64(0x1FFFFFFFFFFFFFFF)  # 2**61 - 1
_BASE_61 = np.uint64(0x0B1E5D2C7A94F683)
_30, _31, _61 = np.uint64(30), np.uint64(31), np.uint64(61)
_LOW_30, _LOW_31 = np.uint64(0x3FFFFFFF), np.uint64(0x7FFFFFFF)
_1 = np.uint64(1)


@kernel(_U64(_U64, _U64))
def times(a, b):  # type: ignore[no-untyped-def]
    """a b modulo 2⁶¹ - 1, for a and b below it, in halves of 31 bits."""
    a_high, a_low = a >> _31, a & _LOW_31
    b_high, b_low = b >> _31, b & _LOW_31
    middle = a_low * b_high + a_high * b_low
    total = (
        ((a_high * b_high) << _1) + (middle >> _30) + ((middle & _LOW_30) << _31) + a_low * b_low
    )
    total = (total >> _61) + (total & _PRIME)
    return total - _PRIME if total >= _PRIME else total


@kernel(_I64(array(_U64), array(_I64), _I64, _I64, array(_U64), array(_I64),
             out(_U64), out(_I64), out(_U64), out(_U8)))  # fmt: skip
def anchors(  # type: ignore[no-untyped-def]
    values, start, size, small, wanted, wanted_start, room, doc, key, found
):
    """The anchors of each text's windows; returns their number.

    Fills `doc` and `key`, a row for each place that is chosen: of the places with the smallest
    hash, the last one, and the next when a window no longer has it. Windows without a common unit
    thus have rows of their own. Where `found` has a place for each unit, it gets 1 where a window
    begins whose anchor is in the sorted ``wanted[wanted_start[n]:wanted_start[n + 1]]`` of its
    text. `room` is as long as the longest text.
    """
    ahead = size - small
    drop = _1
    for _ in range(small):
        drop *= _BASE
    count = 0
    for n in range(len(start) - 1):
        first = start[n]
        units = start[n + 1] - first
        if units < size:
            continue
        rolling = np.uint64(0)
        for at in range(units):
            rolling = rolling * _BASE + values[first + at]
            if at >= small:
                rolling -= values[first + at - small] * drop
            if at >= small - 1:
                room[at - small + 1] = mix(rolling)
        place = -1
        inside = False
        for window in range(units - size + 1):
            last = window + ahead
            chosen = place
            if place < window:
                chosen = window
                for at in range(window + 1, last + 1):
                    if room[at] <= room[chosen]:
                        chosen = at
            elif room[last] < room[place]:
                chosen = last
            if chosen != place:
                place = chosen
                doc[count] = n
                key[count] = room[place]
                count += 1
                if len(found):
                    low = wanted_start[n]
                    high = wanted_start[n + 1]
                    while low < high:
                        middle = (low + high) // 2
                        if wanted[middle] < room[place]:
                            low = middle + 1
                        else:
                            high = middle
                    inside = low < wanted_start[n + 1] and wanted[low] == room[place]
            if len(found):
                found[first + window] = inside
    return count


@kernel(_I64(array(_U64), array(_I64), _I64, array(_U8),
             out(_I64), out(_I64), out(_U64), out(_U64)))  # fmt: skip
def windows(values, start, size, found, doc, place, key, check):  # type: ignore[no-untyped-def]
    """Two independent hashes of each window that begins where `found` is 1: a polynomial modulo
    2⁶⁴, mixed, and one modulo 2⁶¹ - 1. Fills a row each; returns their number."""
    drop = _1
    drop_61 = _1
    for _ in range(size):
        drop *= _BASE
        drop_61 = times(drop_61, _BASE_61)
    count = 0
    for n in range(len(start) - 1):
        first = start[n]
        rolling = np.uint64(0)
        other = np.uint64(0)
        for at in range(first, start[n + 1]):
            value = values[at]
            rolling = rolling * _BASE + value
            other = times(other, _BASE_61) + value % _PRIME
            if at - first >= size:
                gone = values[at - size]
                rolling -= gone * drop
                other += _PRIME - times(gone % _PRIME, drop_61)
            other %= _PRIME
            window = at - size + 1
            if window >= first and found[window]:
                doc[count] = n
                place[count] = window - first
                key[count] = mix(rolling)
                check[count] = other
                count += 1
    return count
