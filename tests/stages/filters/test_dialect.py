"""The dialect ``datatrove`` decides as datatrove 0.10.1 did, reason by reason and byte by byte.

The expected verdicts were recorded from datatrove itself: see ``tests/data/filters``.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from bench.rule_sets import SETS, SIDES, comparable, judge, made
from corpusmill.pipeline.errors import ConfigError
from corpusmill.stages.filters import c4_lines
from corpusmill.stages.measure import gopher
from corpusmill.stages.measure.c4_rules import LineRules

RECORDED = Path(__file__).parents[2] / "data" / "filters" / "datatrove_verdicts.jsonl.gz"


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    with gzip.open(RECORDED, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def test_decisions_reasons_and_texts_are_theirs(rows: list[dict[str, Any]]) -> None:
    found = judge(made("datatrove"), [row["text"] for row in rows])
    reasons = {row[name] for row in rows for name in SETS}
    assert len(rows) > 90
    assert len(reasons) > 20  # there is something of nearly every rule
    for row, ours in zip(rows, found, strict=True):
        assert ours == comparable(row), row["id"]


def test_batches_do_not_matter(rows: list[dict[str, Any]]) -> None:
    texts = [row["text"] for row in rows[:12]]
    sets = made("datatrove")
    assert [judge(sets, [text])[0] for text in texts] == judge(sets, texts)


def test_own_dialect_differs_where_it_should(rows: list[dict[str, Any]]) -> None:
    theirs = [comparable(row) for row in rows]
    ours = judge(made("corpusmill"), [row["text"] for row in rows])
    moved = {name: sum(a.get(name) != b.get(name) for a, b in zip(theirs, ours, strict=True))
             for name in SETS}  # fmt: skip
    assert all(moved.values()), moved
    assert theirs[1]["repetition"] == "rep_dup_lines"  # white space only
    assert ours[1]["repetition"] == "rep_empty"
    assert theirs[4]["quality"] == "gopher_stop_words"  # in capitals
    assert ours[4]["quality"] == "keep"
    assert theirs[8]["c4"] == "c4_few_sentences"  # Japanese sentences
    assert ours[8]["c4"] == "keep"


def test_marks_count_as_words_where_asked(rows: list[dict[str, Any]]) -> None:
    theirs = [comparable(row)["quality"] for row in rows]
    agree = {
        side: sum(
            (a == "keep") == (b["quality"] == "keep")
            for a, b in zip(theirs, judge(made(side), [r["text"] for r in rows]), strict=True)
        )
        for side in SIDES
    }
    assert agree == {"datatrove": 100, "corpusmill": 90, "near_datatrove": 95}


def test_stop_words_of_another_language() -> None:
    stage = gopher.STAGE(gopher.Params("de", "datatrove"))
    assert stage.reads == ()
    stage.setup()
    assert gopher.STAGE(gopher.Params()).reads == ("lang",)


def test_citations_go_in_that_dialect() -> None:
    with pytest.raises(ConfigError, match="citations"):
        c4_lines.Params(LineRules(dialect="datatrove"), remove_citations=False)
