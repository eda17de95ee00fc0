"""Tags and entities are no words, and everything keeps its place."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.stages.decontaminate.benchmarks import load
from corpusmill.stages.decontaminate.index import ContaminationIndex
from corpusmill.stages.decontaminate.markup import (
    markup_of,
    unmarked,
    without_markup,
    words_outside,
)
from corpusmill.stages.words import encoded, tokenise

FOLDER = Path(__file__).parents[3] / "configs" / "sample" / "benchmarks"


TAG = re.compile(r"</?[A-Za-z][A-Za-z0-9]{0,15}(?:[ \t\n\r\f\v][^<>]{0,300})?/?>")
ENTITY = re.compile(
    "&(amp|lt|gt|quot|apos|nbsp|[nm]dash|[lr][sd]quo|hellip|#39|#34|#x27|#x22|#8217|#160);"
)
MEANT = {"nbsp": " ", "hellip": " ", "#160": " ", "ndash": "-", "mdash": "-", "lsquo": "'",
         "rsquo": "'", "#8217": "'", "ldquo": '"', "rdquo": '"'}  # fmt: skip


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
    assert len(plain.encode()) == len(text.encode())
    assert told(plain).split() == words.split()


def told(plain: str) -> str:
    return plain.replace("\u00ad", "").replace("\u2060", "")


PIECES = ["<", ">", "/", "</", "<b", "<span ", "a" * 15, "y" * 298, "x", "7", "é", "字", " ", "\n", "&amp;",
          "&", "&lt;", "amp;", ";", "&ndash;", "&#x27;", "&hellip;", "&nbs;", "\u00ad", "\ud800"]  # fmt: skip


@settings(derandomize=True, deadline=None, max_examples=400)
@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), max_size=4))
def test_as_the_expressions_say(texts: list[str]) -> None:
    data, byte_start, _ = encoded(texts)
    markup = markup_of(data, byte_start)
    plain = without_markup(data, byte_start, markup)
    for text, first, last in zip(texts, byte_start[:-1], byte_start[1:], strict=True):
        spaced = TAG.sub(lambda m: " " * len(m[0].encode("utf-8", "surrogatepass")), text)
        expected = ENTITY.sub(lambda m: MEANT.get(m[1]) or html.unescape(m[0]), spaced)
        own = plain[first:last].tobytes().decode("utf-8", "surrogatepass")
        assert told(own) == told(expected)
        assert unmarked(text) == own


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.lists(st.lists(st.sampled_from([*PIECES, "don't", "二三四"]), max_size=12), max_size=4))
def test_words_that_are_known_without_those_of_tags(pieces: list[list[str]]) -> None:
    texts = ["".join(own) for own in pieces]
    table = tokenise(texts)
    markup = markup_of(table.data, table.byte_start)
    plain = without_markup(table.data, table.byte_start, markup)
    chosen = np.array([n for n in range(len(texts)) if n % 2 == 0], np.int64)
    left = words_outside(table, replace(markup, entities=chosen[:0]), chosen, plain)
    tags_only = [TAG.sub(lambda m: " " * len(m[0].encode()), text) for text in texts]
    again = tokenise([text if n % 2 == 0 else "" for n, text in enumerate(tags_only)])
    assert left.doc_start.tolist() == again.doc_start.tolist()
    for name in ("start", "end", "chars", "hash", "flags"):
        assert getattr(left, name).tolist() == getattr(again, name).tolist(), name


def test_words_that_are_known_find_what_the_text_does() -> None:
    index = ContaminationIndex.build(load(FOLDER))
    rows = [json.loads(line) for line in (FOLDER / "gsm8k.jsonl").read_text("utf-8").splitlines()]
    asked = [row["question"] for row in rows[:4]]
    tagged = [f"<p>Zur Übung: <b class='ü'>{q}</b></p>" for q in asked]
    texts = [asked[0], tagged[0], "", "<br/>", tagged[1], html.escape(tagged[2]), tagged[3], "x"]
    hits = index.find(texts)
    assert [len(own) for own in hits] == [1, 1, 0, 0, 1, 1, 1, 0]
    assert index.find(texts, tokenise(texts)) == hits
    (hit,) = hits[6]
    assert texts[6][hit.start :].startswith(asked[3][:20])


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
