# ruff: noqa: SIM114 - long tests compile to plain branches
"""The second compiled pass: what kind of text each block is, in counts.

Characters are classed by the pinned Unicode tables of `corpusmill.stages.unicode_data`. A word is
a maximal run of letters, marks and numbers; in scripts without spaces each letter is one.
Importing this module compiles (or loads) the kernel.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corpusmill.stages import kernel_types as types
from corpusmill.stages.compiled import array, kernel, out
from corpusmill.stages.unicode_data import ALPHA, DIGIT, MARK, PUNCT, UNSPACED, WORD

from .columns import (
    CAPITALS,
    CHARS,
    COMMAS,
    CURRENCY,
    DIGITS,
    END,
    FIRST,
    FUNCTION,
    HASH,
    HITS,
    IN_TITLE,
    LAST,
    LONG,
    NOT_ASCII,
    PUNCTUATION,
    SEEN_AFTER,
    SEEN_BEFORE,
    SENTENCES,
    START,
    SYMBOLS,
    TEXT_GROUP_BITS,
    UNSPACED_CHARS,
    UPPER,
    WORDS,
)
from .repeats import repeats
from .vocabulary import FNV_PRIME, FNV_START, FUNCTION_BIT

MAX_TITLE_WORDS = 64

_int: Any = np.int64  # loads of bytes: mypy sees no scalars where the compiler does

# Hashes are unsigned: a signed product that overflows is undefined to the compiler.
_FNV_START, _FNV_PRIME, _SHIFT = np.uint64(FNV_START), np.uint64(FNV_PRIME), np.uint64(20)
_FUNCTION_MASK = 1 << FUNCTION_BIT
_GROUP_MASK = _FUNCTION_MASK - 1
_LONG_WORD = 8


@kernel(
    types.void(
        array(types.uint8), types.int64, types.int64, array(types.uint8), types.int64,
        out(types.int64, dims=2), array(types.uint8), array(types.uint64), array(types.int64),
        out(types.int64, dims=2),
    )
)  # fmt: skip
def measure(  # type: ignore[no-untyped-def]
    data, title0, title1, text, n_blocks, blocks, flags, keys, values, result,
):  # fmt: skip
    """Fills one row of `result` for each block. The page's title is ``data[title0:title1]``."""
    slots = np.uint64(keys.shape[0] - 1)
    title = np.zeros(MAX_TITLE_WORDS, np.uint64)
    n_title = 0
    for b in range(-1, n_blocks):
        if b < 0:
            source = data
            i = title0
            end = title1
        else:
            source = text
            i = blocks[b, START]
            end = blocks[b, END]
        chars = words = upper = digits = punctuation = commas = sentences = 0
        last = first = not_ascii = function = symbols = currency = long_words = in_title = 0
        groups = hits = unspaced = capitals = 0
        whole = _FNV_START
        word = _FNV_START
        length = 0
        capital = 0
        while i <= end:
            if i == end:
                code = 32
                i += 1
            else:
                code = _int(source[i])
                if code < 0x80:
                    i += 1
                elif code < 0xE0 and i + 1 < end:
                    code = (code & 0x1F) << 6 | (_int(source[i + 1]) & 0x3F)
                    i += 2
                elif code < 0xF0 and i + 2 < end:
                    code = (
                        (code & 0x0F) << 12
                        | (_int(source[i + 1]) & 0x3F) << 6
                        | (_int(source[i + 2]) & 0x3F)
                    )
                    i += 3
                elif i + 3 < end:
                    code = (
                        (code & 0x07) << 18
                        | (_int(source[i + 1]) & 0x3F) << 12
                        | (_int(source[i + 2]) & 0x3F) << 6
                        | (_int(source[i + 3]) & 0x3F)
                    )
                    i += 4
                else:
                    code = 32
                    i += 1
            flag = _int(flags[code]) if code < 0x110000 else 0
            if code > 32:
                chars += 1
                whole = (whole ^ np.uint64(code)) * _FNV_PRIME
                if code >= 0x80:
                    not_ascii += 1
            is_word = flag & WORD
            if is_word and not (flag & UNSPACED):
                lower = code
                if code >= 65 and code <= 90:
                    lower = code + 32
                elif code >= 0xC0 and code <= 0xDE and code != 0xD7:
                    lower = code + 32
                elif code >= 0x391 and code <= 0x3A9:
                    lower = code + 32
                elif code >= 0x410 and code <= 0x42F:
                    lower = code + 32
                elif code >= 0x400 and code <= 0x40F:
                    lower = code + 80
                elif code >= 0x100 and code <= 0x137 and code & 1 == 0:
                    lower = code + 1
                if lower != code:
                    upper += 1
                    if length == 0:
                        capital = 1
                if flag & DIGIT:
                    digits += 1
                if length == 0 and words == 0 and first == 0:
                    first = 1 if lower != code else 2 if flag & ALPHA else 3
                word = (word ^ np.uint64(lower)) * _FNV_PRIME
                length += 1
                last = 1
                continue
            if length > 0:
                words += 1
                capitals += capital
                if length >= _LONG_WORD:
                    long_words += 1
                if b < 0:
                    if n_title < MAX_TITLE_WORDS:
                        title[n_title] = word
                        n_title += 1
                else:
                    slot = (word >> _SHIFT) & slots
                    while keys[slot] != np.uint64(0) and keys[slot] != word:
                        slot = (slot + np.uint64(1)) & slots
                    if keys[slot] != np.uint64(0):
                        mask = values[slot]
                        if mask & _FUNCTION_MASK:
                            function += 1
                        if mask & _GROUP_MASK:
                            hits += 1
                            groups |= mask & _GROUP_MASK
                    for j in range(n_title):
                        if title[j] == word:
                            in_title += 1
                            break
                word = _FNV_START
                length = 0
                capital = 0
            if is_word:
                if flag & MARK == 0:
                    words += 1
                    unspaced += 1
                    if first == 0:
                        first = 4
                last = 1
                continue
            if code <= 32:
                continue
            if flag & PUNCT:
                punctuation += 1
            if first == 0:
                first = 5
            if code == 0x2C or code == 0x3001 or code == 0xFF0C or code == 0x60C or code == 0x3B:
                commas += 1
                last = 3
            elif (
                code == 0x2E or code == 0x21 or code == 0x3F or code == 0x3002 or code == 0xFF01
                or code == 0xFF1F or code == 0x61F or code == 0x6D4 or code == 0x964
                or code == 0x2026
            ):  # fmt: skip
                if last == 1 or last == 5:
                    sentences += 1
                last = 2
            elif code == 0x3A or code == 0xFF1A:
                last = 4
            elif (
                code == 0x22 or code == 0x29 or code == 0x201D or code == 0x2019 or code == 0x27
                or code == 0x300D or code == 0xBB or code == 0x5D
            ):  # fmt: skip
                if last != 2:
                    last = 5
            else:
                last = 6
            if (
                code == 0x7C or code == 0x2F or code == 0xBB or code == 0x203A or code == 0x2022
                or code == 0xB7 or code == 0x3E or code == 0x2192 or code == 0xAB or code == 0xD7
                or code == 0x2B or code == 0x23 or code == 0x40 or code == 0xA9
            ):  # fmt: skip
                symbols += 1
            if code == 0x24 or code == 0x20AC or code == 0xA3 or code == 0xA5 or code == 0x20B9:
                currency += 1
        if b < 0:
            continue
        result[b, CHARS] = chars
        result[b, WORDS] = words
        result[b, UPPER] = upper
        result[b, DIGITS] = digits
        result[b, PUNCTUATION] = punctuation
        result[b, COMMAS] = commas
        result[b, SENTENCES] = sentences
        result[b, LAST] = last
        result[b, FIRST] = first
        result[b, NOT_ASCII] = not_ascii
        result[b, FUNCTION] = function
        result[b, SYMBOLS] = symbols
        result[b, CURRENCY] = currency
        result[b, LONG] = long_words
        result[b, IN_TITLE] = in_title
        result[b, HASH] = _int(whole)
        result[b, TEXT_GROUP_BITS] = groups
        result[b, HITS] = hits
        result[b, UNSPACED_CHARS] = unspaced
        result[b, CAPITALS] = capitals
    seen = np.zeros((n_blocks, 2), np.int64)
    repeats(text, n_blocks, blocks, seen)
    for b in range(n_blocks):
        result[b, SEEN_BEFORE] = seen[b, 0]
        result[b, SEEN_AFTER] = seen[b, 1]
