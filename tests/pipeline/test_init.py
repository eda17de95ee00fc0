"""`init` writes a recipe that runs on what lies in a folder."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpusmill.pipeline import Recipe
from corpusmill.pipeline.cli import main
from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.planning import make_plan
from corpusmill.pipeline.starting import look

SENTENCE = "The quick brown fox and the lazy dog have been here, and that is all of it. "


def fill(folder: Path) -> None:
    (folder / "a" / ".hidden").mkdir(parents=True)
    (folder / "a" / "x.html").write_text(f"<html><p>{SENTENCE * 9}</p></html>")
    (folder / "a" / ".hidden" / "y.html").write_text("<p>no</p>")
    rows = "".join(json.dumps({"body": f"{n} {SENTENCE * 9}"}) + "\n" for n in range(3))
    (folder / "r.jsonl.gz").write_bytes(gzip.compress(rows.encode(), mtime=0))
    pq.write_table(pa.table({"n": [1], "content": [SENTENCE * 9]}), folder / "t.parquet")
    table = pa.table({"text": [SENTENCE * 9]})
    for name in ("data-00000-of-00001.arrow", "cache-1.arrow"):
        with pa.OSFile(str(folder / name), "wb") as f, pa.ipc.new_stream(f, table.schema) as w:
            w.write_table(table)
    (folder / "notes.txt").write_text("nothing")


def test_every_kind_that_is_there(tmp_path: Path) -> None:
    fill(tmp_path / "My Crawl")
    found = {f.stage: f for f in look(tmp_path / "My Crawl")[0]}
    assert {s: (f.patterns, f.files, f.params) for s, f in found.items()} == {
        "sources.html": (("**/*.html",), 2, {}),
        "sources.jsonl": (("**/*.jsonl.gz",), 1, {"text_fields": [
            "text", "raw_content", "content", "body", "document", "markdown"]}),
        "sources.parquet": (("**/*.parquet",), 1, {"text_column": "content"}),
        "sources.arrow": (("**/data-*.arrow",), 1, {}),
    }  # fmt: skip


def test_the_recipe_plans_and_is_not_overwritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(tmp_path / "My Crawl")
    path = tmp_path / "recipes" / "mine.yaml"
    path.parent.mkdir()
    words = ["init", str(tmp_path / "My Crawl"), "--out", str(path)]
    assert main(words) == 0
    assert "corpusmill run" in capsys.readouterr().out
    recipe = Recipe.load(path)
    assert recipe.name == "my-crawl"
    plan = make_plan(recipe)
    assert {s["name"]: len(s["files"]) for s in plan.data["inputs"]} == {
        "pages": 2, "rows": 1, "table": 1, "dataset": 1,
    }  # fmt: skip
    assert main(words) == 2
    assert "exists already" in capsys.readouterr().err
    whole = path.read_text().replace("# tokenizer:", "tokenizer:").replace("# mix:", "mix:")
    Recipe.parse(whole.replace("# shards:", "shards:"), path.parent)


def test_documents_need_no_extraction(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_text(json.dumps({"text": SENTENCE}) + "\n")
    assert main(["init", str(tmp_path / "in"), "--out", str(tmp_path / "r.yaml")]) == 0
    assert "extract" not in [
        s.stage.partition(".")[0] for s in Recipe.load(tmp_path / "r.yaml").steps
    ]


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "nothing in .* can be read"),
        ({"a.txt": b"text"}, "nothing in .* can be read"),
        ({"a.jsonl": b'{"words": "x"}\n'}, "has no text that is known"),
        ({"a.jsonl": b""}, "has no text that is known"),
    ],
)
def test_folders_of_which_no_recipe_can_be_made(
    tmp_path: Path, files: dict[str, bytes], said: str
) -> None:
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    with pytest.raises(ConfigError, match=said):
        look(tmp_path)
    with pytest.raises(ConfigError, match="is no folder"):
        look(tmp_path / "none")


def test_a_table_without_a_text(tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": [1], "other": ["x"]}), tmp_path / "t.parquet")
    with pytest.raises(ConfigError, match="looks like the text"):
        look(tmp_path)


def test_what_cannot_be_read_is_told_beside_what_can(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "list.jsonl").write_text('{"file": "x.html"}\n')
    (tmp_path / "in" / "x.html").write_text("<p>text</p>")
    assert main(["init", str(tmp_path / "in"), "--out", str(tmp_path / "r.yaml")]) == 0
    assert "left out: the first row of" in capsys.readouterr().out
    assert [s.name for s in Recipe.load(tmp_path / "r.yaml").sources] == ["pages"]
