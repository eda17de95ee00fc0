"""Guesses from source and length, and the AUC over pairs of one source."""

from __future__ import annotations

import pytest

from corpusmill.classifiers.baselines import (
    ablation,
    guesses,
    length_key,
    matched_auc,
    share_by,
)
from corpusmill.classifiers.metrics import calibration_error


def test_shares_of_keys() -> None:
    shares = share_by(["a", "a", "b"], [True, True, False])
    assert shares == {"a": 3 / 4, "b": 1 / 3, "": 3 / 5}
    assert guesses(shares, ["a", "b", "new"]) == [3 / 4, 1 / 3, 3 / 5]


def test_length_keys_are_quarter_octaves() -> None:
    assert [length_key("x" * n) for n in (0, 1, 7, 8, 9, 10, 15, 16)] == [
        "0.1", "0.1", "0.7", "1.4", "1.4", "1.5", "1.7", "2.4",
    ]  # fmt: skip


def test_matched_pairs_only() -> None:
    # Source a: one pair, right. Source b: two pairs, one right. Source c has one class.
    values = [0.9, 0.1, 0.5, 0.4, 0.6, 0.3]
    good = [True, False, True, False, False, True]
    assert matched_auc(values, good, ["a", "a", "b", "b", "b", "c"]) == (round(2 / 3, 4), 5)
    assert matched_auc(values, good, list("abcdef")) == (None, 0)


def test_a_model_that_knows_the_source_only_is_found_out() -> None:
    train = [("word " * n, source, source == "book") for source in ("book", "shop") for n in (3, 9)]
    held = [("word", "book", True), ("word", "shop", False), ("word", "book", False)]
    found = ablation([0.9, 0.1, 0.9], held, train)
    assert found["model"] == found["source_only"] == 0.75
    assert found["length_only"] == 0.5
    assert found["matched_model"] == 0.5
    assert found["matched_texts"] == 2


def test_calibration_error() -> None:
    # Bin 0.2 to 0.3: two texts, mean 0.25, half good. Bin 0.9 to 1: one text of 0.95, good.
    error = calibration_error([0.25, 0.25, 0.95], [True, False, True])
    assert error == pytest.approx((2 * 0.25 + 0.05) / 3, abs=1e-4)
    assert calibration_error([], []) == 0.0
