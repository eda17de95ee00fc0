"""Comparing sequences of words, against plain Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.stages.decontaminate.overlap import covered, grams, holds, in_order, longest_run
from corpusmill.stages.words import word_hashes

LETTERS = st.lists(st.sampled_from("abc"), max_size=9)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(LETTERS, LETTERS)
def test_in_order_is_a_longest_common_subsequence(item: list[str], window: list[str]) -> None:
    def longest(i: int, j: int) -> int:
        if i == len(item) or j == len(window):
            return 0
        if item[i] == window[j]:
            return 1 + longest(i + 1, j + 1)
        return max(longest(i + 1, j), longest(i, j + 1))

    kept = in_order(word_hashes(item), word_hashes(window))
    assert sum(kept) == longest(0, 0)
    rest = iter(window)
    assert all(word in rest for word, is_kept in zip(item, kept, strict=True) if is_kept)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(LETTERS, LETTERS)
def test_runs_and_coverage(item: list[str], window: list[str]) -> None:
    text = "".join(window)
    runs = [
        item[i:j]
        for i in range(len(item))
        for j in range(i + 1, len(item) + 1)
        if "".join(item[i:j]) in text
    ]
    best = max(map(len, runs), default=0)
    length, end = longest_run(word_hashes(item), word_hashes(window))
    assert length == best
    assert not best or item[end - length : end] in runs
    places = {
        k for i in range(len(item) - 2) if "".join(item[i : i + 3]) in text for k in range(i, i + 3)
    }
    expected = (len(places), len({item[k] for k in places}))
    assert covered(word_hashes(item), word_hashes(window), 3) == expected


def test_holds() -> None:
    words = word_hashes(list("abcabd"))
    assert holds(words, word_hashes(list("abd")))
    assert not holds(words, word_hashes(list("bda")))
    assert not holds(words, word_hashes([]))
    assert not holds(word_hashes(["a"]), words)


def test_grams_depend_on_order_and_place_nothing_else() -> None:
    whole = grams(word_hashes(list("abcdefg")))
    assert len(whole) == 3
    assert np.array_equal(whole[1:2], grams(word_hashes(list("bcdef"))))
    assert grams(word_hashes(list("abced")))[0] != whole[0]
    assert len(grams(word_hashes(list("abcd")))) == 0
