"""Formulas become TeX, code becomes plain <pre>."""

from __future__ import annotations

from pathlib import Path

import pytest

from corpusmill.stages.extract.libraries import ResiliparsePage, trafilatura_text
from corpusmill.stages.extract.rewrite import rewrite

FORMULAS = (Path(__file__).parents[2] / "data" / "html" / "formulas.html").read_text("utf-8")
EXPECTED = [
    "Script: $a_1 < b_2$ holds.",
    r"$$\sum_{i=1}^n i$$",
    r"KaTeX: $\frac{a}{b}$ is a fraction.",
    r"Alttext: $\sqrt{c}$ is a root.",
    "Wiki: $E=mc^{2}$ is known.",
    r"Bare: $\frac{x}{y^{2}}\le \sqrt{\alpha}$ has no source.",
    "Image: $p^2+q^2$ from a service.",
    "Plain: $k_1 * k_2$ was written as it is.",
]


@pytest.mark.parametrize("expected", EXPECTED)
def test_formulas_come_out_of_both_libraries(expected: str) -> None:
    html = rewrite(FORMULAS)
    assert expected in ResiliparsePage(html).text(main=True)
    assert expected in trafilatura_text(html)
    assert expected in trafilatura_text(html, form="markdown")
    assert "preview" not in html


def body(html: str) -> str:
    return rewrite(html).partition("<body>")[2].partition("</body>")[0]


def test_a_page_without_formulas_and_code_is_the_same_object() -> None:
    html = "<p>nothing <code>to</code> do</p>"
    assert rewrite(html) is html


def test_a_pre_that_needs_nothing_is_left_alone() -> None:
    html = "<p>x<pre>a\n  b</pre>"
    assert rewrite(html) is html


def test_breaks_in_code_become_lines() -> None:
    assert body("<pre>a<br>  b<br/><br>c</pre>") == "<pre>a\n  b\n\nc</pre>"


def test_breaks_outside_code_stay() -> None:
    assert body("<p>a<br>b</p><pre>c<br>d</pre>") == "<p>a<br>b</p><pre>c\nd</pre>"


@pytest.mark.parametrize(
    "html",
    [
        "<table class=highlighttable><tr><td class=linenos><pre>1\n2</pre></td>"
        "<td><pre>def f():\n    <b>return</b> 1</pre></td></tr></table>",
        "<table><tr><td class='blob-num'></td><td class='blob-code'>def f():</td></tr>"
        "<tr><td class='blob-num'></td><td class='blob-code'>    <i>return</i> 1</td></tr></table>",
        "<pre><span class=lineno>1</span>def f():\n<span class=lineno>2</span>    return 1</pre>",
    ],
)
def test_line_numbers_go_and_lines_stay(html: str) -> None:
    assert body(html).replace("<i>", "").replace("</i>", "") == "<pre>def f():\n    return 1</pre>"


def test_a_block_a_line() -> None:
    text = ResiliparsePage(rewrite("<pre><code><div>a</div><div>  b</div></code></pre>"))
    assert text.text(main=False).splitlines() == ["a", "  b"]


def test_a_table_of_data_stays_a_table() -> None:
    html = "<table><tr><th>n<th>code<tr><td>1<td><code>x</code></table><pre>a<br>b</pre>"
    assert "<table>" in body(html)


def test_a_number_that_is_no_line_number_stays() -> None:
    assert "item 1" in body("<pre><span class=lineno>item 1</span>x<br></pre>")


def test_nested_matches_do_no_harm() -> None:
    katex = (
        "<span class=katex>{}<math><annotation encoding='application/x-tex'>y"
        "</annotation></math></span>"
    )
    nested = katex.format(katex.format(katex.format("")))
    assert body(nested).count("$") == 2
    assert rewrite("<pre>" * 50 + "a<br>b" + "<table><tr><td>1<td><pre>c</pre></table>" * 50)


def test_a_deep_formula_is_written_without_recursion_errors() -> None:
    deep = "<math>" + "<mrow>" * 900 + "<mi>x</mi>" + "</mrow>" * 900 + "</math>"
    assert body(deep) == "$x$"
