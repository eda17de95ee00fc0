"""The compiled passes: blocks, clean text, elements, measures, features."""

from __future__ import annotations

import random

import numpy as np
import pytest

from corpusmill.stages.extract.blocks import columns, features
from corpusmill.stages.extract.blocks.passes import Blocks, analyse, tree_markup
from corpusmill.stages.extract.blocks.vocabulary import (
    CLASS_GROUPS,
    TAGS,
    TEXT_GROUPS,
    class_table,
    key_of,
    lookup,
)


def page(html: str, *, prune: bool = True) -> Blocks:
    return analyse(tree_markup(html), prune=prune)


def texts(found: Blocks) -> list[str]:
    return [found.text[a:b].decode() for a, b in found.blocks[:, 1:3].tolist()]


def tags(found: Blocks) -> list[str]:
    return [
        TAGS[found.elements[e, columns.TAG_ID]] for e in found.blocks[:, columns.OWNER].tolist()
    ]


def column(found: Blocks, name: str) -> list[int]:
    values: list[int] = found.rows[:, columns.NAMES.index(name)].tolist()
    return values


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>a <b>b</b>\n c</p>d", ["a b c", "d"]),
        ("a<br>b<br><br>c<br>", ["a\nb", "c"]),
        ("a<br> <br>b", ["a", "b"]),
        ("<p>1 &lt; 2 &amp;&amp; 3 &gt; 2 &amp;lt;&nbsp;x", ["1 < 2 && 3 > 2 &lt; x"]),
        ("<p title='a>b \"c'>x", ["x"]),
        ("<pre>\n  a\n\n   b &lt;</pre>c", ["  a\n\n   b <", "c"]),
        ("<pre><div>x</div>\ny</pre>", ["x\ny"]),
        ("<p>use <code>a b</code> now", ["use \x01a b\x02 now"]),
        ("<script>if (a<b) '<p>no</p>'</script><style>p<b{}</style><p>yes", ["yes"]),
        ("<svg><title>no</title><text>no</text></svg>yes<template><p>no</template>", ["yes"]),
        ("<select><option>no</select><textarea>no <p></textarea><p>yes", ["yes"]),
        ("<noscript><p>yes</p></noscript>", ["yes"]),
        ("<!-- no <p>no --><p>yes<!-- -- > no -->", ["yes"]),
        ("<x-card>a</x-card><blink>b</blink>c", ["a", "bc"]),
        ("<iframe><p>no</iframe><object>no</object><p>y", ["y"]),
        ("<p>灯台\n は<b>高い。\r\n</b>\n𠀀 a\nb 등\n대 灯 台", ["灯台は高い。𠀀 a b 등 대 灯 台"]),
        ("<ruby>漢字<rp>(</rp><rt>かんじ</rt><rp>)</rp></ruby>です", ["漢字です"]),
        ("", []),
        ("<p> \n </p><div>&nbsp;</div>", []),
    ],
)
def test_blocks(html: str, expected: list[str]) -> None:
    assert texts(page(html)) == expected


def test_navigation_is_left_out_or_kept() -> None:
    html = "<nav>a b<p>c</nav><div role=navigation>d</div><div role=main>e</div><footer>f</footer>"
    assert texts(page(html)) == ["e"]
    assert page(html).outside_words == 5
    assert texts(page(html, prune=False)) == ["a b", "c", "d", "e", "f"]


def test_the_ways_to_other_chapters_are_left_out() -> None:
    html = "<div class=navheader>a</div><p>b<table class='x navfooter'><tr><td>c</table>"
    assert texts(page(html)) == ["b"]
    assert texts(page(html, prune=False)) == ["a", "b", "c"]
    assert texts(page("<p class=nav-footer>a<p class=navfooters>b<div class=header>c")) == [*"abc"]


LINK = '<a href="x" hreflang="fr" rel="alternate">fr</a>'
OWN = '<a href="y">de</a>'


