"""Hostile bytes for the readers: the right record of each, in bounded work and memory.

Bounds on CPU time are generous (a shared, slow core): what they catch is work that grows with the
square of the input, or without end.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from corpusmill.pipeline.document import Document, Drop, Failure, Outcome
from corpusmill.pipeline.errors import InputError
from corpusmill.pipeline.registry import build
from corpusmill.pipeline.stage import InputFile
from corpusmill.pipeline.tables import document_table
from corpusmill.stages.sources.archive import iso_date
from corpusmill.stages.sources.bodies import BodyTooLarge, decode_body
from corpusmill.stages.sources.http import sniff_mime
from corpusmill.stages.sources.packing import MAX_REREAD, Stream
from corpusmill.stages.sources.raw import RawRecord
from corpusmill.stages.sources.records import read_records

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Fails where the block takes more CPU time."""
    started = time.process_time()
    yield
    spent = time.process_time() - started
    assert spent < seconds, f"{spent:.1f} s of CPU, allowed are {seconds}"


def code(outcome: Outcome) -> str:
    if isinstance(outcome, Drop):
        return outcome.reason
    return outcome.type if isinstance(outcome, Failure) else "kept"


def response(block: bytes, length: int | None = None) -> bytes:
    size = len(block) if length is None else length
    head = "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.example/\r\nContent-Length: %d"
    return (head % size).encode() + b"\r\n\r\n" + block + b"\r\n\r\n"


# -- bytes of archives ------------------------------------------------------------------------


def raw(data: bytes, max_block: int = 1 << 20) -> list[RawRecord]:
    """The records, their lengths checked. A loop is a failure, not a hang."""
    found = []
    for record in read_records(data, max_block):
        found.append(record)
        assert len(found) <= 100_000
    assert sum(r.length for r in found) == len(data)
    return found


@pytest.mark.parametrize("length", [3_500_000, 99_999_999_999])
@pytest.mark.parametrize("tail", [b"", response(OK + b"<p>next")])
def test_a_length_past_the_end_of_a_large_plain_file(length: int, tail: bytes) -> None:
    """The file is larger than what is read at once: going back must not begin at the record."""
    data = response(b"x" * 3_000_000, length) + tail
    with within(5):
        records = raw(data)
    assert [r.error for r in records][:1] == ["bad_length" if tail else "truncated"]
    assert [r.block for r in records[1:]] == ([OK + b"<p>next"] if tail else [])


@pytest.mark.parametrize(
    "data",
    [
        b"\x1f\x8b\x08\x10" * 30_000,  # headers of gzip members with a comment that never ends
        b"\x1f\x8b\x08\x00" * 15_000,
        b"\x28\xb5\x2f\xfd" * 15_000,
        response(OK + b"x") + b"WARC/1.0\r\n" * 30_000,
        b"WARC/1.0\r\nContent-Length: 9999999\r\n\r\n" * 8_000,
        b"WARC/1.0\r\nContent-Length: 999999999999\r\n\r\n" * 8_000,
        gzip.compress(b"WARC/1.0\r\nContent-Length: 9999999\r\n\r\n" * 10_000, mtime=0),
        gzip.compress(b"WARC/1.0\r\nContent-Length: 99\r\n\r\n", mtime=0) * 10_000,
        response(b"") + b"\r\n" * 1_000_000,
        b"WARC/1.0\r\n" + b"x" * 3_000_000,
        b"WARC/1.0\r\na: b\r\n" + b" x\r\n" * 60_000 + b"\r\n",
        (b"a:" + b" 1 11111111 1" * 300 + b"\n") * 50,
        gzip.compress(response(b""), mtime=0) + b"\0" * 5_000_000,
    ],
    ids=lambda data: f"{data[:12]!r}",
)
@pytest.mark.parametrize("max_block", [32 << 20, pytest.param(1 << 10, marks=pytest.mark.slow)])
def test_hostile_archives_take_bounded_work(data: bytes, max_block: int) -> None:
    with within(20):
        assert len(raw(data, max_block)) > 0


def test_what_is_read_again_is_bounded() -> None:
    """A member of lengths that lie: each must be looked behind, but not for ever."""
    data = gzip.compress(b"WARC/1.0\r\nContent-Length: 5000\r\n\r\n" * 3_000, 1, mtime=0)
    assert [r.error for r in raw(data, 1)] == ["bad_length"] * 2_999 + ["truncated"]
    stream = Stream(data, "gzip")
    assert stream.may_rewind(MAX_REREAD, 0)
    assert not stream.may_rewind(1, 0)


