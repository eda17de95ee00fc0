"""`measure.text_kind`: small texts of each kind, and shares worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from corpusmill.pipeline.errors import ConfigError
from corpusmill.stages.measure.text_kind import KINDS, STAGE, Params

PROSE = "The river runs past the mill, and the people of the town walk to it with their carts."
CODE = """def total(items, start=0):
    # add them up one by one
    result = start
    for item in items:
        result += item["price"] * item["count"]
    return result
"""
SHELL = (
    "$ cd /tmp && ls -la | grep foo_bar\n$ export PATH=$HOME/bin:$PATH\n# apt-get install --yes x"
)
TEX = "\\sum_{i=1}^{n} \\alpha_i \\leq \\frac{a}{b} \\cdot \\beta\nx ∈ ℝ, y ≤ z ⇒ x ≠ y"
TABLE = "name | price | stock\nbread | 3.50 | 12\nmilk | 1.20 | 7"
TABS = "name\tprice\tstock\nbread\t3.50\t12\nmilk\t1.20\t7"
LIST = "- bread and butter\n- milk\n• eggs\nAbout us\nContact\nPrices"
CHINESE = "今天天气很好，我们去公园吧。明天也许会下雨，所以我们今天就出发。"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (PROSE, "prose"),
        (CODE, "code"),
        (SHELL, "code"),
        (f"{PROSE}\n```\nplain words between fences, and more of them here\n```", "code"),
        (TEX, "maths"),
        (TABLE, "table"),
        (TABS, "table"),
        (LIST, "list"),
        (CHINESE, "prose"),
        ("He paid $5 (or €4) for A&B; she did not.", "prose"),
        ("", "empty"),
        (" \n\t", "empty"),
        (f"{PROSE}\n{LIST}\n{LIST}\n{TABS}", "mixed"),
    ],
)
def test_kinds(measure: Any, text: str, kind: str) -> None:
    (signals,) = measure(STAGE(Params()), [text])
    assert signals["text_kind"] == kind
    assert kind in KINDS


def test_shares_by_hand(measure: Any) -> None:
    text = "aaaa bbbb\n\nx = {1};\r\n" + "word " * 9 + "end."
    (signals,) = measure(STAGE(Params()), [text])
    # 8 characters of a short line, 6 of code, 40 of a sentence.
    assert signals["kind_list"] == round(8 / 54, 6)
    assert signals["kind_code"] == round(6 / 54, 6)
    assert signals["kind_prose"] == round(40 / 54, 6)


def test_batches_and_their_borders_do_not_matter(measure: Any) -> None:
    texts = [CODE, "```", PROSE, LIST, "", TEX, CODE]
    stage = STAGE(Params())
    assert measure(stage, texts) == [measure(stage, [text])[0] for text in texts]


def test_shares_are_shares() -> None:
    with pytest.raises(ConfigError, match=r"maths is 1\.5"):
        Params(maths=1.5)
