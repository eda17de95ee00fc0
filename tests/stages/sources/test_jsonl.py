"""JSON lines in known layouts and with known faults."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable

import pytest
import zstandard

from corpusmill.pipeline.document import Document, Drop, Failure, Record, document_id
from corpusmill.pipeline.errors import ConfigError, InputError
from corpusmill.pipeline.stage import InputFile
from corpusmill.stages.sources.jsonl import Jsonl, JsonlParams

MakeFile = Callable[..., InputFile]


def read(file: InputFile, params: JsonlParams | None = None) -> list[Record]:
    return list(Jsonl(params or JsonlParams()).read(file))


DOLMA = {"id": "d1", "text": "a text", "source": "s", "added": "2024-01-01T00:00:00.000Z",
         "metadata": {"url": "http://a.test/x", "license": "CC-BY-4.0"}}  # fmt: skip
DATATROVE = {"text": "b text", "id": "<urn:uuid:2>", "metadata": {
    "url": "https://B.test/", "date": "2024-05-06T07:08:09Z", "language_score": 0.9}}  # fmt: skip
REDPAJAMA = {"raw_content": "c text", "url": "http://c.test/", "date_download":
             "2023-01-02T03:04:05Z", "doc_id": "cc/1"}  # fmt: skip


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
def test_layouts(make_file: MakeFile, pack: Callable[[bytes], bytes]) -> None:
    lines = [json.dumps(r).encode() for r in (DOLMA, DATATROVE, REDPAJAMA)]
    file = make_file(pack(b"\n".join(lines)))
    records = read(file)
    docs = [r.outcome for r in records]
    assert all(isinstance(d, Document) for d in docs)
    starts = [0, len(lines[0]) + 1, len(lines[0]) + len(lines[1]) + 2]
    assert [r.offset for r in records] == starts
    assert [r.id for r in records] == [
        document_id("test", file.relative, file.size, s) for s in starts
    ]
    metas = [{k: v for k, v in d.meta.items() if k not in ("file", "offset")}  # type: ignore[union-attr]
             for d in docs]  # fmt: skip
    assert [d.text for d in docs] == ["a text", "b text", "c text"]  # type: ignore[union-attr]
    assert metas == [
        {"url": "http://a.test/x", "url_canonical": "https://a.test/x", "host": "a.test", "record_id": "d1", "licence": "CC-BY-4.0",
         "licence_where": "field metadata.license"},
        {"url": "https://B.test/", "url_canonical": "https://b.test/", "host": "b.test", "record_id": "<urn:uuid:2>",
         "date": "2024-05-06T07:08:09Z"},
        {"url": "http://c.test/", "url_canonical": "https://c.test/", "host": "c.test", "record_id": "cc/1",
         "date": "2023-01-02T03:04:05Z"},
    ]  # fmt: skip


def test_faults_do_not_stop_the_file(make_file: MakeFile) -> None:
    lines = [
        b'{"text": "first"}\r', b"", b'{"text": "cut', b'{"text": "\xff"}', b'{"text": "\\ud83d"}',
        b'{"text": "\\ud83d\\ude00"}', b'["text"]', b'{"body": "x"}', b'{"text": 5}',
        b'{"text": " "}', b"[" * 100_000, b'{"text": null, "content": "other"}',
        b'{"text": "last"}',
    ]  # fmt: skip
    records = read(make_file(b"\n".join(lines) + b"\n"))
    words = []
    for record in records:
        out = record.outcome
        if isinstance(out, Document):
            words.append(out.text)
        elif isinstance(out, Drop):
            words.append(out.reason)
        else:
            assert isinstance(out, Failure)
            words.append(out.type)
    assert words == [
        "first", "blank_line", "bad_json", "bad_utf8", "lone_surrogate", "😀", "not_an_object",
        "no_text_field", "text_not_a_string", "empty", "bad_json", "other", "last",
    ]  # fmt: skip
    at = 0
    for record, line in zip(records, lines, strict=True):
        assert record.offset == at
        at += len(line) + 1


def test_long_lines(make_file: MakeFile) -> None:
    long = json.dumps({"text": "x" * 3_000_000}).encode()
    small = b'{"text": "y"}'
    records = read(
        make_file(b"\n".join([small, long, small, long])), JsonlParams(max_line_bytes=1000)
    )
    assert [r.outcome for r in records][1::2] == [Drop("too_large", len(long))] * 2
    assert [r.offset for r in records] == [
        0, len(small) + 1, len(small) + len(long) + 2, 2 * len(small) + len(long) + 3,
    ]  # fmt: skip


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_cut_and_corrupt_files(make_file: MakeFile, pack: Callable[[bytes], bytes]) -> None:
    data = b"".join(
        json.dumps({"text": f"number {i * 7919}"}).encode() + b"\n" for i in range(5000)
    )
    packed = pack(data)
    cut = read(make_file(packed[: len(packed) * 2 // 3]))
    *good, last = [r.outcome for r in cut]
    assert isinstance(last, Failure)
    assert last.type == "truncated"
    assert all(isinstance(d, Document) for d in good)
    broken = bytearray(packed)
    broken[len(packed) // 2 : len(packed) // 2 + 16] = b"\xff" * 16
    end = read(make_file(bytes(broken)))[-1].outcome
    assert isinstance(end, Failure)
    assert end.type == "corrupt_file"


def test_several_members_and_zero_bytes(make_file: MakeFile) -> None:
    data = (
        gzip.compress(b'{"text": "a"}\n{"te', mtime=0)
        + gzip.compress(b'xt": "b"}\n', mtime=0)
        + b"\0" * 100
    )
    assert [r.outcome.text for r in read(make_file(data))] == ["a", "b"]  # type: ignore[union-attr]


def test_chosen_fields(make_file: MakeFile) -> None:
    row = {"text": "no", "body": "yes", "link": "http://x.test/", "url": "http://y.test/"}
    params = JsonlParams(text_fields=("body",), fields={"url": "link"})
    (record,) = read(make_file(json.dumps(row).encode()), params)
    assert isinstance(record.outcome, Document)
    assert (record.outcome.text, record.url) == ("yes", "http://x.test/")


def test_read_one(make_file: MakeFile) -> None:
    file = make_file(b'{"text": "a"}\n{"text": "b"}\n')
    stage = Jsonl(JsonlParams())
    assert stage.read_one(file, 14) == list(stage.read(file))[1]
    assert stage.read_one(file, 3) is None


def test_errors(make_file: MakeFile) -> None:
    with pytest.raises(ConfigError, match="'colour' is no field"):
        JsonlParams(fields={"colour": "x"})
    with pytest.raises(ConfigError, match="text_fields is empty"):
        JsonlParams(text_fields=())
    with pytest.raises(InputError, match="No such file"):
        read(InputFile("t", "/nonexistent/x", "x", 0))
