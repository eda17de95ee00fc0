"""The compiled loops behind `corpusmill.stages.measure.text_tables`. Import inside functions only.

The input is that of `corpusmill.stages.fold_kernel`: UTF-8 in which only surrogates may be
invalid.
"""

from __future__ import annotations

import numpy as np

from corpusmill.stages import kernel_types as types
from corpusmill.stages.compiled import array, kernel, out
from corpusmill.stages.fold_kernel import decode as decode_wide
from corpusmill.stages.unicode_data import ALPHA, SPACE, WORD

from .marks import APART, BULLET, CLOSER, DASH_BULLET, DOTS, PARTS, QUOTE, TERMINAL, WIDE

_U8, _I32, _I64, _U64 = types.uint8, types.int32, types.int64, types.uint64

LINE_TERMINAL, LINE_QUOTE, LINE_DOTS, LINE_BULLET = (1 << bit for bit in range(4))

CHARS, HASHES, ELLIPSES, TOKENS, ALPHA_TOKENS, LETTERS, THAI_LAO = range(7)
"""Columns of `features`."""
FEATURES = 7

_BASE = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xFF51AFD7ED558CCD)
_33 = np.uint64(33)


@kernel(types.UniTuple(_I64, 2)(array(_U8), _I64))
def decode(data, i):  # type: ignore[no-untyped-def]
    """Code point at byte `i` and its width in bytes."""
    if data[i] < 0x80:
        return np.int64(data[i]), 1
    return decode_wide(data, i)


@kernel(_I64(array(_U8), _I64, _I64))
def back(data, low, i):  # type: ignore[no-untyped-def]
    """First byte of the character that ends before byte `i`; not below `low`."""
    i -= 1
    while i > low and data[i] & 0xC0 == 0x80:
        i -= 1
    return i


@kernel(types.void(array(_U8), array(_I64), array(_U8), out(_I64, dims=2)))
def features(data, byte_start, flags, result):  # type: ignore[no-untyped-def]
    """Counts of each document, see the columns above. CHARS takes a run of white space as one
    character, and none at the ends; TOKENS are maximal runs without white space."""
    for doc in range(len(byte_start) - 1):
        stop = byte_start[doc + 1]
        i = byte_start[doc]
        chars = hashes = ellipses = tokens = alphas = letters = thai = dots = 0
        inside = False
        alpha = False
        while i < stop:
            code, width = decode(data, i)
            i += width
            f = flags[code]
            if f & SPACE != 0:
                if inside and alpha:
                    alphas += 1
                inside = False
                dots = 0
                continue
            if not inside:
                inside = True
                alpha = False
                tokens += 1
                if tokens > 1:
                    chars += 1
            chars += 1
            if code == 0x23:
                hashes += 1
            if code == 0x2E:
                dots += 1
                if dots == 3:
                    ellipses += 1
                    dots = 0
            else:
                dots = 0
                if code == 0x2026:
                    ellipses += 1
            if f & ALPHA != 0:
                alpha = True
                letters += 1
                if 0x0E00 <= code <= 0x0EFF:
                    thai += 1
        if inside and alpha:
            alphas += 1
        result[doc, CHARS] = chars
        result[doc, HASHES] = hashes
        result[doc, ELLIPSES] = ellipses
        result[doc, TOKENS] = tokens
        result[doc, ALPHA_TOKENS] = alphas
        result[doc, LETTERS] = letters
        result[doc, THAI_LAO] = thai


@kernel(types.void(array(_U8), array(_I64), array(_U8), array(_U8), out(_I64), out(_I64)))
def marked_tokens(data, byte_start, flags, marks, tokens, alphas):  # type: ignore[no-untyped-def]
    """Words and marks of each document, and those with a letter: `text_tables.marked_tokens`."""
    for doc in range(len(byte_start) - 1):
        stop = byte_start[doc + 1]
        i = byte_start[doc]
        found = letters = 0
        waiting = 0  # marks that are words unless the piece goes on
        core = alpha = address = parting = word = dot = False
        while i < stop:
            code, width = decode(data, i)
            i += width
            f = flags[code]
            if f & SPACE != 0:
                found += waiting
                letters += alpha
                waiting = 0
                core = alpha = address = parting = word = dot = False
                continue
            mark = marks[code]
            if mark & APART != 0:
                if code != 0x2E or not dot:
                    waiting += 1
            else:
                if parting and f & ALPHA != 0:
                    found += 2
                    letters += alpha
                    alpha = False
                elif not core:
                    found += waiting + 1
                    core = True
                waiting = 0
                alpha = alpha or f & ALPHA != 0
            dot = code == 0x2E
            if code == 0x3A and i + 1 < stop and data[i] == 0x2F and data[i + 1] == 0x2F:
                address = True
            parting = word and not address and mark & PARTS != 0
            word = f & WORD != 0
        tokens[doc] = found + waiting
        alphas[doc] = letters + alpha


