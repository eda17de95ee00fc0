"""The extractor on strings, files and JSONL."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from corpusmill.pipeline.errors import ConfigError, InputError, StageError
from corpusmill.stages.extract import extract
from corpusmill.stages.extract.verb import extract_file, extract_jsonl

STRUCTURE = Path(__file__).parents[2] / "data" / "html" / "structure.html"


def write(path: Path, rows: list[Any]) -> Path:
    lines = [r if isinstance(r, str) else json.dumps(r) for r in rows]
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_strings_and_bytes_give_the_same() -> None:
    html = STRUCTURE.read_text(encoding="utf-8")
    from_text, from_bytes = extract(html), extract(html.encode())
    assert from_text == from_bytes
    assert from_text.title == "Knots & hitches"
    assert from_text.path == "resiliparse"
    assert from_text.words < from_text.all_words


def test_a_string_is_taken_as_it_is_whatever_it_declares() -> None:
    html = '<meta charset="iso-2022-jp"><p>Größe \x1b$B und é</p>'
    assert extract(html, tier="fast").text.startswith("Größe")


def test_formats_and_metadata() -> None:
    html = STRUCTURE.read_text(encoding="utf-8")
    assert "## How strong they are" in extract(html, format="markdown").text
    with_author = html.replace("<title>", '<meta name="author" content="Ada Byron"><title>')
    assert extract(with_author, metadata=True).metadata == {"author": "Ada Byron"}


def test_errors_of_one_page() -> None:
    with pytest.raises(InputError, match="over_budget_depth with 2001"):
        extract("<div>" * 9000, url="https://deep.example/")
    with pytest.raises(ConfigError, match="tier 'best' is unknown"):
        extract("x", tier="best")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="format 'pdf' is unknown"):
        extract("x", format="pdf")  # type: ignore[arg-type]


def test_import_is_light() -> None:
    code = (
        "import sys, corpusmill.stages.extract, corpusmill.stages.extract.tiers;"
        "print([m for m in ('trafilatura', 'resiliparse', 'selectolax', 'lxml', 'numpy', 'cchardet')"
        " if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert shown.stdout == "[]\n"


def test_file() -> None:
    text = extract_file(STRUCTURE)
    assert text.startswith("Knots for a small boat\n")
    assert text.endswith("landing stage.")
    row = json.loads(extract_file(STRUCTURE, format="json"))
    assert row["text"] == text
    assert row["title"] == "Knots & hitches"
    with pytest.raises(InputError, match="cannot read"):
        extract_file(STRUCTURE.with_name("missing.html"))


def test_jsonl(tmp_path: Path) -> None:
    html = STRUCTURE.read_text(encoding="utf-8")
    rows: list[Any] = [
        {"id": "a", "html": html, "kept": [1, {"x": None}], "signals": {"before": 1}},
        "{not json",
        {"id": "b"},
        "[1]",
        {"id": "c", "html": "<div>" * 9000},
        {"id": "d", "html": ""},
        {"id": "e", "html": "<p>Größe \ud800 word</p>", "url": "https://e.example/"},
    ]
    counts = extract_jsonl(write(tmp_path / "in.jsonl", rows), tmp_path / "out.jsonl", tier="fast")
    assert counts == {
        "in": 7,
        "kept": 2,
        "dropped": {"empty_text": 1, "over_budget_depth": 1},
        "errors": {"bad_line": 3},
    }
    out = read(tmp_path / "out.jsonl")
    assert [r.get("id") for r in out] == ["a", None, "b", None, "c", "d", "e"]
    assert out[0]["text"] == extract(html, tier="fast").text
    assert out[0]["kept"] == [1, {"x": None}]
    assert out[0]["signals"]["before"] == 1
    assert out[0]["signals"]["extract_path"] == "resiliparse"
    assert all("html" not in r for r in out)
    assert [r["error"]["type"] for r in out if "error" in r] == ["bad_line"] * 3
    assert [r["line"] for r in out if "error" in r] == [2, 3, 4]
    assert (out[4]["reason"], out[4]["value"], out[4]["text"]) == ("over_budget_depth", 2001, "")
    assert out[5]["reason"] == "empty_text"
    assert out[6]["text"].split() == ["Größe", "word"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.jsonl", "out.jsonl"]


def test_jsonl_reads_gzip_and_runs_twice_the_same(tmp_path: Path) -> None:
    rows = [{"id": n, "html": f"<p>page {n}</p>"} for n in range(150)]
    plain = write(tmp_path / "in.jsonl", rows)
    packed = tmp_path / "in.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes(), mtime=0))
    assert extract_jsonl(plain, tmp_path / "a.jsonl")["kept"] == 150
    extract_jsonl(packed, tmp_path / "b.jsonl")
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    assert [r["id"] for r in read(tmp_path / "a.jsonl")] == list(range(150))


def test_jsonl_that_fails_everywhere_is_an_error(tmp_path: Path) -> None:
    source = write(tmp_path / "in.jsonl", ["nothing", "here"])
    with pytest.raises(StageError, match="all 2 lines"):
        extract_jsonl(source, tmp_path / "out.jsonl")
    with pytest.raises(InputError, match="cannot read"):
        extract_jsonl(tmp_path / "missing.jsonl", tmp_path / "out.jsonl")
