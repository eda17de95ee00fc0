"""The compiled loops over markup. Import inside functions only."""

from __future__ import annotations

import numpy as np

from corpusmill.stages import kernel_types as types
from corpusmill.stages.compiled import array, kernel, out
from corpusmill.stages.wide import load64, zeros_below

_U8, _I32, _I64, _U64 = types.uint8, types.int32, types.int64, types.uint64

_NAME = 16
"""Most characters of a tag's name."""
_INSIDE = 300
"""Most characters of a tag behind its name."""
_ENTITY = 6
"""Most characters of an entity's name."""
_SPACE, _AND, _SLASH, _SEMICOLON, _LESS, _GREATER, _HASH = (ord(c) for c in " &/;<>#")
_TAB, _RETURN = ord("\t"), ord("\r")
_ONES, _HIGHS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_LESSES, _ANDS = _ONES * np.uint64(_LESS), _ONES * np.uint64(_AND)


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


@kernel(_U64(_U64, _U64), inline=True)
def with_byte(eight, byte):  # type: ignore[no-untyped-def]
    """The upper bit of the first of eight bytes that is `byte` (eight times in one number); bits
    above it may be set too. 0 if none is."""
    other = eight ^ byte
    return (other - _ONES) & ~other & _HIGHS


@kernel(_I64(array(_U8), _I64), inline=True)
def next_mark(data, at):  # type: ignore[no-untyped-def]
    """Where the next ``<`` or ``&`` from `at` on stands, or the length of `data`."""
    while at + 8 <= len(data):
        eight = load64(data, at)
        some = with_byte(eight, _LESSES) | with_byte(eight, _ANDS)
        if some:
            return at + (zeros_below(some) >> 3)
        at += 8
    while at < len(data) and data[at] != _LESS and data[at] != _AND:
        at += 1
    return at


@kernel(_I64(array(_U8), array(_I64), out(_I64, dims=2), out(_U8)))
def tags(data, byte_start, found, has_entity):  # type: ignore[no-untyped-def]
    """Fills `found` with (first byte, byte behind the last) of all tags, and returns their number;
    sets `has_entity` of each document in which an entity may stand outside of them."""
    n = d = 0
    at = next_mark(data, 0)
    while at < len(data):
        while at >= byte_start[d + 1]:
            d += 1
        end = 0
        if data[at] == _LESS:
            end = end_of_tag(data, at, byte_start[d + 1])
        elif may_be_entity(data, at, byte_start[d + 1]):
            has_entity[d] = 1
        if end:
            found[n, 0] = at
            found[n, 1] = end
            n += 1
        at = next_mark(data, max(end, at + 1))
    return n


@kernel(types.void(array(_I64, dims=2), out(_U8)))
def blank(found, data):  # type: ignore[no-untyped-def]
    """Puts spaces for the tags of `data`."""
    for n in range(len(found)):
        for p in range(found[n, 0], found[n, 1]):
            data[p] = _SPACE


@kernel(
    _I64(array(_I64, dims=2), array(_I64), array(_I64), array(_I64),
         array(_I32), array(_I32), array(_I32), array(_U64), array(_U8),
         out(_I64), out(_I32), out(_I32), out(_I32), out(_U64), out(_U8))
)  # fmt: skip
def words_outside(  # type: ignore[no-untyped-def]
    found, documents, byte_start, doc_start,
    start, end, chars, hashes, flags,
    new_doc_start, new_start, new_end, new_chars, new_hashes, new_flags,
):  # fmt: skip
    """Fills the new columns with the words of `documents` that begin in no tag, and
    `new_doc_start` with where those of each document of the table begin. Returns how many."""
    n = t = k = 0
    for d in range(len(doc_start) - 1):
        new_doc_start[d] = n
        if k == len(documents) or documents[k] != d:
            continue
        k += 1
        for word in range(doc_start[d], doc_start[d + 1]):
            at = byte_start[d] + start[word]
            while t < len(found) and found[t, 1] <= at:
                t += 1
            new_start[n] = start[word]
            new_end[n] = end[word]
            new_chars[n] = chars[word]
            new_hashes[n] = hashes[word]
            new_flags[n] = flags[word]
            n += t == len(found) or at < found[t, 0]
    new_doc_start[len(doc_start) - 1] = n
    return n
