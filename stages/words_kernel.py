"""The compiled loops behind `corpusmill.stages.words`. Import inside functions only.

Both kernels walk the UTF-8 bytes of a batch once. The input is valid UTF-8 (surrogates encoded
as three bytes are let through), so that the width of a character is known from its first byte.
"""

from __future__ import annotations

import numpy as np
from numba import types

from .compiled import array, kernel, out
from .unicode_data import ALPHA, DIGIT, IGNORABLE, MARK, SPACE, UNSPACED, WORD

HAS_ALPHA, ALL_DIGITS, IN_UNSPACED, NON_ASCII, RUN_START, LONE = (1 << bit for bit in range(6))

_U8, _I32, _I64, _U64 = types.uint8, types.int32, types.int64, types.uint64
_U16, _U32 = types.uint16, types.uint32

_SEED = np.uint64(0x9E3779B97F4A7C15)
_STEP = np.uint64(0xD6E8FEB86659FD93)
_MIX_1 = np.uint64(0xFF51AFD7ED558CCD)
_MIX_2 = np.uint64(0xC4CEB9FE1A85EC53)
_32 = np.uint64(32)
_33 = np.uint64(33)

_NONE, _SPACED, _RUN = 0, 1, 2
_IOTA_SUBSCRIPT, _IOTA = 0x345, 0x3B9
_SHORT = 32


@kernel(_U64(_U64, _I64))
def step(h, code):  # type: ignore[no-untyped-def]
    """The hash `h` of a prefix, extended by one code point (or byte)."""
    h = (h ^ np.uint64(code)) * _STEP
    return h ^ (h >> _32)


@kernel(_U64(_U64))
def mix(h):  # type: ignore[no-untyped-def]
    """The 64-bit finaliser of MurmurHash3 (Appleby, public domain)."""
    h = (h ^ (h >> _33)) * _MIX_1
    h = (h ^ (h >> _33)) * _MIX_2
    return h ^ (h >> _33)


@kernel(types.void(out(_U32), out(_U32), out(_I64), _I64, array(_U8)))
def order_marks(pend, spare, places, count, ccc):  # type: ignore[no-untyped-def]
    """Canonical ordering: sorts ``pend[:count]`` by combining class, stably."""
    if count <= _SHORT:
        for i in range(1, count):
            mark = pend[i]
            rank = ccc[mark]
            j = i - 1
            while j >= 0 and ccc[pend[j]] > rank:
                pend[j + 1] = pend[j]
                j -= 1
            pend[j + 1] = mark
        return
    # By counting: a run of marks may be as long as a document.
    for rank in range(257):
        places[rank] = 0
    for i in range(count):
        places[ccc[pend[i]] + 1] += 1
    for rank in range(256):
        places[rank + 1] += places[rank]
    for i in range(count):
        rank = ccc[pend[i]]
        spare[places[rank]] = pend[i]
        places[rank] += 1
    for i in range(count):
        pend[i] = spare[i]


@kernel(
    _U64(array(_U8), _I64, _I64, array(_U8), array(_U8), array(_U16), array(_U32), array(_U32),
         out(_U32), out(_U32), out(_I64))
)  # fmt: skip
def fold_hash(  # type: ignore[no-untyped-def]
    data, first, stop, flags, ccc, fold, offsets, pool, pend, spare, places
):
    """Hash of the folded code points of ``data[first:stop]``, IGNORABLE ones left out."""
    h = _SEED
    waiting = 0  # marks seen since the last starter, to be put in canonical order
    i = first
    while i < stop:
        code = np.int64(data[i])
        if code < 0x80:
            i += 1
        elif code < 0xE0:
            code = (code & 0x1F) << 6 | (data[i + 1] & 0x3F)
            i += 2
        elif code < 0xF0:
            code = (code & 0x0F) << 12 | (data[i + 1] & 0x3F) << 6 | (data[i + 2] & 0x3F)
            i += 3
        else:
            code = (
                (code & 0x07) << 18 | (data[i + 1] & 0x3F) << 12
                | (data[i + 2] & 0x3F) << 6 | (data[i + 3] & 0x3F)
            )  # fmt: skip
            i += 4
        if flags[code] & IGNORABLE:
            continue
        sequence = np.int64(fold[code])
        at = np.int64(0)
        length = np.int64(1)
        if sequence > 0:
            at = np.int64(offsets[sequence - 1])
            length = np.int64(offsets[sequence]) - at
        for k in range(length):
            piece = np.int64(pool[at + k]) if sequence > 0 else code
            if ccc[piece] > 0:
                pend[waiting] = piece
                waiting += 1
                continue
            if waiting > 0:
                order_marks(pend, spare, places, waiting, ccc)
                for j in range(waiting):
                    mark = np.int64(pend[j])
                    h = step(h, _IOTA if mark == _IOTA_SUBSCRIPT else mark)
                waiting = 0
            h = step(h, piece)
    if waiting > 0:
        order_marks(pend, spare, places, waiting, ccc)
        for j in range(waiting):
            mark = np.int64(pend[j])
            h = step(h, _IOTA if mark == _IOTA_SUBSCRIPT else mark)
    return mix(h)


