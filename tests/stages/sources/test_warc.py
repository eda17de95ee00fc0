"""What becomes of each record of a crawl archive."""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from corpusmill.pipeline.document import (
    META_COLUMNS,
    Document,
    Drop,
    Failure,
    Page,
    Record,
    document_id,
)  # fmt: skip
from corpusmill.pipeline.errors import ConfigError, InputError
from corpusmill.pipeline.stage import InputFile
from corpusmill.stages.sources.archive import host_of, iso_date
from corpusmill.stages.sources.warc import Warc, WarcParams

MakeRecord = Callable[..., bytes]
MakeFile = Callable[..., InputFile]
OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"


def source(**params: int) -> Warc:
    stage = Warc(WarcParams(**params))
    stage.setup()
    return stage


def verdict(record: Record) -> object:
    out = record.outcome
    if isinstance(out, Drop):
        return out.reason, out.value
    if isinstance(out, Failure):
        return out.type
    assert isinstance(out, Page)
    return out.body


def one(make_file: MakeFile, raw: bytes, **params: int) -> Record:
    (record,) = source(**params).read(make_file(raw, "a.warc"))
    return record


def test_a_page(make_record: MakeRecord, make_file: MakeFile) -> None:
    raw = gzip.compress(
        make_record(OK + b'<html lang="sv"><p>hej', WARC_Truncated="length"), mtime=0
    )
    record = one(make_file, raw)
    key = document_id("test", "a.warc", len(raw), 0)
    assert record == Record(key, 0, len(raw), record.outcome, "http://Example.test:8080/a?b")
    page = record.outcome
    assert isinstance(page, Page)
    assert (page.id, page.source) == (key, "test")
    assert page.body == b'<html lang="sv"><p>hej'
    assert page.headers == {"content-type": "text/html; charset=utf-8"}
    assert page.meta == {
        "url": "http://Example.test:8080/a?b",
        "url_canonical": "https://example.test:8080/a?b",
        "host": "example.test",
        "date": "2026-01-02T03:04:05Z",
        "file": "a.warc",
        "offset": 0,
        "length": len(raw),
        "record_id": "urn:uuid:00000000-0000-0000-0000-000000000001",
        "http_status": 200,
        "content_type": "text/html; charset=utf-8",
        "mime_sniffed": "text/html",
        "lang_declared": "sv",
        "lang_html": "sv",
    }
    assert page.signals == {"warc_truncated": "length"}


@pytest.mark.parametrize(
    ("block", "more", "expected"),
    [
        (b"HTTP/1.1 404 Not Found\r\n\r\n<p>", {}, ("status", 404)),
        (b"HTTP/1.1 301 Moved\r\nLocation: x\r\n\r\n", {}, ("redirect", 301)),
        (OK, {}, ("empty", None)),
        (OK + b" \r\n", {}, ("empty", None)),
        (OK + b"%PDF-1.7", {}, ("not_html", "application/pdf")),
        (OK.replace(b"text/html", b"text/plain") + b"<p>", {}, ("not_html", "text/plain")),
        (OK + b"User-agent: *", {"url": "https://x.test/robots.txt"}, ("robots_txt", None)),
        (OK + b"<p>x", {"kind": "request"}, ("request", None)),
        (b"", {"kind": "warcinfo"}, ("warcinfo", None)),
        (b"", {"kind": "metadata"}, ("metadata", None)),
        (b"", {"kind": "revisit",
               "WARC_Profile": "http://netpreserve.org/warc/1.0/revisit/identical-payload-digest"},
         ("revisit", "identical-payload-digest")),
        (b"x", {"kind": "conversion"}, ("conversion", None)),
        (b"x", {"kind": "continuation"}, ("continuation", None)),
        (b"x", {"kind": "novelty"}, ("unknown_type", "novelty")),
        (b"20260101\nx.test 1 IN A", {"url": "dns:x.test", "mime": "text/dns"}, ("dns", None)),
        (b"x", {"kind": "resource", "url": "urn:x", "mime": "text/plain"},
         ("resource_other", "text/plain")),
        (b"\x89PNG\r\n\x1a\n", {"kind": "resource", "mime": "image/png"},
         ("resource_other", "image/png")),
        (b"<html><p>r", {"kind": "resource", "mime": "text/html"}, b"<html><p>r"),
        (b"<html><p>bare", {}, b"<html><p>bare"),
        (OK.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n") + b"\x1f\x8b\x08", {},
         "bad_body"),
    ],
)  # fmt: skip
def test_outcomes(
    make_record: MakeRecord, make_file: MakeFile, block: bytes, more: dict[str, str],
    expected: object,
) -> None:  # fmt: skip
    assert verdict(one(make_file, make_record(block, **more))) == expected


