"""Where the rows of a sealed phase lie, by partition: what a task needs of a seal, and no more.

Two Parquet files beside the seal, written before it: a row for each file of a table
(``sealed.files``), and a row for each partition that a file has rows of (``sealed.groups``), sorted
by table and partition within a thousand tasks, so that the bounds of its row groups say which of
them a reader needs. A task that reads one partition of 100,000 files holds neither their records
nor the other partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from .durable import fault_point, move_into_place, new_attempt, sync_file
from .errors import IntegrityError
from .identity import sha256_file

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa
    import pyarrow.parquet as pq

FILES_NAME, GROUPS_NAME = "sealed.files.parquet", "sealed.groups.parquet"
BLOCK_TASKS = 1000
"""Tasks whose groups are sorted together, and held while the seal is written."""
ROWS_PER_GROUP = 1 << 15
_KEY = b"phase_key"
_HINT = "remove sealed.json beside it and run again: it is made anew from the commits"

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Piece:
    """Some row groups of one file of a table."""

    task: int
    path: str
    """Relative to the phase's folder."""
    bytes: int
    first: int
    count: int
    """How many row groups from `first` on; -1: all that there are."""

    def no_rows(self) -> Piece:
        """Nothing of the file but its columns."""
        return replace(self, first=0, count=0)


class IndexWriter:
    """Writes the index of a phase from the file entries of its tasks, in the order of the tasks."""

    def __init__(self, root: Path, key: str) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        text, number = pa.string(), pa.int32()
        about = {_KEY: key.encode()}
        self._root = root
        self._files: list[tuple[str, int, str, int]] = []
        self._groups: dict[str, list[npt.NDArray[np.int32]]] = {}
        """By table, columns as in the file from the partition on."""
        self._schemas = {
            FILES_NAME: pa.schema(
                [("table", text), ("task", number), ("path", text), ("bytes", pa.int64())], about
            ),
            GROUPS_NAME: pa.schema(
                [("table", text), ("partition", number), ("task", number), ("first", number),
                 ("count", number)], about,
            ),
        }  # fmt: skip
        root.mkdir(parents=True, exist_ok=True)
        fault_point("open")
        self._paths = {n: root / f".{n}.{new_attempt()}.tmp" for n in self._schemas}
        self._writers = {
            name: pq.ParquetWriter(
                self._paths[name], schema, compression="zstd", write_page_checksum=True,
                use_dictionary=["table"],
            )
            for name, schema in self._schemas.items()
        }  # fmt: skip

    def add(self, task: int, entry: Mapping[str, Any]) -> None:
        """Adds one table's file; `entry` is that of a commit, with its groups."""
        import numpy as np

        name = str(entry["table"])
        self._files.append((name, task, entry["path"], entry["bytes"]))
        if len(entry["groups"]):
            partition, first, count, _ = np.array(entry["groups"], dtype=np.int32).T
            rows = np.stack([partition, np.full_like(first, task), first, count])
            self._groups.setdefault(name, []).append(rows)

    def end_task(self, task: int) -> None:
        """To be called after the files of each task: writes what is held of a block of them."""
        if (task + 1) % BLOCK_TASKS == 0:
            self._flush()

    def _flush(self) -> None:
        import numpy as np
        import pyarrow as pa

        if self._files:
            columns = list(zip(*self._files, strict=True))
            schema = self._schemas[FILES_NAME]
            arrays = [pa.array(c, type=f.type) for c, f in zip(columns, schema, strict=True)]
            self._writers[FILES_NAME].write_table(pa.table(arrays, schema=schema))
            self._files = []
        for name in sorted(self._groups):
            rows = np.concatenate(self._groups.pop(name), axis=1)
            rows = rows[:, np.lexsort((rows[1], rows[0]))]
            arrays = [pa.repeat(name, rows.shape[1]), *map(pa.array, rows)]
            table = pa.table(arrays, schema=self._schemas[GROUPS_NAME])
            self._writers[GROUPS_NAME].write_table(table, row_group_size=ROWS_PER_GROUP)

    def finish(self) -> dict[str, str]:
        """Puts both files in place; returns the sha256 of each by its name."""
        self._flush()
        digests = {}
        for name, writer in self._writers.items():
            writer.close()
            sync_file(self._paths[name])
            digests[name] = sha256_file(self._paths[name])
            move_into_place(self._paths[name], self._root / name)
        return digests

    def give_up(self) -> None:
        """Removes what was not put in place."""
        for name, writer in self._writers.items():
            writer.close()
            self._paths[name].unlink(missing_ok=True)


