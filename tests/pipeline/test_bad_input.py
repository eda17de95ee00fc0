"""Runs over bad input: every record ends kept, dropped or as an error, and the rejects say where."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from corpusmill.pipeline import Recipe, run, verify
from corpusmill.pipeline.cli import main
from corpusmill.pipeline.engine import RunFolder
from corpusmill.pipeline.errors import CorpusmillError, StageError, TaskError
from corpusmill.pipeline.running import RunResult

RECIPE = """
schema: corpusmill/recipe/1
name: bad
version: "1"
sources:
  - {name: web, stage: sources.warc, root: web, paths: ["*"], licence: CC0-1.0}
  - {name: rows, stage: sources.jsonl, root: rows, paths: ["*"], licence: CC0-1.0}
  - {name: table, stage: sources.parquet, root: table, paths: ["*"], licence: CC0-1.0}
steps:
  - extract.tiers: {tier: fast, isolate: false}
  - dedup.exact
guards: {max_error_share: 1}
execution: {task_bytes: 100000000, partitions: 2}
"""
OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


def record(body: bytes, head: bytes = b"", length: int | None = None, warc: bytes = b"") -> bytes:
    block = OK + head + b"\r\n" + body
    size = len(block) if length is None else length
    return (
        b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.example/\r\n" + warc
        + b"Content-Length: %d\r\n\r\n" % size + block + b"\r\n\r\n"
    )  # fmt: skip


def page(number: int) -> bytes:
    return f"<html><body><p>This is the page of number {number}.</p></body></html>".encode()


def member(number: int) -> bytes:
    return gzip.compress(record(page(number)), mtime=0)


def broken(data: bytes) -> bytes:
    """A gzip member with a byte of its content flipped."""
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 0xFF]) + data[middle + 1 :]


ZEROS = bytes(40 << 20)
BOMB = gzip.compress(ZEROS, 1, mtime=0)
ZSTD_BOMB = zstandard.compress(ZEROS)

WEB: dict[str, tuple[bytes, list[tuple[int, str]]]] = {
    "cut.warc.gz": (member(1) + member(2)[:-9], [(len(member(1)), "truncated")]),
    "middle.warc.gz": (member(3) + broken(member(4)) + member(5),
                       [(len(member(3)), "corrupt_member")]),
    "between.warc.gz": (member(6) + b"garbage" + member(7), [(len(member(6)), "garbage")]),
    "header.warc": (record(page(8), warc=b"X-Long: " + b"y" * 65536 + b"\r\n")
                    + record(page(9), b"X-Long: " + b"z" * 65536 + b"\r\n"), []),
    "bombs.warc": (record(BOMB, b"Content-Encoding: gzip\r\n")
                   + record(ZSTD_BOMB, b"Content-Encoding: zstd\r\n") + record(page(10)),
                   [(0, "too_large"),
                    (len(record(BOMB, b"Content-Encoding: gzip\r\n")), "too_large")]),
    "lengths.warc": (record(page(11)) + record(page(12), length=1 << 63) + record(page(13))
                     + record(page(14), length=10**15),
                     [(len(record(page(11))), "bad_header"),
                      (len(record(page(11)) + record(page(12), length=1 << 63)
                           + record(page(13))), "truncated")]),
    "empty.warc.gz": (b"", []),
    "no-archive.txt": (b"just a text\n" * 1000, [(0, "garbage")]),
    "status.warc": (record(page(15)).replace(b"200 OK", b"404 NO"), [(0, "status")]),
}  # fmt: skip
ROWS: list[tuple[bytes, str]] = [
    (b'\xef\xbb\xbf{"text": "The first row."}\r', ""), (b'{"text": "cut', "bad_json"),
    (b'{"text": "\\ud800"}', "lone_surrogate"), (b'{"tex": "x"}', "no_text_field"),
    (b'{"text": 5}', "text_not_a_string"), (b'{"text": "\xff"}', "bad_utf8"), (b"", "blank_line"),
    (b'{"text": " "}', "empty"), (b"[1]", "not_an_object"), (b'{"text": "The last row."}', ""),
]  # fmt: skip


def put(folder: Path) -> None:
    """The bad inputs of three sources, each with a folder that is named like a file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for name in ("web", "rows", "table"):
        (folder / name / "x.warc.gz").mkdir(parents=True)
    for name, (data, _) in WEB.items():
        (folder / "web" / name).write_bytes(data)
    (folder / "rows" / "rows.jsonl").write_bytes(b"\n".join(line for line, _ in ROWS))
    bad = pa.array([b"A row of a table.", b"\xff", b" "], pa.binary())
    text = pa.StringArray.from_buffers(3, bad.buffers()[1], bad.buffers()[2])
    pq.write_table(pa.table({"text": text}), folder / "table" / "t.parquet")
    pq.write_table(pa.table({"text": pa.array([], pa.string())}), folder / "table" / "zero.parquet")


def rejects(result: RunResult) -> list[dict[str, Any]]:
    """All rows of the tables of rejects."""
    folder = RunFolder(result.root, result.plan)
    names = [p.name for p in result.plan.phases if p.kind == "docs"]
    return [r for n in names for piece in folder.pieces(n, "rejects", None, None)
            for r in piece.to_pylist()]  # fmt: skip


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    folder = tmp_path_factory.mktemp("bad")
    put(folder)
    return run(Recipe.parse(RECIPE, folder), folder / "run", workers=1)


def test_every_bad_record_is_in_the_rejects(finished: RunResult) -> None:
    found = sorted((r["file"], r["offset"], r["reason"]) for r in rejects(finished))
    expected = [(name, *place) for name, (_, places) in WEB.items() for place in places]
    at = 0
    for line, reason in ROWS:
        if reason:
            expected.append(("rows.jsonl", at, reason))
        at += len(line) + 1
    expected += [("t.parquet", 1, "bad_utf8"), ("t.parquet", 2, "empty")]
    assert found == sorted(expected)


