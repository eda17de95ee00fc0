"""`measure.repetition`: worked out by hand, and what must not change it."""

from __future__ import annotations

from typing import Any

import pytest

from corpusmill.stages.measure.repetition import MeasureRepetition, Params

STAGE = MeasureRepetition(Params())


def test_lines_and_paragraphs_by_hand(measure: Any) -> None:
    text = "one two\nthree\n\none two\nthree\n \t\nfour five\r\n\r\nthree  \n"
    (signals,) = measure(STAGE, [text])
    # Lines: "one two" 7, "three" 5 thrice, "four five" 9: 3 of 6 repeat, with 17 characters.
    # Paragraphs: "one two\nthree" 13 twice, "four five", "three": 1 of 4 repeats.
    # Characters with single blanks: 7+1+5+1+7+1+5+1+9+1+5 = 43.
    assert signals["rep_dup_lines"] == 0.5
    assert signals["rep_dup_line_chars"] == round(17 / 43, 6)
    assert signals["rep_dup_paras"] == 0.25
    assert signals["rep_dup_para_chars"] == round(13 / 43, 6)
    # Words one two three | one two three | four five three: "one two" twice, 7 characters; "two
    # three" also, 9, but "one two" comes first.
    assert signals["rep_top_2gram"] == round(14 / 43, 6)
    assert signals["rep_top_3gram"] == round(26 / 43, 6)
    assert signals["rep_top_4gram"] == 0.0


def test_duplicate_ngrams_by_hand(measure: Any) -> None:
    (signals,) = measure(STAGE, ["a b c d e f a b c d e g"])
    assert signals["rep_dup_5gram"] == round(5 / 23, 6)
    assert signals["rep_dup_6gram"] == 0.0


def test_words_are_not_their_letters(measure: Any) -> None:
    (signals,) = measure(STAGE, ["ab c d e f x a bc d e f y"])
    assert signals["rep_dup_5gram"] == 0.0


def test_case_ends_and_padding_do_not_matter(measure: Any) -> None:
    plain, other = measure(
        STAGE,
        ["École a b\nÉcole a b\nlast", "  ÉCOLE a  b \r\nécole a b\r\nlast" + " " * 500],
    )
    for n in (2, 3):
        assert plain[f"rep_top_{n}gram"] == other[f"rep_top_{n}gram"] > 0
    same = measure(STAGE, ["x y\nx y\nz", "x y  \r\n x y\r\nz\r\n\r\n"])
    assert same[0] == same[1]


@pytest.mark.parametrize("text", ["", " \n\t", "word", "。"])
def test_nothing_repeats_in_nothing(measure: Any, text: str) -> None:
    (signals,) = measure(STAGE, [text])
    assert {v for k, v in signals.items() if k not in ("rep_rule", "rep_filled")} == {0.0}
    assert signals["rep_filled"] is bool(text.strip())


def test_unspaced(measure: Any) -> None:
    (signals,) = measure(STAGE, ["今天天气好，今天天气好。"])
    assert signals["rep_rule"] == "unspaced"
    # Twice five characters; a 2-gram is four of them: 今天天气, twice, of twelve.
    assert signals["rep_top_2gram"] == round(8 / 12, 6)
