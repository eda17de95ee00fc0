"""What is removed, and what is carried through trafilatura."""

from __future__ import annotations

import pytest

from corpusmill.stages.extract.libraries import trafilatura_text
from corpusmill.stages.extract.sanitise import Shield, clean_encoded, clean_markup

FILLER = "<p>" + "The keeper wrote down the weather of every single day in notebooks. " * 4 + "</p>"


def article(inner: str) -> str:
    return f"<html><body><article>{FILLER}{inner}{FILLER}</article></body></html>"


def test_nul_and_lone_surrogates_go() -> None:
    assert clean_markup("a\0b\ud800c\udfffd😀") == "abcd😀"
    assert clean_encoded("ä\0\ud800b") == ("äb", "äb".encode())
    known = "ä\0b".encode()
    assert clean_encoded("ä\0b", known) == ("äb", "äb".encode())
    assert clean_encoded("äb", known := "äb".encode())[1] is known
    clean = "unchanged ä 😀"
    assert clean_markup(clean) is clean


@pytest.mark.parametrize("code", ["all", "blank"])
def test_restore_undoes_the_shield(code: str) -> None:
    html = "<p>می‌خواهم 👩‍👧 \U0001fae8</p><pre class=x>a\n\n  b\t<b> c</b>\n</pre> d\n e"
    shield = Shield(html, code="all" if code == "all" else "blank")
    assert shield.html != html
    assert shield.restore(shield.html) == html


def test_a_plain_page_is_left_alone() -> None:
    html = "<p>plain é</p>"
    assert Shield(html, code="all").html is html


def test_stand_ins_are_never_characters_of_the_page() -> None:
    html = "<p>\U00010600\U00010601 a\u200cb</p>"
    shield = Shield(html, code="all")
    assert shield.restore(shield.html) == html


def test_joiners_and_new_characters_survive_trafilatura() -> None:
    text = trafilatura_text(
        article("<p>می‌خواهم &zwnj;x &#x1fae8; 👩&#8205;👧 and some more words.</p>")
    )
    for expected in ("می‌خواهم", "\u200cx", "\U0001fae8", "👩\u200d👧"):
        assert expected in text


def test_code_keeps_its_lines_and_indentation() -> None:
    code = 'def f(x):\n\n    if x:\n\n\n\treturn "a  b"'
    page = article(f"<pre><code>{code}</code></pre>")
    assert code in trafilatura_text(page)
    assert f"```\n{code}\n```" in trafilatura_text(page, form="markdown")


def test_numeric_references_below_256_stay_markup() -> None:
    shield = Shield("<p>&#60;b&#62; &#x263A;</p>", code="all")
    assert shield.html == "<p>&#60;b&#62; ☺</p>"
