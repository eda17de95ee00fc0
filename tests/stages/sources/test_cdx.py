"""An index beside an archive: right ones agree, and each way to disagree is an error of its own."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from fastwarc.warc import ArchiveIterator

from corpusmill.pipeline.document import Failure, Record
from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.inputs import list_inputs
from corpusmill.pipeline.recipe import Recipe
from corpusmill.pipeline.stage import InputFile
from corpusmill.stages.sources.cdx import Seen, compare
from corpusmill.stages.sources.warc import Warc, WarcParams

MakeRecord = Callable[..., bytes]
MakeFile = Callable[..., InputFile]


def indexed(path: Path) -> list[tuple[int, int, str]]:
    """(offset, length, type) of the captures of an archive, by FastWARC."""
    with path.open("rb") as stream:
        found = [
            (r.stream_pos, r.headers.get("WARC-Type", ""))
            for r in ArchiveIterator(stream, parse_http=False)
        ]
    ends = [offset for offset, _ in found[1:]] + [path.stat().st_size]
    return [
        (offset, end - offset, kind)
        for (offset, kind), end in zip(found, ends, strict=True)
        if kind in ("response", "revisit", "resource")
    ]


def cdxj(rows: list[tuple[int, int, str]], name: str) -> bytes:
    lines = [
        f"org,example)/{n} 20260102030405 "
        + json.dumps({"url": "http://example.org/", "length": str(b), "offset": str(a), "filename": f"warc/{name}"})
        for n, (a, b, _) in enumerate(rows)
    ]  # fmt: skip
    return "".join(f"{line}\n" for line in lines).encode()


def cdx(rows: list[tuple[int, int, str]], name: str, legend: bool = True) -> bytes:
    head = " CDX N b a m s k r M S V g\n" if legend else ""
    return (
        head
        + "".join(
            f"org,example)/ 20260102030405 http://example.org/ text/html 200 AAAA - - {b} {a} {name}\n"
            for a, b, _ in rows
        )
    ).encode()


def complaints(file: InputFile, index: bytes, name: str = "x.cdxj") -> list[tuple[str, int, str]]:
    """(code, offset, message) of what an index beside `file` brings."""
    path = Path(file.path).with_name(name)
    path.write_bytes(index)
    beside = InputFile(file.source, str(path), name, len(index))
    alone = list(Warc(WarcParams()).read(file))
    records = list(Warc(WarcParams()).read(replace(file, beside=(beside,))))
    assert records[: len(alone)] == alone  # the index changes nothing that was read
    assert len({r.id for r in records}) == len(records)
    found = []
    for record in records[len(alone) :]:
        assert isinstance(record.outcome, Failure)
        assert record.outcome.type in Warc.errors
        found.append((record.outcome.type, record.offset, record.outcome.message))
    return found


REAL = [
    "warcio/example.warc.gz", "warcio/example.warc", "gowarc/test.warc.gz",
    "derived/frame-per-record.warc.zst", "warcio/example-resource.warc.gz", "jwarc/cc.warc.gz",
]  # fmt: skip


@pytest.mark.parametrize("name", REAL)
def test_the_index_that_another_reader_would_write_agrees(
    warcs: Path, make_file: MakeFile, name: str
) -> None:
    rows = indexed(warcs / name)
    assert rows
    file = make_file((warcs / name).read_bytes(), Path(name).name)
    for index in (cdxj(rows, file.relative), cdx(rows, file.relative), cdx(rows, "-", False)):
        assert complaints(file, index.replace(b" -\n", f" {file.relative}\n".encode())) == []
        assert (
            complaints(
                file, gzip.compress(index.replace(b" -\n", f" {file.relative}\n".encode()), mtime=0)
            )
            == []
        )


@pytest.fixture
def archive(make_record: MakeRecord, make_file: MakeFile) -> InputFile:
    """Three captures and a request, a member each."""
    http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html><p>text"
    parts = [
        make_record(http + bytes([65 + n]) * 50, url=f"http://a.example/{n}") for n in range(3)
    ]
    parts.insert(1, make_record(b"GET / HTTP/1.1\r\n\r\n", "request"))
    return make_file(b"".join(gzip.compress(p, mtime=0) for p in parts), "x.warc.gz")


def test_a_record_that_is_not_there(archive: InputFile) -> None:
    rows = indexed(Path(archive.path))
    assert complaints(archive, cdxj([*rows, (archive.size, 300, "")], "x.warc.gz")) == [
        ("index_no_record", archive.size, f"x.cdxj, line 4: no record begins at {archive.size}")
    ]


def test_an_archive_that_was_cut_behind_a_member(archive: InputFile) -> None:
    rows = indexed(Path(archive.path))
    data = Path(archive.path).read_bytes()[: rows[2][0]]
    Path(archive.path).write_bytes(data)
    short = replace(archive, size=len(data))
    assert [c[:2] for c in complaints(short, cdxj(rows, "x.warc.gz"))] == [
        ("index_no_record", rows[2][0])
    ]


def test_a_length_that_differs(archive: InputFile) -> None:
    rows = indexed(Path(archive.path))
    rows[1] = (rows[1][0], rows[1][1] - 4, "")
    ((code, offset, message),) = complaints(archive, cdxj(rows, "x.warc.gz"))
    assert (code, offset) == ("index_length", rows[1][0])
    assert f"there are {rows[1][1] + 4}" in message


@pytest.mark.parametrize(("less", "right"), [(0, True), (4, True), (5, False), (-1, False)])
def test_line_ends_behind_a_plain_record_may_be_left_out(
    make_record: MakeRecord, make_file: MakeFile, less: int, right: bool
) -> None:
    data = make_record(b"a", "resource", mime="text/html") * 2
    file = make_file(data, "x.warc")
    half = len(data) // 2
    index = cdxj([(0, half - less, ""), (half, half, "")], "x.warc")
    assert (complaints(file, index) == []) is right


def test_captures_that_an_index_lacks_are_one_error(archive: InputFile) -> None:
    rows = indexed(Path(archive.path))
    assert complaints(archive, cdxj(rows[1:2], "x.warc.gz")) == [
        ("index_incomplete", 0, "x.cdxj: 2 of 3 captures are not in it")
    ]


def test_an_index_of_many_archives_and_of_another_one(archive: InputFile) -> None:
    rows = indexed(Path(archive.path))
    other = cdxj([(5, 9, "")], "y.warc.gz")
    assert complaints(archive, other + cdxj(rows, "x.warc.gz")) == []
    ((code, _, message),) = complaints(archive, other)
    assert (code, message) == ("index_unreadable", "x.cdxj: none of its 1 lines is of this file")


@pytest.mark.parametrize(
    "index",
    [b"a b c\n", b'a 1 {"length": 3}\n', b'a 1 {"offset": -3}\n', b'a 1 {"offset": "x"}\n', b"a 1 {]\n",
     b" CDX N b V\na b\n", b" CDX N b a\na b c\n", b"\x1f\x8b\x08junk", b'a 1 {"offset": 1e3}\n',
     gzip.compress(b'a 1 {"offset": 0}\n' * 9, mtime=0)[:-9], b'a 1 {"o": ' + b"[" * 99999],
)  # fmt: skip
def test_an_index_that_is_none(archive: InputFile, index: bytes) -> None:
    found = complaints(archive, index)
    assert [code for code, _, _ in found].count("index_unreadable") == 1
    assert all(len(message) <= 200 for _, _, message in found)


def test_an_empty_index_lists_nothing(archive: InputFile) -> None:
    assert [c[0] for c in complaints(archive, b"")] == ["index_incomplete"]


def test_several_records_in_one_member_have_its_length(
    make_record: MakeRecord, make_file: MakeFile
) -> None:
    data = gzip.compress(make_record(b"a", "resource", mime="text/html") * 2, mtime=0)
    file = make_file(data, "x.warc.gz")
    assert complaints(file, cdxj([(0, len(data), "")], "x.warc.gz")) == []


def test_no_index_no_complaint(archive: InputFile) -> None:
    assert list(compare(archive, Seen())) == []
    assert isinstance(next(iter(Warc(WarcParams()).read(archive))), Record)


RECIPE = """
schema: corpusmill/recipe/1
name: x
version: "1"
sources: [{name: web, stage: STAGE, root: in, licence: CC0-1.0, REST}]
steps: [filters.url]
"""


def planned(tmp_path: Path, rest: str, stage: str = "sources.warc") -> dict[str, object]:
    text = RECIPE.replace("REST", rest).replace("STAGE", stage)
    (entry,), _ = list_inputs(Recipe.parse(text, tmp_path))
    return {k: v for k, v in entry.items() if k != "name"}


def test_indexes_are_planned_with_the_files_that_they_are_of(tmp_path: Path) -> None:
    for name in (
        "a/x.warc.gz", "a/x.cdxj", "a/y.warc.gz", "a/y.warc.gz.cdx.gz", "a/y.warc.cdx", "b/x.cdx",
        "a/z.arc.gz", "a/x.txt", "a/xx.cdx",
    ):  # fmt: skip
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_bytes(b"12")
    entry = planned(tmp_path, 'paths: ["**/*.gz"], exclude: ["**/*.cdx.gz"]')
    beside = entry["beside"]
    assert isinstance(beside, dict)
    assert {k: [f[:2] for f in v] for k, v in beside.items()} == {
        "a/x.warc.gz": [["a/x.cdxj", 2]], "a/y.warc.gz": [["a/y.warc.cdx", 2]],
    }  # fmt: skip
    assert entry["excluded"] == ["a/y.warc.gz.cdx.gz"]
    entry = planned(tmp_path, 'paths: ["a/*.warc.gz"], exclude: ["a/x.cdxj"]')
    beside = entry["beside"]
    assert isinstance(beside, dict)
    assert list(beside) == ["a/y.warc.gz"]
    assert [f[0] for f in beside["a/y.warc.gz"]] == ["a/y.warc.gz.cdx.gz", "a/y.warc.cdx"]
    assert "beside" not in planned(tmp_path, 'paths: ["a/*.gz"]', "sources.wet")
    entry = planned(
        tmp_path, 'paths: ["**/*"]'
    )  # whoever asks for all gets the indexes as archives
    assert "beside" not in entry
    with pytest.raises(ConfigError, match="matches none"):
        planned(tmp_path, 'paths: ["a/*.warc.gz"], exclude: ["b/x.cdx"]')
