"""Rows of JSONL in and out, for every verb that runs one stage alone."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corpusmill.pipeline.errors import InputError
from corpusmill.stages.clean.verb import pii_jsonl
from corpusmill.stages.dedup.verb import dedup_jsonl
from corpusmill.stages.filters.verb import filter_jsonl
from corpusmill.stages.json_rows import RowWriter, batches, read_rows

VERBS: list[Callable[[Path, Path], dict[str, Any]]] = [pii_jsonl, filter_jsonl, dedup_jsonl]


@pytest.mark.parametrize("verb", VERBS)
def test_a_lone_surrogate_and_gzip_pass_through_every_verb(
    verb: Callable[[Path, Path], dict[str, Any]], tmp_path: Path
) -> None:
    rows = [{"id": "1", "text": "one \ud800 two"}, {"id": "2", "text": "Ünïcode, plain"}]
    content = "\n\n".join(json.dumps(r) for r in rows).encode()
    (tmp_path / "in.jsonl").write_bytes(content)
    (tmp_path / "in.jsonl.gz").write_bytes(gzip.compress(content, mtime=0))
    verb(tmp_path / "in.jsonl", tmp_path / "out.jsonl")
    verb(tmp_path / "in.jsonl.gz", tmp_path / "out.jsonl.gz")
    plain = (tmp_path / "out.jsonl").read_bytes()
    assert gzip.decompress((tmp_path / "out.jsonl.gz").read_bytes()) == plain
    out = [json.loads(line) for line in plain.splitlines()]
    assert [r["text"] for r in out] == [r["text"] for r in rows]
    assert "Ünïcode".encode() in plain


@pytest.mark.parametrize("verb", VERBS)
def test_a_bad_line_leaves_no_half_of_a_file(
    verb: Callable[[Path, Path], dict[str, Any]], tmp_path: Path
) -> None:
    (tmp_path / "in").write_text('{"text": "a"}\n{"text": \n')
    (tmp_path / "out").write_text("from before")
    with pytest.raises(InputError, match="line 2 is not JSON"):
        verb(tmp_path / "in", tmp_path / "out")
    assert (tmp_path / "out").read_text() == "from before"
    assert sorted(os.listdir(tmp_path)) == ["in", "out"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[1]\n", "line 1 is not a JSON object"),
        (b"\n\xff\n", "line 2 is not UTF-8"),
        (b"[" * 100_000, "line 1 is not JSON"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "in").write_bytes(content)
    with pytest.raises(InputError, match=message):
        list(read_rows(tmp_path / "in"))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: No such file"):
        list(read_rows(tmp_path / "none"))
    (tmp_path / "in.gz").write_bytes(gzip.compress(b'{"a": 1}\n' * 5000, mtime=0)[:-20])
    with pytest.raises(InputError, match="cannot be read"):
        list(read_rows(tmp_path / "in.gz"))


def test_a_byte_order_mark_is_no_part_of_the_row(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b'\xef\xbb\xbf{"a": 1}\r\n{"a": 2}')
    assert list(read_rows(tmp_path / "in")) == [(1, {"a": 1}), (2, {"a": 2})]


def test_batches_by_characters() -> None:
    rows: list[dict[str, Any]] = [{"text": "x" * n} for n in (3, 3, 5, 1)] + [{"other": 1}]
    assert [len(b) for b in batches(rows, 5)] == [2, 1, 2]


def test_compressed_output_carries_no_time(tmp_path: Path) -> None:
    with RowWriter(tmp_path / "a.gz") as out:
        out.write({"a": 1})
    assert (tmp_path / "a.gz").read_bytes()[4:8] == bytes(4)  # MTIME of RFC 1952
