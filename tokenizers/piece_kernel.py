"""Compiled: the pieces of a text, quickly, and a piece as two numbers.

Import inside functions only. Most text is ASCII: `next_end` classes eight bytes at a time and
gives what `split_kernel.piece_end` gives, which it asks as soon as another character, or the end
of the text, is near. Of a piece of up to `EXACT` bytes the two numbers are the bytes themselves,
so that finding it compares nothing else.
"""

from __future__ import annotations

import numpy as np
from numba import types

from corpusmill.stages.compiled import array, kernel, out

from .split_kernel import GPT2, O200K, piece_end, run_end
from .splits import BLANK, CASED, DIGIT, ELSE, LETTER, LINE, QUOTE, SIGN, WHITE
from .wide import load8, load64, zeros_below

_U8, _I64, _U64 = types.uint8, types.int64, types.uint64

WIDE = 16
"""Bytes that are read where a piece begins; where a text has fewer left, the slow way is taken."""

EXACT = 15
"""Longest piece whose numbers are its bytes, with its length in the highest byte of the second."""

LONG = np.uint64(0xFF << 56)
"""Highest byte of the second number of longer pieces; the first is a hash then."""

COLUMNS = 4
"""Of a table of pieces, a row a piece: its two numbers first. The second is 0 where none is."""

FRONT_ROWS = 1 << 13
"""Rows for the pieces seen last, in front of a table that is too large for the processor's nearer
memories: nine pieces in ten are found here."""

_1, _2, _3, _8, _56, _64, _255 = (np.uint64(n) for n in (1, 2, 3, 8, 56, 64, 255))
_FULL = np.uint64(0xFFFFFFFFFFFFFFFF)


def _every(byte: int) -> np.uint64:
    return np.uint64(byte * 0x0101010101010101)


_HIGH, _LOW7, _CASE, _NO_CASE = _every(0x80), _every(0x7F), _every(0x20), np.uint64(0)
_FROM_A, _BEYOND_Z = _every(0x80 - ord("a")), _every(0x80 - ord("z") - 1)
_BUT_FIRST = np.uint64(0x8080808080808000)
_MIX, _TURN = np.uint64(0xD6E8FEB86659FD93), np.uint64(0x9E3779B97F4A7C15)
_32 = np.uint64(32)


@kernel(_U64(_U64, _U64), inline=True)
def no_letters(x, case):  # type: ignore[no-untyped-def]
    """The highest bit of every byte of `x` that, with the bits `case` set, is no ``a`` … ``z``."""
    y = (x | case) & _LOW7
    return ~((y + _FROM_A) & ~(y + _BEYOND_Z) & ~x) & _HIGH


@kernel(_I64(array(_U8), _I64, _U64, _U64, array(_U8)), inline=True)
def cased_stop(data, i, x, here, kinds):  # type: ignore[no-untyped-def]
    """End of o200k's word in the eight bytes `x` at `i`, of which those of the bits `here` count:
    capitals, if there are any, and small letters; -1 if it may go on."""
    stops = no_letters(x, _CASE) & here
    if not stops:
        return np.int64(-1)
    letters = zeros_below(stops) >> _3
    small = ~no_letters(x, _NO_CASE) & here
    begins = zeros_below(small) >> _3
    if begins < letters:
        letters = min(letters, zeros_below(~small & _HIGH & (_FULL << (begins << _3))) >> _3)
    stop = i + np.int64(letters)
    after = kinds[load8(data, stop)]
    if after == QUOTE:
        return np.int64(-1)
    return np.int64(-1) if after == ELSE else stop


@kernel(_I64(array(_U8), _I64, _I64, _U64, _U64, array(_U8)), inline=True)
def word_stop(data, i, end, x, here, classes):  # type: ignore[no-untyped-def]
    """End of the letters in the eight bytes `x` at `i`, of which those of the bits `here` count."""
    stops = no_letters(x, _CASE) & here
    if not stops:
        i += 8
        stops = no_letters(load64(data, i), _CASE)
    stop = i + np.int64(zeros_below(stops) >> _3)
    if stops and load8(data, stop) < 0x80:
        return stop
    return run_end(data, stop, end, classes, LETTER, -1, end)


