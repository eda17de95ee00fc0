"""Some records' rows in the tables of a run, found without reading the rest.

An id says which partition holds it, and so which files; the rows of a file lie by id within a
partition, so that the bounds of a row group say whether it may be there. A URL has no such order:
its column is read, but in the first phase alone, which every record went through.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .context import hash_of_ids, partition_of
from .engine import RunFolder
from .errors import IntegrityError
from .planning import Phase, Plan

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq


def is_id(word: str) -> bool:
    """Whether a word is an id by its form: 32 hexadecimal digits, no capitals."""
    return len(word) == 32 and set(word) <= set("0123456789abcdef")


def ids_of_url(run: RunFolder, phases: Sequence[Phase], url: str) -> list[str]:
    """The ids, sorted, of all records with this URL; `phases` are document phases, in order."""
    found: set[str] = set()
    for phase in phases:
        place = run.phase_folder(phase)
        whole = not place.cleaned().exists()
        for table in ("rejects", "docs") if whole else ("rejects",):
            for entry in run.seal(phase.name).tables(table):
                for held in matching(place.root / entry["path"], "url", [url], only=("id",)):
                    found.update(held["id"].to_pylist())
        if whole:
            break  # what it did not drop stands in its documents
    return sorted(found)


def rows_of(
    run: RunFolder, phase: Phase, table: str, doc_id: str, *, only: Collection[str] | None = None,
    without: Collection[str] = (),
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """The rows that a document phase's table ``docs`` or ``rejects`` has of an id.

    `only` and `without` choose columns. Raises IntegrityError for a file that cannot be read.
    """
    for held in tables_of(run, phase, table, [doc_id], only=only, without=without):
        yield from held.to_pylist()


def tables_of(
    run: RunFolder, phase: Phase, table: str, ids: Collection[str], *,
    tasks: Collection[int] | None = None, only: Collection[str] | None = None,
    without: Collection[str] = (),
) -> Iterator[pa.Table]:  # fmt: skip
    """The rows that a document phase's table ``docs`` or ``rejects`` has of some ids, by file.

    `tasks` are those of the first phase that can have read them (see `tasks_that_read`); of a
    later phase the ids say which. Raises IntegrityError for a file that cannot be read.
    """
    if not ids:
        return
    root = run.phase_folder(phase).root
    by_partition: dict[int, list[str]] = {}
    partitions = partition_of(hash_of_ids(list(ids)), run.plan.partitions)
    for doc_id, partition in zip(ids, partitions, strict=True):
        by_partition.setdefault(int(partition), []).append(doc_id)
    for piece in run.index(phase.name).files(table):
        if phase.upstream:  # a task of a later phase is a partition, one of the first some files
            mine: Collection[str] = by_partition.get(piece.task, ())
        else:
            mine = ids if tasks is None or piece.task in tasks else ()
        if mine:
            yield from matching(root / piece.path, "id", mine, only=only, without=without)


def tasks_that_read(plan: Plan, rows: Collection[Mapping[str, Any]]) -> set[int] | None:
    """The tasks of the first phase that read the files of these rows (columns ``source`` and
    ``file``); None where a file is no input of this run, as of records of another run."""
    wanted = {(row["source"], row["file"]) for row in rows}
    names = [
        [(source["name"], entry[0]) for entry in source["files"]] for source in plan.data["inputs"]
    ]
    if not wanted <= {name for files in names for name in files}:
        return None
    return {
        number
        for number, files in enumerate(plan.data["layout"]["tasks"])
        if any(names[source][file] in wanted for source, file in files)
    }


def matching(
    path: Path, column: str, values: Collection[str], *, only: Collection[str] | None = None,
    without: Collection[str] = (),
) -> Iterator[pa.Table]:  # fmt: skip
    """The rows of a Parquet file whose text column `column` is one of `values`, by row group. The
    other columns are read only of groups that have such a row. Raises IntegrityError if the file
    cannot be read."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    ordered = sorted(values)
    try:
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
            wanted = [n for n in names if (only is None or n in only) and n not in without]
            for group in _groups(file, names.index(column), ordered):
                held = file.read_row_group(group, columns=[column], use_threads=False)[column]
                among = pc.is_in(held, value_set=pa.array(ordered, held.type))
                at = pc.indices_nonzero(among)
                if len(at):
                    rows = file.read_row_group(group, columns=wanted, use_threads=False)
                    yield rows.take(at)
    except (OSError, ValueError) as error:
        raise IntegrityError(f"{path} cannot be read back: {error}") from None


def _groups(file: pq.ParquetFile, column: int, values: Sequence[str]) -> Iterator[int]:
    """Row groups that may hold one of the sorted values, by the bounds that the file states."""
    for group in range(file.metadata.num_row_groups):
        bounds = file.metadata.row_group(group).column(column).statistics
        if bounds is None or not bounds.has_min_max:
            yield group
            continue
        first = bisect_left(values, bounds.min)
        if first < len(values) and values[first] <= bounds.max:
            yield group
