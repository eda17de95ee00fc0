"""Whole pages of the kinds on which other extractors were reported to fail, for every tier.

What was reported of parts of a page (lists, tables, code, formulas, joiners) is in
`test_public_bugs`. Here is what each of these pages asks, and of which project it was reported:

* text that comes out twice (trafilatura: blocks with tables and lists, a small ``article``);
* a wrapper whose class names are those of a share bar or a popup (resiliparse);
* list items that are links (trafilatura); text without paragraphs (turbohtml);
* nesting without end (resiliparse: quadratic; trafilatura, turbohtml: no text);
* ten thousand short blocks (trafilatura, jusText: quadratic);
* half a surrogate pair, NUL (resiliparse); a template in a drawing (resiliparse: crash);
* an encoding that shows itself late, or is declared in the page alone (trafilatura);
* memory that grows with the pages (trafilatura); a second reading that differs (trafilatura with
  its memory of earlier pages).
"""

from __future__ import annotations

import re
import time

import pytest

from corpusmill.pipeline.errors import InputError
from corpusmill.pipeline.peak import own_peak_bytes, start_again
from corpusmill.stages.extract import extract
from corpusmill.stages.extract.policy import TIERS, Tier

SENTENCES = (
    "The ferry left the northern quay at six in the morning with eleven crates of herring.",
    "Its engine had been mended in the winter by the two brothers who own the forge in the lane.",
    "Half way over, the mate saw smoke on the island and told the captain, who turned the wheel.",
    "They found a shepherd with a broken leg and took him, his dog and his lamp on board.",
    "In the evening the doctor set the bone on the table of the inn, by the light of that lamp.",
)
PARAGRAPHS = "".join(f"<p>{sentence}</p>\n" for sentence in SENTENCES)


def html(body: str, head: str = "<title>The ferry</title>") -> str:
    return f"<!doctype html><html><head>{head}</head><body>{body}</body></html>"


def deep(body: str) -> str:
    """`body` below wrappers, where shallow lists are lost by some."""
    return html(f"<div><div><div>{body}</div></div></div>")


def plain(text: str) -> str:
    return re.sub(r"\s+", " ", text)


@pytest.mark.parametrize("tier", TIERS)
def test_blocks_with_tables_and_lists_come_out_once(tier: Tier) -> None:
    blocks = (
        f"<!-- block:paragraph -->{PARAGRAPHS}<!-- /block:paragraph -->"
        "<!-- block:heading --><h3 class=block-heading>Cargo of the ferry</h3><!-- /block -->"
        "<!-- block:table --><figure class=block-table><table><thead><tr><th>Crate<th>Fish</thead>"
        "<tbody><tr><td>first crate<td>herring alone<tr><td>second crate<td>cod and eel</tbody>"
        "</table></figure><!-- /block --><!-- block:list --><ul class=block-list><li>Rope for the "
        "mast</li><li>Tar for the keel</li><li>Oil for the lamp</li></ul><!-- /block -->"
    )
    text = plain(extract(deep(f"<article>{blocks}{PARAGRAPHS}</article>"), tier=tier).text)
    for once in ("second crate", "cod and eel", "Tar for the keel"):
        assert text.count(once) == 1 if tier == "own" else text.count(once) <= 1, (once, text)
    for sentence in SENTENCES:  # the tier own keeps text that stands on the page twice once
        assert text.count(sentence) == (1 if tier == "own" else 2), (sentence, text)


@pytest.mark.parametrize("tier", TIERS)
def test_a_small_article_comes_out_once(tier: Tier) -> None:
    page = html(
        f"<nav>Start News Contact</nav><article><h1>The ferry</h1><p>{SENTENCES[0]}</p>"
        f"<p>{SENTENCES[1]}</p></article><footer>All rights reserved</footer>"
    )
    text = plain(extract(page, tier=tier).text)
    assert [text.count(sentence) for sentence in SENTENCES[:2]] == [1, 1], text


@pytest.mark.parametrize(
    "name", ["share", "related", "cookie-free", "popup", "modal", "menu-right", "banner", "social"]
)
@pytest.mark.parametrize("tier", ["own", "fast", "quality"])
def test_a_wrapper_with_the_class_of_a_bar(tier: Tier, name: str) -> None:
    page = html(f'<div class="page {name}"><h1>The ferry</h1>{PARAGRAPHS * 2}</div>')
    text = plain(extract(page, tier=tier).text)
    assert all(sentence in text for sentence in SENTENCES), text


def test_items_that_are_links() -> None:
    items = "".join(f"<li><a href=/{n}>Harbour number {n}</a></li>" for n in range(4))
    text = extract(html(f"<h1>x</h1>{PARAGRAPHS}<ul>{items}</ul>{PARAGRAPHS}"), tier="own").text
    assert "- Harbour number 0\n- Harbour number 1\n- Harbour number 2\n- Harbour number 3" in text


