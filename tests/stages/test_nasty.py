"""Nasty input, from the bytes of a file to the end of the chain: the right outcome, in bounded work.

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
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from corpusmill.pipeline import Recipe, plan
from corpusmill.pipeline.context import MemoryContext, hash_of_ids
from corpusmill.pipeline.document import (
    Document,
    Drop,
    Failure,
    Outcome,
    Page,
    Scalar,
    document_id,
)
from corpusmill.pipeline.errors import InputError
from corpusmill.pipeline.recipe import Step
from corpusmill.pipeline.registry import build, configs_root
from corpusmill.pipeline.stage import InputFile
from corpusmill.pipeline.tables import document_table, documents
from corpusmill.stages.sources.archive import iso_date
from corpusmill.stages.sources.bodies import BodyTooLarge, decode_body
from corpusmill.stages.sources.http import sniff_mime
from corpusmill.stages.sources.packing import MAX_REREAD, Stream
from corpusmill.stages.sources.records import RawRecord, read_records

HTML = "text/html; charset=utf-8"
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
        b"\x1f\x8b\x08\x00" * 30_000,
        b"\x28\xb5\x2f\xfd" * 30_000,
        response(OK + b"x") + b"WARC/1.0\r\n" * 60_000,
        b"WARC/1.0\r\nContent-Length: 9999999\r\n\r\n" * 15_000,
        b"WARC/1.0\r\nContent-Length: 999999999999\r\n\r\n" * 15_000,
        gzip.compress(b"WARC/1.0\r\nContent-Length: 9999999\r\n\r\n" * 10_000),
        gzip.compress(b"WARC/1.0\r\nContent-Length: 99\r\n\r\n") * 10_000,
        response(b"") + b"\r\n" * 1_000_000,
        b"WARC/1.0\r\n" + b"x" * 3_000_000,
        b"WARC/1.0\r\na: b\r\n" + b" x\r\n" * 60_000 + b"\r\n",
        (b"a:" + b" 1 11111111 1" * 300 + b"\n") * 50,
        gzip.compress(response(b"")) + b"\0" * 5_000_000,
    ],
    ids=lambda data: f"{data[:12]!r}",
)
@pytest.mark.parametrize("max_block", [32 << 20, pytest.param(1 << 10, marks=pytest.mark.slow)])
def test_hostile_archives_take_bounded_work(data: bytes, max_block: int) -> None:
    with within(20):
        assert len(raw(data, max_block)) > 0


def test_what_is_read_again_is_bounded() -> None:
    """A member of lengths that lie: each must be looked behind, but not for ever."""
    data = gzip.compress(b"WARC/1.0\r\nContent-Length: 5000\r\n\r\n" * 3_000, 1)
    assert [r.error for r in raw(data, 1)] == ["bad_length"] * 2_999 + ["truncated"]
    stream = Stream(data, "gzip")
    assert stream.may_rewind(MAX_REREAD, 0)
    assert not stream.may_rewind(1, 0)


def test_a_length_of_2_to_63_and_a_garbage_gap() -> None:
    records = raw(response(b"x", 1 << 63) + response(OK))
    assert [(r.error, r.block) for r in records] == [("bad_header", None), ("", OK)]
    zeros = gzip.compress(response(OK)) + b"\0" * 3_000_000 + gzip.compress(response(OK))
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
    one = gzip.compress(b"x")
    body = decode_body(one * 3_000 + one[:10] + b"\xff" * 20, {"content-encoding": "gzip"})
    assert (body.data, body.repairs) == (b"x" * 3_000, ("bad_gzip",))
    with within(10):
        body = decode_body(gzip.compress(b"") * 100_000, {"content-encoding": "gzip"})
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
    packed = gzip.compress(os.urandom(3000))
    for damaged in (packed[:11], packed[:9]):
        assert decode_body(damaged, {}).data == damaged
    with pytest.raises(BodyTooLarge):
        decode_body(gzip.compress(bytes(5000)), {"content-encoding": "gzip"}, cap=1000)


BOMBS = """
import functools, gzip, json, resource, sys, zlib
import brotli, zstandard
from corpusmill.pipeline.stage import InputFile
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

N = 160
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
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
found = {}
for name, data in files.items():
    stage = build("sources.jsonl" if "jsonl" in name else "sources.warc", {}, name)
    file = InputFile("t", sys.argv[1] + "/" + name, name, len(data))
    found[name] = [getattr(r.outcome, "reason", getattr(r.outcome, "type", "kept"))
                   for r in stage.read(file)]