@kernel(_I64(array(_U8), _I64, _I64, array(_U8), _I64), inline=True)
def sign_stop(data, i, end, kinds, style):  # type: ignore[no-untyped-def]
    """End of the signs whose second byte is at `i`, with the line ends that follow them; -1 if it
    is not known."""
    kind = np.int64(SIGN)
    while i < end:
        kind = np.int64(kinds[load8(data, i)])
        if kind < SIGN:
            break
        i += 1
    if style == GPT2:
        return np.int64(-1) if kind == ELSE else i
    breaks = i
    while i < end and kind == LINE:
        i += 1
        if i < end:
            kind = np.int64(kinds[load8(data, i)])
    if kind == ELSE or (style == O200K and i > breaks and kind == SIGN):
        return np.int64(-1)
    return i


@kernel(_I64(array(_U8), _I64, _I64, array(_U8), _I64), inline=True)
def white_stop(data, i, end, kinds, style):  # type: ignore[no-untyped-def]
    """End of the piece that begins with the white space at `i`; -1 if it is not known."""
    j = i
    last = i  # where the last character of the run begins
    newline = i
    while j < end:
        kind = kinds[load8(data, j)]
        if kind == ELSE:
            return np.int64(-1)
        if not LINE <= kind <= BLANK:
            break
        last = j
        j += 1
        if kind == LINE:
            newline = j
    if newline > i and style != GPT2:
        return newline
    return j if j == end or last == i else last


@kernel(_I64(array(_U8), _I64, _I64, array(_U8), array(_U8), _I64, _I64), inline=True)
def quick_end(data, i, end, classes, kinds, style, digits):  # type: ignore[no-untyped-def]
    """End of the piece that begins at byte `i`, or -1 if `piece_end` has to be asked."""
    if i + WIDE > end:
        return np.int64(-1)
    x = load64(data, i)
    first, second = kinds[x & _255], kinds[(x >> _8) & _255]
    led = second == CASED and (first == BLANK or (style != GPT2 and WHITE <= first <= SIGN))
    if first == CASED or led:
        here = _BUT_FIRST if led else _HIGH
        if style == O200K:
            return cased_stop(data, i, x, here, kinds)
        return word_stop(data, i, end, x, here, classes)
    if first == QUOTE or first < CASED or (first == BLANK and second == ELSE):
        return np.int64(-1)
    if first == SIGN or (first == BLANK and second >= SIGN):
        return sign_stop(data, i + 1, end, kinds, style)
    if first != DIGIT:
        if style == GPT2 and second == DIGIT:
            return np.int64(-1)
        return white_stop(data, i, end, kinds, style)
    n = np.int64(1)
    while n < digits:
        if n == WIDE:
            return np.int64(-1)
        kind = kinds[load8(data, i + n)]
        if kind != DIGIT:
            return np.int64(-1) if kind == ELSE else i + n
        n += 1
    return i + n


@kernel(_I64(array(_U8), _I64, _I64, array(_U8), array(_U8), _I64, _I64), inline=True)
def next_end(data, i, end, classes, kinds, style, digits):  # type: ignore[no-untyped-def]
    """`piece_end` by the quick way where there is one."""
    stop = quick_end(data, i, end, classes, kinds, style, digits)
    return piece_end(data, i, end, classes, style, digits) if stop < 0 else stop


@kernel(types.UniTuple(_U64, 2)(array(_U8), _I64, _I64), inline=True)
def numbers_of(data, at, stop):  # type: ignore[no-untyped-def]
    """The two numbers of a piece. Of a longer one than `EXACT` a hash, and its length."""
    n = np.uint64(stop - at)
    if at + WIDE <= len(data) and stop - at <= EXACT:
        low, high = load64(data, at), np.uint64(0)
        if n <= _8:
            low &= _FULL >> (_64 - (n << _3))
        else:
            high = load64(data, at + 8) & (_FULL >> (_64 * np.uint64(2) - (n << _3)))
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
            table[begin : begin + COLUMNS] = older[row : row + COLUMNS]
