"""`reproduce` without the key of the pseudonyms."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from corpusmill.pipeline import Lock, Recipe, run
from corpusmill.pipeline.cli import main
from corpusmill.pipeline.unkeyed import _Names, _same
from corpusmill.stages.clean.pseudonyms import KEY_VARIABLE, make_key

from .conftest import text_of

RECIPE = """
schema: corpusmill/recipe/1
name: keyed
version: "1"
seed: 7
sources:
  - {name: rows, stage: sources.jsonl, root: input, paths: ["*.jsonl"], licence: CC0-1.0}
steps:
  - clean.pii: {policy: {email: pseudonym}, key: "KEY"}
  - dedup.exact
tokenizer: {stage: tokenizers.bpe, vocab_size: 380}
shards: {tokens_per_shard: 600}
execution: {task_bytes: 10000, partitions: 2}
"""
ANN, BOB = "<EMAIL-bbbbbbbbbbbb>", "<EMAIL-cccccccccccc>"


def rows(folder: Path) -> None:
    """Twelve documents; of the last three, two differ in an address alone, and the third has that
    of the first in capitals: a duplicate once both are pseudonyms."""
    texts = [f"{text_of(n)}\nWrite to p{n % 4}.lee@tiny.io about it." for n in range(9)]
    texts += [f"{text_of(40)}\nWrite to {who}@tiny.io." for who in ("ann", "bob", "ANN")]
    folder.mkdir()
    (folder / "a.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in texts))


@pytest.mark.slow
def test_all_but_the_letters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows(tmp_path / "input")
    key = tmp_path / "pii.key"
    text = RECIPE.replace("KEY", make_key(key))
    monkeypatch.setenv(KEY_VARIABLE, str(key))
    root = run(Recipe.parse(text, tmp_path), tmp_path / "run", workers=1).root
    assert Lock.load(root).data["funnel"]["kept"] == 11
    words = ["reproduce", str(root), "--workers", "1", "--out"]
    assert main([*words, str(tmp_path / "with")]) == 0
    assert capsys.readouterr().out.rstrip().endswith("all as locked")

    monkeypatch.delenv(KEY_VARIABLE)
    assert main([*words, str(tmp_path / "without")]) == 0
    said = capsys.readouterr().out
    assert "all as locked, compared as texts: without their key the letters of 6 pseudonyms" in said
    assert Lock.load(tmp_path / "without").mix_id != Lock.load(root).mix_id


@pytest.mark.slow
def test_what_differs_is_named_and_shards_must_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows(tmp_path / "input")
    key = tmp_path / "pii.key"
    (tmp_path / "recipe.yaml").write_text(RECIPE.replace("KEY", make_key(key)))
    monkeypatch.setenv(KEY_VARIABLE, str(key))
    root = run(Recipe.load(tmp_path / "recipe.yaml"), tmp_path / "run", workers=1).root
    monkeypatch.delenv(KEY_VARIABLE)
    text = (tmp_path / "input/a.jsonl").read_text()
    (tmp_path / "input/a.jsonl").write_text(text.replace("p1.lee", "p2.lee", 1))
    words = ["reproduce", str(root), "--recipe", str(tmp_path / "recipe.yaml"), "--workers", "1"]
    assert main([*words, "--out", str(tmp_path / "again")]) == 3
    said = capsys.readouterr().out
    assert "source rows: inputs differ" in said
    assert "stream rows: document " in said
    assert "not reproduced" in said
    shutil.rmtree(root / "shards")
    assert main([*words, "--out", str(tmp_path / "none")]) == 2
    assert KEY_VARIABLE in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


@pytest.fixture
def agree() -> Callable[[str, str], bool]:
    return _Names().agree


def test_letters_alone_may_differ(agree: Callable[[str, str], bool]) -> None:
    assert agree(f"to {ANN}, {BOB}", f"to {BOB}, {ANN}")
    assert not agree(f"to {ANN}.", f"to {BOB}!")
    assert not agree("to <EMAIL>", f"to {ANN}")
    assert not agree(f"to {ANN}", f"to {ANN.replace('EMAIL', 'PHONE')}")


def test_one_pseudonym_stands_for_one(agree: Callable[[str, str], bool]) -> None:
    assert agree(ANN, BOB)
    assert not agree(ANN, ANN)  # of the locked ones, `ANN` is `BOB`
    assert not agree(BOB, BOB)  # and nobody else is


def test_cut_documents_are_compared_to_the_cut() -> None:
    def same(one: str, other: str, cut: bool = True) -> bool:
        return _same(("id", 0, cut, one), ("id", 0, cut, other), _Names())

    start = "a" * 40
    assert same(f"{start}{ANN} and more words to the end", f"{start}{BOB} and more words to the")
    assert not same(f"b{start} and more words to the end", f"a{start} and more words to the end")
    assert not same(start + "b", start, cut=False)
    assert not _same(("id", 0, False, ""), ("id", 1, False, ""), _Names())
