"""Pages sent in pieces are put together."""

from __future__ import annotations

import time

import pytest

from corpusmill.stages.extract import extract
from corpusmill.stages.extract.streamed import MAX_PIECES, settle


def gap(name: str, shown: str = "") -> str:
    return f'<!--$?--><template id="{name}"></template>{shown}<!--/$-->'


def piece(name: str, inner: str) -> str:
    return f'<div hidden id="{name}">{inner}</div>'


def call(*moves: str) -> str:
    return "<script>" + ";".join(f"$R{m[0]}({m[1:]})" for m in moves) + "</script>"


def settled(html: str) -> str:
    """The page put together, without the comments that stood before gaps."""
    return settle(html).replace("<!--$?-->", "")


FIRST = call('C"B:0","S:0"')


def test_a_piece_goes_to_its_gap_and_what_stood_there_is_gone() -> None:
    page = f"<main>a{gap('B:0', '<p>Loading…</p>')}b</main>{piece('S:0', '<div>x</div>y')}{FIRST}c"
    assert settled(page) == f"<main>a<div>x</div>yb</main>{FIRST}c"
    assert settle(page.replace(" hidden ", ' hidden="" ')) == settle(page)


def test_what_is_shown_until_then_may_have_gaps_of_its_own() -> None:
    shown = "<!--$-->wait<!--/$-->" + gap("B:7")
    page = f"a{gap('B:0', shown)}b{piece('S:0', 'x')}{FIRST}"
    assert settled(page) == f"axb{FIRST}"


def test_pieces_of_pieces() -> None:
    inner = f'<p>x</p><template id="P:2"></template>{gap("B:1")}'
    calls = call('S"S:2","P:2"') + call('C"B:1","S:1"', 'C"B:0","S:0"')
    page = gap("B:0") + piece("S:1", "z") + piece("S:0", inner) + piece("S:2", "<p>y</p>") + calls
    assert settled(page) == "<p>x</p><p>y</p>z" + calls


@pytest.mark.parametrize(
    "page",
    [
        "<p>no pieces</p>",
        gap("B:0") + FIRST,
        piece("S:0", "x") + FIRST,
        gap("B:0") + piece("S:0", "x"),
        gap("B:0") + piece("S:0", "<div>x") + FIRST,
        piece("S:0", gap("B:0")) + FIRST,
        piece("S:0", gap("B:1")) + piece("S:1", gap("B:0")) + call('C"B:0","S:0"', 'C"B:1","S:1"'),
        gap("B:0") + piece("S:0", "x") + FIRST * (MAX_PIECES + 1),
    ],
)
def test_what_does_not_fit_stays_as_it_is(page: str) -> None:
    assert settle(page) == page


def test_calls_that_are_repeated_move_once() -> None:
    page = gap("B:0") + piece("S:0", "x") + FIRST + FIRST
    assert settled(page) == "x" + FIRST + FIRST


def test_time_is_in_proportion() -> None:
    page = (gap("B:0") + piece("S:0", "<div>")) * 20_000 + FIRST * 100 + "<!--$-->" * 50_000
    start = time.process_time()
    settle(page)
    assert time.process_time() - start < 5


def test_the_text_of_such_a_page_stands_in_order() -> None:
    text = "The keeper of the lamp wrote that the wind had turned and that {} ships had passed."
    paragraphs = [f"<p>{text.format(i)} {text.format(i + 10)}</p>" for i in range(6)]
    page = (
        f"<title>The lamp</title><main><h2>The lamp</h2>{paragraphs[0]}{gap('B:0')}{paragraphs[5]}"
        f"</main><footer>Imprint</footer>{piece('S:0', ''.join(paragraphs[1:5]))}{FIRST}"
    )
    found = extract(page, tier="own").text
    places = [found.index(text.format(i)) for i in range(6)]
    assert places == sorted(places)
