"""FineWeb's statistics of lines.

After Penedo et al. 2024 (The FineWeb Datasets), section 3.6. `filters.fineweb` decides.

- `fineweb_line_punct`: share of lines that end in a sentence mark.
- `fineweb_short_lines`: share of lines of at most `short_line` characters (the paper: 30; in
  scripts without spaces `short_line_unspaced`, 10: two characters there stand for a word of five
  and its blank).
- `fineweb_dup_line_chars`: characters in repeated lines over those of all lines.
- `fineweb_newlines_per_word`: line breaks over words ("list ratio").

What differs from datatrove:

- Lines end at LF, CR LF or CR, are trimmed, and blank ones do not count, also not as line breaks.
  There a CR LF document loses every sentence mark and is dropped.
- A line may end in closing quotes, brackets or a citation number after its sentence mark; ``…``
  counts as ``...`` does; the marks are those of all scripts, East Asian ones included.
- Thai and Lao have no sentence mark: where most letters are of these scripts,
  `fineweb_line_punct` is absent.
- A document without words has a list ratio of 0, where there is nothing to divide by.

With ``dialect: datatrove`` all of this is as datatrove has it for English (`datatrove_rules`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from corpusmill.pipeline.document import Document, Outcome
from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.stage import Kind, SignalType, Stage

from . import datatrove_rules
from .datatrove_rules import Dialect
from .text_tables import (
    SPACED,
    UNSPACED,
    fill,
    line_counts,
    ratio,
    repeats,
    segment_sums,
    word_counts,
)


@dataclass(frozen=True, slots=True)
class Params:
    """Parameters of `measure.fineweb`: what a short line is, in characters."""

    short_line: int = 30
    short_line_unspaced: int = 10
    """Of no effect in the dialect ``datatrove``."""
    dialect: Dialect = "corpusmill"

    def __post_init__(self) -> None:
        if self.short_line < 0 or self.short_line_unspaced < 0:
            raise ConfigError("measure.fineweb: a line cannot have less than 0 characters")


class MeasureFineweb(Stage):
    """`measure.fineweb`: see the module docstring."""

    name: ClassVar[str] = "measure.fineweb"
    version: ClassVar[int] = 1
    kind: ClassVar[Kind] = "measure"
    Params: ClassVar[type] = Params

    writes: Mapping[str, SignalType] = {
        "fineweb_rule": "str",
        "fineweb_lines": "int",
        "fineweb_line_punct": "float",
        "fineweb_short_lines": "float",
        "fineweb_dup_line_chars": "float",
        "fineweb_newlines_per_word": "float",
    }

    def setup(self) -> None:
        """Compiles or loads the kernels."""
        if self.params.dialect == "datatrove":
            datatrove_rules.fineweb((), 0)
        else:
            word_counts(())

    def apply(self, batch: Sequence[Document]) -> list[Outcome]:
        """The documents, with the signals filled in."""
        from .text_kernel import LETTERS, LINE_TERMINAL, THAI_LAO

        texts = [document.text for document in batch]
        if self.params.dialect == "datatrove":
            return fill(batch, datatrove_rules.fineweb(texts, self.params.short_line))
        counts = word_counts(texts)
        lines = line_counts(texts)
        table = lines.table
        filled = lines.per_document(lines.filled)
        punct = lines.per_document((lines.flags & LINE_TERMINAL) != 0)
        p: Params = self.params
        limit = np.where(counts.unspaced, p.short_line_unspaced, p.short_line)
        of_line = np.repeat(limit, np.diff(table.doc_start))
        short = lines.per_document(lines.filled & (table.chars <= of_line))
        chars = segment_sums(table.chars, table.doc_start)
        _, dup_chars = repeats(table.doc_start, table.chars, table.hash)
        for i, document in enumerate(batch):
            n = int(filled[i])
            signals = document.signals
            signals["fineweb_rule"] = UNSPACED if counts.unspaced[i] else SPACED
            signals["fineweb_lines"] = n
            if 2 * counts.features[i, THAI_LAO] <= counts.features[i, LETTERS]:
                signals["fineweb_line_punct"] = ratio(int(punct[i]), n)
            signals["fineweb_short_lines"] = ratio(int(short[i]), n)
            signals["fineweb_dup_line_chars"] = ratio(int(dup_chars[i]), int(chars[i]))
            breaks = max(n - 1, 0)
            signals["fineweb_newlines_per_word"] = ratio(breaks, int(counts.count[i]))
        return list(batch)


STAGE = MeasureFineweb

__all__ = ["STAGE", "MeasureFineweb", "Params"]
