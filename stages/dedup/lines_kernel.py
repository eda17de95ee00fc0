"""The compiled loops behind `corpusmill.stages.dedup.lines`. Import inside functions only.

A line is spelt as `line_folds` has it, ASCII eight bytes at a time, and its hash takes eight of the
bytes at a step. Eight bytes must be there behind the end of the texts, as `words.encoded` has them.
"""

from __future__ import annotations

import numpy as np

from corpusmill.stages import kernel_types as types
from corpusmill.stages.compiled import array, kernel, out
from corpusmill.stages.fold_kernel import SEED, decode, fold_next, mix, step
from corpusmill.stages.unicode_data import SPACE
from corpusmill.stages.wide import load64, store64, zeros_below

from .line_folds import BEGINS, ENDS, LENGTH, ROOM, SLOW, TWO_BYTES

_U8, _U16, _U32, _U64 = types.uint8, types.uint16, types.uint32, types.uint64
_I32, _I64, _BOOL = types.int32, types.int64, types.boolean

_TABLES = (
    array(_U8), array(_U8), array(_U16), array(_U32), array(_U32), array(_U64),
    out(_U32), out(_U32), out(_I64), out(_U8),
)  # fmt: skip
"""Types of what `line_folds.folding` gives."""

_FULL = ROOM - 64
"""Bytes of the room with which it is emptied: what comes in between is shorter than the rest."""

_1, _2, _3 = (np.uint64(n) for n in (1, 2, 3))
_LENGTH, _BEGINS, _ENDS, _SLOW = (np.uint64(bit) for bit in (LENGTH, BEGINS, ENDS, SLOW))


def _eight(byte: int) -> np.uint64:
    return np.uint64(byte * 0x0101010101010101)


_ONE_EACH, _TOPS, _LF, _CR = _eight(1), _eight(0x80), _eight(10), _eight(13)
_FROM_A, _PAST_Z = _eight(0x80 - ord("A")), _eight(0x80 - ord("Z") - 1)
"""Added to seven bits they reach the eighth from ``A`` on, and from behind ``Z`` on."""


@kernel(_U64(_U64), inline=True)
def lower(eight):  # type: ignore[no-untyped-def]
    """Eight ASCII bytes in lower case; of others the eighth bit is kept and the rest undefined."""
    seven = eight & ~_TOPS
    return eight | (((seven + _FROM_A) & ~(seven + _PAST_Z) & _TOPS) >> _2)


@kernel(_I64(array(_U8), _I64, _I64), inline=True)
def line_end(data, i, stop):  # type: ignore[no-untyped-def]
    """Where the first LF or CR of ``data[i:stop]`` stands, or `stop`."""
    while i < stop:
        eight = load64(data, i)
        lf = eight ^ _LF
        cr = eight ^ _CR
        ends = (((lf - _ONE_EACH) & ~lf) | ((cr - _ONE_EACH) & ~cr)) & _TOPS
        if ends:
            return min(i + (zeros_below(ends) >> 3), stop)
        i += 8
    return stop


@kernel(types.UniTuple(_I64, 2)(array(_U8), _I64, _I64, array(_U8)), inline=True)
def trimmed(data, first, stop, flags):  # type: ignore[no-untyped-def]
    """Bounds of ``data[first:stop]`` without white space at its ends."""
    while first < stop:
        code = np.int64(data[first])
        width = 1
        if code >= 0x80:
            code, width = decode(data, first)
        if flags[code] & SPACE == 0:
            break
        first += width
    while stop > first:
        at = stop - 1
        code = np.int64(data[at])
        if code >= 0x80:
            while data[at] & 0xC0 == 0x80:
                at -= 1
            code, _ = decode(data, at)
        if flags[code] & SPACE == 0:
            break
        stop = at
    return first, stop


@kernel(_I64(out(_U8), _I64, _I64), inline=True)
def put(room, n, code):  # type: ignore[no-untyped-def]
    """Writes a code point to ``room[n:]`` and returns where the next goes."""
    if code < 0x80:
        room[n] = code
        return n + 1
    if code < TWO_BYTES:
        store64(room, n, np.uint64(0x80 | code >> 7 | (code & 0x7F) << 8))
        return n + 2
    middle = (code & 0x7F80) << 1
    store64(room, n, np.uint64(0xC0 | code >> 15 | middle | (code & 0x7F) << 16))
    return n + 3


@kernel(types.Tuple((_U64, _I64))(_U64, out(_U8), _I64), inline=True)
def emptied(h, room, n):  # type: ignore[no-untyped-def]
    """The hash `h` extended by the whole eights of ``room[:n]``, and how many bytes are left."""
    at = 0
    while at + 8 <= n:
        h = step(h, np.int64(mix(load64(room, at))))
        at += 8
    store64(room, 0, load64(room, at))
    return h, n - at


@kernel(_U64(_U64, out(_U8), _I64), inline=True)
def closed(h, room, n):  # type: ignore[no-untyped-def]
    """The hash of a line whose last bytes are ``room[:n]``."""
    h, n = emptied(h, room, n)
    rest = np.uint64(n)
    last = load64(room, 0) & ((_1 << (rest << _3)) - _1) | rest << _LENGTH
    return mix(step(h, np.int64(mix(last))))


@kernel(
    _U64(array(_U8), _I64, _I64, array(_U8), array(_U8), array(_U16), array(_U32), array(_U32),
         out(_U32), out(_U32), out(_I64), out(_U8))
)  # fmt: skip
def slow_hash(  # type: ignore[no-untyped-def]
    data, first, stop, flags, ccc, fold, offsets, pool, pend, spare, places, room
):
    """The hash of a line in which marks may have to change places."""
    h = SEED
    n = 0
    i = first
    k = 0
    while i < stop:
        count, i, k = fold_next(
            data, i, k, stop, flags, ccc, fold, offsets, pool, pend, spare, places
        )
        for j in range(count):
            n = put(room, n, np.int64(pend[j]))
            if n > _FULL:
                h, n = emptied(h, room, n)
    return closed(h, room, n)


