"""`measure.c4`: one line for each rule."""

from __future__ import annotations

from typing import Any

import pytest

from corpusmill.pipeline.errors import ConfigError
from corpusmill.stages.measure.c4 import MeasureC4
from corpusmill.stages.measure.c4_rules import LineRules

LINES = (
    "This one stays. It has two sentences.",
    "A title without an end",
    "Too few.",
    "And so on and on...",
    f"A long {'x' * 1001} word here.",
    "Please enable JavaScript now.",
    "We respect your Privacy Policy here.",
    "",
)


def test_a_line_for_each_rule(measure: Any) -> None:
    (signals,) = measure(MeasureC4(LineRules()), ["\r\n".join(LINES)])
    assert signals == {
        "c4_rule": "spaced",
        "c4_lines": 7,
        "c4_kept_lines": 1,
        "c4_sentences": 2,
        "c4_no_terminal": 2,
        "c4_few_words": 1,
        "c4_long_word": 1,
        "c4_javascript": 1,
        "c4_policy": 1,
        "c4_lorem_ipsum": False,
        "c4_curly_bracket": False,
    }


def test_rules_can_be_off(measure: Any) -> None:
    off = LineRules(terminal=False, min_words=0, max_word=0, javascript=False, policy=False)
    (signals,) = measure(MeasureC4(off), ["\n".join(LINES)])
    assert signals["c4_kept_lines"] == 7
    assert signals["c4_no_terminal"] == signals["c4_javascript"] == 0


def test_pages(measure: Any) -> None:
    lorem, curly, split, neighbours = measure(
        MeasureC4(LineRules()),
        ["a title\nLOREM ipsum dolor", "a title {", "java\nscript is here.", "java"],
    )
    assert lorem["c4_lorem_ipsum"] is True
    assert curly["c4_curly_bracket"] is True
    assert split["c4_javascript"] == neighbours["c4_javascript"] == 0


def test_neighbours_in_a_batch_do_not_join(measure: Any) -> None:
    signals = measure(MeasureC4(LineRules()), ["say java", "script aloud.", "lorem ", "ipsum"])
    assert [s["c4_javascript"] for s in signals] == [0, 0, 0, 0]
    assert not any(s["c4_lorem_ipsum"] for s in signals)


def test_other_scripts_keep_their_lines(measure: Any) -> None:
    signals = measure(
        MeasureC4(LineRules()),
        [
            "今天天气很好，我们去公园吧。\n短。",
            "「そうです、行きましょう。」",
            "สวัสดีชาวโลก นี่คือการทดสอบ",
        ],
    )
    assert [s["c4_kept_lines"] for s in signals] == [1, 1, 1]
    assert [s["c4_few_words"] for s in signals] == [1, 0, 0]


def test_bad_params_are_loud() -> None:
    with pytest.raises(ConfigError, match="min_words is -1"):
        LineRules(min_words=-1)
