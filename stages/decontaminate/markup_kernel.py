"""The compiled loops over markup. Import inside functions only."""

from __future__ import annotations

import numpy as np

from corpusmill.stages import kernel_types as types
from corpusmill.stages.compiled import array, kernel, out
from corpusmill.stages.wide import byte32, pair32, zeros_below

_U8, _I32, _I64, _U64 = types.uint8, types.int32, types.int64, types.uint64

_NAME = 16
"""Most characters of a tag's name."""
_INSIDE = 300
"""Most characters of a tag behind its name."""
_ENTITY = 8
"""Most characters of an entity's name."""
_SPACE, _SLASH, _SEMICOLON, _GREATER, _HASH = (ord(c) for c in " /;>#")
_TAB, _LINE, _RETURN = (ord(c) for c in "\t\n\r")
_LESS, _AND, _BACKSLASH, _PERCENT, _HYPHEN, _CLOSES, _OPENS, _ROUND = (ord(c) for c in "<&\\%-][(")
_N, _R, _T, _U, _E, _M = (ord(c) for c in "nrtuem")
_ZERO_WIDTH = tuple("\u200b".encode())


@kernel(types.boolean(_U8), inline=True)
def is_letter(byte):  # type: ignore[no-untyped-def]
    return 97 <= (byte | 32) <= 122


@kernel(types.boolean(_U8), inline=True)
def is_digit(byte):  # type: ignore[no-untyped-def]
    return 48 <= byte <= 57


@kernel(_I64(array(_U8), _I64, _I64))
def end_of_tag(data, at, last):  # type: ignore[no-untyped-def]
    """The byte behind the tag that begins at `at`, or 0; none reaches beyond `last`.

    A tag is ``<`` or ``</``, a letter, up to 15 letters and digits, and ``>`` or ``/>``; before
    that may be white space and up to 300 characters that are neither ``<`` nor ``>``.
    """
    p = at + 1
    if p < last and data[p] == _SLASH:
        p += 1
    if p >= last or not is_letter(data[p]):
        return 0
    name = p
    while p < last and p - name < _NAME and (is_letter(data[p]) or is_digit(data[p])):
        p += 1
    if p < last and (data[p] == _SPACE or _TAB <= data[p] <= _RETURN):
        p += 1
        inside = 0
        while p < last and data[p] != _LESS and data[p] != _GREATER and inside <= _INSIDE:
            inside += (data[p] & 0xC0) != 0x80
            p += 1
        if inside > _INSIDE and data[p - 1] != _SLASH:
            return 0
    elif p < last and data[p] == _SLASH:
        p += 1
    return p + 1 if p < last and data[p] == _GREATER else 0


@kernel(types.boolean(_U8), inline=True)
def is_hex(byte):  # type: ignore[no-untyped-def]
    return is_digit(byte) or 97 <= (byte | 32) <= 102


@kernel(types.boolean(array(_U8), _I64, _I64))
def may_be_entity(data, at, last):  # type: ignore[no-untyped-def]
    """Whether a name as that of an entity stands behind the ``&`` at `at`, and a semicolon."""
    p = at + 1
    while p < last and p - at <= _ENTITY + 1:
        if data[p] == _SEMICOLON:
            return p > at + 1
        if not (is_letter(data[p]) or is_digit(data[p]) or data[p] == _HASH):
            return False
        p += 1
    return False


@kernel(types.boolean(array(_U8), _I64, _I64, _I64))
def may_be_sign(data, at, first, last):  # type: ignore[no-untyped-def]
    """Whether one of `signs.SIGNS` may begin at `at`, in a document ``first:last``: no less than
    there."""
    c = data[at]
    if c == _AND:
        return may_be_entity(data, at, last)
    if at + 1 == last:
        return False
    d = data[at + 1]
    if c == _BACKSLASH:
        return d in (_N, _R, _T, _U, _E, _M)
    if c == _HYPHEN:
        return d in (_LINE, _RETURN) and at > first and is_letter(data[at - 1])
    if c == _CLOSES:
        return d == _ROUND
    if c == _OPENS:
        return d == _SLASH
    if at + 2 == last:
        return False
    e = data[at + 2]
    if c == _PERCENT:
        return is_hex(d) and is_hex(e)
    return c == _ZERO_WIDTH[0] and d == _ZERO_WIDTH[1] and e == _ZERO_WIDTH[2]


