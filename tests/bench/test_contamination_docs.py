"""What is a passage of a package's documentation."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path

import pytest

from bench import contamination_docs as bench
from bench import texts

SENTENCE = "The ferry to the island leaves every hour from the quay"


def wheel(folder: Path, name: str, files: dict[str, bytes]) -> Path:
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for inner, content in files.items():
            archive.writestr(inner, content)
    return path


def test_passages(tmp_path: Path) -> None:
    described = {
        "title": SENTENCE + " title",
        "operations": [{"documentation": f"<p>{SENTENCE} a"}],
    }
    path = wheel(tmp_path, "ferry", {
        "f/a.json": json.dumps(described).encode(),
        "f/b.json.gz": gzip.compress(
            json.dumps({"description": SENTENCE + " b"}).encode(), mtime=0
        ),
        "f/c.json": b"{",
        "f/d.py": f'x = "{SENTENCE} no"\n"""{SENTENCE} c\n\n{SENTENCE} d"""\n'.encode(),
        "f/e.md": f"# Title\n\n{SENTENCE} e\n".encode(),
        "f/f.so": SENTENCE.encode(),
    })  # fmt: skip
    assert list(bench.passages_of([path])) == [
        (f"ferry/f/{file}", f"{SENTENCE} {letter}")
        for file, letter in (
            ("a.json", "a"), ("b.json.gz", "b"), ("d.py", "c"), ("d.py", "d"), ("e.md", "e")
        )
    ]  # fmt: skip


def test_what_is_found_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("CORPUSMILL_DATA", raising=False)
    row = json.loads(
        (texts.SAMPLE / "benchmarks" / "gsm8k.jsonl").read_text("utf-8").partition("\n")[0]
    )
    pages = f"{SENTENCE}\n\n{row['question']}\n\n{SENTENCE}\n".encode()
    path = wheel(tmp_path, "ferry", {"a.md": pages})
    assert bench.main([str(path), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    totals = {r["row"]: (r["n"], r["found"]) for r in report["rows"] if "found" in r}
    assert totals["ngram"] == (2, 1)
    assert totals["half"] == (2, 0)
    (shown,) = [r for r in report["rows"] if "found" not in r]
    assert (shown["row"], shown["n"]) == (f"gsm8k/{row['id']}", "ferry/a.md")
    assert shown["text"].startswith(" ".join(row["question"].split())[:40])
    assert bench.main([str(wheel(tmp_path, "empty", {}))]) != 0
