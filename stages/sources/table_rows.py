"""What the readers of Arrow tables (Parquet, Arrow IPC) share: columns, rows, their outcomes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from corpusmill.pipeline.document import Document, Drop, Failure, Outcome, Record, document_id
from corpusmill.pipeline.errors import ConfigError, InputError
from corpusmill.pipeline.stage import InputFile

from .rows import FIELDS, row_meta

REASONS = ("empty",)
ERRORS = ("bad_utf8", "corrupt_rows", "null_text")


@dataclass(frozen=True)
class TableParams:
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


def columns(file: InputFile, schema: Any, params: TableParams) -> list[str]:
    """The columns to read, that of the text first. Raises InputError if it is not there, there
    twice, or no text."""
    import pyarrow as pa

    text = params.text_column
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
    known = {n for names in FIELDS.values() for n in names} | set((params.fields or {}).values())
    once = [n for n in schema.names if n != text and schema.names.count(n) == 1]
    return [text, *(n for n in once if n in known or n == "metadata")]


def records(file: InputFile, batch: Any, first: int, params: TableParams) -> Iterator[Record]:
    """The rows of a record batch that has the wanted columns, `first` being the number of its
    first row in the file."""
    for number, (raw, row) in enumerate(_rows(batch, params.text_column), first):
        key = document_id(file.source, file.relative, file.size, number)
        outcome = _outcome(file, key, number, raw, row_meta(row, params.fields or {}))
        url = outcome.url if isinstance(outcome, Document) else ""
        yield Record(key, number, 0, outcome, url)


def lost(file: InputFile, number: int, message: str) -> Record:
    """A row that cannot be read."""
    key = document_id(file.source, file.relative, file.size, number)
    return Record(key, number, 0, Failure("corrupt_rows", message[:200]))


def _outcome(
    file: InputFile, key: str, number: int, raw: bytes | None, meta: dict[str, Any]
) -> Outcome:
    if raw is None:
        return Failure("null_text")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as err:
        return Failure("bad_utf8", f"byte {err.start} of the text: {err.reason}")
    if not text.strip():
        return Drop("empty")
    return Document(key, text, file.source, meta | {"file": file.relative, "offset": number})


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
