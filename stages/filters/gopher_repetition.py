"""Gopher's repetition rules, on the signals of `measure.repetition`.

Defaults: Rae et al. 2021, table A1. The rules decide in the order of the parameters, and the
first broken one is the reason, `rep_empty` before them: a document of nothing but white space.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from corpusmill.pipeline.document import Document, Outcome
from corpusmill.pipeline.stage import Kind, Stage

from .rules import Bound, first_broken


@dataclass(frozen=True, slots=True)
class Params:
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
        self.bounds = (
            Bound("rep_empty", "rep_filled", low=1),
            *(
                Bound(f"rep_{f.name}", f"rep_{f.name}", high=getattr(params, f.name))
                for f in fields(Params)
            ),
        )
        self.reads = tuple(b.signal for b in self.bounds)
        self.reasons = tuple(b.reason for b in self.bounds)

    def apply(self, batch: Sequence[Document]) -> list[Outcome]:
        """Drops by the first rule that a document breaks."""
        return [first_broken(d, self.bounds, self.name) or d for d in batch]


STAGE = GopherRepetition

__all__ = ["STAGE", "GopherRepetition", "Params"]
