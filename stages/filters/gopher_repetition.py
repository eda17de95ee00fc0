"""Gopher's repetition rules, on the signals of `measure.repetition`.

Defaults: Rae et al. 2021, table A1. The rules decide in the order of the parameters, and the
first broken one is the reason, `rep_empty` before them: a document of nothing but white space.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from corpusmill.pipeline.document import Document, Drop, Outcome
from corpusmill.pipeline.stage import Kind, Side, Stage

from .rules import Bound, Rules, Scope


@dataclass(frozen=True, slots=True)
class Params(Scope):
    """Largest fractions allowed; None switches a rule off. Signals are ``rep_<name>``."""

    dup_paras: float | None = 0.30
    dup_para_chars: float | None = 0.20
    dup_lines: float | None = 0.30
    dup_line_chars: float | None = 0.20
    top_2gram: float | None = 0.20
    top_3gram: float | None = 0.18
    top_4gram: float | None = 0.16
    dup_5gram: float | None = 0.15
    dup_6gram: float | None = 0.14
    dup_7gram: float | None = 0.13
    dup_8gram: float | None = 0.12
    dup_9gram: float | None = 0.11
    dup_10gram: float | None = 0.10


class GopherRepetition(Stage):
    """`filters.gopher_repetition`: see the module docstring."""

    name: ClassVar[str] = "filters.gopher_repetition"
    version: ClassVar[int] = 2
    kind: ClassVar[Kind] = "decide"
    Params: ClassVar[type] = Params

    def __init__(self, params: Any) -> None:
        super().__init__(params)
        self._rules = Rules(self.name, params, _bounds)
        self.reads, self.reasons = self._rules.reads, self._rules.reasons

    def setup(self) -> None:
        """Reads the bounds of languages, where a file of them is named."""
        self._rules.setup()

    def thresholds(self) -> list[tuple[str, str, float, Side]]:
        """The bounds of the rules."""
        return self._rules.thresholds()

    def broken(self, batch: Sequence[Document]) -> list[list[Drop]]:
        """All rules that each document breaks."""
        return self._rules.broken(batch)

    def apply(self, batch: Sequence[Document]) -> list[Outcome]:
        """Drops by the first rule that a document breaks."""
        return self._rules.apply(batch)


_OWN = [f for f in fields(Params) if f.name not in {g.name for g in fields(Scope)}]


def _bounds(p: Params) -> tuple[Bound, ...]:
    return (
        Bound("rep_empty", "rep_filled", low=1),
        *(Bound(f"rep_{f.name}", f"rep_{f.name}", high=getattr(p, f.name)) for f in _OWN),
    )


STAGE = GopherRepetition

__all__ = ["STAGE", "GopherRepetition", "Params"]
