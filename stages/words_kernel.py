"""The compiled loops behind `corpusmill.stages.words`. Import inside functions only.

Both walk the UTF-8 bytes of a batch once; what they do with a character is in `fold_kernel`.
"""

from __future__ import annotations

import numpy as np

from . import kernel_types as types
from .compiled import array, kernel, out
from .fold_kernel import SEED, decode, extend, fold_hash, mix, step
from .unicode_data import ALPHA, DIGIT, IGNORABLE, MARK, SPACE, UNSPACED, WORD

HAS_ALPHA, ALL_DIGITS, IN_UNSPACED, NON_ASCII, RUN_START, LONE = (1 << bit for bit in range(6))

_U8, _I32, _I64, _U64 = types.uint8, types.int32, types.int64, types.uint64
_U16, _U32 = types.uint16, types.uint32

_1 = np.uint64(1)


@kernel(
    _I64(array(_U8), array(_I64), array(_U8), array(_U8), array(_U16), array(_U32), array(_U32),
         array(_U8), array(_U64), array(_U32), out(_U32), out(_U32), out(_I64),
         out(_I64), out(_I32), out(_I32), out(_I32), out(_U64), out(_U8))
)  # fmt: skip
def tokenise(  # type: ignore[no-untyped-def]
    data, byte_start, flags, ccc, fold, offsets, pool, ascii_word, pieces, simple, pend, spare,
    places, doc_start, w_start, w_end, w_chars, w_hash, w_flags,
):  # fmt: skip
    """Fills the word arrays and `doc_start`; returns the number of words.

    `ascii_word`, `pieces` and `simple`: see `words.character_tables`.
    """
    n = 0
    for doc in range(len(byte_start) - 1):
        doc_start[doc] = n
        base = byte_start[doc]
        stop = byte_start[doc + 1]
        last = np.uint64(stop)
        at_end = stop  # where letters that go on to the end begin: before it each run has an end
        while at_end > base and ascii_word[data[at_end - 1]]:
            at_end -= 1
        i = base
        while True:
            quick = np.uint64(i)  # an index that cannot be negative takes no check of its sign
            while quick < last and data[quick] < 0x80 and ascii_word[data[quick]] == 0:
                quick += _1
            i = np.int64(quick)
            if i >= stop:
                break
            start = i
            chars = 0
            h = SEED
            code = np.int64(data[i])
            if code < 0x80:  # a word of ASCII alone, most often
                top = np.uint8(0)
                low = ascii_word[code]
                while low and i < at_end:
                    h = step(h, np.int64(low))
                    top |= low
                    quick += _1
                    low = ascii_word[data[quick]]
                while i >= at_end and quick < last:
                    low = ascii_word[data[quick]]
                    h = step(h, np.int64(low))
                    top |= low
                    quick += _1
                if quick == last or data[quick] < 0x80:
                    i = np.int64(quick)
                    w_start[n] = start - base
                    w_end[n] = i - base
                    w_chars[n] = i - start
                    w_hash[n] = mix(h)
                    w_flags[n] = np.uint8(HAS_ALPHA if top & 0x40 else ALL_DIGITS)
                    n += 1
                    continue
                h = SEED  # it goes on in other letters: again, from its start
                f = np.uint8(WORD)
            else:
                code, width = decode(data, i)
                f = flags[code]
                if f & WORD == 0:
                    i += width
                    continue
            end = i
            mark = 0
            slow = False
            if f & UNSPACED == 0:  # a word in a script with spaces, from here to its end
                top = np.uint8(0)
                alpha = False
                digits = True
                plain = True  # ASCII only so far
                gap = False  # an IGNORABLE code point since the word's start
                while i < stop:
                    low = ascii_word[data[i]]
                    if low:
                        if mark:
                            h = step(h, mark)
                            mark = 0
                        plain = plain and not gap
                        end = i
                        while low:
                            h = step(h, np.int64(low))
                            top |= low
                            i += 1
                            low = ascii_word[data[i]] if i < stop else np.uint8(0)
                        chars += int(i - end)
                        end = i
                        continue
                    if data[i] < 0x80:
                        break
                    code, width = decode(data, i)
                    letter = simple[code] if code < len(simple) else np.uint32(0)
                    if letter:
                        if mark:
                            h = step(h, mark)
                            mark = 0
                        h = step(h, np.int64(letter))
                        plain = False
                        alpha = True
                        digits = False
                        chars += 1
                        i += width
                        end = i
                        continue
                    f = flags[code]
                    if f & IGNORABLE:
                        gap = True
                        i += width
                        continue
                    if f & WORD == 0 or (f & UNSPACED != 0 and f & MARK == 0):
                        break
                    h, mark, slow = extend(h, mark, slow, pieces, code)
                    plain = False
                    chars += 1
                    alpha = alpha or f & ALPHA != 0
                    digits = digits and f & DIGIT != 0
                    i += width
                    end = i
                kind = np.uint8(0)
                if alpha or top & 0x40:
                    kind |= np.uint8(HAS_ALPHA)
                if digits and not top & 0x40:
                    kind |= np.uint8(ALL_DIGITS)
                if not plain:
                    kind |= np.uint8(NON_ASCII)
                if slow:
                    h = fold_hash(
                        data, start, end, flags, ccc, fold, offsets, pool, pend, spare, places
                    )
                else:
                    h = mix(step(h, mark) if mark else h)
                w_start[n] = start - base
                w_end[n] = end - base
                w_chars[n] = chars
                w_hash[n] = h
                w_flags[n] = kind
                n += 1
                continue
            # A run of an unspaced script: pairs of characters with their marks.
            run_start = RUN_START
            before = False  # whether the run has a character before the last one, and that one:
            b_start = start
            b_chars = 0
            b_alpha = False
            alpha = False
            both = SEED  # the hash from that one on; `h` is that of the last one alone
            both_slow = False
            while True:
                joins = f & MARK != 0 and chars > 0
                if not joins and chars > 0:
                    stays = i < stop and f & WORD != 0 and f & UNSPACED != 0
                    if before or not stays:
                        kind = np.uint8(IN_UNSPACED | NON_ASCII | run_start)
                        run_start = 0
                        first = start
                        count = chars
                        letters = alpha
                        found = h
                        again = slow
                        if before:
                            first = b_start
                            count += b_chars
                            letters = letters or b_alpha
                            found = both
                            again = both_slow
                        else:
                            kind |= np.uint8(LONE)
                        if letters:
                            kind |= np.uint8(HAS_ALPHA)
                        if again:
                            found = fold_hash(
                                data, first, end, flags, ccc, fold, offsets, pool,
                                pend, spare, places,
                            )  # fmt: skip
                        else:
                            found = mix(step(found, mark) if mark else found)
                        w_start[n] = first - base
                        w_end[n] = end - base
                        w_chars[n] = count
                        w_hash[n] = found
                        w_flags[n] = kind
                        n += 1
                    if not stays:
                        break
                    before = True
                    b_start = start
                    b_chars = chars
                    b_alpha = alpha
                    both = step(h, mark) if mark else h
                    both_slow = slow
                    start = i
                    chars = 0
                    alpha = False
                    h = SEED
                    mark = 0
                    slow = False
                both, _, both_slow = extend(both, mark, both_slow, pieces, code)
                h, mark, slow = extend(h, mark, slow, pieces, code)
                chars += 1
                alpha = alpha or f & ALPHA != 0
                i += width
                end = i
                f = np.uint8(0)
                while i < stop:
                    code = np.int64(data[i])
                    width = 1
                    if code < 0x80:
                        f = np.uint8(WORD) if ascii_word[code] else np.uint8(0)
                        break
                    code, width = decode(data, i)
                    f = flags[code]
                    if f & IGNORABLE == 0:
                        break
                    f = np.uint8(0)
                    i += width
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
            h = SEED
            kept = SEED
            while i < stop and data[i] != 10 and data[i] != 13:
                code = np.int64(data[i])
                at = i
                width = 1
                if code >= 0x80:
                    code, width = decode(data, i)
                i += width
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
