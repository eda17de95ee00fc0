"""The verb ``ablate`` on a run and a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from corpusmill.pipeline.ablating import learner
from corpusmill.pipeline.cli import main

from .conftest import text_of


@pytest.mark.slow
def test_a_run_against_a_file(
    corpus: Path, finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    backwards = [text_of(n)[::-1] for n in range(1000, 1080)]
    (corpus / "b.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in backwards))
    held = "".join(json.dumps({"text": text_of(n)}) + "\n" for n in range(2000, 2030))
    (corpus / "held.jsonl").write_text(held)
    words = ["ablate", str(finished), str(corpus / "b.jsonl")]
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


def test_the_models_are_named() -> None:
    ngram = {"kind": "ngram", "order": 5, "pieces": 4000, "size": 1}
    assert learner(ngram) == "5-grams of 4000 pieces"
    transformer = {"kind": "transformer", "pieces": 4000, "size": 12_282_624}
    assert learner(transformer) == "a transformer of 12.3 million parameters and 4000 pieces"
