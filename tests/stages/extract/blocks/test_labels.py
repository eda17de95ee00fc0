"""Targets: alignment against a plain dynamic program, and the rule of runs."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.stages.extract.blocks import labels


def lcs(a: list[int], b: list[int]) -> int:
    row = [0] * (len(b) + 1)
    for x in a:
        new = [0]
        for j, y in enumerate(b):
            new.append(row[j] + 1 if x == y else max(row[j + 1], new[j]))
        row = new
    return row[-1]


TOKENS = st.lists(st.integers(0, 3), max_size=25)


@settings(derandomize=True, deadline=None, max_examples=80)
@given(TOKENS, TOKENS, st.sampled_from([1, 20, 4_000_000]))
def test_alignment_is_longest(a: list[int], b: list[int], small: int) -> None:
    before, labels._SMALL = labels._SMALL, small
    try:
        match = labels.align(np.array(a, np.int64), np.array(b, np.int64))
    finally:
        labels._SMALL = before
    pairs = [(i, int(j)) for i, j in enumerate(match) if j >= 0]
    assert all(a[i] == b[j] for i, j in pairs)
    assert all(x[1] < y[1] for x, y in pairwise(pairs))
    assert len(pairs) == lcs(a, b)


def test_shares() -> None:
    blocks = ["Menu", "the quick brown fox jumps high", "ads", "End", "the menu of a fox"]
    gold = "quick brown fox jumps. End"
    assert labels.shares(blocks, gold).tolist() == [0.0, 4 / 6, 0.0, 1.0, 0.0]
    assert labels.shares([], "x").tolist() == []
    assert labels.shares(["a", "!"], "").tolist() == [0.0, 0.0]
