"""Forms of a word are one class, and the list of common words is what it says."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.stages.decontaminate.stems import KNOWN, RAREST, bits, common, forms, stem


@pytest.mark.parametrize(
    "words",
    [
        "bake bakes baked baking", "stop stops stopped stopping", "carry carries carried carrying",
        "sell sells sold selling", "child children", "3 three thrice", "box boxes boxed",
        "walk walks walked walking", "muffin muffins", "pass passes passed passing",
    ],
)  # fmt: skip
def test_one_class(words: str) -> None:
    assert len({stem(word) for word in words.split()}) == 1


@pytest.mark.parametrize("words", ["ring rung rang", "bus us", "sing sling string", "12 dozens"])
def test_other_classes(words: str) -> None:
    assert len({stem(word) for word in words.split()}) == len(words.split())


def test_short_and_foreign_words_are_their_own_class() -> None:
    assert [stem(word) for word in ("red", "as", "x", "größer", "3rd", "漢字")] == [
        "red", "as", "x", "größer", "3rd", "漢字",
    ]  # fmt: skip


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.text(alphabet="abeginrsy", min_size=1, max_size=8))
def test_forms_have_the_stem_they_are_made_from(word: str) -> None:
    assert all(stem(form) == stem(word) for form in forms(stem(word)))


def test_bits() -> None:
    assert 4000 < len(common()) < 5000
    assert [bits(word) for word in ("the", "many", "muffin", "zyzzyva")] == [0, 1, RAREST, RAREST]
    assert bits("q") <= 2
    assert all(stem(form) == stem(first) for form, first in KNOWN.items())
    assert all(0 <= n < RAREST for n in common().values())
