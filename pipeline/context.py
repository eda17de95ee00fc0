"""What a barrier's or sink's phase sees of the run: tables in, tables and files out.

The engine gives a `TaskContext`; tests can use `MemoryContext`, which keeps everything in memory
and a scratch folder, so that a stage is tested without a run folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from .errors import IntegrityError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa


class TaskContext(Protocol):
    """The interface between a phase and the engine.

    Names of tables and files are unique within a stage: `read` finds the phase (the preceding
    document phase for what `emit` returned and for ``docs``, else an earlier phase of the same
    stage) that wrote them. Rows come in a fixed order: by the columns that the writer sorted on
    within each upstream task, upstream tasks merged by `sort`, so that what a task sees does not
    depend on how many tasks wrote it. Always pass `sort` with columns that order the rows fully.
    """

    index: int
    """This task's number: the partition in a phase with "partitions" tasks, else 0."""
    partitions: int
    seed: int
    memory_bytes: int
    """What a task that compares rows may hold of them; 0: all of its partition."""
    params: Mapping[str, Any]
    """Recipe-wide values that a sink may need (name, sources with licences, …)."""

    def read(
        self,
        table: str,
        *,
        partition: int | None = None,
        columns: Sequence[str] | None = None,
        sort: Sequence[str] = (),
    ) -> pa.Table:
        """All rows of one partition (default: all partitions), sorted ascending by `sort`."""

    def batches(
        self, table: str, *, partition: int | None = None, columns: Sequence[str] | None = None
    ) -> Iterator[pa.Table]:
        """The same in pieces, unsorted: for order-free sums over more than fits in memory."""

    def write(
        self, table: str, data: pa.Table, hashes: npt.NDArray[np.uint64] | None = None
    ) -> None:
        """Adds rows to an output table; `hashes` (one a row) choose the partitions by leading
        bits, None puts all rows in partition 0. May be called many times."""

    def new_file(self, name: str) -> Path:
        """A path to write an output file to (``shards/web/00000.bin``). Committed with the task."""

    def files(self, prefix: str = "") -> dict[str, Path]:
        """Committed output files of earlier phases of this stage, by name, sorted."""

    def stage_files(self, step: str, prefix: str = "") -> dict[str, Path]:
        """Committed output files of another sink step that this one depends on, by name."""

    def note(self, key: str, value: Any) -> None:
        """Adds to this task's JSON summary (integers, strings, lists, objects; no floats)."""

    def notes(self, phase: str) -> list[dict[str, Any]]:
        """The summaries of all tasks of an earlier phase of this stage, in task order."""

    def balance(self, equation: str, *, total: int, parts: Mapping[str, int]) -> None:
        """States an equation of this task's own: raises IntegrityError unless the parts sum to
        the total; the figures go to the ledger."""


def hash_of_ids(ids: Sequence[str]) -> npt.NDArray[np.uint64]:
    """The leading 64 bits of each document id, as a uint64 array."""
    import numpy as np

    return np.fromiter((int(i[:16], 16) for i in ids), dtype=np.uint64, count=len(ids))


def partition_of(hashes: npt.NDArray[np.uint64], partitions: int) -> npt.NDArray[np.int64]:
    """The partition (leading bits) of each hash; `partitions` is a power of two."""
    import numpy as np

    bits = partitions.bit_length() - 1
    if bits == 0:
        return np.zeros(len(hashes), dtype=np.int64)
    return (hashes >> np.uint64(64 - bits)).astype(np.int64)


class MemoryContext:
    """A `TaskContext` in memory, to test the phases of one stage: see `run_phases`."""

    def __init__(
        self, scratch: Path, *, partitions: int = 1, seed: int = 1,
        params: Mapping[str, Any] | None = None, memory_bytes: int = 0,
    ) -> None:  # fmt: skip
        self.scratch = scratch
        self.index = 0
        self.partitions = partitions
        self.seed = seed
        self.memory_bytes = memory_bytes
        self.params: Mapping[str, Any] = params or {}
        self.phase = ""
        self.equations: list[tuple[str, int, dict[str, int]]] = []
        self._tables: dict[str, list[tuple[int, pa.Table]]] = {}
        self._files: dict[str, Path] = {}
        self._notes: dict[str, dict[int, dict[str, Any]]] = {}
        self.steps: dict[str, MemoryContext] = {}

    def read(
        self, table: str, *, partition: int | None = None,
        columns: Sequence[str] | None = None, sort: Sequence[str] = (),
    ) -> pa.Table:  # fmt: skip
        import pyarrow as pa

        pieces = list(self.batches(table, partition=partition, columns=columns))
        whole = pa.concat_tables(pieces)
        return whole.sort_by([(c, "ascending") for c in sort]) if sort else whole

    def batches(
        self, table: str, *, partition: int | None = None, columns: Sequence[str] | None = None
    ) -> Iterator[pa.Table]:
        for p, piece in self._tables[table]:
            if partition is None or p == partition:
                yield piece.select(list(columns)) if columns is not None else piece

    def write(
        self, table: str, data: pa.Table, hashes: npt.NDArray[np.uint64] | None = None
    ) -> None:
        import numpy as np
        import pyarrow as pa

        pieces = self._tables.setdefault(table, [])
        if not pieces:  # every partition knows the schema, also when it is empty
            pieces.extend((p, data.slice(0, 0)) for p in range(self.partitions))
        if hashes is None:
            pieces.append((0, data))
            return
        which = partition_of(hashes, self.partitions)
        for p in np.unique(which):
            pieces.append((int(p), data.filter(pa.array(which == p))))

    def new_file(self, name: str) -> Path:
        path = self.scratch / name
        path.parent.mkdir(parents=True, exist_ok=True)
        self._files[name] = path
        return path

    def files(self, prefix: str = "") -> dict[str, Path]:
        return {n: p for n, p in sorted(self._files.items()) if n.startswith(prefix)}

    def stage_files(self, step: str, prefix: str = "") -> dict[str, Path]:
        return self.steps[step].files(prefix)

    def note(self, key: str, value: Any) -> None:
        self._notes.setdefault(self.phase, {}).setdefault(self.index, {})[key] = value

    def notes(self, phase: str) -> list[dict[str, Any]]:
        by_task = self._notes.get(phase, {})
        return [by_task[i] for i in sorted(by_task)]

    def balance(self, equation: str, *, total: int, parts: Mapping[str, int]) -> None:
        if sum(parts.values()) != total:
            raise IntegrityError(
                f"{equation}: {dict(parts)} sums to {sum(parts.values())}, not {total}"
            )
        self.equations.append((equation, total, dict(parts)))

    def run_phases(self, stage: Any) -> None:
        """Runs all phases of a barrier or sink, every task of each, in order."""
        for phase in stage.phases:
            self.phase = phase.name
            for index in range(self.partitions if phase.tasks == "partitions" else 1):
                self.index = index
                getattr(stage, phase.method)(self)
