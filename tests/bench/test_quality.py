"""How the measurement of quality models sums up."""

from __future__ import annotations

from typing import Any

import pytest

from bench import quality as bench
from bench.grades import Graded


def figures(**values: float | None) -> Any:
    names = ("model", "source_only", "length_only")
    every = (*names, *(f"matched_{name}" for name in names))
    return {"matched_texts": 10, **dict.fromkeys(every, 0.5), **values}


def test_bars() -> None:
    held = {
        "linear": figures(model=0.9, source_only=0.8, matched_model=0.7, matched_length_only=0.75),
        "fasttext": figures(model=0.99, matched_model=0.99),
    }
    bars = {name: bar.plain() for name, bar in bench.bars_of(held).items()}
    assert bars == {
        "AUC, beside the better guess": {"value": 0.9, "bar": 0.8, "holds": True},
        "matched AUC, beside the better guess": {"value": 0.7, "bar": 0.75, "holds": False},
    }
    rows = bench.guess_rows("held-out groups", held["linear"])
    assert [(row["side"], row["auc"], row["matched"]) for row in rows] == [
        ("source alone", 0.8, 0.5),
        ("length alone", 0.5, 0.75),
    ]


@pytest.mark.slow
def test_rows_of_graded_pages() -> None:
    """Two kinds of page on each of ten hosts: the grades follow their length, and no other side."""
    short, long = (
        "Menu. Home. Next.",
        "The careful study of nature takes time, and a good eye. " * 8,
    )
    pages = [
        Graded(f"https://host{n}.example/{kind}", text + f" Page {n}.", (grade, grade), n % 2 == 0)
        for n in range(10)
        for kind, text, grade in (("menu", short, 1), ("text", long, 4))
    ]
    rows = bench.grade_rows({"by host": lambda texts: [i // 2 for i in range(len(texts))]}, pages)
    assert len(rows) == 8
    found = {(row["side"], row["set"]): row for row in rows}
    best = found["grade, hosts held out", "graded"]
    assert (best["auc"], best["precision"]) == (1.0, 1.0)
    blind = found["by host", "graded, natural"]
    assert (blind["auc"], blind["precision"]) == (0.5, 0.5)
    assert found["one reader by the other", "graded"]["spearman"] == 1.0
