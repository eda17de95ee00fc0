"""Depth and nodes by one scan of the tags."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from corpusmill.stages.extract.budget import Cost, measure_cost, over_budget


def cost(html: str) -> Cost:
    return measure_cost(html.encode(), stop_depth=10**9, stop_nodes=10**9)


@pytest.mark.parametrize(
    ("html", "depth"),
    [
        ("", 0),
        ("plain < text > & more", 0),
        ("<div><div><span>x</span></div></div>", 3),
        ("<div></div><div></div>", 1),
        ("<DIV><Div></dIv></DIV>", 2),
        ("<div><br><img src=x><input><hr></div>", 1),
        ("<p>a<p>b<p>c<ul><li>d<li>e</ul>", 1),
        ("<!-- <div><div><div> --><div>x</div>", 1),
        ("<!--><div>x</div>--><div>x</div>", 1),
        ("<script>'<!--'</script><div><div>x</div></div>", 2),
        ("<script>'</scripts>' <div><div></script><div>x</div>", 1),
        ("<script>if (a<b) document.write('<div><div>')</script><div>x</div>", 1),
        ("<style>a<b</style><textarea><div><div></textarea><section>x</section>", 1),
        ("<script-like><div>x</div></script-like>", 2),
        ("<div/><div/><div/>", 3),  # in HTML a slash closes nothing
        ("<svg><path d='1'/><path d='2'/><g/></svg><div></div>", 1),
        ("</div></div><div></div>", 1),
        ("<b>x</b><i>y</i>", 1),
        ("<a href=1>x<a href=2>y<a href=3>z", 1),
        ("<b><b><b><b><b><b>", 3),  # the same tag text is opened again three times at most
        ("<!-- never closed <div><div>", 0),
        ("<script> never closed <div><div>", 0),
    ],
)
def test_depth(html: str, depth: int) -> None:
    assert cost(html).depth == depth


def test_a_cell_counts_its_row_and_body() -> None:
    assert cost("<table><tr><td><div>x</div></td><td>y</td></tr></table>").depth == 5
    rows = "<tr><td>a<td>b</tr>" * 50
    assert cost(f"<table>{rows}</table>").depth == 4


def test_an_end_tag_inside_a_cell_does_not_close_what_is_outside() -> None:
    inner = "<table><tr><td></div></div></div>"
    assert cost("<div>" * 10 + inner * 10).depth == 10 + 4 * 10


def test_a_stray_cell_is_no_scope() -> None:
    assert cost("<td>" * 100 + "x").depth == 0


def test_formatting_that_is_never_closed_is_counted_in_every_block() -> None:
    page = "".join(f"<p><b id={i}>x</p>" for i in range(300))
    made = cost(page).nodes
    root = LexborHTMLParser(page).root
    assert root is not None
    real = len(list(root.traverse(include_text=False)))
    assert real > 45_000
    assert 0.9 < made / real < 1.1


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    st.recursive(
        st.sampled_from(["x", "<br>", "<em>y</em>"]),
        lambda inner: st.builds(
            lambda tag, parts: f"<{tag}>{''.join(parts)}</{tag}>",
            st.sampled_from(["div", "section", "article", "span", "ul", "blockquote"]),
            st.lists(inner, max_size=3),
        ),
        max_leaves=25,
    )
)
def test_depth_is_the_parsers_on_well_formed_pages(html: str) -> None:
    body = LexborHTMLParser(f"<body>{html}</body>").body
    assert body is not None
    deepest, level = 0, [(body, 0)]
    while level:
        node, depth = level.pop()
        for child in node.iter(include_text=False):
            if child.tag != "br":
                deepest = max(deepest, depth + 1)
            level.append((child, depth + 1))
    assert cost(html).depth == deepest


def test_over_budget_names_the_budget_and_the_value() -> None:
    deep = b"<div>" * 3000
    assert over_budget(deep, max_depth=2000, max_nodes=400_000) == ("depth", 2001)
    many = b"".join(b"<p><b id=%d>x</p>" % i for i in range(1900))
    assert over_budget(many, max_depth=2000, max_nodes=400_000) == ("nodes", 400_000 + 63)
    assert over_budget(b"<p>x</p>" * 50_000, max_depth=2000, max_nodes=400_000) is None
    wide = b"<div>x</div>" * 3000
    assert over_budget(wide, max_depth=2000, max_nodes=2999) == ("nodes", 3000)


@pytest.mark.parametrize(
    "piece", [b"<", b"<!--", b"<script", b"<script>", b"<a<", b"</x>", b"<td>", b"<!--<script>-->"]
)
def test_the_scan_is_linear_on_hostile_pages(piece: bytes) -> None:
    size = 1_000_000
    html = piece * (size // len(piece))
    over_budget(html, max_depth=2000, max_nodes=10**9)  # a square would take minutes
