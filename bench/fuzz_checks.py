"""What must hold of every input of `bench.fuzz`. A check returns what is wrong, or nothing."""

from __future__ import annotations

import gzip
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from corpusmill.pipeline.document import META_COLUMNS, Document, Drop, Failure, Page, Record
from corpusmill.pipeline.stage import InputFile, Source

_CAPS = (200_000, 200_000, 1000, 30)
_WINDOWS = ((1 << 16, 1 << 17, 1 << 22), (64, 256, 1024), (300, 700, 5000))
_NAMES = ("content-length", "warc-type", "warc-target-uri", "warc-truncated", "x-other")
_CODINGS = ("", "gzip", "x-gzip", "deflate", "br", "zstd", "identity", "chunked", "gzip, br", "?")


def _drawn(data: bytes, choices: tuple[Any, ...], salt: int = 0) -> Any:
    """One of several, drawn by the input itself."""
    return choices[zlib.crc32(data, salt) % len(choices)]


def records(data: bytes) -> str:
    """The lengths sum to the size, no two records share a place, one read again alone is the same,
    values of headers are the same one by one, and the careful reader gives the same records."""
    from corpusmill.stages.sources.records import read_at, read_records

    cap = _drawn(data, _CAPS)
    with _windows(*_drawn(data, _WINDOWS, 1)), _inflating(by_zlib=_drawn(data, (False, True), 2)):
        found = list(read_records(data, cap))
    if sum(r.length for r in found) != len(data) or any(r.length < 0 for r in found):
        return "the lengths do not sum to the size"
    if len({(r.offset, r.inner) for r in found}) != len(found):
        return "two records share a place"
    if list(read_at(data, len(data), cap)) or bool(found) != bool(list(read_at(data, 0, cap))):
        return "the first record alone, or one behind the last"
    for r in [r for r in found if not r.error][:20]:
        alone = [x for x in read_at(data, r.offset, cap) if x.inner == r.inner]
        if alone not in ([r], []) and not alone[0].error:
            return f"the record at {r.offset}, {r.inner} alone is another"
        together = dict(r.headers)
        if any(r.headers.get(name) != together.get(name) for name in _NAMES):
            return f"a header of the record at {r.offset}, {r.inner} alone is another"
        if r.block is not None and len(r.block) != r.size:
            return f"the block at {r.offset}, {r.inner} is not as long as it says"
    with _carefully():
        careful = list(read_records(data, cap))
    return "" if careful == found else "the careful reader gives other records"


@contextmanager
def _windows(*sizes: int) -> Iterator[None]:
    """The loop over plain records with windows of other sizes, so that small inputs cross them."""
    from corpusmill.stages.sources import alone

    module: Any = alone
    kept = module._LEAST, module._USUAL, module._MOST
    module._LEAST, module._USUAL, module._MOST = sizes
    try:
        yield
    finally:
        module._LEAST, module._USUAL, module._MOST = kept


@contextmanager
def _inflating(*, by_zlib: bool) -> Iterator[None]:
    """As on a machine without libdeflate."""
    from corpusmill.stages.sources import libdeflate

    module: Any = libdeflate
    kept = module._library
    if by_zlib:
        module._library = lambda: None
    try:
        yield
    finally:
        module._library = kept


@contextmanager
def _carefully() -> Iterator[None]:
    """Without the short ways for plain records."""
    from corpusmill.stages.sources import records as module
    from corpusmill.stages.sources.packing import Stream

    stream: Any = Stream
    reader: Any = module
    kept = stream.may_be_alone, reader._quick
    stream.may_be_alone, reader._quick = lambda stream: False, lambda stream, max_block: None
    try:
        yield
    finally:
        stream.may_be_alone, reader._quick = kept


def bodies(data: bytes) -> str:
    """Nothing is raised but the two errors that a body may end in, nothing is longer than the cap,
    nothing is lost of a body with no coding. The first byte says what the headers claim."""
    from corpusmill.stages.sources.bodies import BodyTooLarge, BodyUnreadable, decode_body

    first = data[:1].ljust(1, b"\0")[0]
    headers = {"content-encoding": _CODINGS[first % len(_CODINGS)]}
    if first & 64:
        headers["transfer-encoding"] = "chunked"
    if first & 128:
        headers["content-type"] = "application/gzip"
    body, cap = data[1:], _drawn(data, _CAPS)
    try:
        decoded = decode_body(body, headers, cap)
    except (BodyTooLarge, BodyUnreadable):
        return ""
    if len(decoded.data) > cap:
        return "longer than the cap"
    plain = headers["content-encoding"] in ("", "identity", "?") and not first & 64
    return "bytes are lost" if plain and not decoded.repairs and decoded.data != body else ""


