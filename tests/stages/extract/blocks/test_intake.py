"""The compiled look at a page's bytes: the costs of the plain scan, and what the page holds."""

from __future__ import annotations

import random

import pytest

from corpusmill.stages.extract.blocks.intake import intake
from corpusmill.stages.extract.budget import measure_cost

NAMES = (
    "div p li td th tr table tbody span a b i em svg path math select option html body br img "
    "script style title textarea object template caption section x-y"
).split()
ATTRIBUTES = ("", "", " x=1", " X=1", "/", " x=2 /", " ", ' title="a > b"')
ODD = (
    "<!--", "-->", "<!-->", "<!--->", "<", "</", "<!", "<a<", "<B><b>", "</SCRIPT >", "</script",
    "<1>", "é", "\v", "<SELECT><oPtion>", "<!doctype html>",
)  # fmt: skip


def made_page(r: random.Random) -> str:
    parts = []
    for _ in range(r.randrange(80)):
        kind = r.random()
        if kind < 0.45:
            parts.append(f"<{r.choice(NAMES)}{r.choice(ATTRIBUTES)}>")
        elif kind < 0.8:
            parts.append(f"</{r.choice(NAMES)}>")
        else:
            parts.append(r.choice(ODD) if kind < 0.9 else "x")
    return "".join(parts)


def test_the_costs_are_those_of_the_plain_scan() -> None:
    r = random.Random(20)
    deepest = 0
    for _ in range(1500):
        html = made_page(r).encode()
        depth, nodes = r.choice([(10**9, 10**9), (2000, 400_000), (5, 10**9), (10**9, 30)])
        plain = measure_cost(html, stop_depth=depth, stop_nodes=nodes)
        found = intake(html, stop_depth=depth, stop_nodes=nodes)
        assert (found.depth, found.nodes) == (plain.depth, plain.nodes), html
        deepest = max(deepest, plain.depth)
    assert deepest > 20


@pytest.mark.parametrize("repeated", [1000, 20_000])
@pytest.mark.parametrize(
    "piece",
    [
        "<table><tr><td>", "<p><b id={}>", "<select><option>", "<body a>", "<b id={}></i>",
        "<div></x{}>", "<table><tr><td><a><b><i><u><em><tt><big><s><font><code></table>",
    ],
)  # fmt: skip
def test_the_same_on_large_pages(piece: str, repeated: int) -> None:
    html = "".join(piece.format(i) for i in range(repeated)).encode()
    plain = measure_cost(html, stop_depth=2000, stop_nodes=400_000)
    found = intake(html, stop_depth=2000, stop_nodes=400_000)
    assert (found.depth, found.nodes) == (plain.depth, plain.nodes)


@pytest.mark.parametrize(
    ("html", "holds"),
    [
        ("<p>x", False),
        ("<PRE>x</PRE>", True),
        ("<p>x</pre>", False),
        ("<prefix>x", False),
        ("<math><mi>x", True),
        ('<script type="math/tex; mode=display">x</script>', True),
        ('<span class="katex-html">', True),
        ("<p>katex", False),
        ("<script>katex</script>", False),
        ('<p class="text-left">', False),
        ('<img class="tex" alt="x">', True),
        ('<img class="tex big" alt="x">', True),
        ('<img class="latex" alt="x">', True),
        ('<img class="latex big" alt="x">', True),
        ('<img src="/latex.php?x">', True),
        ('<td class="blob-code">', True),
        ("<td class=hljs-ln-numbers>", True),
        ('<span class="mwe-math-element">', True),
    ],
)
def test_what_there_is_to_rewrite(html: str, holds: bool) -> None:
    assert intake(html.encode(), stop_depth=99, stop_nodes=99).to_rewrite is holds


@pytest.mark.parametrize(
    ("html", "holds"),
    [
        ('<script>$RC("B:1","S:1")</script>', True),
        ('<script>$RS("P:1","S:1")</script>', True),
        ('<p>$RC("B:1","S:1")', False),
        ("<script>$R = 1</script>", False),
    ],
)
def test_pages_in_pieces(html: str, holds: bool) -> None:
    assert intake(html.encode(), stop_depth=99, stop_nodes=99).in_pieces is holds


def test_an_empty_page() -> None:
    found = intake(b"", stop_depth=99, stop_nodes=99)
    assert (found.depth, found.nodes, found.to_rewrite, found.in_pieces) == (0, 0, False, False)
