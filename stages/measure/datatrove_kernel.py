"""The compiled loops behind `corpusmill.stages.measure.datatrove_words`. Import in functions only.

Words are given as code points (UTF-32). Their hash `poly` is a polynomial over code points, so
that the hash of joined words follows from those of the words.
"""

from __future__ import annotations

import numpy as np

from corpusmill.stages import kernel_types as types
from corpusmill.stages.compiled import array, kernel, out
from corpusmill.stages.fold_kernel import mix, step
from corpusmill.stages.unicode_data import ALPHA, PUNCT

from .text_kernel import largest, table_size

WORD_SYMBOLS, WORD_LETTER, WORD_PUNCT, WORD_END = (1 << bit for bit in range(4))
"""Bits of a word: marks of datatrove's list of punctuation only; has a letter; punctuation only;
is a mark that ends a sentence."""

MARK_SYMBOL, MARK_END = 1, 2

_U8, _I32, _I64, _U64, _U32 = types.uint8, types.int32, types.int64, types.uint64, types.uint32
_SEED = np.uint64(0x9E3779B97F4A7C15)
_BASE = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xFF51AFD7ED558CCD)


@kernel(
    types.void(array(_U32), array(_I32), array(_U8), array(_U8), out(_U64), out(_U64), out(_U8))
)
def word_features(codes, chars, flags, marks, key, poly, result):  # type: ignore[no-untyped-def]
    """Hash, polynomial and bits of each word; `marks` has `MARK_SYMBOL` and `MARK_END`."""
    at = np.int64(0)
    for word in range(len(chars)):
        h = _SEED
        p = np.uint64(0)
        symbols = punct = True
        letter = False
        for _ in range(chars[word]):
            code = np.int64(codes[at])
            at += 1
            h = step(h, code)
            p = p * _BASE + np.uint64(code + 1)
            if marks[code] & MARK_SYMBOL == 0:
                symbols = False
            if flags[code] & PUNCT == 0:
                punct = False
            if flags[code] & ALPHA != 0:
                letter = True
        found = np.uint8(0)
        if symbols:
            found |= np.uint8(WORD_SYMBOLS)
        if punct:
            found |= np.uint8(WORD_PUNCT)
        if letter:
            found |= np.uint8(WORD_LETTER)
        if chars[word] == 1 and marks[codes[at - 1]] & MARK_END != 0:
            found |= np.uint8(WORD_END)
        key[word] = mix(h)
        poly[word] = p
        result[word] = found


@kernel(
    types.void(array(_I64), array(_I32), array(_U64), array(_U64), array(_I64), array(_I64),
               out(_I64, dims=2), out(_I64, dims=2))
)  # fmt: skip
def joined_ngrams(  # type: ignore[no-untyped-def]
    doc_start, chars, key, poly, top_sizes, dup_sizes, top_chars, dup_chars
):
    """datatrove's n-gram counts of each document.

    `top_chars`: characters of the most frequent n-gram (the first of equals), one blank between
    words, times its count, which may be 1. `dup_chars`: characters of n-grams that occurred
    before, read from the left without overlap; an n-gram is its words joined without a blank.
    """
    room = table_size(largest(doc_start))
    keys = np.empty(room, np.uint64)
    stamp = np.zeros(room, np.int64)
    slot_of = np.empty(room, np.int64)
    counts = np.empty(room, np.int64)
    starts = np.empty(room, np.int64)
    most_words = largest(doc_start)
    before = np.zeros(most_words + 1, np.int64)  # characters before a word
    prefix = np.zeros(most_words + 1, np.uint64)
    power = np.empty(most_words + 1, np.uint64)  # of a word's length
    longest = np.int64(0)
    for at in range(len(chars)):
        longest = max(longest, np.int64(chars[at]))
    powers = np.empty(longest + 1, np.uint64)
    powers[0] = 1
    for at in range(longest):
        powers[at + 1] = powers[at] * _BASE
    turn = np.int64(0)
    for doc in range(len(doc_start) - 1):
        low = doc_start[doc]
        words = doc_start[doc + 1] - low
        mask = np.uint64(table_size(words) - 1)
        for at in range(words):
            length = chars[low + at]
            power[at] = powers[length]
            before[at + 1] = before[at] + length
            prefix[at + 1] = prefix[at] * power[at] + poly[low + at]
        for column in range(len(top_sizes)):
            n = top_sizes[column]
            top_chars[doc, column] = 0
            if words < n:
                continue
            turn += 1
            leading = np.uint64(1)
            for _ in range(n - 1):
                leading *= _BASE
            rolling = np.uint64(0)
            for k in range(n):
                rolling = rolling * _BASE + key[low + k]
            used = 0
            for at in range(words - n + 1):
                if at > 0:
                    rolling = (rolling - key[low + at - 1] * leading) * _BASE
                    rolling += key[low + at + n - 1]
                found = mix(rolling)
                slot = found & mask
                while stamp[slot] == turn and keys[slot] != found:
                    slot = (slot + np.uint64(1)) & mask
                if stamp[slot] != turn:
                    stamp[slot] = turn
                    keys[slot] = found
                    counts[slot] = 1
                    starts[slot] = at
                    slot_of[used] = slot
                    used += 1
                else:
                    counts[slot] += 1
            most = np.int64(0)
            first = np.int64(0)
            for k in range(used):
                if counts[slot_of[k]] > most:
                    most = counts[slot_of[k]]
                    first = starts[slot_of[k]]
            top_chars[doc, column] = (before[first + n] - before[first] + n - 1) * most
        for column in range(len(dup_sizes)):
            n = dup_sizes[column]
            turn += 1
            repeated = np.int64(0)
            place = np.int64(0)
            while place < words - n + 1:
                scale = np.uint64(1)
                for k in range(place, place + n):
                    scale *= power[k]
                length = before[place + n] - before[place]
                found = mix(
                    (prefix[place + n] - prefix[place] * scale) ^ (np.uint64(length) * _MIX_1)
                )
                slot = found & mask
                while stamp[slot] == turn and keys[slot] != found:
                    slot = (slot + np.uint64(1)) & mask
                if stamp[slot] == turn:
                    repeated += length
                    place += n
                else:
                    stamp[slot] = turn
                    keys[slot] = found
                    place += 1
            dup_chars[doc, column] = repeated
