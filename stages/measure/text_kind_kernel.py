"""The compiled loop behind `corpusmill.stages.measure.text_kind`. Import in functions only."""

from __future__ import annotations

import numpy as np

from corpusmill.stages import kernel_types as types
from corpusmill.stages.compiled import array, kernel, out
from corpusmill.stages.unicode_data import ALPHA, SPACE, WORD

from .text_kernel import decode

INK, LETTERS, NUMBERS, SIGNS, MATHS, CELLS, INDENT, CLOSES, FENCE = range(9)
"""Columns of `line_counts`."""
COLUMNS = 9

_U8, _I32, _I64 = types.uint8, types.int32, types.int64


@kernel(
    types.void(array(_U8), array(_I64), array(_I64), array(_I32), array(_I32), array(_I32),
               array(_U8), out(_I32, dims=2))
)  # fmt: skip
def line_counts(  # type: ignore[no-untyped-def]
    data, byte_start, doc_start, start, text_start, text_end, flags, result
):
    """Of each line: code points that are not white space, letters, digits; signs of code; of
    maths; borders of cells; bytes of indentation; 1 where it ends as a statement does; 1 for a
    fence (three grave accents)."""
    for doc in range(len(doc_start) - 1):
        base = byte_start[doc]
        for line in range(doc_start[doc], doc_start[doc + 1]):
            i = base + text_start[line]
            stop = base + text_end[line]
            first = i
            ink = letters = numbers = signs = maths = cells = 0
            last = np.int64(0)
            before = np.int64(32)
            while i < stop:
                code, width = decode(data, i)
                i += width
                if flags[code] & SPACE != 0:
                    if code == 9 and before != 9:
                        cells += 1
                    before = code
                    continue
                ink += 1
                last = code
                if flags[code] & ALPHA != 0:
                    letters += 1
                    if 0x1D400 <= code <= 0x1D7FF:
                        maths += 1
                elif 48 <= code <= 57:
                    numbers += 1
                elif code < 128:
                    inside = before < 128 and (flags[before] & WORD != 0 or before == 95)
                    if code == 124:  # |
                        if before == 32 or before == 9 or i >= stop or i == first + 1:
                            cells += 1
                        else:
                            signs += 1
                    elif code == 40:  # a call: "name("
                        if inside:
                            signs += 1
                    elif code == 92:  # \ and a letter: TeX, or a path
                        if i < stop and 97 <= (data[i] | 32) <= 122:
                            maths += 1
                        signs += 1
                    elif code == 45:  # -- and ->
                        if before == 45 or (i < stop and data[i] == 62):
                            signs += 1
                    elif code == 58:  # ::
                        if before == 58:
                            signs += 1
                    elif code == 95:
                        if inside:
                            signs += 1
                    elif (
                        code == 123 or code == 125 or code == 91 or code == 93 or code == 60
                        or code == 62 or code == 61 or code == 59 or code == 36 or code == 38
                        or code == 94 or code == 126 or code == 64 or code == 96 or code == 35
                    ):  # fmt: skip
                        signs += 1
                elif (
                    0x2200 <= code <= 0x22FF or 0x2A00 <= code <= 0x2AFF or code == 0xB1
                    or code == 0xD7 or code == 0xF7 or 0x27C0 <= code <= 0x27EF
                    or 0x2190 <= code <= 0x21FF
                ):  # fmt: skip
                    maths += 1
                before = code
            result[line, INK] = ink
            result[line, LETTERS] = letters
            result[line, NUMBERS] = numbers
            result[line, SIGNS] = signs
            result[line, MATHS] = maths
            result[line, CELLS] = cells
            result[line, INDENT] = text_start[line] - start[line]
            result[line, CLOSES] = 1 if last == 59 or last == 123 or last == 125 else 0
            result[line, FENCE] = 0
            if (
                stop - first >= 3 and data[first] == 96 and data[first + 1] == 96
                and data[first + 2] == 96
            ):  # fmt: skip
                result[line, FENCE] = 1
