"""The split patterns as tables of steps from character to character, for `piece_kernel.cut`.

A row is what is known of the piece that has begun, a column a kind of character. A step says the
next row, and where a piece ends: in front of the character (`HERE`), in front of the one before it
(`BEFORE`), behind the last line end (`LINES`). `ASK` gives up: `split_kernel.piece_end` says where
the piece ends, and the next one begins in the first row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from .splits import GPT2, LETTER, LOWER, NUMBER, O200K, PATTERNS, SPACE, UPPER, class_table

COLUMN_BITS = 4
ROW = (1 << 9) - 1
"""Bits of a step that say where in the table the next row begins."""

HERE, BEFORE, LINES, ASK = (1 << bit for bit in range(9, 13))

SMALL, CAPITAL, DIGIT, LINE, WHITE, BLANK, SIGN, QUOTE, SLASH, UNSURE, END = range(11)
"""Columns: letters, digits, CR and LF, other white space but the blank, the blank, other characters
but the last two, the apostrophe, the slash, what is left to `piece_end`, the end of the text."""

_Follows = Mapping[int, str]
_NOTHING: _Follows = {}


@dataclass(frozen=True)
class Steps:
    """The tables of one pattern."""

    steps: npt.NDArray[np.uint16]
    of_byte: npt.NDArray[np.uint8]
    """Column of each ASCII character."""
    of_class: npt.NDArray[np.uint8]
    """Column of another character by its classes, see `splits.class_table`."""


@dataclass(frozen=True)
class _Row:
    """By columns the rows that follow; what is in neither mapping ends the piece."""

    takes: _Follows
    """Characters that belong to the piece, or to what the ends in `late` leave of it."""
    late: int = 0
    """Ends that show as soon as white space does not go on."""
    goes_on: _Follows = field(default_factory=dict)
    asks: tuple[int, ...] = ()


@lru_cache(maxsize=len(PATTERNS))
def steps_of(style: int, digits: int) -> Steps:
    """The tables of a style of splitting with numbers of up to `digits` digits."""
    first = _first(style)
    rows = {"first": _Row(first), **_pieces(first, style, digits), **_spaces(first, style)}
    place = {name: i << COLUMN_BITS for i, name in enumerate(rows)}
    steps = np.full(len(rows) << COLUMN_BITS, ASK, dtype=np.uint16)
    for name, row in rows.items():
        for column, another in first.items():
            ends = row.late
            if column in row.goes_on:
                another, ends = row.goes_on[column], 0
            elif column in row.takes:
                another = row.takes[column]
            else:
                ends |= HERE
            if column not in row.asks:
                steps[place[name] + column] = place[another] | ends
        steps[place[name] + END] = HERE | row.late & LINES
    return Steps(steps, *_columns(style))


def _first(style: int) -> dict[int, str]:
    """What a piece begins with."""
    found = {
        SMALL: "word", CAPITAL: "word", DIGIT: "digits 1", LINE: "lines", WHITE: "white",
        BLANK: "blank", SIGN: "sign", QUOTE: "quote", SLASH: "sign",
    }  # fmt: skip
    if style == O200K:
        found |= {CAPITAL: "capitals", QUOTE: "sign"}
    return found


def _words(first: _Follows) -> dict[int, str]:
    return {c: first[c] for c in (SMALL, CAPITAL)}


def _signs() -> dict[int, str]:
    return dict.fromkeys((SIGN, QUOTE, SLASH), "signs")


def _pieces(first: _Follows, style: int, digits: int) -> dict[str, _Row]:
    """Rows of all pieces but white space."""
    signs = _signs()
    if style == GPT2:
        rows = {"word": _Row(_words(first)), "digits 1": _Row({DIGIT: "digits 1"})}
        rows["sign"] = rows["signs"] = _Row(signs)
    else:
        signs[LINE] = "broken"
        rows = {f"digits {n}": _Row({DIGIT: f"digits {n + 1}"}) for n in range(1, digits)}
        rows[f"digits {digits}"] = _Row(_NOTHING)
        rows |= {"sign": _Row(_words(first) | signs), "signs": _Row(signs)}
    if style == O200K:
        rows["word"] = _Row({SMALL: "word"}, asks=(QUOTE,))
        rows["capitals"] = _Row(_words(first), asks=(QUOTE,))
        return rows | {"broken": _Row({LINE: "broken", SLASH: "broken"})}
    quote = {"quote": _Row(_NOTHING, asks=tuple(first))}  # contractions
    return rows | quote | {"word": _Row(_words(first)), "broken": _Row({LINE: "broken"})}


def _spaces(first: _Follows, style: int) -> dict[str, _Row]:
    """Rows of white space, whose last character may belong to what follows."""
    behind_blank = _words(first) | _signs()
    behind_white = _words(first)
    if style == GPT2:
        behind_blank[DIGIT] = "digits 1"
        behind_white = {}
    lines = {LINE: "lines"}
    more = lines | {WHITE: "whites", BLANK: "blanks"}
    in_line = lines | {WHITE: "line whites", BLANK: "line blanks"}
    return {
        "blank": _Row(behind_blank, 0, more),
        "white": _Row(behind_white, 0, more),
        "blanks": _Row(behind_blank, BEFORE, more),
        "whites": _Row(behind_white, BEFORE, more),
        "lines": _Row(_NOTHING, 0, lines | {WHITE: "line white", BLANK: "line blank"}),
        "line blank": _Row(behind_blank, LINES, in_line),
        "line white": _Row(behind_white, LINES, in_line),
        "line blanks": _Row(behind_blank, LINES | BEFORE, in_line),
        "line whites": _Row(behind_white, LINES | BEFORE, in_line),
    }


def _columns(style: int) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """Columns of ASCII characters and of classes."""
    line = WHITE if style == GPT2 else LINE
    of_byte = np.full(128, SIGN, dtype=np.uint8)
    of_byte[[ord("'"), ord("/")]] = QUOTE, SLASH
    of_byte[class_table()[:128] & SPACE > 0] = WHITE
    of_byte[[ord(" "), ord("\n"), ord("\r")]] = BLANK, line, line
    of_byte[ord("0") : ord("9") + 1] = DIGIT
    of_byte[ord("a") : ord("z") + 1] = SMALL
    of_byte[ord("A") : ord("Z") + 1] = CAPITAL
    classes = np.arange(64)
    of_class = np.full(64, SIGN, dtype=np.uint8)
    of_class[classes & SPACE > 0] = WHITE
    of_class[classes & NUMBER > 0] = DIGIT
    of_class[classes & LETTER > 0] = SMALL
    if style == O200K:
        of_class[classes & (LETTER | UPPER | LOWER) > 0] = UNSURE  # their case, and marks
    return of_byte, of_class
