"""Documents of an e-mail address, found by its hash where the text holds a tag in its place."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from corpusmill.pipeline import Plan, Recipe
from corpusmill.pipeline.by_address import address_hash, ids_with
from corpusmill.pipeline.cli import main
from corpusmill.pipeline.errors import ConfigError, TaskError

from .conftest import RECIPE, run_here, text_of

ADDRESS = "Ann.Lee@river-stone.net"
HASH = hashlib.sha256(b"ann.lee@river-stone.net").hexdigest()
HOLDERS = {3, 7, 8}


def rows() -> list[dict[str, Any]]:
    found = []
    for number in range(20):
        text = text_of(number)
        if number in HOLDERS:
            text = text.replace("river", f"write to {ADDRESS if number % 2 else ADDRESS.lower()},")
        elif number in (9, 10):
            text += " bob@river-stone.net"
        found.append({"text": text, "url": f"https://a.example/{number}"})
    return found


def recipe(base: Path, *steps: str) -> Recipe:
    head, tail = RECIPE.split("steps:")
    listed = "".join(f"  - {step}\n" for step in steps)
    text = f"{head}steps:\n{listed}execution:{tail.split('execution:')[1]}"
    return Recipe.parse(text, base)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    (tmp_path / "input").mkdir()
    lines = "".join(json.dumps(row) + "\n" for row in rows())
    (tmp_path / "input/a.jsonl").write_text(lines)
    return tmp_path


def urls(root: Path, ids: list[str]) -> set[int]:
    run = Plan.load(root / "plan.json")
    from corpusmill.pipeline.engine import RunFolder

    last = [p for p in run.phases if p.kind == "docs"][-1]
    pieces = RunFolder(root, run).pieces(last.name, "docs", None, ("id", "url"))
    by_id = {r["id"]: r["url"] for t in pieces for r in t.to_pylist()}
    return {int(by_id[i].rsplit("/", 1)[1]) for i in ids}


def test_the_hash_is_of_the_lower_case_form() -> None:
    assert address_hash(f" {ADDRESS}\n") == HASH


@pytest.mark.parametrize(
    "steps",
    [
        ("clean.pii",),  # its input is read again
        ("dedup.exact", "clean.pii", "measure.fineweb"),  # from the table before it
        ("dedup.exact",),  # nothing was removed
    ],
)
def test_ids_of_the_documents_that_hold_it(base: Path, steps: tuple[str, ...]) -> None:
    root = run_here(recipe(base, *steps), base / "run").root
    ids = ids_with(root, [HASH])
    assert urls(root, ids) == HOLDERS
    assert ids == sorted(ids)
    other = address_hash("bob@river-stone.net")
    assert urls(root, ids_with(root, [other])) == {9, 10}
    assert urls(root, ids_with(root, [other, HASH])) == HOLDERS | {9, 10}
    assert ids_with(root, [address_hash("nobody@river-stone.net")]) == []


def test_what_cannot_be_looked_at_again_is_no_answer(base: Path) -> None:
    root = run_here(recipe(base, "clean.pii"), base / "run").root
    shutil.rmtree(base / "input")
    with pytest.raises(TaskError, match="5 documents had an address and cannot be looked at"):
        ids_with(root, [HASH])


def test_no_hash(base: Path) -> None:
    with pytest.raises(ConfigError, match="is no hash of an address"):
        ids_with(base, [ADDRESS])


@pytest.mark.slow
def test_forget_by_address(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (base / "recipe.yaml").write_text(
        RECIPE.split("steps:")[0]
        + "steps: [dedup.exact, clean.pii]\n"
        + "tokenizer: {stage: tokenizers.bpe, vocab_size: 400}\nmix: {}\nshards: {}\n"
    )
    root = base / "run"
    assert main(["run", str(base / "recipe.yaml"), "--out", str(root), "--workers", "1"]) == 0
    capsys.readouterr()
    assert main(["trace", "--email-hash", HASH, "--run", str(root), "--json"]) == 0
    there = json.loads(capsys.readouterr().out)
    assert {int(r["url"].rsplit("/", 1)[1]) for r in there} == HOLDERS
    words = ["forget", str(root), "--email-hash", HASH.upper(), "--out", str(base / "less")]
    assert main([*words, "--json"]) == 0
    assert sorted(json.loads(capsys.readouterr().out)["ids"]) == sorted({r["id"] for r in there})
    nobody = address_hash("nobody@river-stone.net")
    assert main(["trace", "--email-hash", nobody, "--run", str(root)]) == 2
    assert "holds such an address" in capsys.readouterr().err
