"""One attempt at one task: files under a name of its own, checked, moved, recorded last."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .commits import Commit, PhaseFolder, put_commit, slurm_job
from .context import partition_of
from .durable import fault_point, move_into_place, new_attempt, sync_file
from .errors import IntegrityError
from .identity import sha256_file
from .peak import peak_bytes, start_again
from .tables import TableWriter

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa


class Attempt:
    """Collects a task's outputs and commits them. Use as a context manager: an exception, or
    leaving without `finish`, removes the attempt's files."""

    def __init__(
        self, folder: PhaseFolder, phase: str, key: str, task: int, partitions: int
    ) -> None:
        self.folder = folder
        self.partitions = partitions
        self.commit = Commit(phase, key, task)
        self.name = new_attempt()
        self.scratch = folder.temporary(task, self.name)
        self._tables: dict[str, TableWriter] = {}
        self._sorts: dict[str, tuple[str, ...]] = {}
        self._extra: dict[str, dict[str, Any]] = {}
        self._files: dict[str, Path] = {}
        self._started = time.time()
        self._cpu = time.process_time()

    def __enter__(self) -> Attempt:
        fault_point("open")
        start_again()
        self.scratch.mkdir(parents=True)
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.scratch, ignore_errors=True)

    def write(
        self, table: str, data: pa.Table, hashes: npt.NDArray[np.uint64] | None = None
    ) -> None:
        """Adds rows to a table; see `TaskContext.write`."""
        writer = self._tables.setdefault(table, TableWriter())
        writer.add(data, None if hashes is None else partition_of(hashes, self.partitions))

    def describe(self, table: str, *, sort: Sequence[str] = (), **extra: Any) -> None:
        """Row order within a partition, and further keys of the table's file entry."""
        self._sorts[table] = tuple(sort)
        self._extra[table] = extra

    def new_file(self, name: str) -> Path:
        """A path for a product file called `name`."""
        parts = name.split("/")
        if not name or any(p in ("", ".", "..") for p in parts) or "\\" in name:
            raise IntegrityError(f"{name!r} is not the name of an output file")
        path = self.scratch / "files" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        self._files[name] = path
        return path

    def finish(self) -> bool:
        """Writes, syncs, re-reads, moves and records. False if an equal commit was there."""
        entries = []
        for table in sorted(self._tables):
            writer = self._tables[table]
            path = self.scratch / f"{table}.parquet"
            fault_point("write")
            groups = writer.write(path, self._sorts.get(table, ()))
            _check_parquet(path, writer.rows)
            entry = self._place(
                path, table, ".parquet", "rejects" if table == "rejects" else "data"
            )
            entry |= {
                "table": table, "rows": writer.rows, "groups": [g.plain() for g in groups],
                **self._extra.get(table, {}),
            }  # fmt: skip
            entries.append(entry)
        for name in sorted(self._files):
            path = self._files[name]
            if not path.is_file():
                raise IntegrityError(f"the output file {name!r} was announced and not written")
            entries.append(self._place(path, name, path.suffix, "data"))
        self.commit.files = entries
        if (memory := peak_bytes()) is not None:
            self.commit.counts["memory"] = memory
        self.commit.provenance = {
            "attempt": self.name, "pid": os.getpid(),
            "started": _utc(self._started), "finished": _utc(time.time()),
            "cpu_seconds": format(time.process_time() - self._cpu, ".3f"),
            "job": slurm_job(),
        }  # fmt: skip
        return put_commit(self.folder, self.commit)

    def _place(self, path: Path, name: str, suffix: str, room: str) -> dict[str, Any]:
        """Moves a finished file to its content-addressed name: two attempts that made the same
        bytes meet at one name, two that did not cannot overwrite each other. The digest is of
        what was read back, so a file that cannot be read never gets a name."""
        sync_file(path)
        size, digest = path.stat().st_size, sha256_file(path)
        task = self.commit.task
        parent = self.folder.rejects(task) if room == "rejects" else self.folder.data(task)
        flat = name.replace("/", "_").removesuffix(suffix)
        final = parent / f"{task:06d}-{flat}-{digest[:16]}{suffix}"
        move_into_place(path, final)
        relative = final.relative_to(self.folder.root).as_posix()
        return {"name": name, "path": relative, "bytes": size, "sha256": digest}


def _check_parquet(path: Path, rows: int) -> None:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        if file.metadata.num_rows != rows:
            raise IntegrityError(f"{path} holds {file.metadata.num_rows} rows, {rows} were written")


def _utc(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def plain_notes(value: Any, place: str = "note") -> Any:
    """`value` as JSON values without floats. Raises IntegrityError for anything else."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Mapping):
        return {str(k): plain_notes(v, f"{place}.{k}") for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain_notes(v, place) for v in value]
    raise IntegrityError(f"{place}: {value!r} cannot stand in a record (no floats, no objects)")
