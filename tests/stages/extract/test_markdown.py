"""Markdown from resiliparse's minimal HTML."""

from __future__ import annotations

from corpusmill.stages.extract.markdown import from_minimal_html, unescape_formulas


def test_headings_paragraphs_and_breaks() -> None:
    html = "<h2>A &lt;b&gt;</h2>\n\n<p>one\ntwo<br>\nthree</p>"
    assert from_minimal_html(html) == "## A <b>\n\none two\nthree"


def test_lists_nest_and_number() -> None:
    html = "<ol>\n<li>one\n<ul><li>a</li><li>b</li></ul></li>\n<li>two</li></ol>"
    assert from_minimal_html(html) == "1. one\n    - a\n    - b\n2. two"


def test_code_is_fenced_and_exact() -> None:
    html = "<pre>a\n\n   b &lt; c\n</pre>"
    assert from_minimal_html(html) == "```\na\n\n   b < c\n```"
    assert from_minimal_html("<pre>x ``` y</pre>") == "````\nx ``` y\n````"


def test_rows_of_a_table_stay_lines() -> None:
    assert from_minimal_html("a\t\tb\n1\t\t2\n\n<p>x</p>") == "a\t\tb\n1\t\t2\n\nx"


def test_lists_nested_beyond_reason() -> None:
    html = "<ul><li>x" * 900 + "</li></ul>" * 900
    assert from_minimal_html(html).startswith("- x\n    - x")
    assert from_minimal_html("") == ""


def test_only_formulas_are_unescaped() -> None:
    assert unescape_formulas(r"a\_b $c\_d \* e$ \*") == r"a\_b $c_d * e$ \*"
    assert unescape_formulas(r"$x \< y\[i\]$ and $a\\\_b$") == r"$x < y[i]$ and $a\_b$"