@kernel(_I64(array(_U8), _I64), inline=True)
def next_mark(data, at):  # type: ignore[no-untyped-def]
    """Where the next byte from `at` on is by which a tag or sign can begin, or the length of
    `data`. In the last bytes, all are."""
    while at + 34 <= len(data):
        some = (
            byte32(data, at, _LESS) | byte32(data, at, _AND)
            | byte32(data, at, _BACKSLASH) | byte32(data, at, _PERCENT)
            | pair32(data, at, _HYPHEN, _LINE) | pair32(data, at, _HYPHEN, _RETURN)
            | pair32(data, at, _CLOSES, _ROUND) | pair32(data, at, _OPENS, _SLASH)
            | pair32(data, at + 1, _ZERO_WIDTH[1], _ZERO_WIDTH[2])
        )  # fmt: skip
        if some:
            return at + zeros_below(np.uint64(some))
        at += 32
    return at


@kernel(_I64(array(_U8), array(_I64), out(_I64, dims=2), out(_I64), out(_I64)))
def marks(data, byte_start, tags, signs, counts):  # type: ignore[no-untyped-def]
    """Fills `tags` with (first byte, byte behind the last) of all tags, `signs` with where one of
    `signs.SIGNS` may begin outside of them, and `counts` with how many both are."""
    n = m = d = 0
    at = next_mark(data, 0)
    while at < len(data):
        while at >= byte_start[d + 1]:
            d += 1
        end = 0
        if data[at] == _LESS:
            end = end_of_tag(data, at, byte_start[d + 1])
        elif may_be_sign(data, at, byte_start[d], byte_start[d + 1]):
            signs[m] = at
            m += 1
        if end:
            tags[n, 0] = at
            tags[n, 1] = end
            n += 1
        at = next_mark(data, max(end, at + 1))
    counts[0] = n
    counts[1] = m
    return n + m


@kernel(types.void(array(_I64, dims=2), out(_U8)))
def blank(found, data):  # type: ignore[no-untyped-def]
    """Puts spaces for the tags of `data`."""
    for n in range(len(found)):
        for p in range(found[n, 0], found[n, 1]):
            data[p] = _SPACE


@kernel(
    _I64(array(_I64, dims=2), array(_I64, dims=2), array(_I64), array(_I64), array(_I64),
         array(_I32), array(_I32), array(_I32), array(_U64), array(_U8), array(_I64),
         array(_I32), array(_I32), array(_I32), array(_U64), array(_U8),
         out(_I64), out(_I32), out(_I32), out(_I32), out(_U64), out(_U8))
)  # fmt: skip
def spliced(  # type: ignore[no-untyped-def]
    tags, regions, documents, byte_start, doc_start,
    start, end, chars, hashes, flags, own_at,
    own_start, own_end, own_chars, own_hashes, own_flags,
    new_doc_start, new_start, new_end, new_chars, new_hashes, new_flags,
):  # fmt: skip
    """Fills the new columns with the words of `documents` that begin in none of `tags` and
    `regions`, and between them with their own words of these (`own_at`: where each begins), and
    `new_doc_start` with where the words of each document of the table begin. Returns how many."""
    n = k = t = r = m = 0
    for d in range(len(doc_start) - 1):
        new_doc_start[d] = n
        if k == len(documents) or documents[k] != d:
            continue
        k += 1
        word = doc_start[d]
        first, behind = byte_start[d], byte_start[d + 1]
        while True:
            until = behind
            if t < len(tags):
                until = min(until, tags[t, 0])
            if r < len(regions):
                until = min(until, regions[r, 0])
            while word < doc_start[d + 1] and first + start[word] < until:
                new_start[n] = start[word]
                new_end[n] = end[word]
                new_chars[n] = chars[word]
                new_hashes[n] = hashes[word]
                new_flags[n] = flags[word]
                n += 1
                word += 1
            if until == behind:
                break
            if r < len(regions) and regions[r, 0] == until:
                until = regions[r, 1]
                r += 1
                while m < len(own_at) and own_at[m] < until:
                    new_start[n] = own_at[m] - first
                    new_end[n] = new_start[n] + own_end[m] - own_start[m]
                    new_chars[n] = own_chars[m]
                    new_hashes[n] = own_hashes[m]
                    new_flags[n] = own_flags[m]
                    n += 1
                    m += 1
            else:
                until = tags[t, 1]
            while t < len(tags) and tags[t, 0] < until:
                t += 1
            while word < doc_start[d + 1] and first + start[word] < until:
                word += 1
    new_doc_start[len(doc_start) - 1] = n
    return n
