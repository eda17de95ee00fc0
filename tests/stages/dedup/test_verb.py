"""`dedup_jsonl` on files."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from corpusmill.pipeline.errors import InputError
from corpusmill.stages.dedup.verb import dedup_jsonl

R = random.Random(1)
WORDS = [f"w{n}" for n in range(1000)]
BASE = [R.choice(WORDS) for _ in range(200)]
TEXT = " ".join(BASE)
NEAR = " ".join([*BASE[:-3], "x", "y", "z"])  # J = 193/199 = .970
OTHER = " ".join(R.choice(WORDS) for _ in range(200))


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_rows(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": "e", "text": NEAR, "n": 1},
        {"id": "d", "text": OTHER, "url": "http://e.org/", "deep": {"a": [1.5, None]}},
        {"id": "c", "text": f" {TEXT}\n"},
        {"id": "f", "text": NEAR + " "},
        {"id": "b", "text": TEXT},
        {"id": "a", "text": ""},
    ]
    source = write(tmp_path / "in", rows)
    summary = dedup_jsonl(source, tmp_path / "out", tmp_path / "gone")
    assert summary == {
        "in": 6, "kept": 3, "removed": {"duplicate_content": 2, "near_duplicate": 1},
    }  # fmt: skip
    assert read(tmp_path / "out") == [
        {**rows[1], "cluster": "d", "cluster_size": 1},
        {**rows[4], "cluster": "b", "cluster_size": 4},
        {**rows[5], "cluster": "a", "cluster_size": 1},
    ]
    gone = {row["id"]: row for row in read(tmp_path / "gone")}
    assert list(gone) == ["e", "c", "f"]
    assert gone["e"]["n"] == 1
    assert gone["c"] == {
        **rows[2], "duplicate_of": "b", "similarity": 1.0, "reason": "duplicate_content",
    }  # fmt: skip
    for name, reason in (("e", "near_duplicate"), ("f", "duplicate_content")):
        assert gone[name]["reason"] == reason
        assert gone[name]["duplicate_of"] == "b"
        assert gone[name]["similarity"] == round(193 / 199, 6)


def test_the_order_of_lines_does_not_matter(tmp_path: Path) -> None:
    texts = [TEXT, NEAR, OTHER, OTHER, TEXT.upper(), ""]
    rows = [{"id": n, "text": text} for n, text in enumerate(texts)]
    kept = []
    for seed in range(4):
        random.Random(seed).shuffle(rows)
        dedup_jsonl(write(tmp_path / "in", rows), tmp_path / "out")
        kept.append(sorted((r["id"], r["cluster"]) for r in read(tmp_path / "out")))
    assert kept == [[(0, "0"), (2, "2"), (5, "5")]] * 4


def test_by_url(tmp_path: Path) -> None:
    rows = [{"text": TEXT, "url": "http://e.org/"}, {"text": OTHER, "url": "https://e.org"}]
    source = write(tmp_path / "in", rows)
    assert dedup_jsonl(source, tmp_path / "out")["kept"] == 2
    summary = dedup_jsonl(source, tmp_path / "out", tmp_path / "gone", by_url=True)
    assert summary["removed"] == {"duplicate_url": 1}
    assert read(tmp_path / "gone") == [
        {**rows[1], "duplicate_of": "0", "similarity": None, "reason": "duplicate_url"}
    ]


def test_odd_files(tmp_path: Path) -> None:
    (tmp_path / "in").write_text('\n{"id": 7, "text": "\\ud800 x"}\n')
    assert dedup_jsonl(tmp_path / "in", tmp_path / "out")["kept"] == 1
    assert read(tmp_path / "out")[0]["text"] == "\ud800 x"
    (tmp_path / "in").write_text("")
    assert dedup_jsonl(tmp_path / "in", tmp_path / "out") == {"in": 0, "kept": 0, "removed": {}}
    assert (tmp_path / "out").read_bytes() == b""


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"text": "a"}\n{"text": 3}\n', r"in: line 2 has no field 'text' with a text"),
        ('{"text": "a"\n', r"in: line 1 is not JSON"),
        ('{"text": "a", "id": 1.5}\n', r"in: line 1: the id is 1\.5"),
        ('{"text": "a", "id": "x"}\n' * 2, r"the id 'x' comes twice"),
    ],
)
def test_bad_files(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "in").write_text(content)
    with pytest.raises(InputError, match=message):
        dedup_jsonl(tmp_path / "in", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_no_file_and_no_utf8(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        dedup_jsonl(tmp_path / "none", tmp_path / "out")
    (tmp_path / "in").write_bytes(b'{"text": "\xff"}\n')
    with pytest.raises(InputError, match="line 1 is not UTF-8"):
        dedup_jsonl(tmp_path / "in", tmp_path / "out")
