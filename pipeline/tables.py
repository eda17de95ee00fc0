"""Tables between phases: Parquet files whose row groups belong to one partition each.

A task writes one file a table, rows of partition 0 first. The commit lists which row groups hold
which partition, so that a reader of one partition reads only its own bytes from every file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .document import META_COLUMNS, Document, Drop, Failure, Scalar
from .errors import StageError
from .identity import SUM_MODULUS, row_hash

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_PER_GROUP = 8192
ZSTD_LEVEL = 3
PIECE = 4 << 20
_READ = 1 << 18
_ARROW_NAMES = {"int": "int64", "float": "float64", "bool": "bool", "str": "string"}
_PYTHON = {"int": int, "float": float, "bool": bool, "str": str}
REJECT_COLUMNS = (
    "id", "source", "url", "step", "outcome", "reason", "value", "file", "offset", "length",
)  # fmt: skip


@dataclass(frozen=True)
class Groups:
    """Row groups of one partition in a file."""

    partition: int
    first: int
    count: int
    rows: int

    def plain(self) -> list[int]:
        return [self.partition, self.first, self.count, self.rows]


class TableWriter:
    """Collects rows by partition and writes them as one Parquet file."""

    def __init__(self) -> None:
        self.pieces: dict[int, list[pa.Table]] = {}
        self.schema: pa.Schema | None = None
        self.rows = 0

    def add(self, table: pa.Table, partitions: Sequence[int] | Any | None) -> None:
        """Adds rows; `partitions` gives each row's partition, None puts all in 0."""
        import numpy as np
        import pyarrow as pa

        if self.schema is None:
            self.schema = table.schema
        elif table.schema != self.schema:
            raise StageError(f"rows of another schema: {table.schema} after {self.schema}")
        if table.num_rows == 0:
            return
        self.rows += table.num_rows
        if partitions is None:
            self.pieces.setdefault(0, []).append(table)
            return
        which = np.asarray(partitions, dtype=np.int64)
        order = np.argsort(which, kind="stable")
        ordered = _taken(table, pa.array(order))
        values, starts = np.unique(which[order], return_index=True)
        ends = np.append(starts[1:], len(which))
        for value, start, end in zip(values, starts, ends, strict=True):
            piece = ordered.slice(int(start), int(end - start))
            self.pieces.setdefault(int(value), []).append(piece)

    def write(self, path: Path, sort: Sequence[str] = ()) -> list[Groups]:
        """Writes the file (`sort` orders the rows of each partition) and says what lies where."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        groups: list[Groups] = []
        first = 0
        # Unsigned columns are hashes, hardly one twice: a dictionary would only add to them.
        named = [f.name for f in self.schema or () if not pa.types.is_unsigned_integer(f.type)]
        options: Any = {
            "compression": "zstd", "compression_level": ZSTD_LEVEL, "write_page_checksum": True,
            "use_dictionary": named,
        }  # fmt: skip
        with pq.ParquetWriter(path, self.schema, **options) as writer:
            for partition in sorted(self.pieces):
                table = pa.concat_tables(self.pieces[partition]).combine_chunks()
                if sort:
                    table = _sorted(table, sort)
                writer.write_table(table, row_group_size=ROWS_PER_GROUP)
                count = -(-table.num_rows // ROWS_PER_GROUP)
                groups.append(Groups(partition, first, count, table.num_rows))
                first += count
        return groups


def _taken(table: pa.Table, rows: pa.Array) -> pa.Table:
    """Rows by number. `pyarrow.compute` is not imported: it makes Python functions of all that
    Arrow has, which takes a tenth of a second of every worker's start."""
    from pyarrow._compute import call_function

    return call_function("take", [table, rows])


