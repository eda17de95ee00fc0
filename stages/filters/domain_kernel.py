"""The hashes of a piece of a list of plain domains, in one pass. Import inside functions only."""

from __future__ import annotations

import numpy as np

from corpusmill.stages import kernel_types as types
from corpusmill.stages.compiled import array, kernel, out
from corpusmill.stages.wide import load8, load64

from .entry_hashes import BY, LAST, LONGEST_HOST, PLACE

_DASH, _DOT, _END, _ODD = 1, 2, 3, 4
_KINDS = np.array([
    0 if c in b"abcdefghijklmnopqrstuvwxyz0123456789_"
    else {ord("-"): _DASH, ord("."): _DOT, ord("\n"): _END}.get(c, _ODD)
    for c in range(256)
], np.uint8)  # fmt: skip
"""Kinds of bytes: letters and digits are 0, and odd is what no plain domain has."""

_WWW = np.uint64(int.from_bytes(b"www.", "little"))
_4_BYTES = np.uint64((1 << 32) - 1)
_32 = np.uint64(32)
_8 = np.uint64(8)
_ALL = np.uint64((1 << 64) - 1)


@kernel(types.int64(array(types.uint8), types.int64, out(types.uint64)))
def hash_domains(raw, end, hashes):  # type: ignore[no-untyped-def]
    """Hashes the lines of ``raw[:end]`` as `entry_hashes.of_spans` does; it ends with a line feed
    and has eight bytes behind it. Returns how many there are, or -1 if one is not a host name that
    the reader of lists gives back as it stands."""
    found = 0
    at = 0
    while at < end:
        start = at
        if load64(raw, at) & _4_BYTES == _WWW:
            return -1
        dots = 0
        before = np.uint8(_DOT)
        while True:
            kind = load8(_KINDS, np.int64(load8(raw, at)))
            while kind == 0:
                before = kind
                at += 1
                kind = load8(_KINDS, np.int64(load8(raw, at)))
            if kind == _ODD or (before and not (before == _DASH and kind == _DASH)):
                return -1  # a label that is empty or has a hyphen at an end
            if kind == _END:
                break
            if kind == _DOT:
                dots += 1
            before = kind
            at += 1
        size = at - start
        at += 1
        if dots == 0 or size > LONGEST_HOST:
            return -1
        hashed = np.uint64(size) * BY
        by_place = PLACE
        for place in range(start, start + size, 8):
            word = load64(raw, place)
            left = start + size - place
            if left < 8:
                word &= _ALL >> (np.uint64(64) - _8 * np.uint64(left))
            word *= by_place
            hashed += (word ^ (word >> _32)) * BY
            by_place += PLACE + PLACE
        hashed = (hashed ^ (hashed >> _32)) * LAST
        hashes[found] = hashed ^ (hashed >> _32)
        found += 1
    return found
