"""An archive's index, where one lies beside it, compared with what was read of the archive.

An index (CDX, or CDXJ with JSON) lists the captures of an archive with their offsets, and often
their lengths. One that says what the archive does not hold is a sign of loss: of a file cut short,
or written anew, or read wrongly. Each such line is an error of its own in the account, so that
nothing has to be found out by counting.

Formats: the legend line `` CDX N b a m s k r M S V g`` names the fields of the lines that follow
(V: offset, S: length, g: file); without it, 9 or 11 fields are taken for the usual ones. CDXJ: a
key, a time, and an object with ``offset``, ``length``, ``filename``, as in Common Crawl's index.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, NamedTuple

from corpusmill.pipeline.document import Drop, Failure, Record, document_id
from corpusmill.pipeline.errors import InputError
from corpusmill.pipeline.stage import InputFile

SUFFIXES = (".cdx", ".cdxj", ".cdx.gz", ".cdxj.gz")
ERRORS = ("index_incomplete", "index_length", "index_no_record", "index_unreadable")

NOT_CAPTURES = frozenset({
    "continuation", "conversion", "dns", "metadata", "padding", "request", "unknown_type",
    "warcinfo",
})  # fmt: skip
"""Reasons of records that an index may do without."""

_USUAL = {9: tuple("NbamskrVg"), 11: tuple("NbamskrMSVg")}
_MAX_LINE = 1 << 20
_NEWLINES = 4  # bytes behind a plain record that an index may leave out of its length


class Entry(NamedTuple):
    """One line of an index. `length` is None where it does not say it, `file` empty."""

    offset: int
    length: int | None
    file: str


@dataclass
class Seen:
    """What was read of an archive, by offset."""

    lengths: dict[int, list[int]] = field(default_factory=dict)
    captures: set[int] = field(default_factory=set)

    def add(self, record: Record) -> None:
        """Notes one record of the archive."""
        self.lengths.setdefault(record.offset, []).append(record.length)
        outcome = record.outcome
        if not isinstance(outcome, Failure) and not (
            isinstance(outcome, Drop) and outcome.reason in NOT_CAPTURES
        ):
            self.captures.add(record.offset)


def compare(file: InputFile, seen: Seen) -> Iterator[Record]:
    """The lines of the indexes beside `file` that do not agree with what was `seen` of it, each as
    a `Failure`. Raises InputError where an index cannot be opened."""
    packed = _starts_packed(file)
    for index in file.beside:
        listed: set[int] = set()
        lines = 0
        bad = False
        for number, entry in _entries(index):
            lines += 1
            if isinstance(entry, str):
                yield _record(file, index, number, 0, "index_unreadable", entry)
                bad = True
                break
            if entry.file and entry.file.rpartition("/")[2] != file.relative.rpartition("/")[2]:
                continue
            listed.add(entry.offset)
            if wrong := _wrong(entry, seen.lengths, packed):
                yield _record(file, index, number, entry.offset, *wrong)
        if bad:
            continue
        missing = sorted(seen.captures - listed)
        if lines and not listed and seen.captures:
            message = f"none of its {lines} lines is of this file"
            yield _record(file, index, 0, 0, "index_unreadable", message)
        elif missing:
            message = f"{len(missing)} of {len(seen.captures)} captures are not in it"
            yield _record(file, index, 0, missing[0], "index_incomplete", message)


def _wrong(entry: Entry, lengths: Mapping[int, list[int]], packed: bool) -> tuple[str, str] | None:
    there = lengths.get(entry.offset)
    if there is None:
        return "index_no_record", f"no record begins at {entry.offset}"
    if entry.length is None or len(there) > 1:  # one member for all of them
        return None
    if entry.length != there[0] and (packed or not 0 < there[0] - entry.length <= _NEWLINES):
        return "index_length", f"{entry.length} bytes at {entry.offset}, there are {there[0]}"
    return None


def _record(
    file: InputFile, index: InputFile, number: int, offset: int, code: str, message: str
) -> Record:
    key = document_id(file.source, index.relative, index.size, number)
    name = index.relative.rpartition("/")[2]
    place = f"{name}, line {number}: " if number else f"{name}: "
    return Record(key, offset, 0, Failure(code, (place + message)[:200]))


def _starts_packed(file: InputFile) -> bool:
    with _open(file) as stream:
        return stream.read(4).startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd"))


def _open(file: InputFile) -> IO[bytes]:
    try:
        return open(file.path, "rb")
    except OSError as err:
        raise InputError(f"{file.path}: {err.strerror or err}") from err


def _entries(index: InputFile) -> Iterator[tuple[int, Entry | str]]:
    """(number of the line from 1 on, entry); a text says why it cannot be read."""
    fields: tuple[str, ...] = ()
    with _open(index) as raw:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        stream: IO[bytes] = gzip.GzipFile(fileobj=raw) if packed else raw  # type: ignore[assignment]
        number = 0
        while True:
            number += 1
            try:
                line = stream.readline(_MAX_LINE)
            except (OSError, EOFError, zlib.error) as err:
                yield number, str(err) or type(err).__name__
                return
            if not line:
                return
            text = line.decode("utf-8", "replace").rstrip("\r\n")
            if text.lstrip().startswith("CDX "):
                fields = tuple(text.split()[1:])
            elif text.strip() and not text.startswith("!"):
                yield number, _entry(text, fields)


def _entry(text: str, fields: tuple[str, ...]) -> Entry | str:
    key, brace, rest = text.partition(" {")
    try:
        if brace and len(key.split()) <= 2:
            found = json.loads("{" + rest)
            length = found.get("length")
            return Entry(
                _number(found["offset"]), None if length is None else _number(length),
                str(found.get("filename", "")),
            )  # fmt: skip
        words = text.split()
        names = fields or _USUAL.get(len(words), ())
        if len(words) != len(names):
            return f"{len(words)} fields, {len(names) or '9 or 11'} are wanted"
        row = dict(zip(names, words, strict=True))
        offset = row["V"] if "V" in row else row["v"]
        length = row.get("S", "-")
        return Entry(_number(offset), None if length == "-" else _number(length), row.get("g", ""))
    except (KeyError, ValueError, RecursionError) as err:
        return f"no offset: {err}" if isinstance(err, KeyError) else str(err)


def _number(value: str | int) -> int:
    text = str(value)
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise ValueError(f"{text[:40]!r} is no offset or length")
    return int(text)