def _sorted(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    from pyarrow._compute import SortOptions, call_function

    keys = [(column, "ascending") for column in columns]
    return _taken(table, call_function("sort_indices", [table], SortOptions(keys)))


def read_groups(path: Path, first: int, count: int, columns: Sequence[str] | None) -> pa.Table:
    """Rows of `count` row groups of one file (-1: all that follow), from number `first` on."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        end = file.num_row_groups if count < 0 else first + count
        picked = list(columns) if columns is not None else None
        if first == end:
            empty = file.schema_arrow.empty_table()
            return empty.select(picked) if picked is not None else empty
        return file.read_row_groups(range(first, end), columns=picked, use_threads=False)


def each_piece(
    path: Path, first: int, count: int, columns: Sequence[str] | None
) -> Iterator[pa.Table]:
    """The same in pieces of about `PIECE` bytes or less, of which there is one at least."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    picked = list(columns) if columns is not None else None
    with pq.ParquetFile(path, buffer_size=_READ, page_checksum_verification=True) as file:
        stop = file.num_row_groups if count < 0 else first + count
        sizes = [file.metadata.row_group(n).total_byte_size for n in range(first, stop)]
        if not sizes:
            yield read_groups(path, first, 0, columns)
        for at, end in _runs(sizes):
            groups = list(range(first + at, first + end))
            if sizes[at] <= PIECE:
                yield file.read_row_groups(groups, columns=picked, use_threads=False)
                continue
            rows = max(1, file.metadata.row_group(groups[0]).num_rows * PIECE // sizes[at])
            # A reader of several such groups would hold on to all that it has read.
            for batch in file.iter_batches(rows, groups, picked, use_threads=False):
                yield pa.Table.from_batches([batch])


def _runs(sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Bounds of neighbours that are `PIECE` bytes together at most; larger ones are alone."""
    start = held = 0
    for n, size in enumerate(sizes):
        if n > start and held + size > PIECE:
            yield start, n
            start, held = n, 0
        held += size
    if sizes:
        yield start, len(sizes)


def document_schema(signals: Mapping[str, str]) -> pa.Schema:
    """Columns of a document table: id, source, text, every meta column, signals by name."""
    import pyarrow as pa

    fields = [
        pa.field("id", pa.string(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("text", pa.large_string(), nullable=False),
    ]
    names = {str: "string", int: "int64", float: "float64", bool: "bool"}
    for name, kind in META_COLUMNS.items():
        fields.append(pa.field(name, pa.type_for_alias(names[kind])))
    for name in sorted(signals):
        if name in META_COLUMNS or name in ("id", "source", "text"):
            raise StageError(
                f"a signal may not be called {name!r}: a document column has that name"
            )
        fields.append(pa.field(name, pa.type_for_alias(_ARROW_NAMES[signals[name]])))
    return pa.schema(fields)


def _typed(value: Scalar | None, kind: type, what: str) -> Scalar | None:
    if value is None or (type(value) is kind):
        return value
    if kind is float and type(value) is int:
        return float(value)
    raise StageError(f"{what} is {value!r} ({type(value).__name__}), declared as {kind.__name__}")


def document_table(docs: Sequence[Document], signals: Mapping[str, str]) -> tuple[pa.Table, int]:
    """The rows of `docs` and the order-free content digest (sum of row hashes).

    Raises StageError for a meta key or signal that is not declared, or of another type.
    """
    import pyarrow as pa

    schema = document_schema(signals)
    columns: dict[str, list[Any]] = {name: [] for name in schema.names}
    total = 0
    for doc in docs:
        rest: dict[str, Scalar] = {"source": doc.source}
        for name, kind in META_COLUMNS.items():
            value = _typed(doc.meta.get(name), kind, f"meta {name!r} of {doc.id}")
            columns[name].append(value)
            if value is not None:
                rest[name] = value
        for name, signal in signals.items():
            value = _typed(doc.signals.get(name), _PYTHON[signal], f"signal {name!r} of {doc.id}")
            columns[name].append(value)
            if value is not None:
                rest[name] = value
        if len(doc.meta) > len(META_COLUMNS) or not doc.meta.keys() <= META_COLUMNS.keys():
            extra = sorted(doc.meta.keys() - META_COLUMNS.keys())
            raise StageError(f"document {doc.id} has meta keys that are not known: {extra}")
        if not doc.signals.keys() <= signals.keys():
            extra = sorted(doc.signals.keys() - signals.keys())
            raise StageError(f"document {doc.id} has signals that nobody declared: {extra}")
        columns["id"].append(doc.id)
        columns["source"].append(doc.source)
        columns["text"].append(doc.text)
        total += row_hash(doc.id, doc.text, rest)
    arrays = [pa.array(columns[f.name], type=f.type) for f in schema]
    return pa.table(arrays, schema=schema), total % SUM_MODULUS


def documents(table: pa.Table, signals: Mapping[str, str]) -> Iterator[Document]:
    """The rows of a document table as documents; null columns become absent keys."""
    names = table.schema.names
    metas = [n for n in META_COLUMNS if n in names]
    held = [n for n in signals if n in names]
    for batch in table.to_batches(max_chunksize=1024):
        for row in batch.to_pylist():
            yield Document(
                id=row["id"], text=row["text"], source=row["source"],
                meta={n: row[n] for n in metas if row[n] is not None},
                signals={n: row[n] for n in held if row[n] is not None},
            )  # fmt: skip


def reject_table(rows: Sequence[Sequence[Any]]) -> pa.Table:
    """Rows in the order of `REJECT_COLUMNS`: what was dropped or failed, and why."""
    import pyarrow as pa

    kinds = [pa.string()] * 8 + [pa.int64()] * 2
    schema = pa.schema([pa.field(n, k) for n, k in zip(REJECT_COLUMNS, kinds, strict=True)])
    columns: list[Any] = list(zip(*rows, strict=True)) if rows else [[] for _ in kinds]
    arrays = [pa.array(list(c), type=k) for c, k in zip(columns, kinds, strict=True)]
    return pa.table(arrays, schema=schema)


def value_text(outcome: Drop | Failure) -> str | None:
    """The deciding value of a drop, or a failure's message, as the text kept in rejects."""
    if isinstance(outcome, Failure):
        return outcome.message[:300].encode("utf-8", "replace").decode("utf-8") or None
    value = outcome.value
    if value is None:
        return None
    if isinstance(value, float):
        return format(value, ".6f").rstrip("0").rstrip(".")
    return str(value)[:300].encode("utf-8", "replace").decode("utf-8")