def test_too_large(make_record: MakeRecord, make_file: MakeFile) -> None:
    block = OK + b"<p>" + b"x" * 5000
    raw = make_record(block)
    assert verdict(one(make_file, raw, max_body_bytes=1000)) == ("too_large", 1000)
    huge = make_record(OK + b"<p>" + b"x" * 2_000_000)
    size = len(OK) + 2_000_003
    assert verdict(one(make_file, huge, max_body_bytes=1000)) == ("too_large", size)
    packed = OK.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n") + gzip.compress(
        b"<p>" + b"y" * 5000, mtime=0
    )
    assert verdict(one(make_file, make_record(packed), max_body_bytes=1000))[0] == "too_large"  # type: ignore[index]


def test_a_body_with_a_lie(make_record: MakeRecord, make_file: MakeFile) -> None:
    block = OK.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n") + b"<p>plain"
    page = one(make_file, make_record(block)).outcome
    assert isinstance(page, Page)
    assert (page.body, page.signals) == (b"<p>plain", {"http_repairs": "not_gzip"})


def test_records_behind_a_chunked_gzip_body_are_read(
    make_record: MakeRecord, make_file: MakeFile
) -> None:
    body = gzip.compress(b"<p>first", mtime=0)
    block = OK.replace(
        b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n"
    ) + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    raw = make_record(block) + make_record(OK + b"<p>second")
    records = source().read(make_file(raw))
    assert [verdict(r) for r in records] == [b"<p>first", b"<p>second"]


def test_failures_have_a_place(make_record: MakeRecord, make_file: MakeFile) -> None:
    good = gzip.compress(make_record(OK + b"<p>x"), mtime=0)
    file = make_file(good + b"junk" + good[:-3])
    records = list(source().read(file))
    assert [(verdict(r), r.offset, r.length) for r in records] == [
        (b"<p>x", 0, len(good)), ("garbage", len(good), 4),
        ("truncated", len(good) + 4, len(good) - 3),
    ]  # fmt: skip
    assert len({r.id for r in records}) == 3


def test_arc(warcs: Path) -> None:
    path = warcs / "warcio" / "example.arc.gz"
    file = InputFile("test", str(path), path.name, path.stat().st_size)
    head, page = source().read(file)
    assert verdict(head) == ("warcinfo", None)
    assert isinstance(page.outcome, Page)
    assert page.outcome.meta["url"] == "http://example.com/"
    assert page.outcome.meta["date"] == "2014-02-16T05:02:21Z"
    assert b"<h1>Example Domain</h1>" in page.outcome.body
    assert (page.offset, page.length) == (171, 856)


def test_angle_brackets_around_the_url(warcs: Path) -> None:
    path = warcs / "warcio" / "example-wget-bad-target-uri.warc.gz"
    file = InputFile("test", str(path), path.name, path.stat().st_size)
    urls = {r.url for r in source().read(file) if isinstance(r.outcome, Page)}
    assert urls == {"http://www.example.com/"} or urls == {"http://example.com/"}


def test_read_one(warcs: Path) -> None:
    for name in ("derived/one-gzip-stream.warc.gz", "warcio/example.warc.gz", "warcio/bad.arc"):
        path = warcs / name
        file = InputFile("test", str(path), name, path.stat().st_size)
        for record in source().read(file):
            assert source().read_one(file, record.offset, record.id) == record
        assert source().read_one(file, 10**9) is None
        assert source().read_one(file, 0, "0" * 32) is None


