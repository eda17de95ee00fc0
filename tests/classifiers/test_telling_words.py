"""The words that a card says a model goes by."""

from __future__ import annotations

from collections.abc import Sequence

from corpusmill.classifiers.telling_words import LEAST_TEXTS, MOST_WORDS, telling_words

VALUES = {"therefore": 0.9, "and": 0.9, "page": 0.4, "buy": 0.1}


def score(texts: Sequence[str]) -> list[float]:
    return [VALUES.get(text, 0.5) for text in texts]


def test_words_are_ranked_and_the_more_frequent_of_equal_ones_is_first() -> None:
    lines = ["and therefore page buy"] * LEAST_TEXTS + ["and", "and and and"]
    assert telling_words(score, lines) == {
        "good": [["and", 0.9], ["therefore", 0.9], ["page", 0.4], ["buy", 0.1]],
        "poor": [["buy", 0.1], ["page", 0.4], ["and", 0.9], ["therefore", 0.9]],
    }


def test_words_of_few_texts_are_left_out() -> None:
    lines = ["buy buy buy page"] * (LEAST_TEXTS - 1) + ["page"]
    assert telling_words(score, lines) == {"good": [["page", 0.4]], "poor": [["page", 0.4]]}


def test_there_are_so_many_at_most() -> None:
    lines = [" ".join(f"w{n}" for n in range(MOST_WORDS + 5))] * LEAST_TEXTS
    assert [len(words) for words in telling_words(score, lines).values()] == [MOST_WORDS] * 2