def test_a_length_of_2_to_63_and_a_garbage_gap() -> None:
    records = raw(response(b"x", 1 << 63) + response(OK))
    assert [(r.error, r.block) for r in records] == [("bad_header", None), ("", OK)]
    zeros = (
        gzip.compress(response(OK), mtime=0)
        + b"\0" * 3_000_000
        + gzip.compress(response(OK), mtime=0)
    )
    assert [r.kind for r in raw(zeros)] == ["warc", "padding", "warc"]


def test_long_header_lines_cost_nothing_but_themselves() -> None:
    long = b"WARC/1.0\r\nX-Long: " + b"y" * 65_536 + b"\r\nContent-Length: 2\r\n\r\nok\r\n\r\n"
    http = (
        b"HTTP/1.1 200 OK\r\nX-Long: " + b"z" * 65_536 + b"\r\nContent-Type: text/html\r\n\r\n<p>x"
    )
    blocks = [r.block for r in raw(long + response(http) + response(OK))]
    assert blocks == [b"ok", http, OK]


# -- bodies -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "head",
    [
        b"<!--x-->" * 900,
        b"<?xml version='1.0'?>" + b"<!--x-->" * 900 + b"x",
        b"<?xml ?>" * 1000,
        b"<?xml?>" + b"<!x>" * 2000,
        b"<!--" * 2000,
    ],
)
def test_sniffing_ends(head: bytes) -> None:
    with within(2):
        assert sniff_mime(head + b"zzz", "text/html") in ("text/html", "application/xml")


def test_sniffing_looks_behind_prologs() -> None:
    prolog = b"\n<!-- a -->\n<?xml-stylesheet href='x'?><!-- b --> "
    assert sniff_mime(prolog + b"<HTML>", "") == "text/html"
    assert sniff_mime(prolog + b"<!DOCTYPE html>", "application/octet-stream") == "text/html"
    assert sniff_mime(b"<?xml version='1.0'?>" + prolog + b"<rss>", "text/html") == (
        "application/rss+xml"
    )
    assert sniff_mime(b"<?xml version='1.0'?><!DOCTYPE svg><svg>", "text/xml") == "image/svg+xml"
    assert sniff_mime(b"<?xml version='1.0'?><!DOCTYPE html><html>", "text/html") == "text/html"


def test_many_gzip_members() -> None:
    one = gzip.compress(b"x", mtime=0)
    body = decode_body(one * 3_000 + one[:10] + b"\xff" * 20, {"content-encoding": "gzip"})
    assert (body.data, body.repairs) == (b"x" * 3_000, ("bad_gzip",))
    with within(10):
        body = decode_body(gzip.compress(b"", mtime=0) * 100_000, {"content-encoding": "gzip"})
    assert (body.data, body.repairs) == (b"", ())


@pytest.mark.parametrize("wbits", [31, 15, -15])
@pytest.mark.parametrize("size", [0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 << 20, 2_600_000])
def test_sizes_around_the_output_of_one_call(wbits: int, size: int) -> None:
    compress = zlib.compressobj(9, wbits=wbits)
    packed = compress.compress(bytes(size)) + compress.flush()
    coding = {31: "gzip", 15: "deflate", -15: "deflate"}[wbits]
    body = decode_body(packed, {"content-encoding": coding}, cap=4 << 20)
    assert (body.data == bytes(size), body.repairs) == (True, ())


def test_a_damaged_download_is_no_error() -> None:
    packed = gzip.compress(os.urandom(3000), mtime=0)
    for damaged in (packed[:11], packed[:9]):
        assert decode_body(damaged, {}).data == damaged
    with pytest.raises(BodyTooLarge):
        decode_body(gzip.compress(bytes(5000), mtime=0), {"content-encoding": "gzip"}, cap=1000)