print(json.dumps([found, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024]))
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
    """160 MiB of zeros in each: in HTTP bodies, in members, in lines."""
    command = [sys.executable, "-c", BOMBS, str(tmp_path), *names]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    found, grown_mib = json.loads(done.stdout)
    assert found == {name: EXPLODED[name] for name in names}
    assert grown_mib < 250


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
        gzip.compress(b""): [],
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
        assert lines(tmp_path, gzip.compress(b"") * 50_000 + gzip.compress(b'{"text":"a"}')) == [
            "a"
        ]


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


# -- through the chain ------------------------------------------------------------------------

CHAIN = """
schema: corpusmill/recipe/1
name: chain
version: "1"
sources:
  - {name: t, stage: sources.warc, paths: [test_nasty.py], licence: CC0-1.0}
steps:
  - filters.url
  - extract.tiers: {tier: default}
  - dedup.exact: {as: same_url, by: url, keep: newest}
  - dedup.exact: {as: same_text, by: content}
  - measure.language
  - filters.language: {as: languages, keep: [en, ar, zh], min_score: 0.5}
  - measure.gopher
  - measure.repetition
  - measure.c4
  - measure.fineweb
  - filters.gopher_quality
  - filters.gopher_repetition
  - filters.fineweb: {as: fineweb_rules}
  - filters.c4: {as: c4_rules, min_sentences: 3}
  - classifiers.fasttext_quality: {model: "package:sample/models/quality.ftz", languages: [en]}
  - dedup.minhash
  - decontaminate.ngram: {benchmarks: "package:sample/benchmarks"}
  - clean.pii
  - measure.split: {heldout: "0.02"}
"""
Ends = dict[str, tuple[str, Outcome]]


@pytest.fixture(scope="module")
def steps() -> Iterator[list[Step]]:
    """The stages of the default chain, set up."""
    recipe = Recipe.parse(CHAIN, Path(__file__).parent)
    made = plan(recipe).load_steps([s.id for s in recipe.steps])
    for step in made:
        step.made.setup()
    yield made
    for step in made:
        getattr(step.made, "close", lambda: None)()


def barrier(step: Step, docs: list[Document], scratch: Path) -> list[Outcome]:
    """The outcomes of a barrier whose phases run in memory."""
    ctx = MemoryContext(scratch)
    docs.sort(key=lambda d: d.id)
    for name, (table, hashes) in step.made.emit(docs).items():
        ctx.write(name, table, hashes)
    bare = [Document(d.id, d.text, d.source, d.meta) for d in docs]
    ctx.write("docs", document_table(bare, {})[0], hash_of_ids([d.id for d in docs]))
    ctx.run_phases(step.made)
    verdicts = {row["id"]: row for row in ctx.read("verdicts").to_pylist()}
    outcomes: list[Outcome] = step.made.decide(docs, verdicts)
    return outcomes


def through(
    steps: Sequence[Step], items: Sequence[Page | Document], scratch: Path, *, spare: bool = False
) -> Ends:
    """Where each item ends, by id: (step, outcome), the step "end" for those that are kept. With
    `spare` what a filter drops goes on, so that every stage sees it."""
    live: list[Any] = list(items)
    ends: Ends = {}
    for step in steps:
        if step.is_barrier:
            outcomes = barrier(step, live, scratch)
        else:
            mine = live if step.made.takes in ("any", "page" if isinstance(live[0], Page) else
                                               "document") else []  # fmt: skip
            if not mine:
                continue
            outcomes = step.made.apply(live)
        assert len(outcomes) == len(live)
        kept = []
        for item, outcome in zip(live, outcomes, strict=True):
            if isinstance(outcome, Page | Document):
                kept.append(outcome)
            elif spare and isinstance(item, Document) and isinstance(outcome, Drop):
                kept.append(item)
            else:
                ends[item.id] = step.id, outcome
        live = kept
        if not live:
            break
    ends |= {item.id: ("end", item) for item in live}
    assert len(ends) == len(items)
    return ends


def meta(number: int) -> dict[str, Scalar]:
    return {
        "url": f"http://a.example/{number}", "host": "a.example", "date": "2026-01-01T00:00:00Z",
        "file": "x", "offset": number, "length": 1,
    }  # fmt: skip


