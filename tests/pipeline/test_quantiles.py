"""The verb ``quantiles``, and buckets from what it wrote."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from corpusmill.pipeline import Recipe, run
from corpusmill.pipeline.cli import main
from corpusmill.pipeline.engine import RunFolder
from corpusmill.pipeline.ledger import sealed_docs_phases
from corpusmill.pipeline.planning import Plan

from .conftest import RECIPE


@pytest.mark.slow
def test_documents_are_in_equal_buckets(
    corpus: Path, small: Callable[..., Recipe], capsys: pytest.CaptureFixture[str]
) -> None:
    measures = "  - measure.language\n  - measure.gopher\n  - measure.split"
    text = RECIPE.replace("  - measure.split", measures)
    run(small(text=text), corpus / "run", workers=1)
    edges = corpus / "edges.json"
    words = ["quantiles", str(corpus / "run"), "--parts", "4", "--out", str(edges)]
    assert main([*words, "--signal", "gopher_mean_word"]) == 0
    assert "4 parts of 72 documents" in capsys.readouterr().out
    made = json.loads(edges.read_text())
    assert len(made["signals"]["gopher_mean_word"]) == 3

    # A document at an edge belongs above it; all but those with equal values are in quarters.
    step = "  - classifiers.buckets: {signals: [gopher_mean_word], edges: edges.json}\n"
    run(small(text=text.replace("  - measure.split", step + "  - measure.split")), corpus / "b")
    folder = RunFolder(corpus / "b", Plan.load(corpus / "b" / "plan.json"))
    last = sealed_docs_phases(folder)[-1].name
    rows = [
        row
        for piece in folder.pieces(last, "docs", None, ("quality_bucket", "gopher_mean_word"))
        for row in piece.to_pylist()
    ]
    for row in rows:
        above = sum(e <= row["gopher_mean_word"] for e in made["signals"]["gopher_mean_word"])
        assert row["quality_bucket"] == above
    assert len(Counter(r["quality_bucket"] for r in rows)) == 4

    assert main([*words, "--signal", "lang_x"]) == 2
    assert "no signal 'lang_x'" in capsys.readouterr().err
    assert main(words) == 2