BOMBS = """
import functools, gzip, json, sys, zlib
import brotli, zstandard
from corpusmill.pipeline.stage import InputFile
from corpusmill.pipeline.peak import own_peak_bytes, start_again
from corpusmill.pipeline.registry import build

MIB = 1 << 20
chunk = bytes(MIB)
def many(compress, flush, n):
    return b"".join([compress(chunk) for _ in range(n)] + [flush()])
@functools.cache
def gz(n):
    c = zlib.compressobj(1, wbits=31)
    return many(c.compress, c.flush, n)
def deflate(n):
    c = zlib.compressobj(1)
    return many(c.compress, c.flush, n)
def br(n):
    c = brotli.Compressor(quality=1)
    return many(c.process, c.finish, n)
def zst(n):
    c = zstandard.ZstdCompressor(level=1).compressobj()
    return many(c.compress, c.flush, n)
def record(block, head="HTTP/1.1 200 OK\\r\\nContent-Type: text/html\\r\\n"):
    block = head.encode() + b"\\r\\n" + block
    return b"WARC/1.0\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(block) + block + b"\\r\\n\\r\\n"
def body(coding, packed):
    return record(packed, f"HTTP/1.1 200 OK\\r\\nContent-Encoding: {coding}\\r\\n")

N = 96
files = {
    "a.warc": b"".join(body(n, p) for n, p in
                       [("gzip", gz(N)), ("deflate", deflate(N)), ("br", br(N)), ("zstd", zst(N)),
                        ("gzip, gzip", gzip.compress(gz(N)))]) + record(b"<p>fine"),
    "b.warc.gz": gz(N),
    "c.warc.zst": zst(N),
    "d.jsonl.gz": gz(N),
    "e.jsonl.zst": zst(N),
}
files = {name: files[name] for name in sys.argv[2:]}
for name, data in files.items():
    open(sys.argv[1] + "/" + name, "wb").write(data)
start_again()
before = own_peak_bytes()
found = {}
for name, data in files.items():
    stage = build("sources.jsonl" if "jsonl" in name else "sources.warc", {}, name)
    file = InputFile("t", sys.argv[1] + "/" + name, name, len(data))
    found[name] = [getattr(r.outcome, "reason", getattr(r.outcome, "type", "kept"))
                   for r in stage.read(file)]
print(json.dumps([found, (own_peak_bytes() - before) // 2**20]))
"""


EXPLODED = {
    "a.warc": ["too_large"] * 5 + ["kept"], "b.warc.gz": ["garbage"], "c.warc.zst": ["garbage"],
    "d.jsonl.gz": ["too_large"], "e.jsonl.zst": ["too_large"],
}  # fmt: skip


@pytest.mark.parametrize(
    "names",
    [["a.warc", "d.jsonl.gz", "e.jsonl.zst"], pytest.param([*EXPLODED], marks=pytest.mark.slow)],
)
def test_bombs_stay_small(tmp_path: Path, names: list[str]) -> None:
    """96 MiB of zeros in each: in HTTP bodies, in members, in lines."""
    command = [sys.executable, "-c", BOMBS, str(tmp_path), *names]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    found, grown_mib = json.loads(done.stdout)
    assert found == {name: EXPLODED[name] for name in names}
    assert grown_mib < 210


# -- files and rows ---------------------------------------------------------------------------


def rows(stage: str, path: Path, **params: Any) -> list[Outcome]:
    source = build(stage, params, stage)
    source.setup()
    file = InputFile("t", str(path), path.name, path.stat().st_size)
    records = list(source.read(file))
    assert len({r.id for r in records}) == len(records)
    for record in records:
        if isinstance(record.outcome, Document):
            record.outcome.text.encode("utf-8")
            document_table([record.outcome], {})  # its meta fits the columns
    return [r.outcome for r in records]