@pytest.mark.parametrize(
    ("bar", "left_out"),
    [
        pytest.param(LINK, True, id="one"),
        pytest.param(f"Available languages: {LINK} | {OWN} | {LINK}", True, id="label"),
        pytest.param(LINK.replace("alternate", "alternate nofollow"), True, id="two-relations"),
        pytest.param(f"{LINK} {OWN} {OWN}", False, id="more-links"),
        pytest.param(OWN, False, id="a-link"),
        pytest.param(LINK.replace(' rel="alternate"', ""), False, id="a-page-in-French"),
        pytest.param(LINK.replace("alternate", "nofollow"), False, id="another-relation"),
        pytest.param(LINK.replace("hreflang", "data-lang"), False, id="a-feed"),
        pytest.param(LINK + "a" * 94, True, id="as-long-as-may-be"),
        pytest.param(LINK + "a" * 95, False, id="a-sentence"),
    ],
)
def test_languages_of_the_page(bar: str, left_out: bool) -> None:
    html = f"<div><p>a<p>{bar}</div><p>b"
    found = page(html)
    assert (texts(found) == ["a", "b"]) is left_out
    assert len(found.rows) == len(found)
    [div] = found.elements[found.elements[:, columns.TAG_ID] == TAGS.index("div")]
    assert (div[columns.BLOCK0], div[columns.BLOCK1]) == (0, 1 if left_out else 2)
    assert len(page(html, prune=False)) == 3


def test_elements_know_their_blocks() -> None:
    found = page("<ul><li>a<li>b<ul><li>c</ul></ul><table><tr><td>d</table>")
    rows = {
        (TAGS[e[columns.TAG_ID]], e[columns.BLOCK0], e[columns.BLOCK1], e[columns.NUMBER])
        for e in found.elements[1:].tolist()
    }
    assert {("li", 0, 1, 1), ("li", 1, 3, 2), ("li", 2, 3, 1), ("td", 3, 4, -1)} <= rows
    assert tags(found) == ["li", "li", "li", "td"]


def test_items_have_the_numbers_that_the_page_gives_them() -> None:
    found = page("<ol start=0><li>a<li value=7>b<li>c</ol><ol start=x><li value=-1>d<li>e</ol>")
    items = found.elements[found.blocks[:, columns.OWNER], columns.NUMBER]
    assert items.tolist() == [0, 7, 8, 1, 2]


def test_links_and_bold_are_counted() -> None:
    found = page("<p>ab <a href=x>cd</a> <a><b>efg</b></a></p><a><div>hi</div></a>")
    assert found.blocks[:, columns.LINKS].tolist() == [2, 1]
    assert found.blocks[:, columns.LINK_BYTES].tolist() == [5, 2]
    assert found.blocks[:, columns.BOLD_BYTES].tolist() == [3, 0]


def test_hidden_is_marked() -> None:
    found = page(
        "<p hidden>a</p><p aria-hidden=true>b</p><p style='color:red; display: none'>c</p><p>d</p>"
    )
    assert column(found, "hidden") == [1, 0, 0, 0]
    assert column(found, "aria_hidden") == [0, 1, 0, 0]
    assert column(found, "not_displayed") == [0, 0, 1, 0]


@pytest.mark.parametrize(
    "name", ["commentList", "comment-list", "x comment", "COMMENT", "comment2"]
)
def test_class_words_are_found(name: str) -> None:
    assert column(page(f"<div class='{name}'><p>a</div><p>b"), "class_comment") == [1, columns.FAR]
    assert column(page(f"<div id='{name}'>a"), "class_comment") == [0]


def test_measures() -> None:
    found = page(
        "<title>The Lamp of Kap</title><p>The lamp, 12 m high, IS lit. Ça va? Да!</p><p>灯台は高い。"
    )
    m = found.measures
    assert m[:, columns.WORDS].tolist() == [10, 5]
    assert m[:, columns.CHARS].tolist() == [30, 6]
    assert m[:, columns.DIGITS].tolist() == [2, 0]
    assert m[:, columns.COMMAS].tolist() == [2, 0]
    assert m[:, columns.SENTENCES].tolist() == [3, 1]
    assert m[:, columns.UPPER].tolist() == [5, 0]
    assert m[:, columns.IN_TITLE].tolist() == [2, 0]
    assert m[:, columns.UNSPACED_CHARS].tolist() == [0, 5]


