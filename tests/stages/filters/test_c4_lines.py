"""`filters.c4_lines`: the text that is left."""

from __future__ import annotations

from corpusmill.pipeline.document import Document, Drop, Outcome
from corpusmill.stages.filters.c4_lines import C4Lines, Params
from corpusmill.stages.measure.c4_rules import LineRules


def edited(*texts: str, params: Params | None = None) -> list[Outcome]:
    stage = C4Lines(params or Params())
    stage.setup()
    return stage.apply([Document("0" * 32, text, "s") for text in texts])


def text_of(outcome: Outcome) -> str:
    assert isinstance(outcome, Document)
    return outcome.text


def test_lines_go_and_stay() -> None:
    text = "A title\r\n\r\n  First sentence here.[12] \r\nToo short.\r\n“A quoted one [edit] here.”"
    first, second, third = edited(text, "A title\nanother title", "第一句话在这里。\n标题")
    assert text_of(first) == "First sentence here.\n“A quoted one  here.”"
    assert second == Drop("c4_no_lines", 2)
    assert text_of(third) == "第一句话在这里。"


def test_citations_can_stay_and_rules_be_off() -> None:
    params = Params(rules=LineRules(terminal=False, min_words=0), remove_citations=False)
    (kept,) = edited("A title[3]\n\n use cookies\nx", params=params)
    assert text_of(kept) == "A title[3]\nx"


def test_empty_is_dropped() -> None:
    assert edited("") == [Drop("c4_no_lines", 0)]
