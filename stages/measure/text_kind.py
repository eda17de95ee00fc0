"""What kind of text a document is: prose, code, maths, a table, a list, or a mixture.

Each line is put in one class by what it is made of, whatever the language, and a document's
kind follows from the shares of its characters (white space not counted) in lines of each class:

- `kind_code`: signs of program text (``{}[]<>=;$&^~@#`` and the grave accent, ``name(``,
  ``snake_case``, ``::``, ``->``, ``--option``) are a twelfth of the line or more, or fewer where it
  is indented or ends in ``; { }``; lines between fences; lines among such lines.
- `kind_maths`: one mathematical sign (arrows, operators, letterlike alphabets, ``\alpha``) or more
  in twelve characters.
- `kind_table`: two borders of cells or more (tabs, bars), or more digits than letters.
- `kind_list`: lines that begin with a bullet, or of few words without a sentence's end.
- `kind_prose`: the others: sentences and long lines of words.

Rules made for prose can then be kept from other kinds (``unless: {text_kind: [code, maths]}``),
or have other bounds for them (``when``). A forum or a shop is told by its markup, not its text:
see the signal `page_type` of `extract.tiers`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from corpusmill.pipeline.document import Document, Outcome
from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.stage import Kind, SignalType, Stage
from corpusmill.stages.unicode_data import tables

from .text_tables import LineCounts, line_counts, ratio, word_counts

CLASSES = ("code", "maths", "table", "list", "prose")
"""Classes of lines, in the order in which they are tried."""

KINDS = (*CLASSES, "mixed", "empty")
"""Values of the signal `text_kind`."""

_SHORT_WORDS, _SHORT_INK, _LONG_INK = 8, 50, 90


@dataclass(frozen=True, slots=True)
class Params:
    """Least share of a document's characters in lines of a class, for the document to be of that
    kind; tried in this order, else it is ``mixed``. Set by eye on half of the hosts of a crawl of
    manuals; what the other half says stands in the docs."""

    code: float = 0.2
    maths: float = 0.2
    table: float = 0.5
    prose: float = 0.5
    list: float = 0.5

    def __post_init__(self) -> None:
        for name in CLASSES:
            value = getattr(self, name)
            if not 0 < value <= 1:
                raise ConfigError(f"measure.text_kind: {name} is {value}", hint="a share, 0 to 1")


class MeasureTextKind(Stage):
    """`measure.text_kind`: see the module docstring."""

    name: ClassVar[str] = "measure.text_kind"
    version: ClassVar[int] = 1
    kind: ClassVar[Kind] = "measure"
    Params: ClassVar[type] = Params

    writes: Mapping[str, SignalType] = {
        "text_kind": "str",
        **{f"kind_{name}": "float" for name in CLASSES},
    }

    def setup(self) -> None:
        """Compiles or loads the kernels."""
        self.apply(())

    def apply(self, batch: Sequence[Document]) -> list[Outcome]:
        """The documents, with the signals filled in."""
        texts = [document.text for document in batch]
        lines = line_counts(texts)
        unspaced = np.repeat(word_counts(texts).unspaced, np.diff(lines.table.doc_start))
        ink, classes = line_classes(lines, unspaced)
        total = lines.per_document(ink).tolist()
        of_class = [
            lines.per_document(np.where(classes == k, ink, 0)).tolist() for k in range(len(CLASSES))
        ]
        for i, document in enumerate(batch):
            shares = {
                name: ratio(counts[i], total[i])
                for name, counts in zip(CLASSES, of_class, strict=True)
            }
            document.signals["text_kind"] = self._kind(shares) if total[i] else "empty"
            for name, share in shares.items():
                document.signals[f"kind_{name}"] = share
        return list(batch)

    def _kind(self, shares: Mapping[str, float]) -> str:
        for name in ("code", "maths", "table", "prose", "list"):
            if shares[name] >= getattr(self.params, name):
                return name
        return "mixed"


def line_classes(
    lines: LineCounts, unspaced: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """For each line its characters that are not white space, and its class (index in `CLASSES`)."""
    from . import text_kind_kernel as k
    from .text_kernel import LINE_BULLET, LINE_QUOTE, LINE_TERMINAL

    t = lines.table
    counts = np.zeros((len(t.hash), k.COLUMNS), np.int32)
    k.line_counts(
        t.data, t.byte_start, t.doc_start, t.start, t.text_start, t.text_end, tables().flags, counts
    )
    ink, letters, numbers, signs, maths, cells, indent, closes, fence = counts.T
    ended = (lines.flags & (LINE_TERMINAL | LINE_QUOTE)) != 0
    sentence = ended & (lines.tokens >= 6) & (closes == 0)
    words = np.where(unspaced, (t.chars + 1) // 2, lines.tokens)
    code = (12 * signs >= ink) | (
        (signs > 0) & ((closes > 0) | ((indent > 1) & (25 * signs >= ink)))
    )
    code &= ~(sentence & (8 * signs < ink))
    code |= _fenced(fence, t.doc_start)
    table = (cells >= 2) | ((numbers > letters) & (lines.tokens > 1))
    bullet = (lines.flags & LINE_BULLET) != 0
    short = (words < _SHORT_WORDS) & (ink < _SHORT_INK) & ~ended
    classes = np.select(
        [code, 12 * maths >= np.maximum(ink, 1), table, bullet | short], [0, 1, 2, 3], 4
    )
    # TeX has signs of code too; escapes in strings are fewer, and a statement ends otherwise.
    tex = (classes == 0) & (maths >= 3) & (4 * maths >= signs) & (12 * maths >= ink) & (closes == 0)
    return ink, np.where(tex, 1, classes)


def _surrounded(
    code: npt.NDArray[np.bool_], ink: npt.NDArray[np.int32], doc_start: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """`code`, and lines that are not long, of whose four next neighbours that are not blank three
    are code: comments and output in between."""
    filled = np.flatnonzero(ink > 0)
    document = np.searchsorted(doc_start, filled, side="right")
    here = code[filled]
    around = np.zeros(len(filled), np.int64)
    for step in (1, 2):
        same = document[step:] == document[:-step]
        around[step:] += here[:-step] & same
        around[:-step] += here[step:] & same
    result = code.copy()
    result[filled] |= (around >= 3) & (ink[filled] <= _LONG_INK)
    return result


def _fenced(
    fence: npt.NDArray[np.int32], doc_start: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """Lines between an odd fence of their document and the next; fences too."""
    before = np.cumsum(fence)
    at_start = np.concatenate([[0], before])[doc_start[:-1]]
    within = before - np.repeat(at_start, np.diff(doc_start))
    return np.asarray((within % 2 == 1) | (fence == 1))


STAGE = MeasureTextKind

__all__ = ["CLASSES", "KINDS", "STAGE", "MeasureTextKind", "Params", "line_classes"]
