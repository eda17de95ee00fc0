"""The texts of some of a partition's documents, in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from corpusmill.pipeline.context import TaskContext

from .ids import join_ids, split_ids
from .sets import places

if TYPE_CHECKING:
    import numpy.typing as npt

_BATCH_CHARS = 4_000_000


@dataclass(slots=True)
class Picked:
    """A batch of documents."""

    ids: list[str] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    """The place of each id among those that were wanted."""
    texts: list[str] = field(default_factory=list)
    columns: dict[str, list[Any]] = field(default_factory=dict)
    """What else was asked for, by name of the column."""


def picked(
    ctx: TaskContext, wanted: npt.NDArray[Any], columns: Sequence[str] = ()
) -> Iterator[Picked]:
    """The documents of one partition whose id is among `wanted` (packed, sorted, distinct); at the
    end a batch of none, so that every task writes its tables."""

    def fresh() -> Picked:
        return Picked(columns={name: [] for name in columns})

    made = fresh()
    chars = 0
    for piece in ctx.batches("docs", partition=ctx.index, columns=("id", "text", *columns)):
        for batch in piece.to_batches(max_chunksize=1024):
            ids = batch.column("id").to_pylist()
            place, there = places(join_ids(*split_ids(ids)), wanted)
            for row in np.flatnonzero(there).tolist():
                text = batch.column("text")[row].as_py()
                made.ids.append(ids[row])
                made.rows.append(int(place[row]))
                made.texts.append(text)
                for name in columns:
                    made.columns[name].append(batch.column(name)[row].as_py())
                chars += len(text)
                if chars > _BATCH_CHARS:
                    yield made
                    made, chars = fresh(), 0
    if made.ids:
        yield made
    yield fresh()
