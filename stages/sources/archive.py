"""What the readers of WARC, ARC and WET files share: ids, the read loop, and record metadata.

Ids: `document_id` of the position ``offset + inner * file size``, where `offset` is the file
offset of the record's compressed member and `inner` the uncompressed bytes into it; `inner` is 0
for the first record of a member and in plain files. As `offset` is less than the size, no two
records share a position.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Callable, Collection, Iterator, Mapping

from corpusmill.pipeline.document import Drop, Failure, Outcome, Record, Scalar, document_id
from corpusmill.pipeline.errors import InputError
from corpusmill.pipeline.stage import InputFile
from corpusmill.stages.dedup.urls import canonical_url

from .mapped import map_file
from .raw import RawRecord
from .records import read_at, read_records

_DATE = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.\d+)?(?:Z|\+00:?00)?", re.ASCII)
_ARC_DATE = re.compile(r"(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)", re.ASCII)
_HOST = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://(?:[^/?#@]*@)?(\[[^\]/?#]*\]|[^/?#:]*)")
_ASCII_LOWER = {c: c + 32 for c in range(ord("A"), ord("Z") + 1)}

_LZ4_MAGIC = b"\x04\x22\x4d\x18"

Decide = Callable[[InputFile, RawRecord, str, str], Outcome]
"""What becomes of a raw record: ``decide(file, raw, id, url)``."""


def read_archive(file: InputFile, max_block: int, decide: Decide) -> Iterator[Record]:
    """All records of `file`. Raises InputError if it cannot be opened."""
    for raw in read_records(_data(file), max_block):
        yield _record(file, raw, decide)


def read_one(
    file: InputFile, offset: int, max_block: int, decide: Decide, key: str = ""
) -> Record | None:
    """The record at `offset` alone; with `key` (its id) the right one of several that share a
    member. None if there is none. Raises InputError if the file cannot be opened."""
    data = _data(file)
    for raw in read_at(data, offset, max_block):
        if not key or key == _id(file, raw):
            return _record(file, raw, decide)
    if key:  # where a record's first line goes over the border of two members
        for raw in read_records(data, max_block):
            if raw.offset == offset and key == _id(file, raw):
                return _record(file, raw, decide)
    return None


def _data(file: InputFile) -> mmap.mmap | bytes:
    data = open_file(file.path)
    if len(data) != file.size:
        raise InputError(
            f"{file.path}: {len(data)} bytes, planned with {file.size}",
            hint="the file changed: plan again",
        )
    return data


def _id(file: InputFile, raw: RawRecord) -> str:
    position = raw.offset + raw.inner * file.size
    return document_id(file.source, file.relative, file.size, position)


def _record(file: InputFile, raw: RawRecord, decide: Decide) -> Record:
    url = target_uri(raw.headers)
    key = _id(file, raw)
    return Record(key, raw.offset, raw.length, decide(file, raw, key, url), url)


def unread(raw: RawRecord) -> Drop | Failure | None:
    """What becomes of bytes that are no record; None for a record."""
    if raw.kind == "bad":
        return Failure(raw.error, raw.message)
    return Drop("padding", raw.message) if raw.kind == "padding" else None


def text_of(raw: RawRecord, wanted: str, reasons: Collection[str]) -> str | Drop | Failure:
    """The block of a record of the `wanted` WARC type as text, else what becomes of the record:
    one of another type is dropped by that type's name where it is among `reasons`."""
    if (outcome := unread(raw)) is not None:
        return outcome
    kind = raw.headers.get("warc-type", "response").lower()
    if kind != wanted:
        return Drop(kind) if kind in reasons else Drop("unknown_type", kind[:64])
    if raw.block is None:
        return Drop("too_large", raw.size)
    try:
        return raw.block.decode("utf-8")
    except UnicodeDecodeError as err:
        return Failure("bad_utf8", f"byte {err.start} of the block: {err.reason}")


def target_uri(headers: Mapping[str, str]) -> str:
    """WARC-Target-URI without the angle brackets that some writers add."""
    url = headers.get("warc-target-uri", "")
    return url[1:-1] if url.startswith("<") and url.endswith(">") else url


def record_meta(file: InputFile, raw: RawRecord, url: str) -> dict[str, Scalar]:
    """``url``, ``url_canonical``, ``host``, ``date``, ``file``, ``offset``, ``length`` and
    ``record_id`` of a record."""
    meta: dict[str, Scalar] = {"file": file.relative, "offset": raw.offset, "length": raw.length}
    if url:
        meta["url"] = url
        meta["url_canonical"] = canonical_url(url)
        if host := host_of(url):
            meta["host"] = host
    if date := iso_date(raw.headers.get("warc-date", "")):
        meta["date"] = date
    if record_id := raw.headers.get("warc-record-id"):
        meta["record_id"] = record_id.strip("<>")
    return meta


def host_of(url: str) -> str:
    """The host of an absolute URL in lower case (ASCII letters only), no port; else empty."""
    m = _HOST.match(url)
    return m[1].translate(_ASCII_LOWER).rstrip(".") if m else ""


def iso_date(value: str) -> str:
    """``YYYY-MM-DDThh:mm:ssZ`` of a WARC date (fractions cut) or an ARC date; else empty."""
    if m := _DATE.fullmatch(value):
        return f"{m[1]}T{m[2]}Z"
    if m := _ARC_DATE.match(value):
        return f"{m[1]}-{m[2]}-{m[3]}T{m[4]}:{m[5]}:{m[6]}Z"
    return ""


def open_file(path: str) -> mmap.mmap | bytes:
    """The bytes of a local file, mapped. Raises InputError if it cannot be opened or is of a
    packing that is known and not read (lz4)."""
    try:
        data = map_file(path)
    except OSError as err:
        raise InputError(
            f"{path}: {err.strerror or err}", hint="check the path and its rights"
        ) from err
    if data[:4] == _LZ4_MAGIC:
        raise InputError(
            f"{path}: lz4 frames are not read", hint="unpack it: lz4 -d FILE | gzip > FILE.gz"
        )
    return data
