"""Reads Parquet files with a text column; one `Document` a row, its place the row's number.

Row groups are read one at a time. The columns taken are the text column and those that
`corpusmill.stages.sources.rows.FIELDS` knows (or `fields` names); others are not read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from corpusmill.pipeline.document import Document, Drop, Failure, Outcome, Record, document_id
from corpusmill.pipeline.errors import ConfigError, InputError
from corpusmill.pipeline.stage import InputFile, Source

from .rows import FIELDS, row_meta

_ROWS = 1024


@dataclass(frozen=True)
class ParquetParams:
    """`text_column`: its name. `fields` maps a name of ``META_COLUMNS`` to a column's name, over
    the built-in names."""

    text_column: str = "text"
    fields: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        for name in self.fields or {}:
            if name not in FIELDS:
                raise ConfigError(
                    f"fields: {name!r} is no field that a row can give",
                    hint="one of " + ", ".join(sorted(FIELDS)),
                )


class Parquet(Source):
    """The source ``sources.parquet``. A file without the text column cannot be read at all
    (InputError); a row group whose pages are damaged is one ``corrupt_rows`` a row."""

    name = "sources.parquet"
    version = 1
    gives = "document"
    Params = ParquetParams
    reasons = ("empty",)
    errors = ("bad_utf8", "corrupt_rows", "null_text")

    params: ParquetParams

    def read(self, file: InputFile) -> Iterator[Record]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            table = pq.ParquetFile(file.path)
        except (OSError, pa.ArrowException) as err:
            raise InputError(
                f"{file.path}: {err}", hint="write it anew, or name it under exclude: of its source"
            ) from err
        with table:
            columns = self._columns(file, table.schema_arrow)
            number = 0
            for group in range(table.num_row_groups):
                rows = table.metadata.row_group(group).num_rows
                done = 0
                try:
                    for batch in table.iter_batches(_ROWS, row_groups=[group], columns=columns):
                        for raw, row in _rows(batch, self.params.text_column):
                            yield self._record(file, number + done, raw, row)
                            done += 1
                except (OSError, pa.ArrowException) as err:
                    for lost in range(done, rows):
                        yield _lost(file, number + lost, f"row group {group}: {err}")
                number += rows

    def read_one(self, file: InputFile, offset: int, key: str = "") -> Record | None:
        """The row of number `offset`, or None. The file is read up to it."""
        for record in self.read(file):
            if record.offset == offset and key in ("", record.id):
                return record
        return None

    def _columns(self, file: InputFile, schema: Any) -> list[str]:
        import pyarrow as pa

        text = self.params.text_column
        if text not in schema.names:
            raise InputError(
                f"{file.path}: no column {text!r}",
                hint="set text_column to one of " + (", ".join(schema.names) or "(no columns)"),
            )
        if schema.names.count(text) > 1:
            raise InputError(f"{file.path}: {schema.names.count(text)} columns are called {text!r}")
        kind = schema.field(text).type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if kind not in (pa.string(), pa.large_string(), pa.string_view()):
            raise InputError(f"{file.path}: column {text!r} is {kind}, not a string")
        known = {n for names in FIELDS.values() for n in names} | set(
            (self.params.fields or {}).values()
        )
        once = [n for n in schema.names if n != text and schema.names.count(n) == 1]
        return [text, *(n for n in once if n in known or n == "metadata")]

    def _record(
        self, file: InputFile, number: int, raw: bytes | None, row: dict[str, Any]
    ) -> Record:
        key = document_id(file.source, file.relative, file.size, number)
        outcome = self._outcome(file, key, number, raw, row)
        url = outcome.url if isinstance(outcome, Document) else ""
        return Record(key, number, 0, outcome, url)

    def _outcome(
        self, file: InputFile, key: str, number: int, raw: bytes | None, row: dict[str, Any]
    ) -> Outcome:
        if raw is None:
            return Failure("null_text")
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as err:
            return Failure("bad_utf8", f"byte {err.start} of the text: {err.reason}")
        if not text.strip():
            return Drop("empty")
        meta = row_meta(row, self.params.fields or {})
        meta["file"] = file.relative
        meta["offset"] = number
        return Document(key, text, file.source, meta)


def _rows(batch: Any, text: str) -> Iterator[tuple[bytes | None, dict[str, Any]]]:
    """The text (as bytes: nothing checks that a string column holds UTF-8) and the other values
    of each row of a record batch."""
    import pyarrow as pa

    column = batch.column(text)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if column.type == pa.string_view():
        column = column.cast(pa.large_string())
    texts = column.cast(pa.large_binary()).to_pylist()
    others = {n: _values(batch.column(n)) for n in batch.schema.names if n != text}
    for number, raw in enumerate(texts):
        yield raw, {n: values[number] for n, values in others.items()}


def _values(column: Any) -> list[Any]:
    """The values of a column. One that Python cannot hold (text that is no UTF-8, a time after
    the year 9999) is None; times are in UTC, in whole seconds."""
    import pyarrow as pa

    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("s"), safe=False)
    try:
        values: list[Any] = column.to_pylist()
        return values
    except (ValueError, OverflowError, LookupError):
        return [_value(cell) for cell in column]


def _value(cell: Any) -> Any:
    try:
        return cell.as_py()
    except (ValueError, OverflowError, LookupError):
        return None


def _lost(file: InputFile, number: int, message: str) -> Record:
    key = document_id(file.source, file.relative, file.size, number)
    return Record(key, number, 0, Failure("corrupt_rows", message[:200]))


STAGE = Parquet
