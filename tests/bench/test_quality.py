"""How the measurement of quality models sums up."""

from __future__ import annotations

from typing import Any

from bench import quality as bench


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
