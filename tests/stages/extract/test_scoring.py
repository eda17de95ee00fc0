"""The measures, on values worked out by hand."""

from __future__ import annotations

import pytest

from corpusmill.stages.extract.scoring import Gold, Score, macro, shingles, word_bag, words


def test_words() -> None:
    assert words("One TWO, 灯塔 x_1") == ["one", "two", "灯", "塔", "x_1"]


def test_word_bag_counts_repeats() -> None:
    score = word_bag("a a b c", "a b d")  # two of four in common, two of three found
    assert score == Score(2 / 4, 2 / 3, 4 / 7)


def test_shingles_see_order() -> None:
    assert shingles("a b c d e", "a b c d e").f1 == 1.0
    assert shingles("e d c b a", "a b c d e").f1 == 0.0
    assert shingles("a b c d x", "a b c d e").f1 == pytest.approx(0.5)
    assert shingles("a b", "a b").f1 == 1.0


def test_nothing_found_scores_zero() -> None:
    assert word_bag("", "a b") == Score(0.0, 0.0, 0.0)


def test_a_gold_text_read_once_scores_the_same() -> None:
    gold = Gold.of("a b c d e")
    assert gold.words.total() == 5
    for text in ("a b c d x", "", "a b", "e d c b a a"):
        bag, ordered, n_words = gold.scores(text)
        assert (bag, ordered) == (word_bag(text, "a b c d e"), shingles(text, "a b c d e"))
        assert n_words == len(words(text))


def test_macro_is_a_mean_of_pages() -> None:
    assert macro([Score(1.0, 1.0, 1.0), Score(0.0, 0.5, 0.25)]) == Score(0.5, 0.75, 0.625, 2)
    with pytest.raises(ValueError, match="no pages"):
        macro([])