@kernel(
    types.Tuple((_U64, _I64, _BOOL))(array(_U8), _I64, _I64, array(_U64), out(_U8)),
    inline=True,
)
def quick_hash(data, first, stop, spelt, room):  # type: ignore[no-untyped-def]
    """The hash of the folded line ``data[first:stop]``, its code points before folding, and
    whether the hash must come from `slow_hash`."""
    h = SEED
    n = 0
    chars = 0
    marked = np.uint64(0)  # whether a mark came last: with another they may have to change places
    slow = np.uint64(0)
    at = first
    while at < stop:
        if n > _FULL:
            h, n = emptied(h, room, n)
        eight = load64(data, at)
        plain = min(zeros_below(eight & _TOPS) >> 3, stop - at)
        store64(room, n, lower(eight))
        n += plain
        at += plain
        chars += plain
        if plain == 8 or at == stop:
            marked = np.uint64(0)
            continue
        if plain:
            marked = np.uint64(0)
        code, width = decode(data, at)
        entry = spelt[np.uint64(code)] if code < len(spelt) else _1 << _SLOW
        store64(room, n, entry)
        n += np.int64(entry >> _LENGTH) & 7
        slow |= entry >> _SLOW | (entry >> _BEGINS) & marked
        marked = entry >> _ENDS & _1 if entry else marked
        at += width
        chars += 1
    return closed(h, room, n), chars, slow != 0


@kernel(types.Tuple((_U64, _I64))(array(_U8), _I64, _I64, *_TABLES), inline=True)
def line_hash(  # type: ignore[no-untyped-def]
    data, first, stop, flags, ccc, fold, offsets, pool, spelt, pend, spare, places, room
):
    """The hash of the folded line ``data[first:stop]``, and its code points before folding."""
    h, chars, slow = quick_hash(data, first, stop, spelt, room)
    if slow:
        h = slow_hash(data, first, stop, flags, ccc, fold, offsets, pool, pend, spare, places, room)
    return h, chars


@kernel(_I64(_BOOL, _U64, _I64, _I64, out(_U64), out(_I64)), inline=True)
def entered(joins, h, chars, n, unit_hash, unit_chars):  # type: ignore[no-untyped-def]
    """Makes a line a unit of its own, or a part of the last one (`joins`); returns how many units
    there are."""
    if joins:
        unit_hash[n - 1] = mix(unit_hash[n - 1] * _3 ^ h)
        unit_chars[n - 1] += chars
        return n
    unit_hash[n] = h
    unit_chars[n] = chars
    return n + 1


@kernel(
    _I64(array(_U8), array(_I64), array(_I64), array(_I32), array(_I32), _BOOL, *_TABLES,
         out(_I64), out(_I64), out(_U64), out(_I64))
)  # fmt: skip
def units(  # type: ignore[no-untyped-def]
    data, byte_start, doc_start, text_start, text_end, paragraphs,
    flags, ccc, fold, offsets, pool, spelt, pend, spare, places, room,
    unit, unit_start, unit_hash, unit_chars,
):  # fmt: skip
    """The units of each document: its lines that are not blank, or runs of them (`paragraphs`).

    Fills `unit` (for each line the unit it belongs to, -1 for blank ones), `unit_start` (bounds
    of documents in the units), `unit_hash` (of the folded lines) and `unit_chars` (code points
    of the trimmed lines). Returns the number of units.
    """
    n = 0
    for doc in range(len(doc_start) - 1):
        unit_start[doc] = n
        base = byte_start[doc]
        inside = False
        for line in range(doc_start[doc], doc_start[doc + 1]):
            first = base + text_start[line]
            stop = base + text_end[line]
            if first == stop:
                unit[line] = -1
                inside = False
                continue
            h, chars = line_hash(
                data, first, stop, flags, ccc, fold, offsets, pool, spelt, pend, spare, places, room
            )
            n = entered(paragraphs and inside, h, chars, n, unit_hash, unit_chars)
            inside = True
            unit[line] = n - 1
    unit_start[len(doc_start) - 1] = n
    return n


@kernel(
    _I64(array(_U8), array(_I64), _BOOL, *_TABLES, out(_I64), out(_U64), out(_I64))
)  # fmt: skip
def unit_hashes(  # type: ignore[no-untyped-def]
    data, byte_start, paragraphs,
    flags, ccc, fold, offsets, pool, spelt, pend, spare, places, room,
    unit_start, unit_hash, unit_chars,
):  # fmt: skip
    """What `units` says of the units' hashes and lengths, in one pass over the bytes."""
    n = 0
    for doc in range(len(byte_start) - 1):
        unit_start[doc] = n
        stop = byte_start[doc + 1]
        inside = False
        i = byte_start[doc]
        while i < stop:
            end = line_end(data, i, stop)
            first, to = trimmed(data, i, end, flags)
            i = end + 2 if end + 1 < stop and data[end] == 13 and data[end + 1] == 10 else end + 1
            if first == to:
                inside = False
                continue
            h, chars = line_hash(
                data, first, to, flags, ccc, fold, offsets, pool, spelt, pend, spare, places, room
            )
            n = entered(paragraphs and inside, h, chars, n, unit_hash, unit_chars)
            inside = True
    unit_start[len(byte_start) - 1] = n
    return n