def page(body: bytes | str, number: int = 0) -> Page:
    raw_body = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body
    key = document_id("t", "x", 1, number)
    return Page(key, "t", raw_body, {"content-type": HTML}, meta(number))


def text(content: str, number: int = 0) -> Document:
    return Document(document_id("t", "x", 1, number), content, "t", meta(number))


@lru_cache
def _samples() -> list[list[str]]:
    with gzip.open(configs_root() / "sample" / "labels" / "high.jsonl.gz") as f:
        texts = [json.loads(line)["text"] for line in f]
    return [[p for p in t.split("\n\n") if len(p) > 200 and "\n" not in p] for t in texts]


def story(number: int = 0) -> list[str]:
    """Paragraphs of textbooks that the chain keeps; another number, other paragraphs."""
    found: list[str] = []
    at = 50 * number
    while sum(map(len, found)) < 3_000:
        found += _samples()[at]
        at += 1
    return found


def article(paragraphs: Sequence[str], head: str = "") -> str:
    body = "".join(f"<p>{p}</p>\n" for p in paragraphs)
    return f"<html><head><title>t</title>{head}</head><body><article>{body}</article></body></html>"


RTL = "كان النهر يجري ببطء بين البيوت القديمة في القرية، وكان الناس يجلسون على ضفته كل مساء. "
PAGES: dict[str, tuple[bytes | str, set[tuple[str, str]]]] = {
    "a story": (article(story()), {("end", "kept")}),
    "a story in UTF-16": (article(story(2)).encode("utf-16"), {("end", "kept")}),
    "a story with NULs": (article(story(3)).replace("a", "a\0"), {("end", "kept")}),
    "no bytes": ("", {("tiers", "empty_text")}),
    "NULs": (bytes(10_000), {("tiers", "empty_text")}),
    "one tag": ("<p>", {("tiers", "empty_text")}),
    "deep": ("<div>" * 200_000, {("tiers", "over_budget_depth")}),
    "deep tables": ("<table>" * 5_000 + "x", {("tiers", "over_budget_depth")}),
    "formatting without end": ("".join(f"<p><b x={i}></p>" for i in range(2_000)), {("tiers", "over_budget_nodes")}),
    "options": ("<select>" + "<option>x" * 100_000, {("tiers", "over_budget_nodes")}),
    "bodies": ("".join(f"<body a{i}=1>" for i in range(20_000)), {("tiers", "over_budget_nodes")}),
    "9 MB": (article(["word " * 1_800_000]), {("tiers", "over_budget_bytes")}),
    "comments": ("<!--" * 100_000, {("tiers", "empty_text")}),
    "an open script": ("<script>" + "x" * 1_000_000, {("tiers", "empty_text")}),
    "attributes": ("<p " + "a=b " * 100_000 + ">text", {("languages", "language")}),
    "bad references": ("<p>" + "&#xD800;&#x110000;&#0;" * 1000, {("languages", "language"),
                                                                 ("tiers", "empty_text")}),
    "one word": (article(["word " * 2000]), {("languages", "language")}),
    "control characters": (article(["\x01\x02\x03\x7f\x85" * 500 + " controls"]),
                           {("languages", "language")}),
    "emoji": (article(["🙂🙃👩‍👩‍👧🇩🇪 " * 500]), {("languages", "language"), ("tiers", "empty_text")}),
    "right to left": (article([RTL * 3] * 12), {("gopher_quality", "gopher_stop_words"),
                                               ("gopher_repetition", "repetition_dup_paras")}),
    "overrides only": (article(["\u202e\u200f" * 2000 + " abc"]), {("languages", "language")}),
    "lone surrogates": (article(story(4)).replace("</p>", "\ud83d</p>"), {("end", "kept")}),
    "one long word": (article(["x" * 1_000_000]), {("languages", "language")}),
    "combining marks": (article(["e" + "\u0301" * 20_000]), {("languages", "language")}),
}  # fmt: skip


def test_pages(steps: list[Step], tmp_path: Path) -> None:
    """Each page of the table to its end, the whole table as one batch."""
    items = {name: page(body, n) for n, (name, (body, _)) in enumerate(PAGES.items())}
    with within(30):
        ends = through(steps, list(items.values()), tmp_path)
    found = {name: (ends[p.id][0], code(ends[p.id][1])) for name, p in items.items()}
    assert {n: f for n, f in found.items() if f not in PAGES[n][1]} == {}
    for _, outcome in ends.values():
        if isinstance(outcome, Document):
            assert "\ud83d" not in outcome.text


