"""Gopher's repetition statistics: duplicate lines and paragraphs, repeated n-grams.

After Rae et al. 2021, appendix A1.1, "Repetition Removal", and table A1.
`filters.gopher_repetition` decides.

- `rep_dup_lines`, `rep_dup_paras`: share of lines (paragraphs) that repeat an earlier one.
- `rep_dup_line_chars`, `rep_dup_para_chars`: their characters over those of the text.
- `rep_top_2gram` … `rep_top_4gram`: characters of the most frequent n-gram times its count.
- `rep_dup_5gram` … `rep_dup_10gram`: characters of n-grams that occurred before, each character
  once, read from the left.

Fractions are as in datatrove, so that published thresholds keep their meaning: an n-gram's
characters include its inner blanks for the top n-grams and not for the duplicate ones, and the
first occurrence of a duplicate does not count. The differences:

- Lines end at LF, CR LF or CR and are compared without white space at their ends; paragraphs are
  separated by blank lines, also by lines of blanks, also with CR LF.
- Characters of the text are counted with a run of white space as one and none at the ends: a
  padded document is not a less repetitive one. An empty document has all fractions 0.
- Words are folded (case, composition) and without punctuation. An n-gram is a sequence of words,
  not their letters joined: ("ab", "c") is not ("a", "bc").
- A most frequent n-gram that occurs once is no repetition, and counts 0.
- In scripts without spaces an n-gram is 2 n characters (signal `rep_rule`).

`rep_filled` says whether there is anything but white space.

With ``dialect: datatrove`` all of this is as datatrove has it for English (`datatrove_rules`).
A text of spaced words has a top 4-gram share above 1 where the n-gram overlaps itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from corpusmill.pipeline.document import Document, Outcome
from corpusmill.pipeline.stage import Kind, SignalType, Stage

from . import datatrove_rules
from .datatrove_rules import Dialect
from .text_tables import (
    DUP_SIZES,
    SPACED,
    TOP_SIZES,
    UNSPACED,
    fill,
    line_counts,
    ngram_repeats,
    ratio,
    repeats,
    word_counts,
)


@dataclass(frozen=True, slots=True)
class Params:
    """Parameters of `measure.repetition`."""

    dialect: Dialect = "corpusmill"


TOP_SIGNALS = tuple(f"rep_top_{n}gram" for n in TOP_SIZES)
DUP_SIGNALS = tuple(f"rep_dup_{n}gram" for n in DUP_SIZES)


class MeasureRepetition(Stage):
    """`measure.repetition`: see the module docstring."""

    name: ClassVar[str] = "measure.repetition"
    version: ClassVar[int] = 2
    kind: ClassVar[Kind] = "measure"
    Params: ClassVar[type] = Params

    writes: Mapping[str, SignalType] = {
        "rep_rule": "str",
        "rep_filled": "bool",
        "rep_dup_lines": "float",
        "rep_dup_paras": "float",
        "rep_dup_line_chars": "float",
        "rep_dup_para_chars": "float",
        **dict.fromkeys(TOP_SIGNALS, "float"),
        **dict.fromkeys(DUP_SIGNALS, "float"),
    }

    def setup(self) -> None:
        """Compiles or loads the kernels."""
        if self.params.dialect == "datatrove":
            datatrove_rules.repetition(())
        else:
            word_counts(())

    def apply(self, batch: Sequence[Document]) -> list[Outcome]:
        """The documents, with the signals filled in."""
        from .text_kernel import CHARS, paragraphs

        texts = [document.text for document in batch]
        if self.params.dialect == "datatrove":
            return fill(batch, datatrove_rules.repetition(texts))
        counts = word_counts(texts)
        lines = line_counts(texts).table
        filled = line_counts(texts).per_document(lines.chars > 0)
        dup_lines, dup_line_chars = repeats(lines.doc_start, lines.chars, lines.hash)
        p_start = np.empty(len(texts) + 1, np.int64)
        p_chars = np.empty(len(lines.hash), np.int32)
        p_hash = np.empty(len(lines.hash), np.uint64)
        n = paragraphs(lines.doc_start, lines.chars, lines.hash, p_start, p_chars, p_hash)
        dup_paras, dup_para_chars = repeats(p_start, p_chars[:n], p_hash[:n])
        table = counts.table
        top, dup = ngram_repeats(table.doc_start, counts.own, table.hash, counts.unspaced)
        for i, document in enumerate(batch):
            chars = int(counts.features[i, CHARS])
            signals = document.signals
            signals["rep_rule"] = UNSPACED if counts.unspaced[i] else SPACED
            signals["rep_filled"] = chars > 0
            signals["rep_dup_lines"] = ratio(int(dup_lines[i]), int(filled[i]))
            signals["rep_dup_paras"] = ratio(int(dup_paras[i]), int(p_start[i + 1] - p_start[i]))
            signals["rep_dup_line_chars"] = ratio(int(dup_line_chars[i]), chars)
            signals["rep_dup_para_chars"] = ratio(int(dup_para_chars[i]), chars)
            for name, part in zip(TOP_SIGNALS, top[i].tolist(), strict=True):
                signals[name] = ratio(part, chars)
            for name, part in zip(DUP_SIGNALS, dup[i].tolist(), strict=True):
                signals[name] = ratio(part, chars)
        return list(batch)


STAGE = MeasureRepetition

__all__ = ["DUP_SIGNALS", "STAGE", "TOP_SIGNALS", "MeasureRepetition", "Params"]
