"""The word count of the thresholds."""

from __future__ import annotations

import pytest

from corpusmill.stages.extract.wordcount import count_words


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        (" \n\t...!?", 0),
        ("one two, three-four", 4),
        ("snake_case x1", 2),
        ("don't", 2),
        ("naïve café — déjà vu", 4),
        ("Привет, мир", 2),
        ("灯塔建于一八七四年。", 9),
        ("カタカナ、ひらがな", 8),
        ("한국어 단어", 2),
        ("می‌خواهم", 1),  # a joiner does not part a word
        ("“quoted” «words»", 2),
        ("emoji 👍 alone", 2),
        ("กขคงจฉชซฌญ", 2),  # ten Thai characters, five a word
        ("a b", 2),
        ("x\u2003y\u3000z", 3),
    ],
)
def test_count(text: str, count: int) -> None:
    assert count_words(text) == count


def test_ascii_and_other_text_are_counted_by_one_rule() -> None:
    text = "".join(chr(c) for c in range(128)) * 2
    assert count_words(text + " é") == count_words(text) + 1


def test_lone_surrogates_and_the_ends_of_the_ranges() -> None:
    assert count_words("\ud800 é") == 2
    assert count_words("é\u002fé\u0030é\u0039é\u003aé") == 3
    assert count_words("é\u200bé\u200cé\u200eé") == 3
    assert count_words("\U00020000\U0003ffff\U00040000") == 3
    assert count_words("\u0e01" * 9 + "\u0eff") == 2
