"""Parts of a partition that a task works through one after the other, to keep to its budget.

A partition is what the leading bits of a hash choose; a part is what the next bits choose. What has
the same hash is in the same part, so that a phase that compares what has equal hashes finds the
same for any number of parts. Its tables are read again for each part, row group by row group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from corpusmill.pipeline.context import TaskContext

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

FIXED = 48 << 20
"""Of a budget, what is for the pieces that a task is at, and what Arrow has not given back yet."""
MOST_PARTS = 1 << 16

Chosen = Callable[[Any], "npt.NDArray[np.bool_]"]


@dataclass(frozen=True, slots=True)
class Need:
    """Memory that a task needs for a table: `times` the bytes of one of its columns."""

    table: str
    column: str
    times: float


@dataclass(frozen=True, slots=True)
class Part:
    """Part `number` of `count`, a power of two, of the partition of a task."""

    ctx: TaskContext
    number: int
    count: int

    def has(self, hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
        """Which of the partition's hashes are in this part."""
        behind = np.uint64(self.ctx.partitions.bit_length() - 1)
        bits = np.uint64(self.count.bit_length() - 1)
        if bits == 0:
            return np.ones(len(hashes), np.bool_)
        found: npt.NDArray[np.bool_] = hashes << behind >> (np.uint64(64) - bits) == self.number
        return found

    def read(self, table: str, chosen: Chosen, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows of the partition that `chosen` chooses: of a table a mask."""
        import pyarrow as pa

        if self.count == 1:
            return self.ctx.read(table, partition=self.ctx.index, columns=columns)
        pieces = self.ctx.batches(table, partition=self.ctx.index, columns=columns)
        found = [piece.filter(pa.array(chosen(piece))) for piece in pieces]
        _give_back()
        return pa.concat_tables(found).combine_chunks()

    def by_hash(self, table: str, column: str, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows of the partition whose hash, in `column`, is in this part."""
        return self.read(table, lambda piece: self.has(piece[column].to_numpy()), columns)


def parts(ctx: TaskContext, *needs: Need) -> Iterator[Part]:
    """The parts of a task's partition: as many as keep what it needs within its budget."""
    if not ctx.memory_bytes:
        yield Part(ctx, 0, 1)
        return
    _frugal()
    held = sum(_bytes(ctx, need) for need in needs)
    count = 1
    while held / count > max(ctx.memory_bytes - FIXED, 1) and count < MOST_PARTS:
        count *= 2
    for number in range(count):
        yield Part(ctx, number, count)


def _bytes(ctx: TaskContext, need: Need) -> float:
    pieces = ctx.batches(need.table, partition=ctx.index, columns=(need.column,))
    size = sum(int(piece.nbytes) for piece in pieces)
    _give_back()
    return need.times * size


def _frugal() -> None:
    """Has this process take Arrow's memory from jemalloc, where Arrow was built with it: mimalloc,
    its first choice, kept up to 60 MB of what was freed, or took twice the time to give it back."""
    import pyarrow as pa

    if "jemalloc" in pa.supported_memory_backends():
        pa.set_memory_pool(pa.jemalloc_memory_pool())


def _give_back() -> None:
    """What Arrow has freed goes back to the system, of which it would keep as much again."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()
