"""The graded pages: readers agree, and what a model of the sample is worth on them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from bench.grades import GRADES, graded, write_labels
from corpusmill.classifiers.linear_model import load_linear
from corpusmill.classifiers.metrics import spearman
from corpusmill.classifiers.train_grade import GradeConfig, train_grade

MODEL = Path(__file__).resolve().parents[2] / "configs/sample/models/quality_linear.lin"


def test_forty_pages_near_the_bound_have_a_comment() -> None:
    urls = {json.loads(line)["url"] for line in GRADES.read_text("utf-8").splitlines()}
    near = GRADES.with_name("near_bound.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in near]
    assert Counter(row["side"] for row in rows) == {"kept": 20, "dropped": 20}
    assert {row["url"] for row in rows} <= urls
    assert len({row["comment"] for row in rows}) == 40
    useful = Counter(row["side"] for row in rows if sum(row["read"]) / 2 >= 3)
    assert useful == {"kept": 18, "dropped": 18}


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


@pytest.mark.slow
def test_it_ranks_pages_of_unseen_hosts_better_than_their_length(tmp_path: Path) -> None:
    pages = graded(None)
    write_labels(tmp_path / "l.jsonl", pages)
    held = train_grade(GradeConfig("t", ("l.jsonl",)), tmp_path, tmp_path / "out")["heldout"]
    assert held["texts"] == 149
    assert held["spearman"] > held["spearman_length"] + 0.2
    assert held["spearman"] > 0.75