@pytest.mark.parametrize("tier", ["own", "fast", "default"])
def test_text_between_breaks_and_in_bare_blocks(tier: Tier) -> None:
    for page in ("<br><br>".join(SENTENCES), "".join(f"<div>{s}</div>" for s in SENTENCES)):
        text = plain(extract(html(page), tier=tier).text)
        assert all(sentence in text for sentence in SENTENCES), text


@pytest.mark.parametrize("tier", TIERS)
def test_nesting_without_end_is_refused_at_once(tier: Tier) -> None:
    extract(html(PARAGRAPHS), tier=tier)  # whatever a first call loads
    page = html("<div>" * 50_000 + PARAGRAPHS)
    start = time.process_time()
    with pytest.raises(InputError, match="over_budget_depth"):
        extract(page, tier=tier)
    assert time.process_time() - start < 1


def test_deep_nesting_within_the_budget_has_its_text() -> None:
    for levels in (150, 300):
        text = plain(extract(html("<div>" * levels + PARAGRAPHS), tier="own").text)
        assert all(sentence in text for sentence in SENTENCES), levels


def test_ten_thousand_short_blocks() -> None:
    start = time.process_time()
    blocks = "".join(f"<div>Cape {n} was passed.</div>" for n in range(10_000))
    found = extract(html(blocks), tier="own")
    assert found.words == 40_000
    assert time.process_time() - start < 8


@pytest.mark.parametrize("tier", TIERS)
def test_characters_that_are_none(tier: Tier) -> None:
    page = deep(f"<p>A half pair \ud83d and a zero \0 stand here.</p>{PARAGRAPHS}")
    text = extract(page, tier=tier).text
    text.encode("utf-8")
    assert "\0" not in text
    assert all(sentence in plain(text) for sentence in SENTENCES)


@pytest.mark.parametrize("tier", TIERS)
def test_a_template_in_a_drawing(tier: Tier) -> None:
    drawing = "<svg><template><p>no</p></template><foreignObject><p>x</foreignObject></svg>"
    text = plain(extract(deep(f"{PARAGRAPHS}{drawing}{PARAGRAPHS}"), tier=tier).text)
    assert all(sentence in text for sentence in SENTENCES)


CHINESE = "昨天晚上我们在老城里走了很久。广场上有一支乐队在演奏,人们在露天听音乐。后来下起了雨。"
JAPANESE = (
    "昨日の夕方、私たちは古い町を長い間歩きました。広場では楽団が演奏し、人々は空の下で聞いた。"
)
GERMAN = "Die Fähre fuhr über den Kanal, und die Männer auf dem Deck hörten die Glöckchen läuten."


@pytest.mark.parametrize(
    ("text", "codec", "head"),
    [
        pytest.param(
            CHINESE, "gb18030", "<script>" + "var a = 1;" * 1_500 + "</script>", id="late"
        ),
        pytest.param(CHINESE, "gb18030", "", id="not-declared"),
        pytest.param(GERMAN, "latin-1", "<meta charset=iso-8859-1>", id="in-the-page-alone"),
        pytest.param(JAPANESE, "euc-jp", "<meta charset=utf-8>", id="declared-wrongly"),
        pytest.param(GERMAN, "utf-16-le", "", id="utf-16-without-a-mark"),
    ],
)
@pytest.mark.parametrize("tier", ["own", "quality"])
def test_bytes_in_other_encodings(tier: Tier, text: str, codec: str, head: str) -> None:
    page = html(f"<div><div><div>{f'<p>{text}</p>' * 6}</div></div></div>", head).encode(codec)
    assert text in extract(page, tier=tier).text


@pytest.mark.parametrize("tier", TIERS)
def test_six_readings_are_one(tier: Tier) -> None:
    page = deep(f"<article>{PARAGRAPHS * 3}</article>")
    assert len({extract(page, tier=tier).text for _ in range(6)}) == 1


@pytest.mark.slow
@pytest.mark.parametrize("tier", ["own", "quality"])
def test_memory_does_not_grow_with_the_pages(tier: Tier) -> None:
    pages = [
        deep(f"<article>{''.join(f'<p>{n} {s}</p>' for s in SENTENCES * 20)}</article>")
        for n in range(300)
    ]
    for page in pages[:60]:
        extract(page, tier=tier)
    start_again()
    before = own_peak_bytes() or 0
    for page in pages[60:]:
        extract(page, tier=tier)
    assert (own_peak_bytes() or 0) - before < 8 * 2**20  # 240 pages of 9 kB are 2 MiB