def lines(tmp_path: Path, data: bytes) -> list[str]:
    """The text or code of every line."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(data)
    return [o.text if isinstance(o, Document) else code(o) for o in rows("sources.jsonl", path)]


def test_lines(tmp_path: Path) -> None:
    data = {
        b"": [],
        b"\xef\xbb\xbf": ["blank_line"],
        b'\xef\xbb\xbf{"text": "a"}\n\xef\xbb\xbf{"text": "b"}': ["a", "bad_json"],
        b'{"text": "a"}\r\n\r\n{"text": "b"}\r\n': ["a", "blank_line", "b"],
        b'{"text": "\\ud800"}\n{"text": "a", "url": "\\udfff", "id": "\\ud800"}': [
            "lone_surrogate", "a"],
        b'{"text": "cut\n{"tex": "b"}\n{"text": ["b"]}\n"b"\n{"text": "b"}\n': [
            "bad_json", "no_text_field", "text_not_a_string", "not_an_object", "b"],
        b'{"text": "a", "n": ' + b"9" * 6000 + b"}": ["bad_json"],
        b'{"text": "a", "date": NaN, "id": 1e999999}': ["a"],
        b'{"text": "a\\u0000b"}\n\0\0\0\n': ["a\0b", "bad_json"],
        b'[{"text": "a"},\n{"text": "b"}]': ["bad_json", "bad_json"],
        '{"text": "a"}\n'.encode("utf-16"): ["bad_utf8", "bad_json"],
        b'{"text": "' + b"[" * 5000 + b'\\"[["}': ["[" * 5000 + '"[['],
        b"\x1f\x8b": ["truncated"],
        b"\x28\xb5\x2f\xfd": ["truncated"],
        gzip.compress(b"", mtime=0): [],
    }  # fmt: skip
    for raw_bytes, expected in data.items():
        assert lines(tmp_path, raw_bytes) == expected, raw_bytes[:60]


@pytest.mark.parametrize(("depth", "expected"), [(198, "a"), (199, "bad_json"), (3000, "bad_json")])
def test_how_deep_a_row_may_be_does_not_depend_on_python(
    tmp_path: Path, depth: int, expected: str
) -> None:
    inner = b'{"a":' * depth + b"[1]" + b"}" * depth
    assert lines(tmp_path, b'{"text": "a", "metadata": ' + inner + b"}") == [expected]


def test_unclosed_strings_and_small_members_take_linear_work(tmp_path: Path) -> None:
    with within(10):
        assert lines(tmp_path, b'{"text": "' + b'\\"[' * 500_000) == ["bad_json"]
        assert lines(tmp_path, b"[{}," * 500_000) == ["bad_json"]
        assert lines(
            tmp_path, gzip.compress(b"", mtime=0) * 50_000 + gzip.compress(b'{"text":"a"}', mtime=0)
        ) == ["a"]


@pytest.mark.slow
def test_a_line_of_50_megabytes(tmp_path: Path) -> None:
    text = "0123456789" * 5_000_000
    with within(20):
        (found,) = lines(tmp_path, json.dumps({"text": text}).encode())
    assert found == text


def test_columns(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    bad = pa.array([b"ok", b"\xff\xfe", b" "], pa.binary())
    not_utf8 = pa.StringArray.from_buffers(3, bad.buffers()[1], bad.buffers()[2])
    path = tmp_path / "x.parquet"

    def read(**columns: Any) -> list[Outcome]:
        pq.write_table(pa.table(columns), path)
        return rows("sources.parquet", path)

    assert [code(o) for o in read(text=not_utf8)] == ["kept", "bad_utf8", "empty"]
    for values, dates in (
        (pa.array([0, 1_700_000_000_000_000_001, None], pa.timestamp("ns")),
         ["1970-01-01T00:00:00Z", "2023-11-14T22:13:20Z", None]),
        (pa.array([1 << 62, 0, -1_000_000], pa.timestamp("us")),
         [None, "1970-01-01T00:00:00Z", "1969-12-31T23:59:59Z"]),
        (pa.array([0, None, 3600_000], pa.timestamp("ms", "Nowhere/Land")),
         ["1970-01-01T00:00:00Z", None, "1970-01-01T01:00:00Z"]),
        (not_utf8, ["ok", None, None]),
    ):  # fmt: skip
        outcomes = read(text=["a", "b", "c"], date=values)
        assert [o.meta.get("date") for o in outcomes if isinstance(o, Document)] == dates
    assert [code(o) for o in read(text=pa.array(["a", None], pa.string_view()))] == [
        "kept", "null_text"]  # fmt: skip
    assert read(text=pa.array([], pa.string())) == []
    for columns in ({}, {"text": [1]}, {"text": pa.nulls(2)}, {"text": [["a"]]}, {"text": bad}):
        with pytest.raises(InputError):
            read(**columns)
    twice = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["text", "text"])
    pq.write_table(twice, path)
    with pytest.raises(InputError, match="2 columns are called 'text'"):
        rows("sources.parquet", path)
    whole = path.read_bytes()
    footer = b"PAR1" + b"\0" * 99 + b"\xff\xff\xff\x7f" + b"PAR1"
    for data in (b"", b"PAR1", b"PAR1" * 10, whole[:-9], whole[: len(whole) // 2], footer):
        path.write_bytes(data)
        with pytest.raises(InputError, match=r"x\.parquet"):
            rows("sources.parquet", path)


STAGES = ("sources.warc", "sources.wet", "sources.jsonl", "sources.parquet")


@pytest.mark.parametrize("stage", STAGES)
def test_files_that_cannot_be_opened(
    tmp_path: Path, stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "x.warc.gz"
    folder.mkdir()
    with pytest.raises(InputError, match=r"x\.warc\.gz"):
        rows(stage, folder)
    path = tmp_path / "shut"
    path.write_bytes(b"x")
    path.chmod(0)
    if os.access(path, os.R_OK):  # the user may read everything: act as if not

        def refuse(*_: Any, **__: Any) -> Any:
            raise PermissionError(13, "Permission denied", str(path))

        monkeypatch.setattr("builtins.open", refuse)
        monkeypatch.setattr("pyarrow.parquet.ParquetFile", refuse)
    with pytest.raises(InputError, match=r"shut.*Permission denied"):
        rows(stage, path)


@pytest.mark.parametrize("stage", STAGES[:3])
def test_a_file_of_no_bytes_has_no_records(tmp_path: Path, stage: str) -> None:
    (tmp_path / "empty").write_bytes(b"")
    assert rows(stage, tmp_path / "empty") == []


def test_dates_are_ascii() -> None:
    assert iso_date("٢٠٢٦-٠١-٠٢T٠٣:٠٤:٠٥Z") == ""
    assert iso_date("２０２６0102030405") == ""