@kernel(
    _I64(array(_U8), array(_I64), array(_U8), array(_U8), array(_U16), array(_U32), array(_U32),
         out(_U32), out(_U32), out(_I64),
         out(_I64), out(_I32), out(_I32), out(_I32), out(_U64), out(_U8))
)  # fmt: skip
def tokenise(  # type: ignore[no-untyped-def]
    data, byte_start, flags, ccc, fold, offsets, pool, pend, spare, places,
    doc_start, w_start, w_end, w_chars, w_hash, w_flags,
):  # fmt: skip
    """Fills the word arrays and `doc_start`; returns the number of words."""
    n = 0
    for doc in range(len(byte_start) - 1):
        doc_start[doc] = n
        base = byte_start[doc]
        stop = byte_start[doc + 1]
        mode = _NONE
        start = base  # of the word, or of the last character of an unspaced run
        end = base
        chars = 0
        alpha = False
        digits = True
        plain = True  # ASCII only so far
        gap = False  # an IGNORABLE code point since the word's start
        h = _SEED
        before = False  # whether the run has a character before the last one, and that one:
        b_start = base
        b_chars = 0
        b_alpha = False
        run_start = RUN_START
        i = base
        while i <= stop:
            code = np.int64(0)
            width = 1
            f = np.uint8(0)
            if i < stop:
                code = np.int64(data[i])
                if code >= 0x80:
                    if code < 0xE0:
                        code = (code & 0x1F) << 6 | (data[i + 1] & 0x3F)
                        width = 2
                    elif code < 0xF0:
                        code = (
                            (code & 0x0F) << 12 | (data[i + 1] & 0x3F) << 6 | (data[i + 2] & 0x3F)
                        )
                        width = 3
                    else:
                        code = (
                            (code & 0x07) << 18 | (data[i + 1] & 0x3F) << 12
                            | (data[i + 2] & 0x3F) << 6 | (data[i + 3] & 0x3F)
                        )  # fmt: skip
                        width = 4
                f = flags[code]
            if f & IGNORABLE:
                gap = True
                i += width
                continue
            inside = f & WORD != 0
            joins = inside and (
                (mode == _SPACED and (f & UNSPACED == 0 or f & MARK != 0))
                or (mode == _RUN and f & MARK != 0)
            )
            if not joins:
                stays = inside and mode == _RUN and f & UNSPACED != 0
                if mode == _SPACED or (mode == _RUN and (before or not stays)):
                    first = start
                    kind = np.uint8(0)
                    count = chars
                    letters = alpha
                    if mode == _RUN:
                        kind = np.uint8(IN_UNSPACED | run_start)
                        if before:
                            first = b_start
                            count += b_chars
                            letters = letters or b_alpha
                        else:
                            kind |= np.uint8(LONE)
                        run_start = 0
                    w_start[n] = first - base
                    w_end[n] = end - base
                    w_chars[n] = count
                    if mode == _SPACED and plain:
                        w_hash[n] = mix(h)
                    else:
                        kind |= np.uint8(NON_ASCII)
                        w_hash[n] = fold_hash(
                            data, first, end, flags, ccc, fold, offsets, pool,
                            pend, spare, places,
                        )  # fmt: skip
                    if letters:
                        kind |= np.uint8(HAS_ALPHA)
                    if mode == _SPACED and digits:
                        kind |= np.uint8(ALL_DIGITS)
                    w_flags[n] = kind
                    n += 1
                if not inside:
                    mode = _NONE
                    i += width
                    continue
                before = stays
                if stays:
                    b_start = start
                    b_chars = chars
                    b_alpha = alpha
                else:
                    run_start = RUN_START
                mode = _RUN if f & UNSPACED != 0 else _SPACED
                start = i
                chars = 0
                alpha = False
                digits = True
                plain = True
                gap = False
                h = _SEED
            i += width
            end = i
            chars += 1
            alpha = alpha or f & ALPHA != 0
            digits = digits and f & DIGIT != 0
            if code < 0x80 and not gap:
                h = step(h, code + 32 if 65 <= code <= 90 else code)
            else:
                plain = False
    doc_start[len(byte_start) - 1] = n
    return n


@kernel(
    _I64(array(_U8), array(_I64), array(_U8),
         out(_I64), out(_I32), out(_I32), out(_I32), out(_I32), out(_I32), out(_U64))
)  # fmt: skip
def lines(  # type: ignore[no-untyped-def]
    data, byte_start, flags, doc_start, l_start, l_end, t_start, t_end, t_chars, t_hash
):
    """Fills the line arrays and `doc_start`; returns the number of lines."""
    n = 0
    for doc in range(len(byte_start) - 1):
        doc_start[doc] = n
        base = byte_start[doc]
        stop = byte_start[doc + 1]
        i = base
        while i < stop:
            first = i
            from_ = np.int64(-1)  # the trimmed part
            to = i
            chars = 0
            upto = 0  # chars up to and with the last one that is no white space
            h = _SEED
            kept = _SEED
            while i < stop and data[i] != 10 and data[i] != 13:
                code = np.int64(data[i])
                at = i
                if code < 0x80:
                    i += 1
                elif code < 0xE0:
                    code = (code & 0x1F) << 6 | (data[i + 1] & 0x3F)
                    i += 2
                elif code < 0xF0:
                    code = (code & 0x0F) << 12 | (data[i + 1] & 0x3F) << 6 | (data[i + 2] & 0x3F)
                    i += 3
                else:
                    code = (
                        (code & 0x07) << 18 | (data[i + 1] & 0x3F) << 12
                        | (data[i + 2] & 0x3F) << 6 | (data[i + 3] & 0x3F)
                    )  # fmt: skip
                    i += 4
                blank = flags[code] & SPACE != 0
                if from_ < 0:
                    if blank:
                        continue
                    from_ = at
                chars += 1
                h = step(h, code)
                if not blank:
                    to = i
                    upto = chars
                    kept = h
            if from_ < 0:
                from_ = first
                to = first
            l_start[n] = first - base
            l_end[n] = i - base
            t_start[n] = from_ - base
            t_end[n] = to - base
            t_chars[n] = upto
            t_hash[n] = mix(kept)
            n += 1
            if i < stop:
                i += 2 if data[i] == 13 and i + 1 < stop and data[i + 1] == 10 else 1
    doc_start[len(byte_start) - 1] = n
    return n
