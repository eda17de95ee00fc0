"""The compiled loop that splits text as the named patterns do and counts the pieces.

Import inside functions only. Each pattern is written out as a walk over the characters' classes;
`corpusmill.tokenizers.splits` has the patterns, and the tests hold both equal.
"""

from __future__ import annotations

import numpy as np
from numba import types

from corpusmill.stages.compiled import array, kernel, out

from .splits import BREAK, LETTER, LOWER, NUMBER, SPACE, UPPER

_U8, _I32, _I64, _U64 = types.uint8, types.int32, types.int64, types.uint64

_STEP = np.uint64(0xD6E8FEB86659FD93)
_8, _32, _56 = np.uint64(8), np.uint64(32), np.uint64(56)
_LONG = np.uint64(0xFF << 56)
GPT2, GPT4, O200K = 0, 1, 2
_WORD = LETTER | NUMBER


@kernel(_I64(array(_U8), _I64))
def char_at(data, i):  # type: ignore[no-untyped-def]
    """Code point and width (lowest three bits) of the character at byte `i` of valid UTF-8."""
    b = np.int64(data[i])
    if b < 0x80:
        return b << 3 | 1
    if b < 0xE0:
        return ((b & 0x1F) << 6 | np.int64(data[i + 1]) & 0x3F) << 3 | 2
    if b < 0xF0:
        return (
            (b & 0x0F) << 12 | (np.int64(data[i + 1]) & 0x3F) << 6 | np.int64(data[i + 2]) & 0x3F
        ) << 3 | 3
    return (
        (b & 0x07) << 18 | (np.int64(data[i + 1]) & 0x3F) << 12
        | (np.int64(data[i + 2]) & 0x3F) << 6 | np.int64(data[i + 3]) & 0x3F
    ) << 3 | 4  # fmt: skip


@kernel(_I64(array(_U8), _I64, _I64, array(_U8), _I64, _I64, _I64))
def run_end(data, i, end, classes, mask, wanted, most):  # type: ignore[no-untyped-def]
    """End of the run from byte `i` of at most `most` characters whose class under `mask` is
    `wanted` (-1: has any of its bits)."""
    n = 0
    while i < end and n < most:
        c = np.int64(data[i]) << 3 | 1
        if c >= 0x400:  # calling for ASCII, too, would take as long as the rest
            c = char_at(data, i)
        bits = np.int64(classes[c >> 3]) & mask
        if not (bits != 0 if wanted < 0 else bits == wanted):
            break
        i += c & 7
        n += 1
    return i


@kernel(_I64(array(_U8), _I64, _I64, _I64))
def contraction(data, i, end, both_cases):  # type: ignore[no-untyped-def]
    """Bytes of 's, 't, 're, … at byte `i`, 0 if there is none."""
    if i + 1 >= end or data[i] != 39:
        return 0
    fold = 0x20 if both_cases else 0
    a = np.int64(data[i + 1]) | fold
    if a == 115 or a == 100 or a == 109 or a == 116:
        return 2
    if i + 2 >= end:
        return 0
    b = np.int64(data[i + 2]) | fold
    if (a == 108 and b == 108) or (a == 118 and b == 101) or (a == 114 and b == 101):
        return 3
    return 0


@kernel(_I64(array(_U8), _I64, _I64, array(_U8), _I64))
def space_end(data, i, end, classes, breaks):  # type: ignore[no-untyped-def]
    r"""End of the piece that begins with the white space at `i`: ``\s*[\r\n]+`` if `breaks` and
    there is one in the run, else all but the last one of the run, unless the text ends."""
    j = i
    last = i  # where the last character of the run begins
    newline = np.int64(-1)
    while j < end:
        c = np.int64(data[j]) << 3 | 1
        if c >= 0x400:
            c = char_at(data, j)
        bits = np.int64(classes[c >> 3])
        if not bits & SPACE:
            break
        last = j
        j += c & 7
        if bits & BREAK:
            newline = j
    if breaks and newline >= 0:
        return newline
    if j == end or last == i:
        return j
    return last


@kernel(_I64(array(_U8), _I64, _I64, array(_U8)))
def cased_end(data, i, end, classes):  # type: ignore[no-untyped-def]
    """End of o200k's word of capitals, as far as there are any, and small letters from `i`; -1
    if there is none. Letters without case and marks count as both."""
    upper = run_end(data, i, end, classes, UPPER, -1, end)
    lower = run_end(data, upper, end, classes, LOWER, -1, end)
    if lower > upper:
        return lower
    k = upper  # give capitals back until a small letter can follow
    while k > i:
        k -= 1
        while data[k] & 0xC0 == 0x80:
            k -= 1
        if np.int64(classes[char_at(data, k) >> 3]) & LOWER:
            return run_end(data, k, end, classes, LOWER, -1, end)
    return np.int64(-1)


