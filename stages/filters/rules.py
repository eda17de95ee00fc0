"""Bounds on signals, which the filters of published rule sets are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from corpusmill.pipeline.document import Document, Drop, Scalar
from corpusmill.pipeline.errors import StageError


@dataclass(frozen=True, slots=True)
class Bound:
    """Drops with `reason` where `signal` is under `low` or over `high`; None is no bound.

    A document whose signal is absent passes if `optional` (the measure says where a signal cannot
    be measured), else the run is wrong: see `first_broken`.
    """

    reason: str
    signal: str
    low: float | None = None
    high: float | None = None
    optional: bool = False


def first_broken(document: Document, bounds: Sequence[Bound], stage: str) -> Drop | None:
    """The drop by the first bound that the document breaks, None if it keeps all.

    Raises StageError if a signal that every measured document has is absent.
    """
    for bound in bounds:
        if bound.low is None and bound.high is None:
            continue
        value = document.signals.get(bound.signal)
        if value is None:
            if bound.optional:
                continue
            raise missing(stage, bound.signal, document)
        number = as_number(value, bound.signal, stage)
        if (bound.low is not None and not number >= bound.low) or (
            bound.high is not None and not number <= bound.high
        ):  # "not >=" rather than "<": not a number is out of bounds
            return Drop(bound.reason, value)
    return None


def missing(stage: str, signal: str, document: Document) -> StageError:
    """The error for a document that lacks a signal."""
    return StageError(
        f"{stage}: document {document.id} has no signal {signal!r}",
        hint=f"put the stage that writes {signal} before {stage}",
    )


def as_number(value: Scalar, signal: str, stage: str) -> float:
    """`value` as a number, False as 0 and True as 1. Raises StageError for a string."""
    if isinstance(value, str):
        raise StageError(
            f"{stage}: signal {signal!r} is the string {value!r}, which has no order",
            hint="bounds are for numbers",
        )
    return value
