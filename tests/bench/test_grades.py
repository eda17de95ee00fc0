"""The graded pages: readers agree, and what a model of the sample is worth on them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from bench.grades import GRADES, graded, spearman
from corpusmill.classifiers.linear_model import load_linear

MODEL = Path(__file__).resolve().parents[2] / "configs/sample/models/quality_linear.lin"


def test_ranks_by_hand() -> None:
    assert spearman([1, 2, 3, 4], [10, 20, 30, 40]) == 1
    assert spearman([1, 2, 3, 4], [4, 3, 2, 1]) == -1
    # Ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4: 4.5 / sqrt(4.5 * 5).
    assert spearman([1, 5, 5, 9], [1, 2, 3, 4]) == pytest.approx(0.9487)


def test_four_hundred_pages_are_graded_twice() -> None:
    rows = [json.loads(line) for line in GRADES.read_text("utf-8").splitlines()]
    assert len({(r["file"], r["offset"]) for r in rows}) == len(rows) == 400
    assert sum(r["sample"] for r in rows) == 150
    first, second = zip(*(r["grades"] for r in rows), strict=True)
    assert set(Counter(first)) == set(Counter(second)) == set(range(6))
    assert spearman(first, second) > 0.95


@pytest.mark.slow
def test_the_model_of_the_sample_on_graded_pages() -> None:
    pages = graded(None)
    assert len(pages) == 149  # one address is in both crawls
    scores = load_linear(MODEL, "high").scores([p.text for p in pages])
    means = [sum(p.grades) / 2 for p in pages]
    assert spearman(scores, means) > 0.6
