"""Gopher's quality statistics: word counts, symbols, bullets, ellipses, stop words.

After Rae et al. 2021 (Scaling Language Models: Methods, Analysis & Insights from Training Gopher),
appendix A1.1, "Quality Filtering". `filters.gopher_quality` decides.

What is counted, and where that differs from datatrove's reading of the paper:

- Words are those of `corpusmill.stages.words`: runs of letters, marks and numbers; punctuation is
  no word. Two characters of a script without spaces count as one word (signal `gopher_rule`); the
  mean word length is then not measured.
- `gopher_alpha_words` is the share of white-space separated tokens with a letter;
  `gopher_alpha_tokens` that of words and marks (`text_tables.marked_tokens`), of texts of spaced
  words only. datatrove counts in the second way: each punctuation mark is a word without a letter.
- Lines end at LF, CR LF or CR, and blank lines do not count. datatrove counts them, so double
  spacing halves the shares there.
- Bullets are also ``‣ ◦ ▪ ● ►`` and their like; ``-``, ``*`` and ``+`` only before white space, so
  that a column of negative numbers or a dialogue is no list.
- Stop words are compared without regard to case (an English text in capitals has them), and are
  those of the document's language (`stop_words.py`), where it has a list. Otherwise
  `gopher_stop_words` is absent.

With ``dialect: datatrove`` all of this is as datatrove has it for English (`datatrove_rules`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from corpusmill.pipeline.document import Document, Outcome
from corpusmill.pipeline.errors import AssetError, ConfigError
from corpusmill.pipeline.stage import Asset, Kind, SignalType, Stage
from corpusmill.stages.words import HAS_ALPHA, word_hashes

from . import datatrove_rules
from .datatrove_rules import Dialect
from .stop_words import LANGUAGES, LISTS, read_lists
from .text_tables import (
    SPACED,
    UNSPACED,
    WordCounts,
    fill,
    line_counts,
    marked_tokens,
    ratio,
    segment_sums,
    word_counts,
)


@dataclass(frozen=True, slots=True)
class Params:
    """Parameters of `measure.gopher`."""

    language: str | None = None
    """Whose stop words to count; None: those of each document's signal `lang`, and of English in
    the dialect ``datatrove``."""
    dialect: Dialect = "corpusmill"
    stop_words: Asset | None = None
    """A JSON file of own lists, ``{"lists": {"de": "der die und"}}``, in place of all of ours; in
    the dialect ``corpusmill`` each word is one by `corpusmill.stages.words`."""

    def __post_init__(self) -> None:
        given = self.stop_words is None and self.language is not None
        if given and self.language not in LANGUAGES:
            raise ConfigError(
                f"measure.gopher: there is no list of stop words for language {self.language!r}",
                hint=f"one of {', '.join(LANGUAGES)}; or leave it out and run measure.language",
            )


class MeasureGopher(Stage):
    """`measure.gopher`: see the module docstring."""

    name: ClassVar[str] = "measure.gopher"
    version: ClassVar[int] = 3
    kind: ClassVar[Kind] = "measure"
    Params: ClassVar[type] = Params

    writes: Mapping[str, SignalType] = {
        "gopher_rule": "str",
        "gopher_words": "int",
        "gopher_mean_word": "float",
        "gopher_hash_ratio": "float",
        "gopher_ellipsis_ratio": "float",
        "gopher_bullet_lines": "float",
        "gopher_ellipsis_lines": "float",
        "gopher_alpha_words": "float",
        "gopher_alpha_tokens": "float",
        "gopher_stop_words": "int",
    }

    def __init__(self, params: Any) -> None:
        super().__init__(params)
        own = params.dialect == "corpusmill" and params.language is None
        self.reads = ("lang",) if own else ()
        self._lists = LISTS
        self._hashes: dict[str, npt.NDArray[np.uint64]] = {}

    def check_assets(self) -> None:
        if self.params.stop_words is not None:
            path = Path(self.params.stop_words)
            self._lists = read_lists(path)
            wanted = self.params.language
            if wanted is not None and wanted not in self._lists:
                raise AssetError(f"{path.name} has no list for {wanted!r}")

    def setup(self) -> None:
        """Reads the lists, compiles or loads the kernels."""
        self.check_assets()
        if self.params.dialect == "datatrove":
            datatrove_rules.gopher((), ())
        else:
            word_counts(())
            for language in self._lists if self.params.stop_words is not None else ():
                self._hashed(language)

    def apply(self, batch: Sequence[Document]) -> list[Outcome]:
        """The documents, with the signals filled in."""
        from .text_kernel import (
            ALPHA_TOKENS,
            ELLIPSES,
            HASHES,
            LINE_BULLET,
            LINE_DOTS,
            TOKENS,
        )

        texts = [document.text for document in batch]
        if self.params.dialect == "datatrove":
            listed = self._lists[self.params.language or "en"]
            return fill(batch, datatrove_rules.gopher(texts, listed))
        counts = word_counts(texts)
        lines = line_counts(texts)
        filled = lines.per_document(lines.filled)
        bullets = lines.per_document((lines.flags & LINE_BULLET) != 0)
        dots = lines.per_document((lines.flags & LINE_DOTS) != 0)
        total = np.diff(counts.table.doc_start)
        letters = segment_sums(counts.own, counts.table.doc_start)
        alpha = segment_sums((counts.table.flags & HAS_ALPHA) != 0, counts.table.doc_start)
        tokens, with_letter = marked_tokens(counts.table)
        stops = self._stop_words(batch, counts)
        for i, document in enumerate(batch):
            words = int(counts.count[i])
            row = counts.features[i].tolist()
            signals = document.signals
            unspaced = bool(counts.unspaced[i])
            signals["gopher_rule"] = UNSPACED if unspaced else SPACED
            signals["gopher_words"] = words
            if not unspaced and words:
                signals["gopher_mean_word"] = ratio(int(letters[i]), int(total[i]))
            signals["gopher_hash_ratio"] = ratio(row[HASHES], words)
            signals["gopher_ellipsis_ratio"] = ratio(row[ELLIPSES], words)
            signals["gopher_bullet_lines"] = ratio(int(bullets[i]), int(filled[i]))
            signals["gopher_ellipsis_lines"] = ratio(int(dots[i]), int(filled[i]))
            signals["gopher_alpha_words"] = (
                ratio(int(alpha[i]), int(total[i]))
                if unspaced
                else ratio(row[ALPHA_TOKENS], row[TOKENS])
            )
            if not unspaced:
                signals["gopher_alpha_tokens"] = ratio(int(with_letter[i]), int(tokens[i]))
            if i in stops:
                signals["gopher_stop_words"] = stops[i]
        return list(batch)

    def _stop_words(self, batch: Sequence[Document], counts: WordCounts) -> dict[int, int]:
        """Different stop words of each document whose language has a list."""
        by_language: dict[str, list[int]] = {}
        for i, document in enumerate(batch):
            if counts.unspaced[i]:
                continue
            language = self.params.language or str(document.signals.get("lang", ""))
            if language in self._lists:
                by_language.setdefault(language, []).append(i)
        found: dict[int, int] = {}
        for language, documents in by_language.items():
            for i, n in zip(
                documents, distinct_hits(counts, documents, self._hashed(language)), strict=True
            ):
                found[i] = n
        return found

    def _hashed(self, language: str) -> npt.NDArray[np.uint64]:
        """The hashes of a language's list, sorted."""
        if language not in self._hashes:
            try:
                self._hashes[language] = np.unique(word_hashes(self._lists[language]))
            except ValueError as error:
                raise AssetError(f"stop words of {language}: {error}") from error
        return self._hashes[language]


def distinct_hits(
    counts: WordCounts, documents: Sequence[int], wanted: npt.NDArray[np.uint64]
) -> list[int]:
    """How many of the hashes `wanted` (sorted) occur in each of `documents`."""
    result: list[int] = []
    for i in documents:
        hashes = counts.table.hash[counts.table.doc_start[i] : counts.table.doc_start[i + 1]]
        at = np.minimum(np.searchsorted(wanted, hashes), len(wanted) - 1)
        result.append(len(np.unique(at[wanted[at] == hashes])))
    return result


STAGE = MeasureGopher

__all__ = ["STAGE", "MeasureGopher", "Params", "distinct_hits"]