@kernel(_I64(array(_U8), _I64, _I64, array(_U8), _I64, _I64))
def piece_end(data, i, end, classes, style, digits):  # type: ignore[no-untyped-def]
    """End of the piece that begins at byte `i` of a text that ends at `end`; numbers are cut to
    `digits` characters."""
    if style != O200K and data[i] == 39:
        width = contraction(data, i, end, style)
        if width:
            return i + width
    c = np.int64(data[i]) << 3 | 1
    if c >= 0x400:
        c = char_at(data, i)
    first = np.int64(classes[c >> 3])
    after = i + (c & 7)
    second = np.int64(SPACE)
    if after < end:
        c = np.int64(data[after]) << 3 | 1
        if c >= 0x400:
            c = char_at(data, after)
        second = np.int64(classes[c >> 3])
    blank = data[i] == 32
    if style == GPT2:
        start, kind = i, first
        if blank and after < end and not second & SPACE:
            start, kind = after, second
        if not kind & SPACE:
            return run_end(data, start, end, classes, _WORD | SPACE, kind & _WORD, end)
        return space_end(data, i, end, classes, 0)
    if style == O200K:
        word = np.int64(-1)
        led = not first & (_WORD | BREAK) and after < end
        if led:
            word = cased_end(data, after, end, classes)
        if word < 0:
            word = cased_end(data, i, end, classes)
        if word < 0 and led:  # capitals alone
            word = run_end(data, after, end, classes, UPPER, -1, end)
            word = word if word > after else np.int64(-1)
        if word < 0:
            word = run_end(data, i, end, classes, UPPER, -1, end)
            word = word if word > i else np.int64(-1)
        if word >= 0:
            if word < end and data[word] == 39:
                word += contraction(data, word, end, 1)
            return word
    elif first & LETTER:
        return run_end(data, i, end, classes, LETTER, -1, end)
    elif not first & (NUMBER | BREAK) and second & LETTER:
        return run_end(data, after, end, classes, LETTER, -1, end)
    if first & NUMBER:
        return run_end(data, i, end, classes, NUMBER, -1, digits)
    if first & SPACE == 0 or (blank and after < end and not second & (_WORD | SPACE)):
        start = i if first & SPACE == 0 else after
        j = run_end(data, start, end, classes, _WORD | SPACE, 0, end)
        while j < end and (data[j] == 10 or data[j] == 13 or (style == O200K and data[j] == 47)):
            j += 1
        return j
    return space_end(data, i, end, classes, 1)


@kernel(_U64(array(_U8), _I64, _I64))
def key_of(data, at, stop):  # type: ignore[no-untyped-def]
    """Up to seven bytes as they are, with their number in the highest byte; of more a hash, and
    255 there."""
    key = np.uint64(0)
    if stop - at <= 7:
        for k in range(at, stop):
            key = key << _8 | np.uint64(data[k])
        return key | np.uint64(stop - at) << _56
    for k in range(at, stop):
        key = (key ^ np.uint64(data[k])) * _STEP
        key ^= key >> _32
    return key | _LONG


@kernel(_I64(_U64, _I64))
def place_of(key, size):  # type: ignore[no-untyped-def]
    """Where a key's search begins in a table of `size` (a power of two) rows."""
    h = key * _STEP
    h = (h ^ (h >> _32)) * _STEP
    return np.int64((h ^ (h >> _32)) & np.uint64(size - 1))


@kernel(types.void(array(_U8), array(_I64), array(_U8), _I64, _I64, out(_I64), out(_U64),
                   out(_U8)))  # fmt: skip
def count_pieces(data, ends, classes, style, digits, state, table, arena):  # type: ignore[no-untyped-def]
    """Counts the pieces of texts that end at `ends` in `data`.

    `state` holds: text, byte in it, pieces so far, bytes of `arena` used. `table` has a row of
    four for each piece, found by hash: key (0: none), where its bytes are in `arena`, how many, and
    its count. Stops, to be called again with larger arrays, where the table would be over half
    full or `arena` could not take a piece.
    """
    size = len(table) >> 2
    text, at, pieces, used = state[0], state[1], state[2], state[3]
    while text < len(ends):
        end = ends[text]
        while at < end:
            stop = piece_end(data, at, end, classes, style, digits)
            if 2 * (pieces + 1) > size or used + (stop - at) > len(arena):
                state[0], state[1], state[2], state[3] = text, at, pieces, used
                return
            key = key_of(data, at, stop)
            place = place_of(key, size)
            while True:
                row = 4 * place
                if table[row] == key:
                    same = True
                    if key >= _LONG:
                        same = table[row + 2] == np.uint64(stop - at)
                        begin = np.int64(table[row + 1])
                        j = np.int64(0)
                        while same and j < stop - at:
                            same = arena[begin + j] == data[at + j]
                            j += 1
                    if same:
                        table[row + 3] += np.uint64(1)
                        break
                elif table[row] == 0:
                    table[row] = key
                    table[row + 1] = np.uint64(used)
                    table[row + 2] = np.uint64(stop - at)
                    table[row + 3] = np.uint64(1)
                    for k in range(at, stop):
                        arena[used] = data[k]
                        used += 1
                    pieces += 1
                    break
                place = (place + 1) & (size - 1)
            at = stop
        text += 1
    state[0], state[1], state[2], state[3] = text, at, pieces, used


@kernel(types.void(out(_U64), array(_U64)))
def refill(table, older):  # type: ignore[no-untyped-def]
    """Enters the rows of a table into an empty, larger one."""
    size = len(table) >> 2
    for row in range(0, len(older), 4):
        if older[row]:
            place = place_of(older[row], size)
            while table[4 * place]:
                place = (place + 1) & (size - 1)
            table[4 * place : 4 * place + 4] = older[row : row + 4]
