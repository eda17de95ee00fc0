"""Compiled: where the pieces of a text end, as the named patterns cut it.

Import inside functions only. Each pattern is written out as a walk over the characters' classes;
`corpusmill.tokenizers.splits` has the patterns, and the tests hold both equal.
"""

from __future__ import annotations

import numpy as np

from corpusmill.stages import kernel_types as types
from corpusmill.stages.compiled import array, kernel

from .splits import BREAK, GPT2, LETTER, LOWER, NUMBER, O200K, SPACE, UPPER

_U8, _I64 = types.uint8, types.int64

_WORD = LETTER | NUMBER


@kernel(_I64(array(_U8), _I64), inline=True)
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


@kernel(_I64(array(_U8), _I64, _I64, array(_U8), _I64, _I64, _I64), inline=True)
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


@kernel(_I64(array(_U8), _I64, _I64, _I64), inline=True)
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


@kernel(_I64(array(_U8), _I64, _I64, array(_U8), _I64), inline=True)
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


@kernel(_I64(array(_U8), _I64, _I64, array(_U8)), inline=True)
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


@kernel(_I64(array(_U8), _I64, _I64, array(_U8), _I64, _I64), inline=True)
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
