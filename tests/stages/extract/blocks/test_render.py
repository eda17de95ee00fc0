"""Layout: paragraphs, headings, lists, tables, quotations, code; text and Markdown."""

from __future__ import annotations

import pytest

from corpusmill.stages.extract.blocks.passes import analyse, tree_markup
from corpusmill.stages.extract.blocks.render import Format, data_tables, render


def whole(html: str, form: Format = "text") -> str:
    page = analyse(tree_markup(html))
    return render(page, range(len(page)), form)


@pytest.mark.parametrize(
    ("html", "text", "markdown"),
    [
        ("<h2>A</h2><p>b<br>c</p>", "A\n\nb\nc", "## A\n\nb\nc"),
        ("<p>use <code>x y</code>", "use x y", "use `x y`"),
        (
            "<ul><li>a<ul><li>b</ul><li>c<p>d</ul><p>e",
            "- a\n    - b\n- c\n    d\n\ne",
            "- a\n    - b\n- c\n    d\n\ne",
        ),
        ("<ol><li>a<li><p>b</ol>", "1. a\n2. b", "1. a\n2. b"),
        ("<ol start=5><li>a<li>b", "5. a\n6. b", "5. a\n6. b"),
        ("<h2>A<a>¶</a></h2><dl><dt>f()¶<dd>b¶c</dl><p>¶", "A\n\nf()\nb¶c", "## A\n\nf()\nb¶c"),
        ("<h2># A</h2><h3>C#</h3><h4>B [edit]", "A\n\nC#\n\nB", "## A\n\n### C#\n\n#### B"),
        ("<li><h3>Card</h3><p>x", "Card\n\nx", "### Card\n\nx"),
        ("<blockquote><p>a<p>b</blockquote>c", "a\n\nb\n\nc", "> a\n\n> b\n\nc"),
        (
            "<table><caption>t</caption><tr><th>A<th>B<tr><td>1<td>x|y<tr><td><td>3</table>",
            "t\n\nA | B\n1 | x|y\n | 3",
            "t\n\n| A | B |\n| --- | --- |\n| 1 | x\\|y |\n|  | 3 |",
        ),
        ("<table><tr><td><p>one<p>two</table>", "one\n\ntwo", "one\n\ntwo"),
        ("<dl><dt>a<dd>b</dl>", "a\nb", "a\nb"),
        (
            "<p>x<pre>\n  def f():\n\n      return '```'  \n</pre>y",
            "x\n\n  def f():\n\n      return '```'\n\ny",
            "x\n\n````\n  def f():\n\n      return '```'\n````\n\ny",
        ),
        ("<pre>\n\n</pre>", "", ""),
        ("<p>a<p>&#8203;&#xfeff;<p>b&#8203;", "a\n\nb\u200b", "a\n\nb\u200b"),
    ],
)
def test_layout(html: str, text: str, markdown: str) -> None:
    assert whole(html) == text
    assert whole(html, "markdown") == markdown


def test_only_kept_blocks_are_written() -> None:
    page = analyse(tree_markup("<p>a<p>b<table><tr><td>1<td>2<tr><td>3<td>4</table>"))
    assert render(page, [1, 3, 4]) == "b\n\n | 2\n3 | "
    assert render(page, []) == ""


def test_icons_in_cells() -> None:
    yes, no = "<img alt='yes'>", "<div><img src=n alt='no &amp; never '></div>"
    dune = "<img alt='a dune'>"
    rows = f"<tr><td>a<td>{yes}<td>{no}<tr><td>b<td>{no}{no}<td>{yes} also<tr><td>c<td>{yes}<td>"
    # one picture of a dune, and no words of a picture beside text
    table = f"<p>x<table>{rows}{dune}<tr><td>d<td>{no}<td><nav>{yes}</nav></table>{dune}"
    assert whole(table) == (
        "x\n\na | yes | no & never\nb | no & never | also\nc | yes | \nd | no & never | "
    )


def test_which_tables_are_data() -> None:
    rows = "<tr><td>1<td>2<tr><td>3<td>4"
    long = "<p>" + "word " * 150
    assert len(data_tables(analyse(tree_markup(f"<table>{rows}</table>")))) == 1
    for layout in (
        f"<table><tr><td>{long}<td>menu<tr><td>{long}<td>b</table>",
        "<table><tr><td>1<td>2</table>",
        "<table><tr><td><img><td><img><tr><td>1<td>2</table>",
        "<table><tr><td>1<tr><td>2</table>",
        "<table><tr><td>1<td><pre>a\n  b</pre><tr><td>2<td>c</table>",
        "<p>none",
    ):
        assert data_tables(analyse(tree_markup(layout))) == {}
    nested = analyse(tree_markup(f"<table><tr><td>a<td><table>{rows}</table><tr><td>b</table>"))
    assert len(data_tables(nested)) == 1
