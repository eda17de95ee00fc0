"""One record's rows in the tables of a run, found without reading the rest.

An id says which partition holds it, and so which files; the rows of a file lie by id within a
partition, so that the bounds of a row group say whether it may be there. A URL has no such order:
its column is read, but in the first phase alone, which every record went through.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .context import hash_of_ids, partition_of
from .engine import RunFolder
from .errors import IntegrityError
from .planning import Phase

if TYPE_CHECKING:
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
                rows = matching(place.root / entry["path"], "url", url, only=("id",))
                found.update(row["id"] for row in rows)
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
    (partition,) = partition_of(hash_of_ids([doc_id]), run.plan.partitions)
    root = run.phase_folder(phase).root
    for commit in run.seal(phase.name).commits:
        # The first phase's tasks read inputs, each task of a later one a partition.
        if phase.upstream and commit["task"] != partition:
            continue
        for entry in commit["files"]:
            if entry.get("table") == table:
                yield from matching(root / entry["path"], "id", doc_id, only=only, without=without)


def matching(
    path: Path, column: str, value: str, *, only: Collection[str] | None = None,
    without: Collection[str] = (),
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """The rows of a Parquet file whose text column `column` is `value`. The other columns are read
    only of row groups that have such a row. Raises IntegrityError if the file cannot be read."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
            wanted = [n for n in names if (only is None or n in only) and n not in without]
            for group in _groups(file, names.index(column), value):
                held = file.read_row_group(group, columns=[column], use_threads=False)[column]
                at = pc.indices_nonzero(pc.equal(held, value))
                if len(at):
                    rows = file.read_row_group(group, columns=wanted, use_threads=False)
                    yield from rows.take(at).to_pylist()
    except (OSError, ValueError) as error:
        raise IntegrityError(f"{path} cannot be read back: {error}") from None


def _groups(file: pq.ParquetFile, column: int, value: str) -> Iterator[int]:
    """Row groups that may hold the value, by the bounds that the file states."""
    for group in range(file.metadata.num_row_groups):
        bounds = file.metadata.row_group(group).column(column).statistics
        if bounds is None or not bounds.has_min_max or bounds.min <= value <= bounds.max:
            yield group
