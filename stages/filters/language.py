"""Keeps documents in chosen languages, on the signals of `measure.language`.

An empty `keep` keeps every language that was determined. ``und`` is kept only where it is listed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from corpusmill.pipeline.document import Document, Drop, Outcome
from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.stage import Kind, Side, Stage
from corpusmill.stages.measure.language_codes import UNDETERMINED, check_codes

from .rules import as_number, missing


@dataclass(frozen=True, slots=True)
class Params:
    """Parameters of `filters.language`."""

    keep: tuple[str, ...] = ()
    """Codes as in the signal `lang`; ``zh`` does not include ``zh-Hant``."""
    min_score: float = 0.0
    """Smallest `lang_score` kept; above 0.5 the language was settled, or two judges agreed."""

    def __post_init__(self) -> None:
        check_codes(self.keep, "filters.language: keep")
        if not 0 <= self.min_score <= 1:
            raise ConfigError(
                f"filters.language: min_score is {self.min_score}", hint="give 0 to 1"
            )


class LanguageFilter(Stage):
    """`filters.language`: see the module docstring."""

    name: ClassVar[str] = "filters.language"
    version: ClassVar[int] = 1
    kind: ClassVar[Kind] = "decide"
    Params: ClassVar[type] = Params

    reads: tuple[str, ...] = ("lang", "lang_score")
    reasons: tuple[str, ...] = ("language", "language_score")

    def thresholds(self) -> list[tuple[str, str, float, Side]]:
        """The smallest score, where one is set."""
        least = self.params.min_score
        return [("language_score", "lang_score", least, "low")] if least > 0 else []

    def apply(self, batch: Sequence[Document]) -> list[Outcome]:
        """Drops by language (value: the code), then by score (value: the score)."""
        return [self._outcome(document) for document in batch]

    def _outcome(self, document: Document) -> Outcome:
        p: Params = self.params
        code = document.signals.get("lang")
        score = document.signals.get("lang_score")
        if code is None or score is None:
            raise missing(self.name, "lang" if code is None else "lang_score", document)
        wanted = code in p.keep if p.keep else code != UNDETERMINED
        if not wanted:
            return Drop("language", code)
        if as_number(score, "lang_score", self.name) < p.min_score:
            return Drop("language_score", score)
        return document


STAGE = LanguageFilter

__all__ = ["STAGE", "LanguageFilter", "Params"]