def responses(data: bytes) -> str:
    """No exception from the header, the sniffed type, the page's meta; the body is what is left."""
    from corpusmill.stages.sources.http import parse_response, sniff_mime
    from corpusmill.stages.sources.page_meta import page_meta

    response = parse_response(data)
    if not data.endswith(response.body):
        return "the body is no end of the block"
    sniff_mime(response.body, response.headers.get("content-type", ""))
    meta = page_meta(response.headers, response.body)
    return "" if all(isinstance(v, str) for v in meta.values()) else "a value of another type"


def pages(data: bytes) -> str:
    """The block model reads any bytes as a page, twice the same."""
    from corpusmill.stages.extract import extract

    text = data.decode("utf-8", "replace")
    return "" if extract(text, tier="own") == extract(text, tier="own") else "not the same twice"


def sources(data: bytes) -> str:
    """Every record of an archive ends as `sources.warc`, `.wet` and `.wat` say that it may, and is
    the same when it is read alone."""
    from corpusmill.stages.sources.warc import Warc, WarcParams
    from corpusmill.stages.sources.wet import Wet, WetParams

    cap = _drawn(data, _CAPS)
    if data.startswith(b"\x04\x22\x4d\x18"):
        return ""  # lz4, which is refused
    file = _written(data)
    for source in (Warc(WarcParams(cap)), Wet(WetParams(cap)), _wat()):
        found = list(source.read(file))
        if wrong := _undeclared(source, found, len(data)):
            return f"{source.name}: {wrong}"
        for record in found[:5]:
            kept = isinstance(record.outcome, Page | Document)
            if kept and source.read_one(file, record.offset, record.id) != record:
                return f"{source.name}: the record at {record.offset} alone is another"
    return ""


def wat(data: bytes) -> str:
    """The same of one WAT record that holds these bytes."""
    head = f"WARC/1.0\r\nWARC-Type: metadata\r\nContent-Length: {len(data)}\r\n\r\n"
    block = head.encode() + data + b"\r\n\r\n"
    return _undeclared(_wat(), list(_wat().read(_written(block))), len(block))


@cache
def _wat() -> Source:
    from corpusmill.stages.sources.wat import Wat, WatParams

    return Wat(WatParams(links=()))


def _undeclared(source: Source, found: list[Record], size: int) -> str:
    if sum(record.length for record in found) != size:
        return "the lengths do not sum to the size"
    if len({record.id for record in found}) != len(found):
        return "two records share an id"
    for record in found:
        outcome = record.outcome
        if isinstance(outcome, Drop):
            if outcome.reason not in source.reasons:
                return f"reason {outcome.reason!r}"
        elif isinstance(outcome, Failure):
            if outcome.type not in source.errors:
                return f"error {outcome.type!r}"
        elif wrong := _unwritable(outcome):
            return wrong
    return ""


def _unwritable(kept: Page | Document) -> str:
    for name, value in kept.meta.items():
        if type(value) is not META_COLUMNS.get(name):
            return f"{name} of meta is {value!r}"
    texts = [v for v in (*kept.meta.values(), *kept.signals.values()) if isinstance(v, str)]
    if isinstance(kept, Document):
        texts.append(kept.text)
    for text in texts:
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            return f"{text[:40]!r} is no UTF-8"
    return ""


def index(data: bytes) -> str:
    """What an index says that is wrong of an archive is an error of a declared type, no more of
    them than lines and one, whatever the index holds."""
    from corpusmill.stages.sources import cdx
    from corpusmill.stages.sources.warc import Warc, WarcParams

    file = _written(_ARCHIVE)
    beside = _written(data, ".cdx")
    found = list(
        Warc(WarcParams()).read(InputFile("fuzz", file.path, "x", file.size, beside=(beside,)))
    )
    told = found[_ARCHIVE_RECORDS:]
    if any(isinstance(r.outcome, Failure) for r in found[:_ARCHIVE_RECORDS]):
        return "a record of the archive is an error"
    for record in told:
        if not isinstance(record.outcome, Failure) or record.outcome.type not in cdx.ERRORS:
            return f"{record.outcome!r} comes from an index"
    if not data.startswith(b"\x1f\x8b") and len(told) > data.count(b"\n") + 2:
        return f"{len(told)} errors"
    return "" if len({r.id for r in told}) == len(told) else "two errors share an id"


def _record(kind: str, block: bytes) -> bytes:
    head = f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: http://a.example/\r\n"
    return gzip.compress(
        f"{head}Content-Length: {len(block)}\r\n\r\n".encode() + block + b"\r\n\r\n", mtime=0
    )


_HTML = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html><p>text"
_ARCHIVE = _record("warcinfo", b"") + _record("request", b"GET /") + _record("response", _HTML)
_ARCHIVE_RECORDS = 3


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="bench-fuzz-")


def _written(data: bytes, ending: str = "") -> InputFile:
    path = Path(_folder().name) / f"x{ending}"
    path.write_bytes(data)
    return InputFile("fuzz", str(path), f"x{ending}", len(data))
