"""What is kept with the blocks that the model chose."""

from __future__ import annotations

import pytest

from corpusmill.stages.extract.blocks.complete import completed, opened, without_end_headings
from corpusmill.stages.extract.blocks.passes import analyse, tree_markup
from corpusmill.stages.extract.blocks.render import render

TABLE = "<table><tr><td>1<td>2<tr><td>3<td>4</table>"
LINKS = "<table><tr><td><a>1</a><td><a>2</a><tr><td>3<td>4</table>"
NEXT = "<table><tr><td><a>1</a><td><a>2</a><tr><td>threes and fours<td>four of them</table>"
QUOTE = "<blockquote>q<p>r</blockquote>"
PROMISE = "<blockquote>q <a>link</a></blockquote>"
LIST = "<ul><li>u<li>v<ul><li>w</ul><li>x</ul>"


def made(html: str, kept: str) -> str:
    """The texts of the completed blocks, of which the model kept those named in `kept`."""
    page = analyse(tree_markup(html))
    names = [render(page, [b]).strip("-| \n") for b in range(len(page))]
    chosen = [b for b, name in enumerate(names) if name in kept.split()]
    assert len(chosen) == len(kept.split())
    return " ".join(names[b] for b in completed(page, chosen))


@pytest.mark.parametrize(
    ("html", "kept", "expected"),
    [
        pytest.param(f"<p>a{TABLE}<p>b", "a b", "a 1 2 3 4 b", id="table-between"),
        pytest.param(f"<p>a{TABLE}<p>b", "a", "a 1 2 3 4", id="table-after"),
        pytest.param(f"<p>a{TABLE}<p>b", "b", "b", id="table-before"),
        pytest.param(f"<p>a{LINKS}<p>b", "a b", "a 1 2 3 4 b", id="links-between"),
        pytest.param(f"<p>a{LINKS}<p>b", "a", "a", id="links-after"),
        pytest.param(f"<p>a{NEXT}<p>b", "a", "a", id="a-row-of-links-after"),
        pytest.param(f"<p>a{LIST}<p>b", "a b", "a u v w x b", id="list-between"),
        pytest.param(f"<p>a{LIST}<p>b", "a u", "a u", id="a-part-of-a-list"),
        pytest.param(f"<p>a{LIST}<p>b", "u w x", "u v w x", id="most-of-a-list"),
        pytest.param(f"<p>a{QUOTE}<p>b", "a b", "a q r b", id="quotation-between"),
        pytest.param(f"<p>a{QUOTE}<p>b", "a q", "a q", id="quotation-after"),
        pytest.param(f"<p>a{QUOTE}{QUOTE}<p>b", "a b", "a q r q r b", id="quotations-in-a-row"),
        pytest.param(f"<p>a{QUOTE}<p>b{QUOTE}<p>c", "a c", "a c", id="quotations-apart"),
        pytest.param(f"<p>a{QUOTE}<p>b{QUOTE}<p>c", "b c", "b q r c", id="the-second-quotation"),
        pytest.param(
            f"<p>a<blockquote>{QUOTE}s</blockquote><p>b", "a b", "a q r s b", id="quotation-in-one"
        ),
        pytest.param(f"<p>a{PROMISE}<p>b", "a b", "a b", id="quotation-of-links"),
        pytest.param("<p>a<dl><dt>t<dd>d<dt>s<dd>e</dl>", "t d e", "t d s e", id="definitions"),
        pytest.param("<p>a<h2>h</h2><p>b", "b", "h b", id="heading"),
        pytest.param("<p>a<h1>h</h1><p>b", "b", "b", id="title"),
        pytest.param("<p>a<h2>h</h2><h3>i</h3><p>b", "a i", "a i", id="heading-of-a-heading"),
        pytest.param("<h2>h</h2>", "", "", id="nothing"),
        pytest.param("<div><p>a<p>b<pre>k</pre><p>c<p>d</div>", "a d", "a b k d", id="code"),
        pytest.param(
            "<div><p>a<div><pre>k</pre></div><p>b<p>c</div><p>d", "a c", "a k c",
            id="code-in-a-box",
        ),
        pytest.param(
            "<div><p>a<div><div><div><pre>k</pre></div></div></div>c<p>d</div>", "a d", "a d",
            id="code-in-three-boxes",
        ),
        pytest.param(
            "<p>a<figure><figcaption>It burns.</figcaption></figure><p>b", "a b", "a It burns. b",
            id="caption",
        ),
        pytest.param(
            "<p>a<figure><figcaption>Getty</figcaption></figure><p>b", "a b", "a b", id="credit"
        ),
    ],
)  # fmt: skip
def test_what_belongs_to_the_kept(html: str, kept: str, expected: str) -> None:
    assert made(html, kept) == expected


def test_a_thread_that_is_a_list_is_not_completed() -> None:
    posts = "".join(f"<li>{'word ' * n}end{n}" for n in (120, 80, 5))
    page = analyse(tree_markup(f"<p>a<ol>{posts}</ol>"))
    assert completed(page, [1, 2]) == (1, 2)
    short = analyse(tree_markup(f"<p>a<ol>{posts}{'<li>x' * 9}</ol>"))
    assert completed(short, [1, 2]) == tuple(range(1, 13))


CHAPTER = (
    "<p>other<h1>{title}</h1>{label}<dl><dt><a>{first}</a><dt><a>Two words</a></dl>"
    "<p>{lead}</p>{more}<h2>One thing</h2><p>Kept."
)
AS_MADE = {"title": "Chapter", "label": "", "first": "One thing", "lead": "It is said.", "more": ""}


@pytest.mark.parametrize(
    ("change", "first"),
    [
        pytest.param({}, 1, id="a-chapter"),
        pytest.param({"label": "<p>Table of<p>Contents"}, 1, id="with-a-label"),
        pytest.param({"label": "<p>a<p>b<p>c"}, None, id="not-below-a-heading"),
        pytest.param({"title": ""}, None, id="without-a-heading"),
        pytest.param({"first": "Something else"}, None, id="of-other-pages"),
        pytest.param({"first": "One</a> thing<a>"}, None, id="not-of-links"),
        pytest.param({"lead": "No sentence"}, None, id="no-sentence"),
        pytest.param({"lead": "See. <a>This one, that one</a>"}, None, id="links-between"),
        pytest.param({"more": "<h2>Other</h2><p>Text."}, None, id="a-section-between"),
        pytest.param({"more": "<p>a" * 6}, 1, id="seven-blocks-and-a-heading"),
        pytest.param({"more": "<p>a" * 7}, None, id="too-much-between"),
    ],
)
def test_how_a_chapter_begins(change: dict[str, str], first: int | None) -> None:
    page = analyse(tree_markup(CHAPTER.format(**{**AS_MADE, **change})))
    last = len(page) - 1
    assert opened(page, [last]) == (last,) if first is None else tuple(range(first, last + 1))
    assert opened(page, []) == ()


@pytest.mark.parametrize(
    ("html", "left"),
    [
        ("<h1>a</h1><p>b c d e f g h i<h2>k</h2>", 2),
        ("<h1>a</h1><p>b c d e f g h<h2>k</h2>", 3),  # more than a tenth
        ("<p>b c d e f g h i j k l m n o p q r s<h2>t</h2><h3>u</h3>", 1),
        ("<h2>k</h2><h2>k</h2>", 2),
        ("<h2>k</h2><p>b", 2),
    ],
)
def test_headings_of_nothing(html: str, left: int) -> None:
    page = analyse(tree_markup(html))
    assert without_end_headings(page, range(len(page))) == tuple(range(left))
