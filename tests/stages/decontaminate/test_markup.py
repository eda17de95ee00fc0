"""Tags and entities are no words, and everything keeps its place."""

from __future__ import annotations

import html
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.stages.decontaminate.benchmarks import load
from corpusmill.stages.decontaminate.index import ContaminationIndex
from corpusmill.stages.decontaminate.markup import unmarked

FOLDER = Path(__file__).parents[3] / "configs" / "sample" / "benchmarks"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<b>Tom</b> has", " Tom  has"),
        ("<a href=\"x?a=1&amp;b=2\" title='y'>Tom</a>", "Tom"),
        ("Tom&#39;s &quot;hat&quot; &amp; &nbsp;co", 'Tom\'s "hat" &  co'),
        ("if a < b and c > d: x", "if a < b and c > d: x"),
        ("1<2 &unknown; & so", "1<2 &unknown; & so"),
        ("<br/><hr />x", "x"),
        ("vector<int> v", "vector v"),
    ],
)
def test_what_is_markup(text: str, words: str) -> None:
    plain = unmarked(text)
    assert len(plain) == len(text)
    assert plain.replace("\u00ad", "").split() == words.split()


@settings(derandomize=True, deadline=None, max_examples=150)
@given(st.text(alphabet='<>&;#/ab39 "=\n', max_size=40))
def test_every_character_keeps_its_place(text: str) -> None:
    plain = unmarked(text)
    assert len(plain) == len(text)
    assert unmarked(plain) == plain or "&" in plain  # what an entity means may open another


def test_a_page_s_source_is_found_as_its_words_are() -> None:
    index = ContaminationIndex.build(load(FOLDER))
    rows = [json.loads(line) for line in (FOLDER / "gsm8k.jsonl").read_text("utf-8").splitlines()]
    for row in rows[:12]:
        words = html.escape(row["question"]).split(" ")
        words[::3] = [f'<span class="w">{word}</span>' for word in words[::3]]
        text = "Before it. <p>" + " ".join(words) + "</p> After it."
        (hits,) = index.find([text])
        assert [(h.item, h.method, h.coverage) for h in hits] == [(str(row["id"]), "ngram", 1.0)]
        assert text[hits[0].start :].startswith(html.escape(row["question"]).split(" ")[0])