def test_missing_changed_and_unreadable_files(make_file: MakeFile, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        list(source().read(InputFile("test", str(tmp_path / "none"), "none", 1)))
    file = make_file(b"WARC/1.0\r\n")
    with pytest.raises(InputError, match="planned with 99"):
        list(source().read(InputFile("test", file.path, file.relative, 99)))
    with pytest.raises(InputError, match="lz4"):
        list(source().read(make_file(b"\x04\x22\x4d\x18xxxx")))


def test_params() -> None:
    with pytest.raises(ConfigError, match="max_body_bytes is 0"):
        WarcParams(max_body_bytes=0)


@pytest.mark.parametrize(
    ("url", "host"),
    [("http://A.Test:80/x", "a.test"), ("https://u:p@b.test?q", "b.test"),
     ("http://[::1]:8/", "[::1]"), ("dns:x", ""), ("http://c.test.", "c.test"), ("//x", "")],
)  # fmt: skip
def test_hosts(url: str, host: str) -> None:
    assert host_of(url) == host


@pytest.mark.parametrize(
    ("value", "date"),
    [("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"),
     ("2020-04-12T18:42:50.696509Z", "2020-04-12T18:42:50Z"),
     ("2020-04-12 18:42:50", "2020-04-12T18:42:50Z"), ("20010203040506", "2001-02-03T04:05:06Z"),
     ("2020-04-12T18:42:50+02:00", ""), ("yesterday", "")],
)  # fmt: skip
def test_dates(value: str, date: str) -> None:
    assert iso_date(value) == date


def test_declared_codes_are_all_there_are(warcs: Path) -> None:
    stage = source()
    for path in sorted(warcs.rglob("*arc*")):
        if not path.is_file() or path.suffix == ".lz4":
            continue
        for record in stage.read(InputFile("t", str(path), path.name, path.stat().st_size)):
            out = record.outcome
            assert not isinstance(out, Document)
            if isinstance(out, Page):
                assert set(out.meta) <= set(META_COLUMNS)
                assert all(type(v) is META_COLUMNS[k] for k, v in out.meta.items())
                assert set(out.signals) <= set(stage.writes)
            elif isinstance(out, Drop):
                assert out.reason in stage.reasons
            else:
                assert out.type in stage.errors


EXPECTED = {
    "http-error": {"redirect": 28, "status": 82}, "empty": {"empty": 10},
    "json": {"not_html": 10}, "pdf": {"not_html": 10}, "png": {"not_html": 10},
    "robots": {"not_html": 10}, "zip-as-html": {"not_html": 10},
    "nasty-html-as-plain": {"not_html": 1},
}  # fmt: skip


@pytest.mark.fulldata
def test_the_sample_crawl() -> None:
    """Every response of the manifest at its offset with its length and outcome; nothing else."""
    if "CORPUSMILL_DATA" not in os.environ:
        pytest.skip("CORPUSMILL_DATA is not set")
    root = Path(os.environ["CORPUSMILL_DATA"]) / "crawl"
    rows: dict[str, dict[int, dict[str, object]]] = {}
    with gzip.open(root / "manifest.jsonl.gz") as f:
        for line in f:
            row = json.loads(line)
            rows.setdefault(row["file"], {})[row["offset"]] = row
    assert sum(map(len, rows.values())) == 13_054
    others: Counter[object] = Counter()
    by_kind: dict[str, Counter[str]] = {}
    for name, expected in sorted(rows.items()):
        path = root / name
        seen = 0
        for record in source().read(InputFile("crawl", str(path), name, path.stat().st_size)):
            row = expected.get(record.offset)
            if row is None:
                others[verdict(record)] += 1
                continue
            seen += 1
            assert (record.length, record.url) == (row["length"], row["url"])
            out = record.outcome
            word = out.reason if isinstance(out, Drop) else type(out).__name__
            by_kind.setdefault(str(row["kind"]), Counter())[word] += 1
        assert seen == len(expected)
    assert others == {("request", None): 3265, ("metadata", None): 3265, ("warcinfo", None): 8}
    for kind, counts in by_kind.items():
        wanted = EXPECTED.get(kind.removeprefix("synthetic-"))
        assert dict(counts) == (wanted or {"Page": sum(counts.values())}), kind
    assert sum(c["Page"] for c in by_kind.values()) == 12_883


def test_a_record_whose_first_line_goes_over_two_members_is_read_alone(
    make_record: MakeRecord, make_file: MakeFile
) -> None:
    first = make_record(b"HTTP/1.1 200 OK\r\n\r\n<html>one")
    data = first + make_record(b"HTTP/1.1 200 OK\r\n\r\n<html>two")
    cuts = [0, 30, len(first) + 5, len(data)]
    members = [gzip.compress(data[a:b], mtime=0) for a, b in pairwise(cuts)]
    file = make_file(b"".join(members))
    reader = source()
    one, two = reader.read(file)
    assert (one.offset, two.offset) == (0, len(members[0]))
    assert isinstance(two.outcome, Page)
    assert two.outcome.body == b"<html>two"
    assert [reader.read_one(file, r.offset, r.id) for r in (one, two)] == [one, two]
    assert reader.read_one(file, 0, "0" * 32) is None
