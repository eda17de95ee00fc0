"""`measure.fineweb`: worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from corpusmill.pipeline.errors import ConfigError
from corpusmill.stages.measure.fineweb import MeasureFineweb, Params

STAGE = MeasureFineweb(Params())


def test_by_hand(measure: Any) -> None:
    long = "This line is certainly longer than thirty characters."
    text = f"{long}\r\n\r\nShort line\r\nShort line\r\nHe said “yes.”\r\n"
    (signals,) = measure(STAGE, [text])
    assert signals == {
        "fineweb_rule": "spaced",
        "fineweb_lines": 4,
        "fineweb_line_punct": 0.5,
        "fineweb_short_lines": 0.75,
        "fineweb_dup_line_chars": round(10 / (53 + 10 + 10 + 14), 6),
        "fineweb_newlines_per_word": 0.2,  # 3 line breaks, 15 words
    }


def test_a_line_of_exactly_thirty_is_short(measure: Any) -> None:
    signals = measure(STAGE, ["x" * 30, "x" * 31])
    assert [s["fineweb_short_lines"] for s in signals] == [1.0, 0.0]


def test_line_ends_do_not_matter(measure: Any) -> None:
    unix, dos, mac = measure(STAGE, ["A b.\nC d\n", "A b.\r\nC d\r\n", "A b.\rC d\r"])
    assert unix == dos == mac
    assert unix["fineweb_line_punct"] == 0.5


def test_unspaced(measure: Any) -> None:
    chinese, thai = measure(
        STAGE, ["今天天气很好，我们去公园吧。\n标题", "สวัสดีชาวโลก นี่คือการทดสอบภาษา"]
    )
    assert chinese["fineweb_rule"] == "unspaced"
    assert chinese["fineweb_line_punct"] == 0.5
    assert chinese["fineweb_short_lines"] == 0.5
    assert "fineweb_line_punct" not in thai
    assert thai["fineweb_lines"] == 1


def test_empty(measure: Any) -> None:
    (signals,) = measure(STAGE, [" \n\n"])
    assert signals["fineweb_lines"] == 0
    assert signals["fineweb_newlines_per_word"] == 0.0


def test_bad_params_are_loud() -> None:
    with pytest.raises(ConfigError):
        Params(short_line=-1)
