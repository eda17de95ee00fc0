"""The index: every record, all signals, texts masked, words of every script."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from corpusmill.pipeline.cli import main
from corpusmill.pipeline.indexing import IndexWriter, read_about, spaced

from corpusmill.pipeline.errors import TaskError  # isort: skip


def test_every_record_once_with_all_that_is_known(indexed: Path) -> None:
    rows = pq.read_table(indexed / "index/documents.parquet").to_pylist()
    by_name = {row["url"].rpartition("/")[2]: row for row in rows}
    assert [row["n"] for row in rows] == list(range(7))
    fates = {name: (row["state"], row["step"]) for name, row in by_name.items()}
    (kept_copy,) = (n for n in fates if n.startswith("copy") and fates[n][0] == "kept")
    assert fates == {
        "good": ("kept", None), kept_copy: ("kept", None), "no end": ("dropped", "ends"),
        "short": ("dropped", "shorts"), "both": ("dropped", "ends"), "three": ("dropped", "many"),
        ({"copy a", "copy b"} - {kept_copy}).pop(): ("dropped", "exact"),
    }  # fmt: skip
    both = by_name["both"]
    assert both["broken"] == ["ends:fineweb_line_punct_below", "shorts:fineweb_short_lines_above"]
    assert (both["fineweb_short_lines"], both["host"], both["complete"]) == (1.0, "a.test", True)
    assert by_name["good"]["broken"] == []
    assert by_name["three"]["c4_sentences"] == 3
    assert both["characters"] == len("<EMAIL>")
    texts = sqlite3.connect(indexed / "index/text.sqlite")
    assert texts.execute("select count(*) from texts").fetchone() == (7,)
    for word, count in (("email", 2), ("tiny", 0), ("twice", 2), ("THREE", 0)):
        found = texts.execute("select rowid from words where words match ?", (word,)).fetchall()
        assert len(found) == count, word
    texts.close()


def test_words_of_scripts_without_spaces(tmp_path: Path) -> None:
    writer = IndexWriter(tmp_path / "index", {})
    writer.add([{"id": "a"}, {"id": "b"}], ["国立図書館へ行く", "Überraschung\0naïve"])
    writer.close()
    texts = sqlite3.connect(tmp_path / "index/text.sqlite")
    for words, rows in (
        ('"図 書 館"', [(0,)]), ('"図 館"', []), ("uberraschung", [(1,)]), ("naive", [(1,)]),
    ):  # fmt: skip
        assert (
            texts.execute("select rowid from words where words match ?", (words,)).fetchall()
            == rows
        )
    texts.close()
    assert spaced("a漢b") == "a 漢 b"


def test_the_verb_and_what_is_not_made_again(
    indexed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import shutil

    root = tmp_path / "run"
    shutil.copytree(indexed, root)
    assert main(["index", str(root), "--remake", "1", "--json"]) == 0
    about = json.loads(capsys.readouterr().out)
    assert (about["records"], about["without_text"]) == (7, 2)
    assert main(["index", str(root), "--remake", "0"]) == 0
    shown = capsys.readouterr().out
    assert "7 records in " in shown
    assert "3 of them without text; --remake N makes more again" in shown
    assert main(["index", str(root), "--remake", "-1"]) == 2
    with pytest.raises(TaskError, match="is of another plan"):
        read_about(root, "another")
    shutil.rmtree(root / "index")
    assert main(["browse", str(root)]) == 1
    assert f"hint: make it: corpusmill index {root}" in capsys.readouterr().err
