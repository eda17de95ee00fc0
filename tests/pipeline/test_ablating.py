"""The verb ``ablate`` on a run and a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from corpusmill.pipeline import Recipe, run
from corpusmill.pipeline.cli import main

from .conftest import text_of


@pytest.mark.slow
def test_a_run_against_a_file(
    corpus: Path, small: Callable[..., Recipe], capsys: pytest.CaptureFixture[str]
) -> None:
    run(small(), corpus / "run", workers=1)
    backwards = [text_of(n)[::-1] for n in range(1000, 1080)]
    (corpus / "b.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in backwards))
    held = "".join(json.dumps({"text": text_of(n)}) + "\n" for n in range(2000, 2030))
    (corpus / "held.jsonl").write_text(held)
    words = ["ablate", str(corpus / "run"), str(corpus / "b.jsonl")]
    capsys.readouterr()
    assert main([*words, "--heldout", str(corpus / "held.jsonl"), "--seeds", "3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    # Of 80 rows every tenth repeats another.
    assert found["sides"]["a"]["documents"] == 72
    assert found["sides"]["b"]["documents"] == 80
    (figures,) = found["heldout"].values()
    assert (figures["documents"], figures["better"]) == (30, "a")

    assert main([*words, "--heldout", str(corpus / "held.jsonl"), "--seeds", "3"]) == 0
    printed = capsys.readouterr().out
    assert "held.jsonl" in printed
    assert printed.rstrip().endswith(" a")
    assert main(words) == 2
    assert "--heldout" in capsys.readouterr().err
