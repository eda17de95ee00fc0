"""Figures for a scorer, against values worked out by hand or by brute force."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.classifiers.metrics import auc, keep_threshold, precision_recall, reliability


def test_auc_by_hand() -> None:
    # good 0.9 and 0.4 against poor 0.5, 0.1: 0.9 wins twice, 0.4 once of two.
    assert auc([0.9, 0.5, 0.4, 0.1], [True, False, True, False]) == 0.75
    assert auc([0.5, 0.5], [True, False]) == 0.5
    assert auc([0.5, 0.6], [True, True]) is None


@settings(derandomize=True, deadline=None, max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=20))
def test_auc_is_the_chance_of_the_right_order(pairs: list[tuple[int, bool]]) -> None:
    values = [v / 5 for v, _ in pairs]
    good = [g for _, g in pairs]
    duels = [
        1.0 if a > b else 0.5 if a == b else 0.0
        for a, g in zip(values, good, strict=True) if g
        for b, h in zip(values, good, strict=True) if not h
    ]  # fmt: skip
    expected = sum(duels) / len(duels) if duels else None
    assert auc(values, good) == (None if expected is None else pytest.approx(expected, abs=1e-4))


def test_keep_threshold_keeps_at_least_the_rate() -> None:
    values = [0.1, 0.2, 0.3, 0.4, 0.5, 0.5, 0.7, 0.8, 0.9, 1.0]
    assert keep_threshold(values, 0.3) == 0.8
    assert keep_threshold(values, 0.25) == 0.8
    assert keep_threshold(values, 0.5) == 0.5  # keeps six: ties stay together
    assert keep_threshold(values, 1.0) == 0.1
    assert keep_threshold(values, 0.0001) == 1.0


def test_precision_recall() -> None:
    assert precision_recall([0.9, 0.8, 0.2, 0.1], [True, False, True, False], 0.8) == (
        0.5,
        0.5,
        0.5,
    )
    assert precision_recall([0.1], [True], 0.5) == (0.0, 0.0, 0.0)


def test_reliability_bins() -> None:
    bins = reliability([0.05, 0.15, 0.25, 1.0], [False, True, False, True], bins=5)
    assert [(b["low"], b["high"], b["count"], b["mean_score"], b["share_good"]) for b in bins] == [
        (0.0, 0.2, 2, 0.1, 0.5),
        (0.2, 0.4, 1, 0.25, 0.0),
        (0.8, 1.0, 1, 1.0, 1.0),
    ]
