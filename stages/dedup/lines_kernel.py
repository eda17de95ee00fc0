"""The compiled loops behind `corpusmill.stages.dedup.lines`. Import inside functions only."""

from __future__ import annotations

import numpy as np
from numba import types

from corpusmill.stages.compiled import array, kernel, out
from corpusmill.stages.unicode_data import IGNORABLE, SPACE
from corpusmill.stages.words_kernel import decode, extend, fold_hash, mix, step

_U8, _U16, _U32, _U64 = types.uint8, types.uint16, types.uint32, types.uint64
_I32, _I64, _BOOL = types.int32, types.int64, types.boolean

_SEED = np.uint64(0x9E3779B97F4A7C15)
_BLANK = np.uint16(0xFF)


@kernel(
    _I64(array(_U8), array(_I64), array(_I64), array(_I32), array(_I32), array(_I32), _BOOL,
         array(_U8), array(_U8), array(_U16), array(_U32), array(_U32), array(_U64),
         out(_U32), out(_U32), out(_I64),
         out(_I64), out(_I64), out(_U64), out(_I64))
)  # fmt: skip
def units(  # type: ignore[no-untyped-def]
    data, byte_start, doc_start, text_start, text_end, chars, paragraphs,
    flags, ccc, fold, offsets, pool, pieces, pend, spare, places,
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
            h = _SEED
            mark = 0
            slow = False
            at = first
            while at < stop:
                code = np.int64(data[at])
                if code < 0x80:
                    if mark:
                        h = step(h, mark)
                        mark = 0
                    h = step(h, code + 32 if 65 <= code <= 90 else code)
                    at += 1
                    continue
                code, width = decode(data, at)
                if flags[code] & IGNORABLE == 0:
                    h, mark, slow = extend(h, mark, slow, pieces, code)
                    if slow:
                        break
                at += width
            if slow:
                h = fold_hash(
                    data, first, stop, flags, ccc, fold, offsets, pool, pend, spare, places
                )
            else:
                h = mix(step(h, mark) if mark else h)
            if paragraphs and inside:
                unit_hash[n - 1] = mix(unit_hash[n - 1] * np.uint64(3) ^ h)
                unit_chars[n - 1] += chars[line]
            else:
                unit_hash[n] = h
                unit_chars[n] = chars[line]
                n += 1
                inside = True
            unit[line] = n - 1
    unit_start[len(doc_start) - 1] = n
    return n


@kernel(
    _I64(array(_U8), array(_I64), _BOOL,
         array(_U8), array(_U8), array(_U16), array(_U32), array(_U32), array(_U64), array(_U16),
         out(_U32), out(_U32), out(_I64),
         out(_I64), out(_U64), out(_I64))
)  # fmt: skip
def unit_hashes(  # type: ignore[no-untyped-def]
    data, byte_start, paragraphs,
    flags, ccc, fold, offsets, pool, pieces, ascii_low, pend, spare, places,
    unit_start, unit_hash, unit_chars,
):  # fmt: skip
    """What `units` says of the units' hashes and lengths, in one pass over the bytes.

    `ascii_low` has for each ASCII byte that ends no line its lower case, and where it is no white
    space `_BLANK` + 1 more; 0 for other bytes.
    """
    n = 0
    for doc in range(len(byte_start) - 1):
        unit_start[doc] = n
        stop = byte_start[doc + 1]
        inside = False
        i = byte_start[doc]
        while i < stop:
            first = np.int64(-1)
            to = i
            chars = 0
            h = _SEED
            mark = 0
            slow = False
            upto = 0  # what all of these were after the last character that is no white space
            kept = h
            kept_mark = 0
            kept_slow = False
            while i < stop:
                low = ascii_low[data[i]]
                if low > _BLANK or (low and first >= 0):
                    if first < 0:
                        first = i
                    if mark:
                        h = step(h, mark)
                        mark = 0
                    begin = i
                    while low:
                        h = step(h, np.int64(low & 0xFF))
                        i += 1
                        kept = h if low > _BLANK else kept
                        to = i if low > _BLANK else to
                        low = ascii_low[data[i]] if i < stop else np.uint16(0)
                    chars += i - begin
                    if to > begin:
                        upto = chars - (i - to)
                        kept_mark = 0
                        kept_slow = slow
                    continue
                code = np.int64(data[i])
                if code == 10 or code == 13:
                    break
                width = 1
                if code >= 0x80:
                    code, width = decode(data, i)
                blank = flags[code] & SPACE != 0
                if first < 0:
                    if blank:
                        i += width
                        continue
                    first = i
                chars += 1
                i += width
                if flags[code] & IGNORABLE == 0 and not slow:
                    h, mark, slow = extend(h, mark, slow, pieces, code)
                if blank:
                    continue
                to = i
                upto = chars
                kept = h
                kept_mark = mark
                kept_slow = slow
            if i < stop:
                i += 2 if data[i] == 13 and i + 1 < stop and data[i + 1] == 10 else 1
            if first < 0:
                inside = False
                continue
            if kept_slow:
                kept = fold_hash(
                    data, first, to, flags, ccc, fold, offsets, pool, pend, spare, places
                )
            else:
                kept = mix(step(kept, kept_mark) if kept_mark else kept)
            if paragraphs and inside:
                unit_hash[n - 1] = mix(unit_hash[n - 1] * np.uint64(3) ^ kept)
                unit_chars[n - 1] += upto
            else:
                unit_hash[n] = kept
                unit_chars[n] = upto
                n += 1
                inside = True
    unit_start[len(byte_start) - 1] = n
    return n