@kernel(
    types.void(array(_U8), array(_I64), array(_I64), array(_I32), array(_I32), array(_U8),
               array(_U8), out(_U8), out(_I32), out(_I32), out(_I32))
)  # fmt: skip
def line_features(  # type: ignore[no-untyped-def]
    data, byte_start, doc_start, text_start, text_end, flags, marks,
    l_flags, l_sentences, l_tokens, l_longest,
):  # fmt: skip
    """For each line: LINE_ bits of its ends, sentences, tokens, code points of the longest one."""
    for doc in range(len(doc_start) - 1):
        base = byte_start[doc]
        for line in range(doc_start[doc], doc_start[doc + 1]):
            first = base + text_start[line]
            stop = base + text_end[line]
            found = 0
            sentences = tokens = longest = length = 0
            ended = False  # a terminal seen, nothing but closers since
            wide = False
            spaced = False  # and white space after it
            open_ = False  # something since the last sentence end
            i = first
            while i < stop:
                code, width = decode(data, i)
                i += width
                if flags[code] & SPACE != 0:
                    length = 0
                    spaced = ended
                    continue
                if length == 0:
                    tokens += 1
                length += 1
                longest = max(longest, length)
                mark = marks[code]
                if ended and mark & (TERMINAL | CLOSER | QUOTE | DOTS) == 0:
                    # A small letter after the mark: an abbreviation, not the next sentence.
                    if wide or (spaced and not 97 <= code <= 122):
                        sentences += 1
                        open_ = False
                    ended = False
                if mark & TERMINAL != 0:
                    wide = (wide and ended) or mark & WIDE != 0
                    ended = True
                    spaced = False
                elif mark & DOTS != 0 and not ended:
                    ended = True
                    wide = False
                    spaced = False
                if flags[code] & WORD != 0:
                    open_ = True
            if open_:
                sentences += 1
            # The end of the line, read backwards over closing marks and citations ("[12]").
            at = stop
            quoted = False
            while at > first:
                j = back(data, first, at)
                code, width = decode(data, j)
                mark = marks[code]
                if code == 0x5D:
                    k = j - 1
                    while k > first and 48 <= data[k] <= 57:
                        k -= 1
                    if k >= first and data[k] == 0x5B and k < j - 1:
                        at = k
                        continue
                if mark & TERMINAL != 0:
                    if code == 0x2E and j >= first + 2 and data[j - 1] == 46 and data[j - 2] == 46:
                        found |= LINE_DOTS
                    found |= LINE_TERMINAL
                    break
                if mark & DOTS != 0:
                    found |= LINE_TERMINAL | LINE_DOTS
                    break
                if mark & (CLOSER | QUOTE) == 0:
                    break
                quoted = quoted or mark & QUOTE != 0
                at = j
            if quoted:
                found |= LINE_QUOTE
            if first < stop:
                code, width = decode(data, first)
                mark = marks[code]
                if mark & BULLET != 0:
                    found |= LINE_BULLET
                elif mark & DASH_BULLET != 0:
                    after = first + width
                    if after >= stop:
                        found |= LINE_BULLET
                    else:
                        code, width = decode(data, after)
                        if flags[code] & SPACE != 0:
                            found |= LINE_BULLET
            l_flags[line] = found
            l_sentences[line] = sentences
            l_tokens[line] = tokens
            l_longest[line] = longest


@kernel(
    types.void(array(_U8), array(_I64), array(_I64), array(_I32), array(_I32), array(_I32),
               out(_I32))
)  # fmt: skip
def own_chars(data, byte_start, doc_start, start, end, chars, result):  # type: ignore[no-untyped-def]
    """For each word the characters that the word before it does not share (pairs overlap)."""
    for doc in range(len(doc_start) - 1):
        base = byte_start[doc]
        before = np.int64(0)
        for w in range(doc_start[doc], doc_start[doc + 1]):
            if start[w] < before:
                own = 0
                for i in range(base + before, base + end[w]):
                    if data[i] & 0xC0 != 0x80:
                        own += 1
                result[w] = own
            else:
                result[w] = chars[w]
            before = np.int64(end[w])


@kernel(_I64(array(_I64), array(_I32), array(_U64), out(_I64), out(_I32), out(_U64)))
def paragraphs(doc_start, chars, hashes, p_start, p_chars, p_hash):  # type: ignore[no-untyped-def]
    """Joins runs of lines that are not blank; returns the number of paragraphs. A paragraph has
    one character for each line end inside it."""
    n = 0
    for doc in range(len(doc_start) - 1):
        p_start[doc] = n
        open_ = False
        for line in range(doc_start[doc], doc_start[doc + 1]):
            if chars[line] == 0:
                open_ = False
                continue
            if open_:
                h = (p_hash[n - 1] * _BASE) ^ hashes[line]
                p_hash[n - 1] = (h ^ (h >> _33)) * _MIX_1
                p_chars[n - 1] += chars[line] + 1
            else:
                p_hash[n] = hashes[line]
                p_chars[n] = chars[line]
                n += 1
                open_ = True
    p_start[len(doc_start) - 1] = n
    return n


