"""The normalised text of the quality model, and reading scores off a model."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.classifiers.quality_text import normalise, scores


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A well @-@ known <unk> of 1 @,@ 000", "a well - known of 0"),
        ("# Title\n\n> **bold** `x` {{arg}}", "title bold x arg"),
        ("It’s “so”—or…not?", 'it \' s " so " - or . . . not ?'),
        ("Costs $1,299.50 at 12:30, in 2026.", "costs $ 0 at 0 , in 0 ."),
        ("\ufeffone\u00a0two\u3000three\r\nfour\tfive", "one two three four five"),
        ("Ünïcode ÉTÉ 漢字", "Ünïcode ÉtÉ 漢字"),
        ("__label__high wins", "label high wins"),
        ("", ""),
        ("\n\r\x0b\u2028 ", ""),
    ],
)
def test_normalise(text: str, expected: str) -> None:
    assert normalise(text) == expected


def test_only_the_beginning_is_read() -> None:
    assert normalise("abc def", 5) == "abc d"


@settings(derandomize=True, deadline=None, max_examples=150)
@given(st.text(max_size=80))
def test_one_line_of_separated_words(text: str) -> None:
    line = normalise(text)
    assert not re.search(r"[\x00\t\n\x0b\x0c\rA-Z#*_`{}<>|]|  ", line)
    assert line == line.strip(" ")
    assert normalise(line) == line


class Model:
    """Stands in for fastText."""

    def __init__(self, *answer: tuple[str, float]) -> None:
        self.answer = answer
        self.asked: list[str] = []

    def predict(self, line: str, k: int, threshold: float) -> tuple[Any, Any]:
        self.asked.append(line)
        return [a for a, _ in self.answer], [b for _, b in self.answer]


def test_scores_are_clamped_and_rounded() -> None:
    model = Model(("__label__low", 0.3), ("__label__high", 1.00001))
    assert scores(model, ["Some\ntext", " \n"], "high") == [1.0, 0.0]
    assert model.asked == ["some text"]
    assert scores(Model(("__label__high", 0.123456)), ["x"], "high") == [0.1235]
    assert scores(Model(("__label__low", 0.9)), ["x"], "high") == [0.0]
