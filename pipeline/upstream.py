"""What one task reads of the phases before its own: sealed ones, or the one commit that it began
after (`corpusmill.pipeline.needs`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .errors import StageError
from .seal_index import Piece

if TYPE_CHECKING:
    import pyarrow as pa

    from .engine import RunFolder
    from .planning import Phase


class Upstream:
    """The tables that a task may read. A phase that is not sealed yet is waited for, and so is a
    commit: a network file system may show them late."""

    def __init__(self, run: RunFolder, phase: Phase, task: int, wait: float) -> None:
        self._run = run
        self.task = task
        self._wait = wait
        self._own = run.plan.needs[phase.name].own

    @cached_property
    def _commit(self) -> dict[str, Any]:
        return self._run.commit(str(self._own), self.task, wait=self._wait)

    def content(self) -> dict[str, str]:
        """The content of the commit that the task began after, by its phase; empty if none."""
        return {} if self._own is None else {self._own: self._commit["content"]}

    def has(self, phase: str, table: str) -> bool:
        """Whether there is such a table."""
        if phase == self._own:
            return self._entry(table) is not None
        return self._run.index(phase, wait=self._wait).has(table)

    def pieces(
        self, phase: str, table: str, partition: int | None, columns: Sequence[str] | None
    ) -> Iterator[pa.Table]:
        """As `RunFolder.pieces`. Raises StageError for a partition that another task writes."""
        if phase != self._own:
            yield from self._run.pieces(phase, table, partition, columns)
            return
        if partition != self.task:
            raise StageError(
                f"task {self.task} began after that of the same number in {phase}, and asks for "
                f"partition {partition} of its table {table!r}"
            )
        yield self._opened(phase, self._piece(table, partition), columns)

    def no_rows(self, phase: str, table: str) -> pa.Table:
        """A table's columns."""
        if phase != self._own:
            return next(self._run.pieces(phase, table, -1, None))
        return self._opened(phase, self._piece(table, -1), None)

    def _entry(self, table: str) -> dict[str, Any] | None:
        found = (entry for entry in self._commit["files"] if entry.get("table") == table)
        return next(found, None)

    def _piece(self, table: str, partition: int) -> Piece:
        entry = self._entry(table)
        if entry is None:
            raise StageError(f"task {self.task} of {self._own} wrote no table {table!r}")
        piece = Piece(self.task, entry["path"], entry["bytes"], 0, 0)
        for there, first, count, _ in entry["groups"]:
            if there == partition:
                return replace(piece, first=first, count=count)
        return piece

    def _opened(self, phase: str, piece: Piece, columns: Sequence[str] | None) -> pa.Table:
        folder = self._run.phase_folder(self._run.plan.phase(phase))
        return self._run.open_table(folder, piece, columns)
