"""Rows of a JSONL file for the verbs that run one stage alone: read and written in one way.

A path that ends in ``.gz`` is compressed, blank lines are passed over, a line that is no JSON
object is an InputError with its number, and what is written appears under its name when it is
whole: a call that fails leaves no half of a file.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, cast

from corpusmill.pipeline.errors import InputError

Fields = dict[str, Any]


def read_rows(path: Path | str) -> Iterator[tuple[int, Fields]]:
    """Line number (from 1) and fields of every row. Raises InputError naming file and line."""
    try:
        with open_bytes(Path(path)) as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield number, _row(line, f"{path}: line {number}")
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path} cannot be read: {reason}") from error


def open_bytes(path: Path) -> BinaryIO:
    """The uncompressed bytes of a file that may end in ``.gz``. Raises OSError."""
    if path.suffix == ".gz":
        return cast(BinaryIO, gzip.open(path, "rb"))
    return path.open("rb")


def _row(line: bytes, place: str) -> Fields:
    try:
        row = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"{place} is not UTF-8: {error}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place} is not JSON: {error}") from error
    if not isinstance(row, dict):
        raise InputError(f"{place} is not a JSON object", hint="one object a line")
    return row


def text_of(row: Mapping[str, Any], place: str) -> str:
    """The field ``text``. Raises InputError for a row without one."""
    text = row.get("text")
    if not isinstance(text, str):
        raise InputError(
            f"{place} has no field 'text' with a text", hint='rows look like {"text": "…"}'
        )
    return text


def batches(rows: Iterable[Fields], characters: int) -> Iterator[list[Fields]]:
    """Rows in groups of at least `characters` characters of text, the last one what is left."""
    group: list[Fields] = []
    size = 0
    for row in rows:
        group.append(row)
        text = row.get("text")
        size += len(text) if isinstance(text, str) else 1
        if size >= characters:
            yield group
            group, size = [], 0
    if group:
        yield group


def dump_row(row: Mapping[str, Any]) -> bytes:
    """One line. Lone surrogates, which UTF-8 cannot hold, are written as escapes."""
    try:
        return json.dumps(row, ensure_ascii=False).encode("utf-8") + b"\n"
    except UnicodeEncodeError:
        return json.dumps(row).encode("ascii") + b"\n"


class RowWriter:
    """Writes rows to a file that appears when the ``with`` block ends well.

    gzip output carries no time, so that the same rows are the same bytes.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._partial = self.path.with_name(self.path.name + ".partial")

    def __enter__(self) -> RowWriter:
        self._raw = self._partial.open("wb")
        self._out: BinaryIO = self._raw
        if self.path.suffix == ".gz":
            self._out = cast(BinaryIO, gzip.GzipFile("", "wb", fileobj=self._raw, mtime=0))
        return self

    def write(self, row: Mapping[str, Any]) -> None:
        self._out.write(dump_row(row))

    def __exit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        self._out.close()
        self._raw.close()
        if kind is None:
            os.replace(self._partial, self.path)
        else:
            self._partial.unlink(missing_ok=True)