class SealIndex:
    """The index of a sealed phase. Raises IntegrityError where it is damaged or another's."""

    def __init__(self, root: Path, key: str) -> None:
        self._root = root
        self._key = key
        self._footers: dict[str, pq.FileMetaData] = {}

    def has(self, table: str) -> bool:
        """Whether any task wrote the table."""
        return bool(self._of(table).num_rows)

    def files(self, table: str) -> list[Piece]:
        """All files of a table, whole, in task order."""
        found = _rows(self._of(table), "task", "path", "bytes")
        return [Piece(task, path, size, 0, -1) for task, path, size in found]

    def pieces(self, table: str, partition: int) -> list[Piece]:
        """The row groups that hold a partition's rows, by file in task order; files without
        any are left out."""
        import pyarrow as pa
        import pyarrow.compute as pc

        wanted = [
            number
            for number, (name, low, high) in enumerate(self._bounds)
            if name == table and low <= partition <= high
        ]
        if not wanted:
            return []
        names = ["partition", "task", "first", "count"]

        def read(file: pq.ParquetFile) -> Iterator[pa.Table]:
            for number in wanted:  # one by one: most rows of each are of other partitions
                rows = file.read_row_group(number, names, use_threads=False)
                yield rows.filter(pc.equal(rows["partition"], partition))

        groups = self._read(GROUPS_NAME, lambda file: pa.concat_tables(read(file)))
        files = self._of(table)
        files = files.filter(pc.is_in(files["task"], groups["task"].combine_chunks()))
        both = zip(
            _rows(files, "task", "path", "bytes"), _rows(groups, "first", "count"), strict=True
        )
        return [Piece(*file, *span) for file, span in both]

    def _of(self, table: str) -> pa.Table:
        import pyarrow.compute as pc

        return self._files.filter(pc.equal(self._files["table"], table))

    @cached_property
    def _files(self) -> pa.Table:
        return self._read(FILES_NAME, lambda file: file.read(use_threads=False))

    @cached_property
    def _bounds(self) -> list[tuple[str, int, int]]:
        """Of each row group of the groups: its table, its first and its last partition."""
        return self._read(GROUPS_NAME, lambda file: list(_bounds(file.metadata)))

    def _read(self, name: str, read: Callable[[pq.ParquetFile], Found]) -> Found:
        import pyarrow.parquet as pq

        path = self._root / name
        try:
            with pq.ParquetFile(
                path, metadata=self._footers.get(name), page_checksum_verification=True
            ) as file:
                key = (file.schema_arrow.metadata or {}).get(_KEY)
                found = read(file)
                self._footers[name] = file.metadata
        except (OSError, ValueError) as error:
            raise IntegrityError(f"{path} cannot be read back: {error}", hint=_HINT) from None
        if key != self._key.encode():
            raise IntegrityError(f"{path} belongs to another phase key", hint=_HINT)
        return found


def _bounds(footer: pq.FileMetaData) -> Iterator[tuple[str, int, int]]:
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        table, partition = (group.column(i).statistics for i in (0, 1))
        yield table.min, partition.min, partition.max


def _rows(table: pa.Table, *names: str) -> Iterable[Any]:
    return zip(*(table[name].to_pylist() for name in names), strict=True)
