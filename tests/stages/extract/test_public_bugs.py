"""What other extractors were reported to lose, on pages written for these tests: tier `own`."""

from __future__ import annotations

import time

import pytest

from corpusmill.stages.extract import extract
from corpusmill.stages.extract.blocks.complete import without_comments
from corpusmill.stages.extract.blocks.passes import analyse, tree_markup
from corpusmill.stages.extract.libraries import Format
from corpusmill.stages.extract.policy import Tier

BEFORE = (
    "<p>The keeper of the lamp wrote in his book that the wind had turned in the night, that two "
    "ships had passed the cape, and that he had cleaned the glass once more before the dawn.</p>"
)
AFTER = (
    "<p>On the next day the boat came with oil and letters, and the men who rowed it stayed for a "
    "meal of bread and herring, because the sea was too high for them to go back at once.</p>"
)
LATER = (
    "<p>In the week after, no ship came in sight, and the keeper wrote of the rain, of a loose slate "
    "on the roof of the store, and of a seal that slept each noon on the flat rock below.</p>"
)
LAST = (
    "<p>Then the frost came early, the well froze in its upper half, and he carried snow in the two "
    "buckets from the yard to the kettle, as his father had done in the year of the wreck.</p>"
)


def text_of(middle: str, form: Format = "text", *, wrap: str = "{}") -> str:
    """The text of an article with `middle` between paragraphs."""
    body = wrap.format(f"<h1>The lamp</h1>{BEFORE}{AFTER}{middle}{LATER}{LAST}")
    html = f"<!doctype html><html><head><title>The lamp</title></head><body>{body}</body></html>"
    return extract(html, tier="own", format=form).text


@pytest.mark.parametrize(
    ("middle", "expected"),
    [
        pytest.param(
            "<ul><li>oil for the lamp</li><li>rope and tar</li></ul>",
            "- oil for the lamp\n- rope and tar",
            id="list-right-below-the-body",
        ),
        pytest.param(
            "<ul><li><span>oil for the lamp</span></li><li><p>rope and tar</p></li></ul>",
            "- oil for the lamp\n- rope and tar",
            id="items-of-spans-and-paragraphs",
        ),
        pytest.param(
            "<ul><li><p>rope</p><p>and tar</p></li><li><p>oil</p></li></ul>",
            "- rope\n    and tar\n- oil",
            id="items-of-several-paragraphs",
        ),
        pytest.param(
            "<table><tr><th>Day<th>Cargo<tr><td>Monday<td><ul><li>oil<li>rope</ul></table>",
            "Day | Cargo\nMonday | oil rope",
            id="list-in-a-cell",
        ),
        pytest.param(
            "<table><tr><th colspan=9007199254740993>Cargo<tr><td>oil<td>rope</table>",
            "Cargo\noil | rope",
            id="colspan-out-of-range",
        ),
        pytest.param(
            "<pre><code>def f(x):\n    if x:\n\n        return 1\n\n\n    return 2</code></pre>",
            "def f(x):\n    if x:\n\n        return 1\n\n\n    return 2\n\n",
            id="blank-lines-in-code",
        ),
        pytest.param(
            "<pre>for x in y:<br>&nbsp;&nbsp;&nbsp;&nbsp;print(x)<br><br>print('end')</pre>",
            "for x in y:\n    print(x)\n\nprint('end')",
            id="code-by-line-breaks",
        ),
        pytest.param(
            "<table class=highlighttable><tr><td class=linenos><pre>1\n2\n3</pre><td class=code>"
            "<pre><span>def</span> f(x):\n\n    <span>return</span> 1</pre></table>",
            "\n\ndef f(x):\n\n    return 1\n\n",
            id="line-numbers-in-a-column",
        ),
        pytest.param(
            "<table class='js-file-line-container'><tr><td class=blob-num>1<td class=blob-code>"
            "def f(x):<tr><td class=blob-num>2<td class=blob-code>    return 1</table>",
            "\n\ndef f(x):\n    return 1\n\n",
            id="one-row-a-line",
        ),
        pytest.param(
            "<pre class=shiki><code><span class=line>def f(x):</span>\n"
            "<span class=line>  <span>return</span> 1</span></code></pre>",
            "\n\ndef f(x):\n  return 1\n\n",
            id="one-span-a-line",
        ),
        pytest.param(
            "<p>Verse one.</p><p>Sing it again!</p><p>Sing it again!</p><p>Verse two.</p>",
            "Sing it again!\n\nSing it again!",
            id="the-same-paragraph-twice",
        ),
        pytest.param(
            "<p>می\u200cخواهم کتاب\u200cها را بخوانم و 👩\u200d👩\u200d👧 را ببینم.</p>",
            "می\u200cخواهم کتاب\u200cها را بخوانم و 👩\u200d👩\u200d👧 را ببینم.",
            id="joiners",
        ),
        pytest.param(
            "<p dir=rtl>قال <bdi>Anna</bdi> إن <bdo dir=ltr>12</bdo> سفينة مرت.</p>",
            "قال Anna إن 12 سفينة مرت.",
            id="right-to-left",
        ),
        pytest.param(
            "<p>燈台の光は\n    <ruby>沖<rp>(</rp><rt>おき</rt><rp>)</rp></ruby>まで\n届いた。</p>",
            "燈台の光は沖まで届いた。",
            id="no-spaces-in-japanese",
        ),
        pytest.param(
            "<figure><img src=x.jpg alt=''><figcaption>The lamp in 1874, by an unknown painter of "
            "the northern coast.</figcaption></figure>",
            "The lamp in 1874, by an unknown painter of the northern coast.",
            id="figure-caption",
        ),
        pytest.param(
            "<p>The rule $a_1 * b_2$ and \\(x_i^*\\) stay.</p>",
            "The rule $a_1 * b_2$ and \\(x_i^*\\) stay.",
            id="formulas-in-the-text",
        ),
        pytest.param(
            "<svg><template><p>no</p></template></svg><p>A drawing of the lamp stood here.</p>",
            "A drawing of the lamp stood here.",
            id="template-in-a-drawing",
        ),
    ],
)
def test_kept(middle: str, expected: str) -> None:
    assert expected in text_of(middle)


