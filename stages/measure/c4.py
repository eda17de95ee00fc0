"""C4's page statistics: lines that its rules would leave out, sentences, lorem ipsum, braces.

After Raffel et al. 2020, section 2.2. `filters.c4` decides on pages, `filters.c4_lines` edits
lines; see `c4_rules.py` for the line rules. `c4_sentences` counts the sentences of the lines that
the rules keep.

What differs from datatrove:

- A line may end in typographic quotes, brackets or a citation number after its sentence mark, and
  the marks are those of all scripts: there every Japanese line is left out. An ellipsis inside
  closing quotes ends a line.
- ``lorem ipsum`` and ``{`` are looked for in the whole page, not only in lines that were not left
  out before.
- Sentences are counted by sentence marks followed by white space and no small Latin letter, or by
  an East Asian mark; datatrove needs spaCy or NLTK. Abbreviations followed by a capital count as
  an end.

With ``dialect: datatrove`` all of this is as datatrove has it for English (`datatrove_rules`), and
`c4_curly_first` says that a curly bracket is met before "lorem ipsum".

C4's rule on bad words is not here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from corpusmill.pipeline.document import Document, Outcome, Scalar
from corpusmill.pipeline.stage import Kind, SignalType, Stage

from . import datatrove_rules
from .c4_rules import LineRules, examine
from .spacy_words import word_rule
from .text_tables import SPACED, UNSPACED, fill, word_counts


class MeasureC4(Stage):
    """`measure.c4`: see the module docstring."""

    name: ClassVar[str] = "measure.c4"
    version: ClassVar[int] = 1
    kind: ClassVar[Kind] = "measure"
    Params: ClassVar[type] = LineRules

    writes: Mapping[str, SignalType] = {
        "c4_rule": "str",
        "c4_lines": "int",
        "c4_kept_lines": "int",
        "c4_sentences": "int",
        "c4_no_terminal": "int",
        "c4_few_words": "int",
        "c4_long_word": "int",
        "c4_javascript": "int",
        "c4_policy": "int",
        "c4_lorem_ipsum": "bool",
        "c4_curly_bracket": "bool",
    }

    def __init__(self, params: Any) -> None:
        super().__init__(params)
        if params.dialect == "datatrove":
            self.writes = {**type(self).writes, "c4_curly_first": "bool"}

    def setup(self) -> None:
        """Compiles or loads the kernels."""
        if self.params.dialect == "datatrove":
            datatrove_rules.c4((), self.params)
        else:
            examine((), self.params)

    def apply(self, batch: Sequence[Document]) -> list[Outcome]:
        """The documents, with the signals filled in."""
        texts = [document.text for document in batch]
        if self.params.dialect == "datatrove":
            return fill(batch, [_row(p) for p in datatrove_rules.c4(texts, self.params)])
        found = examine(texts, self.params)
        lines = found.lines
        unspaced = word_counts(texts).unspaced
        columns = {
            "c4_lines": lines.filled,
            "c4_kept_lines": found.kept,
            "c4_sentences": np.where(found.kept, lines.sentences, 0),
            "c4_no_terminal": found.no_terminal,
            "c4_few_words": found.few_words,
            "c4_long_word": found.long_word,
            "c4_javascript": found.javascript,
            "c4_policy": found.policy,
        }
        counts = {name: lines.per_document(of).tolist() for name, of in columns.items()}
        lorem = lines.per_document(found.lorem_ipsum).tolist()
        curly = lines.per_document(found.curly).tolist()
        for i, document in enumerate(batch):
            signals = document.signals
            signals["c4_rule"] = UNSPACED if unspaced[i] else SPACED
            for name, values in counts.items():
                signals[name] = values[i]
            signals["c4_lorem_ipsum"] = lorem[i] > 0
            signals["c4_curly_bracket"] = curly[i] > 0
        return list(batch)


def _row(page: datatrove_rules.C4Page) -> dict[str, Scalar]:
    """The signals of a page in the dialect ``datatrove``."""
    return {
        "c4_rule": word_rule(),
        "c4_lines": page.lines,
        "c4_kept_lines": len(page.kept),
        "c4_sentences": page.sentences,
        "c4_no_terminal": page.no_terminal,
        "c4_few_words": page.few_words,
        "c4_long_word": page.long_word,
        "c4_javascript": page.javascript,
        "c4_policy": page.policy,
        "c4_lorem_ipsum": page.lorem_ipsum is not None,
        "c4_curly_bracket": page.curly is not None,
        "c4_curly_first": page.curly_first,
    }


STAGE = MeasureC4

__all__ = ["STAGE", "MeasureC4"]
