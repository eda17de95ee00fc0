"""`bench.filters`: the names of reasons, and what the texts are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import filters
from bench.rule_sets import SETS, TEXTS, comparable, our_reason
from corpusmill.stages.filters import c4, fineweb, gopher_quality, gopher_repetition
from corpusmill.stages.filters.datatrove import ALLOWED


def test_every_reason_of_theirs_is_one_of_ours() -> None:
    for rule_set, block, module in (
        ("quality", "GopherQualityFilter", gopher_quality),
        ("repetition", "GopherRepetitionFilter", gopher_repetition),
        ("c4", "C4QualityFilter", c4),
        ("fineweb", "FineWebQualityFilter", fineweb),
    ):
        known = module.STAGE(module.Params()).reasons
        for reason in ALLOWED[block].reasons:
            if "n_gram" not in reason:
                assert our_reason(rule_set, reason) in known
    known = gopher_repetition.STAGE(gopher_repetition.Params()).reasons
    assert our_reason("repetition", "top_3_gram") == "rep_top_3gram"
    assert our_reason("repetition", "top_3_gram") in known
    assert our_reason("repetition", "duplicated_10_n_grams") == "rep_dup_10gram"
    with pytest.raises(KeyError):
        our_reason("quality", "gopher_something_new")


def test_what_is_no_verdict_is_not_compared() -> None:
    row = {"id": "a", "after": None, "c4": "keep", "c4_text": "0f", "quality": "gopher_short_doc"}
    assert comparable(row) == {"c4": "keep", "c4_text": "0f", "quality": "gopher_few_words"}


def test_parts_are_written_once(tmp_path: Path) -> None:
    ((kind, part),) = filters.parts(None, tmp_path, 0)
    rows = [json.loads(line) for line in part.read_text().splitlines()]
    assert kind == "committed"
    assert len(rows) == 100
    part.write_text(part.read_text().splitlines()[0] + "\n")
    assert filters.parts(None, tmp_path, 0) == [(kind, part)]
    assert len(part.read_text().splitlines()) == 1


def test_the_first_reason_in_order() -> None:
    keep = dict.fromkeys(filters.ORDER, "keep")
    assert filters.in_order(keep) == "keep"
    dropped = {**keep, "quality": "gopher_few_words", "c4_fineweb": "c4_few_sentences"}
    assert filters.in_order({**dropped, "after": None}) == "gopher_few_words"
    assert filters.in_order({**keep, "c4": "c4_few_sentences", "after": "fineweb_list"}) == (
        "fineweb_list"
    )


def test_differences_are_counted() -> None:
    keep = dict.fromkeys(SETS, "keep") | dict.fromkeys(TEXTS, "0f")
    differences = filters.Differences()
    differences.add(keep, keep)
    differences.add({**keep, "quality": "gopher_no_letters"}, keep)
    differences.add(
        {**keep, "repetition": "rep_top_2gram"}, {**keep, "repetition": "rep_top_3gram"}
    )
    no_after = {k: v for k, v in keep.items() if k != "after"} | {"c4_fineweb": "c4_few_sentences"}
    differences.add({**keep, "c4_text": "0e"}, no_after)
    assert differences.total == dict.fromkeys((*SETS, filters.TOGETHER), 4)
    assert +differences.decisions == {"quality": 1, "c4_fineweb": 1, "in order": 2}
    assert +differences.reasons == {
        "quality": 1, "repetition": 1, "c4_fineweb": 1, "in order": 3,
    }  # fmt: skip
    assert differences.equal_texts == 3
    assert differences.agreed == {"": 2}
    assert differences.classes() == "gopher_no_letters > keep 1, keep > c4_few_sentences 1"


def test_minutes_need_a_cache(capsys: pytest.CaptureFixture[str]) -> None:
    assert filters.main(["--quick", "--minutes", "1"]) == 2
    assert "--minutes without --cache" in capsys.readouterr().err
