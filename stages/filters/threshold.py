"""Keeps documents whose signal lies between two bounds, both included.

The general deciding step: a quality score, a share of contaminated words, any number that a
measure wrote. True and False count as 1 and 0.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from corpusmill.pipeline.document import Document, Drop, Outcome
from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.stage import Kind, Side, Stage

from .rules import as_number, missing


@dataclass(frozen=True, slots=True)
class Params:
    """Parameters of `filters.threshold`; at least one of `min` and `max` must be given."""

    signal: str
    min: float | None = None
    max: float | None = None
    allow_missing: bool = False
    """Keeps documents without the signal; otherwise one of them fails the run."""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9_]+", self.signal):
            raise ConfigError(
                f"filters.threshold: {self.signal!r} is no name of a signal",
                hint="names have small letters, digits and underscores",
            )
        if self.min is None and self.max is None:
            raise ConfigError(
                f"filters.threshold on {self.signal}: neither min nor max is given",
                hint="a threshold without a bound drops nothing",
            )
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ConfigError(
                f"filters.threshold on {self.signal}: min {self.min} is over max {self.max}",
                hint="no document could pass",
            )


class Threshold(Stage):
    """`filters.threshold`: reasons are ``<signal>_below`` and ``<signal>_above``."""

    name: ClassVar[str] = "filters.threshold"
    version: ClassVar[int] = 1
    kind: ClassVar[Kind] = "decide"
    Params: ClassVar[type] = Params

    def __init__(self, params: Any) -> None:
        super().__init__(params)
        self.reads = (params.signal,)
        self.reasons = (f"{params.signal}_below", f"{params.signal}_above")

    def thresholds(self) -> list[tuple[str, str, float, Side]]:
        """The bounds that are given."""
        p: Params = self.params
        sides: tuple[Side, Side] = ("low", "high")
        rows = zip(self.reasons, (p.min, p.max), sides, strict=True)
        return [
            (reason, p.signal, bound, side) for reason, bound, side in rows if bound is not None
        ]

    def apply(self, batch: Sequence[Document]) -> list[Outcome]:
        """Raises StageError for a signal that is absent (unless allowed) or not a number."""
        p: Params = self.params
        outcomes: list[Outcome] = []
        for document in batch:
            value = document.signals.get(p.signal)
            if value is None:
                if not p.allow_missing:
                    raise missing(self.name, p.signal, document)
                outcomes.append(document)
                continue
            number = as_number(value, p.signal, self.name)
            if p.min is not None and not number >= p.min:
                outcomes.append(Drop(self.reasons[0], value))
            elif p.max is not None and not number <= p.max:
                outcomes.append(Drop(self.reasons[1], value))
            else:
                outcomes.append(document)
        return outcomes


STAGE = Threshold

__all__ = ["STAGE", "Params", "Threshold"]
