"""What is taken out of a text for the sake of private sets."""

from __future__ import annotations

from corpusmill.stages.decontaminate.benchmarks import Benchmark, Item
from corpusmill.stages.decontaminate.private import PrivateItems
from corpusmill.stages.decontaminate.rules import Rules

QUESTION = (
    "A quorvel of eleven zandrites walks from Ormesk to Dallow in four days and rests for one; "
    "how many zandrites arrive there?"
)
ITEM = Item("q", QUESTION, "nine")
REACH = 200 + len(QUESTION) + len("nine")


def private(*items: Item, private: bool = True) -> PrivateItems:
    return PrivateItems([Benchmark("b", "1", "MIT", "", items, private)], Rules())


def test_an_item_and_what_stands_around_it() -> None:
    assert REACH == 326
    assert private(ITEM).without(QUESTION) == "[b/q]"
    before, behind = "a" * 400 + " ", " " + "z" * 400
    # What is found ends before the question mark.
    left = before[: len(before) - REACH] + "[b/q]" + behind[REACH - 1 :]
    assert private(ITEM).without(before + QUESTION + behind) == left


def test_every_copy_goes() -> None:
    text = f" {QUESTION} ".join("m " * 500 for _ in range(4))
    said = private(ITEM).without(text)
    assert said.count("[b/q]") == 3
    assert "zandrites" not in said
    assert private(ITEM).without(f" {QUESTION} ".join("m " * 500 for _ in range(60))) == ""


def test_nothing_is_taken_where_nothing_is_private() -> None:
    assert private(ITEM, private=False).without(QUESTION) == QUESTION
    assert private(Item("s", "Why?", "No")).without("Why? No") == "Why? No"