def test_markdown_is_not_escaped() -> None:
    got = text_of(
        "<p>The rule $a_1 * b_2$ of <code>snake_case</code> and <b>2 * 3</b>.</p>"
        "<ul><li>one<ol><li>two_2</ol></ul>",
        "markdown",
    )
    assert "The rule $a_1 * b_2$ of `snake_case` and 2 * 3." in got
    assert "- one\n    1. two_2" in got


def test_an_article_of_divs() -> None:
    got = text_of("", wrap="<div>{}</div>").split("\n\n")
    divs = f"<h1>The lamp</h1>{BEFORE}{AFTER}{LATER}{LAST}".replace("<p>", "<div>")
    html = "<title>The lamp</title>" + divs.replace("</p>", "</div>")
    assert extract(html, tier="own").text.split("\n\n") == got


COMMENTS = (
    "<div class='comments-area'><h3>Two answers</h3><ol class=comment-list><li>I was there in 1958, "
    "and the lamp was not lit on Sundays, whatever the keeper may have written in his book.</li>"
    "<li>My grandfather rowed that boat, and he never had anything but herring there.</li></ol></div>"
)


@pytest.mark.parametrize("tier", ["own", "trafilatura", "resiliparse"])
def test_without_comments_the_text_stays(tier: Tier) -> None:
    body = f"<div><div><div><article><h1>The lamp</h1>{BEFORE}{AFTER * 3}</article>{COMMENTS}"
    html = f"<html><body class=comments-open>{body}</div></div></div></body></html>"
    kept = extract(html, tier=tier).text
    dropped = extract(html, tier=tier, comments=False).text
    assert "The keeper of the lamp wrote" in kept
    assert "The keeper of the lamp wrote" in dropped
    assert "I was there in 1958" not in dropped


def test_what_lies_in_comments_after_the_first_kept_block_is_left_out() -> None:
    page = analyse(
        tree_markup(
            "<div class=discussion><p>question</p><div class=comments><p>a</p></div><p>answer</p>"
            "<ul id=replies><li>b</ul></div>"
        )
    )
    assert without_comments(page, [0, 1, 2, 3]) == (0, 2)
    assert without_comments(page, [1, 2, 3]) == (1, 2)
    assert without_comments(page, []) == ()


@pytest.mark.slow
def test_long_pages_take_time_in_proportion() -> None:
    def seconds(html: str) -> float:
        start = time.process_time()
        assert extract(html, tier="own").words > 500
        return time.process_time() - start

    rows = "<table><tr><th>Day<th>Ships" + "<tr><td>Monday<td>12" * 1_000 + "</table>"
    blocks = "".join(f"<div>Ship {i} has passed the cape</div>" for i in range(2_000))
    for part in (rows, blocks):
        seconds(f"<p>{part}")
        assert seconds(part * 4) < 12 * seconds(part) + 0.5


def test_the_same_page_again_gives_the_same() -> None:
    first = [text_of("<ul><li>oil<li>rope</ul>") for _ in range(6)]
    assert len(set(first)) == 1
