"""Tags and entities are no words, and everything keeps its place."""

from __future__ import annotations

import html
import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.stages.decontaminate.benchmarks import load
from corpusmill.stages.decontaminate.index import ContaminationIndex
from corpusmill.stages.decontaminate.markup import plain_of, plain_words
from corpusmill.stages.decontaminate.signs import regions
from corpusmill.stages.words import encoded, tokenise, tokenise_utf8

FOLDER = Path(__file__).parents[3] / "configs" / "sample" / "benchmarks"


TAG = re.compile(r"</?[A-Za-z][A-Za-z0-9]{0,15}(?:[ \t\n\r\f\v][^<>]{0,300})?/?>")


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
        (f"<b {'y' * 300}/>x <b {'y' * 300}>x", "x x"),
        (f"<b {'y' * 301}>x", f"<b {'y' * 301}>x"),
        # entities: nested ones, by number, of letters; tags that are shown
        ("&amp;lt;em&amp;gt;Tom&amp;lt;/em&amp;gt;", "Tom"),
        ("caf&eacute; &#233;t&#xE9; &#8217;s &#x1F600;", "café été 's \U0001f600"),
        ("&nosuch; &#; &#xD800;", "&nosuch; &#;"),
        # escapes
        ('Who?\\nHe said \\"so\\"\\t3\\r\\n', 'Who? He said \\"so\\" 3'),
        ("na\\u00efve \\u2019s \\u00", "naïve 's \\u00"),
        (r"\nu \theta \times \right) \rho \neq", r"\nu \theta \times \right) \rho \neq"),
        (r"a \textit{great} \emph{one} \mathbf{x}", "a great} one} x}"),
        # the ends of lines
        ("infor-\nmation infor-\r\n> mation", "information information"),
        ("the long-\nterm plan", "the long-\nterm plan"),
        ("1-\n2, A-\nB, a -\nb, x-\ny", "1-\n2, A-\nB, a -\nb, x-\ny"),
        # links and tags of forums, addresses
        ('[of](http://a.b/c?d=e "title") it', "[of it"),
        ("f[0](x y) ](", "f[0](x y) ]("),
        ("[quote=Tom]It is[/quote] [b]so[/b] [1] [/x]", "It is so [1] [/x]"),
        ("a%20b%3F%0Ac%E2%80%99d n%10 %zz 50%", "a b c d n%10 %zz 50%"),
        ("w\u200bord 》w\u200b \u200b", "word 》w\u200b \u200b"),
    ],
)
def test_what_is_markup(text: str, words: str) -> None:
    plain = unmarked(text)
    assert len(plain.encode()) == len(text.encode())
    assert told(plain).split() == words.split()


def unmarked(text: str) -> str:
    data, byte_start, _ = encoded([text])
    plain = plain_of(data, byte_start)
    return text if plain is None else plain.data.tobytes().decode("utf-8", "surrogatepass")


def told(plain: str) -> str:
    return plain.replace("\u00ad", "").replace("\u2060", "")


PIECES = [
    *("<", ">", "/", "</", "<b", "<span ", "a" * 15, "y" * 298, "x", "7", "é", "字", " ", "\n"),
    *("\u00ad", "\ud800", "\u0301", "don't", "二三四"),
]
SIGNS = [
    *("&amp;", "&", "&lt;", "amp;", ";", "&ndash;", "&#x27;", "&hellip;", "&#233;", "&pi;", "#", "&lE;"),
    *("\\n", "\\", "\\u00e9", "\\textit{", "u00", "x-\ny", "-\r\n", "infor-\nmation", "]("),
    *("http://a.b)", "[b]", "[/b]", "[/", "%20", "%", "\u200b", "》", "a\u200bb"),
]  # fmt: skip


@settings(derandomize=True, deadline=None, max_examples=400)
@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), max_size=4))
def test_tags_are_as_the_expression_says(texts: list[str]) -> None:
    for text in texts:
        spaced = TAG.sub(lambda m: " " * len(m[0].encode("utf-8", "surrogatepass")), text)
        assert unmarked(text) == spaced


@settings(derandomize=True, deadline=None, max_examples=500)
@given(st.lists(st.lists(st.sampled_from([*PIECES, *SIGNS]), max_size=14), max_size=4))
def test_words_that_are_known_are_put_together_with_those_that_change(
    pieces: list[list[str]],
) -> None:
    texts = ["".join(own) for own in pieces]
    table = tokenise(texts)
    plain = plain_of(table.data, table.byte_start)
    assert [unmarked(text) for text in texts] == [
        (table.data if plain is None else plain.data)[a:b]
        .tobytes()
        .decode("utf-8", "surrogatepass")
        for a, b in pairwise(table.byte_start)
    ]
    if plain is None:
        return
    own, all_ = plain_words(table, plain), tokenise_utf8(plain.data, table.byte_start)
    for d, text in enumerate(texts):
        here, there = (slice(t.doc_start[d], t.doc_start[d + 1]) for t in (own, all_))
        if d not in plain.documents:
            assert here.start == here.stop
            assert unmarked(text) == text
            continue
        for name in ("start", "end", "chars", "hash", "flags"):
            assert getattr(own, name)[here].tolist() == getattr(all_, name)[there].tolist(), name


@settings(derandomize=True, deadline=None, max_examples=300)
@given(
    st.text("ab \n", max_size=20),
    st.lists(st.tuples(st.integers(0, 19), st.integers(1, 4)), max_size=4),
)
def test_regions_end_where_white_space_is(text: str, places: list[tuple[int, int]]) -> None:
    spans = sorted((p, p + size) for p, size in places if p + size <= len(text))
    found = regions(text.encode(), [(low, text[low:high].encode()) for low, high in spans])
    inside = [any(low <= n < high for low, high in found) for n in range(len(text))]
    assert all(all(inside[low:high]) for low, high in spans)
    for (low, high), before in zip(found, [0, *(high for _, high in found)], strict=False):
        assert before <= low < high <= len(text)
        assert low == 0 or text[low - 1] in " \n"
        assert high == len(text) or text[high] in " \n"
        assert any(low <= a and b <= high for a, b in spans)


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