@kernel(_I64(array(_I64)))
def largest(doc_start):  # type: ignore[no-untyped-def]
    """Most items that one document has."""
    most = np.int64(0)
    for doc in range(len(doc_start) - 1):
        most = max(most, doc_start[doc + 1] - doc_start[doc])
    return most


@kernel(_I64(_I64))
def table_size(items):  # type: ignore[no-untyped-def]
    """A power of two that leaves at least half of an open-addressing table free."""
    size = np.int64(16)
    while size < 2 * items:
        size *= 2
    return size


@kernel(types.void(array(_I64), array(_I32), array(_U64), out(_I64), out(_I64)))
def repeats(doc_start, chars, hashes, count, amount):  # type: ignore[no-untyped-def]
    """For each document: items equal to an earlier one, and their characters. Items of no
    characters are passed over."""
    room = table_size(largest(doc_start))
    keys = np.empty(room, np.uint64)
    stamp = np.zeros(room, np.int64)
    for doc in range(len(doc_start) - 1):
        mask = np.uint64(table_size(doc_start[doc + 1] - doc_start[doc]) - 1)
        n = total = 0
        for k in range(doc_start[doc], doc_start[doc + 1]):
            if chars[k] == 0:
                continue
            slot = hashes[k] & mask
            while stamp[slot] == doc + 1 and keys[slot] != hashes[k]:
                slot = (slot + np.uint64(1)) & mask
            if stamp[slot] == doc + 1:
                n += 1
                total += chars[k]
            else:
                stamp[slot] = doc + 1
                keys[slot] = hashes[k]
        count[doc] = n
        amount[doc] = total


@kernel(
    types.void(array(_I64), array(_I32), array(_U64), array(_U8), array(_I64), array(_I64),
               out(_I64, dims=2), out(_I64, dims=2))
)  # fmt: skip
def ngram_repeats(  # type: ignore[no-untyped-def]
    doc_start, chars, hashes, pairs, top_sizes, dup_sizes, top_chars, dup_chars
):
    """Repeated n-grams of each document.

    `top_chars`: characters of the most frequent n-gram (the first of equals), one separator
    between words, times its count; 0 where none occurs twice. `dup_chars`: characters of the
    n-grams that occurred before, read from the left, not overlapping. Where `pairs` is 1 an
    n-gram is 2 n - 1 words and there are no separators.
    """
    room = table_size(largest(doc_start))
    keys = np.empty(room, np.uint64)
    stamp = np.zeros(room, np.int64)
    slot_of = np.empty(room, np.int64)  # slots in order of first use
    counts = np.empty(room, np.int64)
    starts = np.empty(room, np.int64)
    turn = np.int64(0)
    for doc in range(len(doc_start) - 1):
        low = doc_start[doc]
        words = doc_start[doc + 1] - low
        mask = np.uint64(table_size(words) - 1)
        for column in range(len(top_sizes) + len(dup_sizes)):
            top = column < len(top_sizes)
            n = top_sizes[column] if top else dup_sizes[column - len(top_sizes)]
            gap = n - 1
            if pairs[doc] != 0:
                n = 2 * n - 1
                gap = 0
            if top:
                top_chars[doc, column] = 0
            else:
                dup_chars[doc, column - len(top_sizes)] = 0
            if words < n:
                continue
            turn += 1
            leading = np.uint64(1)
            for _ in range(n - 1):
                leading *= _BASE
            rolling = np.uint64(0)
            for k in range(n):
                rolling = rolling * _BASE + hashes[low + k]
            used = 0
            best_at = low
            skip_to = low
            repeated = np.int64(0)
            for at in range(low, low + words - n + 1):
                if at > low:
                    rolling = (rolling - hashes[at - 1] * leading) * _BASE + hashes[at + n - 1]
                if at < skip_to:
                    continue
                key = (rolling ^ (rolling >> _33)) * _MIX_1
                key ^= key >> _33
                slot = key & mask
                while stamp[slot] == turn and keys[slot] != key:
                    slot = (slot + np.uint64(1)) & mask
                if stamp[slot] != turn:
                    stamp[slot] = turn
                    keys[slot] = key
                    counts[slot] = 1
                    starts[slot] = at
                    slot_of[used] = slot
                    used += 1
                elif top:
                    counts[slot] += 1
                else:
                    for k in range(at, at + n):
                        repeated += chars[k]
                    skip_to = at + n
            if not top:
                dup_chars[doc, column - len(top_sizes)] = repeated
                continue
            most = np.int64(1)
            for k in range(used):
                if counts[slot_of[k]] > most:
                    most = counts[slot_of[k]]
                    best_at = starts[slot_of[k]]
            if most > 1:
                length = np.int64(gap)
                for k in range(best_at, best_at + n):
                    length += chars[k]
                top_chars[doc, column] = length * most
