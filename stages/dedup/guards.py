"""What a deduplication step says of itself: how much may go, and which clusters are large."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from corpusmill.pipeline.errors import StageError

NAMED = 20
"""Clusters that the notes name at most."""


def check_share(stage: str, removed: int, of: int, what: str, most: float) -> None:
    """Raises StageError if `removed` is more than the share `most` of `of`. `what` completes
    the sentence "3 of 10 …"."""
    if removed > Fraction(str(most)) * of:
        raise StageError(
            f"{stage}: {removed} of {of} {what}, more than max_removed_share = {most}",
            hint="see the largest in the step's notes; raise max_removed_share if they are right",
        )


def largest(clusters: Iterable[tuple[str, int, str | None]]) -> list[list[Any]]:
    """The largest of `clusters` (id, size, host of the survivor), largest first, as lists."""
    ordered = sorted(clusters, key=lambda c: (-c[1], c[0]))
    return [[name, size, host or ""] for name, size, host in ordered[:NAMED]]


def merge_largest(notes: Sequence[Mapping[str, Any]], key: str) -> list[list[Any]]:
    """The largest of those that the partitions' notes name under `key`."""
    return largest((c[0], int(c[1]), c[2]) for note in notes for c in note[key])