def test_copies_of_one_page(steps: list[Step], tmp_path: Path) -> None:
    ends = through(steps, [page(article(story()), n) for n in range(100)], tmp_path)
    where = Counter((step, code(outcome)) for step, outcome in ends.values())
    assert where == {("end", "kept"): 1, ("same_text", "duplicate_content"): 99}


@pytest.mark.slow
def test_ten_thousand_copies_and_near_copies(steps: list[Step], tmp_path: Path) -> None:
    body = "\n".join(story())
    same = [text(body, n) for n in range(10_000)]
    near = [text(f"{body}\nNumber {n} of many.", 10_000 + n) for n in range(2_000)]
    with within(120):
        ends = through(steps[2:], same + near, tmp_path)
    where = Counter((step, code(outcome)) for step, outcome in ends.values())
    assert where == {
        ("end", "kept"): 1, ("same_text", "duplicate_content"): 9_999,
        ("minhash", "near_duplicate"): 2_000,
    }  # fmt: skip


def huge(size: int) -> dict[str, str]:
    """Texts of about `size` bytes that have trapped tokenisers, expressions and tables."""
    joined = "\n".join(story(7)) + "\n"
    units = {
        "prose": joined, "word": "word ", "letter": "x", "newline": "\n", "emoji": "🙂", "dash": "-",
        "han": "今天天气很好我们去公园吧", "thai": "สวัสดีชาวโลก", "arabic": "مرحبا بالعالم ", "quote": '"',
        "marks": "\u0301", "nul": "\0", "no character": "\uffff", "override": "\u202e", "curly": "{",
        "lines": "a\n", "digits": "1234567890", "spaced digits": "1 ", "colons": "ab:", "points": "1.",
        "plus": "+1-", "at": "a@", "address": "john.doe@mail.example ", "url": "http://a.b/ ",
        "scripts": "aб中あ ",
    }  # fmt: skip
    return {name: unit * (size // len(unit.encode())) for name, unit in units.items()}


def every_stage_sees(steps: list[Step], size: int, seconds: float, scratch: Path) -> None:
    for name, content in huge(size).items():
        with within(seconds):
            ends = through(steps[2:], [text(content)], scratch, spare=True)
        ((step, outcome),) = ends.values()
        assert isinstance(outcome, Document), (name, step)
        assert outcome.signals["split"] in ("train", "heldout")
        outcome.text.encode("utf-8")


def test_every_stage_sees_texts_of_100_kilobytes(steps: list[Step], tmp_path: Path) -> None:
    every_stage_sees(steps, 100_000, 10, tmp_path)


@pytest.mark.slow
def test_every_stage_sees_texts_of_2_megabytes(steps: list[Step], tmp_path: Path) -> None:
    every_stage_sees(steps, 2_000_000, 100, tmp_path)


@pytest.mark.slow
def test_a_text_of_50_megabytes(steps: list[Step], tmp_path: Path) -> None:
    whole = "\n".join(story(9))
    with within(120):
        ends = through(steps[2:], [text((whole + "\n") * (50_000_000 // len(whole)))], tmp_path)
    ((step, outcome),) = ends.values()
    assert (step, code(outcome)) == ("gopher_quality", "gopher_many_words")


# -- inputs that broke other pipelines ---------------------------------------------------------


def pick(steps: list[Step], *names: str) -> list[Step]:
    chosen = [s for s in steps if s.id in names]
    assert len(chosen) == len(names)
    return chosen


def dedup(steps: list[Step], texts: Sequence[str], scratch: Path) -> list[tuple[str, str]]:
    """(step, code) of each text behind exact and near deduplication."""
    items = [text(t, n) for n, t in enumerate(texts)]
    ends = through(pick(steps, "same_text", "minhash"), items, scratch)
    return [(ends[i.id][0], code(ends[i.id][1])) for i in items]


def test_texts_shorter_than_a_shingle_do_not_share_a_signature(
    steps: list[Step], tmp_path: Path
) -> None:
    found = dedup(steps, ["apple", "orange", "apple"], tmp_path)
    assert sorted(found) == [
        ("end", "kept"), ("end", "kept"), ("same_text", "duplicate_content"),
    ]  # fmt: skip
    assert found[1] == ("end", "kept")


def test_texts_without_a_shingle_are_accounted_for(steps: list[Step], tmp_path: Path) -> None:
    normal = "\n".join(story())
    assert dedup(steps, ["", "short one", normal, "\n \n", "!?", "。"], tmp_path) == (
        [("end", "kept")] * 6
    )


def test_a_text_that_looks_like_a_schema_is_text(tmp_path: Path) -> None:
    body = "struct<created: timestamp[s], author: string>\ntimestamp[s], author: string\n" * 200
    row = {"id": "1", "title": "list<item: string>", "author": None, "n": 3, "body": body}
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(row) + "\n", "utf-8")
    (doc,) = rows("sources.jsonl", path, text_fields=["body"])
    assert isinstance(doc, Document)
    (back,) = documents(document_table([doc], {})[0], {})
    assert (back.text, back.meta["title"]) == (body, "list<item: string>")


@pytest.mark.parametrize("gap", ["\n", "\r\n", "\n\n", "\u2028", "\x85", "\x00", "\x0b", "\r"])
def test_a_model_of_lines_scores_texts_of_many(steps: list[Step], gap: str) -> None:
    """The library refuses a text with a line end: lines are joined by spaces."""
    (quality,) = pick(steps, "fasttext_quality")
    broken, joined = text(gap.join(story())), text(" ".join(story()))
    for doc in (broken, joined):
        doc.signals["lang"] = "en"
    assert quality.made.apply([broken, joined]) == [broken, joined]
    assert 0 <= float(broken.signals["quality_score"]) <= 1
    if gap in ("\n", "\r\n", "\n\n"):
        assert broken.signals == joined.signals
    (language,) = pick(steps, "language")
    language.made.apply([broken])
    assert broken.signals["lang"] == "en"


# -- real pages -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def crawl() -> Callable[[str], Page]:
    """A page of the sample crawl, by its address."""
    if "CORPUSMILL_DATA" not in os.environ:
        pytest.skip("CORPUSMILL_DATA is not set")
    root = Path(os.environ["CORPUSMILL_DATA"]) / "crawl"
    with gzip.open(root / "manifest.jsonl.gz") as f:
        places = {row["url"]: row for row in map(json.loads, f)}
    source = build("sources.warc", {}, "crawl")

    def one(url: str) -> Page:
        row = places[url]
        path = root / row["file"]
        file = InputFile("crawl", str(path), row["file"], path.stat().st_size)
        record = source.read_one(file, row["offset"])
        assert isinstance(record.outcome, Page)
        return record.outcome

    return one


def extracted(steps: list[Step], found: Page) -> Outcome:
    outcome: Outcome = pick(steps, "tiers")[0].made.apply([found])[0]
    return outcome


@pytest.mark.fulldata
def test_a_charset_that_only_the_page_declares(
    steps: list[Step], crawl: Callable[[str], Page]
) -> None:
    doc = extracted(steps, crawl("https://httpd-manual.example/docs/2.4/ko/programs/httpd.html"))
    assert isinstance(doc, Document)
    assert "\ufffd" not in doc.text
    assert "하이퍼텍스트 전송 프로토콜 서버" in doc.text
    assert doc.meta["charset_rule"] == "meta"


@pytest.mark.fulldata
def test_a_charset_that_the_text_talks_of(
    steps: list[Step], crawl: Callable[[str], Page]
) -> None:  # fmt: skip
    doc = extracted(
        steps, crawl("https://www.distro-project.example/doc/manuals/reference/ch11.pt.html")
    )
    assert isinstance(doc, Document)
    assert doc.meta["charset"] == "utf-8"
    assert "conversão" in doc.text


@pytest.mark.fulldata
def test_a_refresh_for_readers_without_scripts_drops_no_page(
    steps: list[Step], crawl: Callable[[str], Page]
) -> None:
    doc = extracted(
        steps,
        crawl("https://help.office-suite.example/7.4/el/text/swriter/guide/arrange_chapters.html"),
    )
    assert isinstance(doc, Document)
    assert len(doc.text) > 500


@pytest.mark.fulldata
def test_a_stub_that_only_sends_on_is_not_kept(
    steps: list[Step], crawl: Callable[[str], Page], tmp_path: Path
) -> None:
    stub = crawl("https://docs.matrix-tool.example/v7.3.0/XREFaxesbeingdeleted.html")
    assert b'http-equiv="refresh"' in stub.body.lower()
    ((step, outcome),) = through(steps, [stub], tmp_path).values()
    assert not isinstance(outcome, Document), step