def test_the_account_balances(finished: RunResult) -> None:
    ledger = json.loads((finished.root / "ledger.json").read_text("utf-8"))
    records = ledger["records"]
    assert ledger["balanced"] is True
    lost = Counter(r["outcome"] for r in rejects(finished))
    assert sum(records["dropped"].values()) == lost["dropped"] == 6
    assert sum(records["errors"].values()) == lost["error"] == 13
    assert records["kept"] == 10 + 2 + 1
    assert records["in"] == records["kept"] + lost.total()
    assert verify(finished.root).faults == []


def test_too_many_errors_fail_the_run(tmp_path: Path) -> None:
    put(tmp_path)
    many = b"\n".join([b"{"] * 20 + [b'{"text": "A row."}'] * 10)
    (tmp_path / "rows" / "rows.jsonl").write_bytes(many)
    text = RECIPE.replace("{max_error_share: 1}", "{max_error_share: 0.5}")
    with pytest.raises((StageError, TaskError)) as caught:
        run(Recipe.parse(text, tmp_path), tmp_path / "run", workers=1)
    assert "20 of 30 records ended as errors (read:bad_json 20)" in str(caught.value)


@pytest.mark.parametrize(
    ("source", "name", "data", "message"),
    [
        ("table", "zero.parquet", b"", "zero.parquet: Parquet file size is 0 bytes"),
        pytest.param(
            "table",
            "broken.parquet",
            b"PAR1 no footer PAR1",
            "broken.parquet: Parquet",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "web",
            "lz.warc",
            b"\x04\x22\x4d\x18 and so on",
            "lz.warc: lz4 frames are not read",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_file_that_cannot_be_opened_fails_by_name(
    tmp_path: Path,
    source: str,
    name: str,
    data: bytes,
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    put(tmp_path)
    (tmp_path / source / name).write_bytes(data)
    path = tmp_path / "recipe.yaml"
    path.write_text(RECIPE)
    arguments = ["run", str(path), "--out", str(tmp_path / "run"), "--workers", "1", "--quiet"]
    assert main(arguments) == 1
    said = capsys.readouterr().err
    assert message in said
    assert "hint:" in said
    assert "Traceback" not in said
    # Named out, it stands in the account.
    place = f"root: {source},"
    path.write_text(RECIPE.replace(place, f'{place} exclude: ["{name}"],'))
    assert main(arguments) == 0
    ledger = json.loads((tmp_path / "run" / "ledger.json").read_text())
    assert ledger["sources"][source]["excluded"] == [name]
    assert verify(tmp_path / "run").faults == []
    capsys.readouterr()
    assert main(["report", str(tmp_path / "run")]) == 0
    assert f"source {source}: 1 file excluded by the recipe: {name}\n" in capsys.readouterr().out
    # Put right, the run goes on from what is done.
    (tmp_path / source / name).unlink()
    path.write_text(RECIPE)
    assert main(arguments) == 0


def test_a_source_with_nothing_to_read(tmp_path: Path) -> None:
    """Files without a record are no error of theirs; a run that keeps nothing is."""
    for name in ("web", "rows", "table"):
        (tmp_path / name).mkdir()
    (tmp_path / "web" / "a.warc.gz").write_bytes(b"")
    (tmp_path / "rows" / "a.jsonl").write_bytes(b"\n")
    text = "\n".join(line for line in RECIPE.splitlines() if "name: table" not in line)
    with pytest.raises(CorpusmillError, match="step read left none of 1 documents"):
        run(Recipe.parse(text, tmp_path), tmp_path / "run", workers=1)
    allowed = text.replace("{max_error_share: 1}", "{allow_empty: true}")
    result = run(Recipe.parse(allowed, tmp_path), tmp_path / "run", workers=1)
    assert result.ledger["records"] == {
        "in": 1, "kept": 0, "dropped": {"read:blank_line": 1}, "errors": {},
    }  # fmt: skip


PRODUCTS = """
tokenizer: {stage: tokenizers.bpe, vocab_size: 300, allow_smaller: true}
mix: {}
shards: {tokens_per_shard: 400}
"""


@pytest.mark.slow
def test_one_file_over_many_tasks_and_shards_is_tokenised_once(
    tmp_path: Path, small: Callable[..., Recipe]
) -> None:
    """64 rows of one Parquet file, 8 partitions, several shards: each once, the same with one."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    (tmp_path / "table").mkdir()
    rows = [f"Row {n} of this table says that {n} times {n} is {n * n}." for n in range(64)]
    pq.write_table(pa.table({"text": rows}), tmp_path / "table" / "t.parquet")
    lines = RECIPE.splitlines()
    kept = [x for x in lines if not any(s in x for s in ("name: web", "name: rows", "extract."))]
    text = "\n".join(kept) + PRODUCTS
    found = []
    for partitions in (8, 1):
        recipe = Recipe.parse(text, tmp_path, overrides=(f"execution.partitions={partitions}",))
        result = run(recipe, tmp_path / f"run{partitions}", workers=2)
        assert result.ledger["records"]["kept"] == 64
        lock = json.loads(result.lock_path.read_text("utf-8"))
        listed = (
            result.root / result.lock_path.name.replace("lock.json", "files.jsonl")
        ).read_text()
        shards = [f for f in map(json.loads, listed.splitlines()) if "shards/" in f["path"]]
        assert len(shards) > 8
        assert verify(result.root).faults == []
        found.append((lock["outputs"]["files_sha256"], shards))
    assert found[0] == found[1]