def test_every_feature_has_one_column() -> None:
    assert len(set(columns.NAMES)) == columns.N_FEATURES
    found = page("<h1>a</h1><p>b</p>")
    rows = np.full((2, columns.N_FEATURES + 8), -77, np.int32)
    features.features(
        len(found.elements), found.elements, 2, found.blocks, found.measures, 0,
        columns.TAG_SLOT, rows,
    )  # fmt: skip
    assert (rows[:, : columns.N_FEATURES] != -77).all()
    assert (rows[:, columns.N_FEATURES :] == -77).all()
    assert (rows[:, : columns.N_FEATURES] == found.rows).all()


def test_features_by_hand() -> None:
    prose = "word " * 20
    found = page(
        f"<h1>Top</h1><div><p>{prose}</p><p>{prose}</p><p>{prose}</p></div><ul><li><a>x</a></ul>"
    )
    assert column(found, "good") == [0, 1, 1, 1, 0]
    assert column(found, "inside_50") == [0, 1, 1, 1, 0]
    assert column(found, "in_run") == [0, 1, 1, 1, 0]
    assert column(found, "repeats") == [1, 3, 3, 3, 1]
    assert column(found, "repeated_before") == [0, 0, 1, 2, 0]
    assert column(found, "unit_siblings") == [-1, 3, 3, 3, -1]
    assert column(found, "unit_position") == [-1, 0, 1, 2, -1]
    assert column(found, "link_share") == [0, 0, 0, 0, 1000]
    assert column(found, "heading_distance") == [10000, 1, 2, 3, 4]
    assert column(found, "up1_words_share") == [1000, 967, 967, 967, 16]
    assert column(found, "page_words") == [62] * 5


def test_lookup_finds_every_word_and_no_other() -> None:
    keys, values = lookup({"a": 1, "b": 2, "émile": 3})
    found = {int(k): int(v) for k, v in zip(keys, values, strict=True) if k}
    assert found == {key_of("a"): 1, key_of("b"): 2, key_of("émile"): 3}
    assert key_of("a") == ((0xCBF29CE484222325 ^ 97) * 0x100000001B3) % 2**64
    assert len(CLASS_GROUPS) < 62
    assert len(TEXT_GROUPS) < 62
    assert (class_table()[0] != 0).sum() * 4 <= len(class_table()[0])


def test_any_bytes_are_survived() -> None:
    rng = random.Random(7)
    pieces = [
        b"<p>", b"</p>", b"<div class='a", b"<", b">", b"&lt", b"<pre>", b"</pre>", b"<script>",
        b"<!--", b"-->", b"<a href=\"", b"\"", b"</", b"text ", b"\xff\xf0", b"<br>", b"<svg>",
        b"<title>", b"<head>", b"</svg>", b"<plaintext>", b"<nav>", b"\0", b"<code>", b"&nbsp;",
    ]  # fmt: skip
    for _ in range(300):
        markup = b"".join(rng.choice(pieces) for _ in range(rng.randrange(40)))
        found = analyse(markup)
        assert len(found.text) <= len(markup) + markup.count(b"<") + 1
        assert all(0 <= a < b <= len(found.text) for a, b in found.blocks[:, 1:3].tolist())


def test_deep_and_wide_pages() -> None:
    deep = page("<div>" * 2000 + "x" + "</div>" * 2000)
    assert texts(deep) == ["x"]
    wide = page("".join(f"<p>w{i}</p>" for i in range(20_000)))
    assert len(wide) == 20_000
    assert wide.measures[:, columns.WORDS].sum() == 20_000
