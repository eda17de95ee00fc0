"""What a deduplication step says of itself: how much may go, and which clusters are large."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from corpusmill.pipeline.context import TaskContext
from corpusmill.pipeline.document import Document
from corpusmill.pipeline.errors import StageError

if TYPE_CHECKING:
    import pyarrow as pa

NAMED = 20
"""Clusters that the notes name at most."""
SAMPLES = 3
"""Members of each of them that the notes name at most."""

Counts = dict[str, int]
"""A number for each source."""


def totals_of(batch: Iterable[Document]) -> tuple[pa.Table, Any]:
    """What a step's `emit` says of the documents that it judges, as a table and its hashes:
    source, number and code points, a row a source."""
    import pyarrow as pa

    documents: Counts = {}
    chars: Counts = {}
    for doc in batch:
        add(documents, [(doc.source, 1)])
        add(chars, [(doc.source, len(doc.text))])
    table = pa.table(
        {
            "source": pa.array(list(documents), pa.string()),
            "documents": pa.array(documents.values(), pa.int64()),
            "chars": pa.array(chars.values(), pa.int64()),
        }
    )
    return table, np.zeros(len(documents), np.uint64)


def read_totals(ctx: TaskContext, table: str, what: str = "documents") -> Counts:
    """The sums over all batches of what `totals_of` counted: ``documents`` or ``chars``."""
    total: Counts = {}
    for piece in ctx.batches(table, columns=("source", what)):
        add(total, zip(piece["source"].to_pylist(), piece[what].to_pylist(), strict=True))
    return dict(sorted(total.items()))


def add(total: Counts, more: Iterable[tuple[str, int]]) -> None:
    """Adds to the counts."""
    for source, count in more:
        total[source] = total.get(source, 0) + int(count)


def merged(notes: Sequence[Mapping[str, Any]], key: str) -> Counts:
    """The sums of the counts that the partitions' notes have under `key`."""
    total: Counts = {}
    for note in notes:
        add(total, note[key].items())
    return dict(sorted(total.items()))


@dataclass(frozen=True)
class Shares:
    """How much a step may remove: of everything, and of what one source has; 1 is all."""

    stage: str
    removed: float
    source: float

    def check(self, removed: Counts, of: Counts, what: str) -> None:
        """Raises StageError with the numbers if more is `removed` of what there is (`of`). `what`
        completes the sentence "3 of 10 …"."""
        lost, all_ = sum(removed.values()), sum(of.values())
        if lost > Fraction(str(self.removed)) * all_:
            raise StageError(
                f"{self.stage}: {lost} of {all_} {what}, more than max_removed_share = "
                f"{self.removed}",
                hint="see the largest in the step's notes; raise max_removed_share if they are "
                "right",
            )
        over = [
            f"of the source {source!r} {lost} of {of[source]}"
            for source, lost in sorted(removed.items())
            if lost > Fraction(str(self.source)) * of[source]
        ]
        if over:
            raise StageError(
                f"{self.stage}: {', '.join(over)} {what}: more than max_source_share = "
                f"{self.source}",
                hint="look at what such a source's documents share; raise max_source_share if "
                "they are copies",
            )


def largest(
    clusters: Iterable[tuple[str, int, str | None, Sequence[str]]],
) -> list[list[Any]]:
    """The largest of `clusters` (id, size, host of the survivor, some members), largest first."""
    ordered = sorted(clusters, key=lambda c: (-c[1], c[0]))
    return [[name, size, host or "", list(some)] for name, size, host, some in ordered[:NAMED]]


def merge_largest(notes: Sequence[Mapping[str, Any]], key: str) -> list[list[Any]]:
    """The largest of those that the partitions' notes name under `key`."""
    return largest((c[0], int(c[1]), c[2], c[3]) for note in notes for c in note[key])
