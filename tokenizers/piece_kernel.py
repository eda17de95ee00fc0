"""Compiled: the pieces of texts, and a piece as two numbers.

Import inside functions only. `cut` takes a step a character, by the tables of `steps`, and asks
`split_kernel.piece_end` where these give up. Of a piece of up to `EXACT` bytes the two numbers are
the bytes themselves, so that finding it compares nothing else.
"""

from __future__ import annotations

import numpy as np

from corpusmill.stages import kernel_types as types
from corpusmill.stages.compiled import array, kernel, out
from corpusmill.stages.wide import fetch, load8, load64

from .kernel_sizes import AHEAD, COLUMNS, FRONT_ROWS
from .split_kernel import char_at, piece_end
from .steps import ASK, BEFORE, END, HERE, LINES, ROW

_U8, _U16, _I64, _U64 = types.uint8, types.uint16, types.int64, types.uint64

WALK = (array(_U8), array(_U16), array(_U8), array(_U8), _I64, _I64)
"""Types of what `splits.walk_of` gives."""

WIDE = 16
"""Bytes that are read where a piece begins; near the end of the data, fewer, one by one."""

EXACT = 15
"""Longest piece whose numbers are its bytes, with its length in the highest byte of the second."""

LONG = np.uint64(0xFF << 56)
"""Highest byte of the second number of longer pieces; the first is a hash then."""

_1, _2, _3, _8, _56, _64 = (np.uint64(n) for n in (1, 2, 3, 8, 56, 64))
_FULL = np.uint64(0xFFFFFFFFFFFFFFFF)
_MIX, _TURN = np.uint64(0xD6E8FEB86659FD93), np.uint64(0x9E3779B97F4A7C15)
_32 = np.uint64(32)
_FRONT_MASK = np.uint64(FRONT_ROWS - 1)


@kernel(_I64(array(_U8), _I64), inline=True)
def line_end(data, i):  # type: ignore[no-untyped-def]
    """Where the last line before byte `i` ends."""
    while data[i - 1] != 10 and data[i - 1] != 13:
        i -= 1
    return i


@kernel(_I64(array(_U8), _I64, _I64, *WALK, out(_I64), _I64, _I64), inline=True)
def cut(  # type: ignore[no-untyped-def]
    data, begin, end, classes, steps, of_byte, of_class, style, digits, stops, n, most
):
    """Writes where the pieces from `begin` to `end`, the text's end, end to ``stops[n:]``, until
    `most` or up to two more are there. Returns how many are."""
    row = np.int64(0)
    i = begin
    while i < end and n < most:
        width = np.int64(1)
        column = np.int64(load8(data, i))
        if column < 0x80:
            column = np.int64(load8(of_byte, column))
        else:
            c = char_at(data, i)
            width = c & 7
            column = np.int64(load8(of_class, np.int64(classes[c >> 3])))
        step = np.int64(steps[row | column])
        if step >= BEFORE:
            if step & ASK:
                at = begin if n == 0 else max(begin, stops[n - 1])
                i = piece_end(data, at, end, classes, style, digits)
                stops[n] = i
                n += 1
                row = np.int64(0)
                continue
            if step & LINES:
                stops[n] = line_end(data, i)
                n += 1
            if step & BEFORE:
                at = i - 1
                while data[at] & 0xC0 == 0x80:
                    at -= 1
                stops[n] = at
                n += 1
        stops[n] = i
        n += np.int64(step & HERE != 0)
        row = step & ROW
        i += width
    if i == end and row:
        if steps[row | END] & LINES:
            stops[n] = line_end(data, end)
            n += 1
        stops[n] = end
        n += 1
    return n


@kernel(types.UniTuple(_U64, 2)(array(_U8), _I64, _I64), inline=True)
def numbers_of(data, at, stop):  # type: ignore[no-untyped-def]
    """The two numbers of a piece. Of a longer one than `EXACT` a hash, and its length."""
    n = np.uint64(stop - at)
    if at + WIDE <= len(data) and stop - at <= EXACT:
        low = load64(data, at) & (_FULL >> (_64 - (min(n, _8) << _3)))
        high = load64(data, at + 8) & ((_1 << ((max(n, _8) - _8) << _3)) - _1)
        return low, high | n << _56
    low, high = np.uint64(0), np.uint64(0)
    if stop - at <= EXACT:
        for k in range(stop - 1, at - 1, -1):
            high = high << _8 | low >> _56
            low = low << _8 | np.uint64(data[k])
        return low, high | n << _56
    for k in range(at, stop - 8, 8):
        low = (low ^ load64(data, k)) * _MIX
        low ^= low >> _32
    low = (low ^ load64(data, stop - 8)) * _TURN
    return low ^ low >> _32, n | LONG


@kernel(_U64(_U64, _U64), inline=True)
def place_of(low, high):  # type: ignore[no-untyped-def]
    """A hash of a piece's numbers; its lowest bits say where the search in a table begins."""
    h = (low ^ high * _TURN) * _MIX
    h = (h ^ (h >> _32)) * _TURN
    return h ^ (h >> _32)


@kernel(types.boolean(array(_U8), _I64, array(_U8), _I64, _I64), inline=True)
def same_bytes(data, at, other, begin, n):  # type: ignore[no-untyped-def]
    """Whether two long pieces of `n` bytes are the same."""
    k = np.int64(0)
    while k < n - 8 and load64(data, at + k) == load64(other, begin + k):
        k += 8
    return k >= n - 8 and load64(data, at + n - 8) == load64(other, begin + n - 8)


@kernel(_I64(array(_U8), array(_I64), *WALK, _I64, _I64, _I64, array(_U64), array(_U64),
             out(_I64), out(_U64)), inline=True)  # fmt: skip
def look_ahead(  # type: ignore[no-untyped-def]
    data, borders, classes, steps, of_byte, of_class, style, digits, text, at, longest, table,
    front, stops, numbers,
):  # fmt: skip
    """Where the next pieces end, `AHEAD` or up to two more, and of those of up to `longest` bytes
    the two numbers and the hash. Rows that will be needed are asked for, as memory takes longer to
    answer than all else that is done for a piece. Returns how many pieces there are."""
    count = np.int64(0)
    begin = at
    while text + 1 < len(borders) and count < AHEAD:
        count = cut(
            data, begin, borders[text + 1], classes, steps, of_byte, of_class, style, digits,
            stops, count, AHEAD,
        )  # fmt: skip
        text += 1
        begin = borders[text]
    mask = np.uint64(len(table) // COLUMNS - 1)
    for piece in range(count):
        stop = stops[piece]
        if stop - at <= longest:
            low, high = numbers_of(data, at, stop)
            place = place_of(low, high)
            numbers[3 * piece], numbers[3 * piece + 1], numbers[3 * piece + 2] = low, high, place
            near = (place & _FRONT_MASK) << _2
            if front[near] != low or front[near + _1] != high:
                fetch(table, (place & mask) << _2)
        at = stop
    return count


@kernel(types.void(out(_U64), array(_U64)))
def refill(table, older):  # type: ignore[no-untyped-def]
    """Enters the rows of a table into an empty, larger one."""
    mask = np.uint64(len(table) // COLUMNS - 1)
    for row in range(0, len(older), COLUMNS):
        if older[row + 1]:
            place = place_of(older[row], older[row + 1]) & mask
            while table[(place << _2) + _1]:
                place = (place + _1) & mask
            begin = np.int64(place) * COLUMNS
            for column in range(COLUMNS):
                table[begin + column] = older[row + column]
