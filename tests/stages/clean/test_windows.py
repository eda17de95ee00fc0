"""A detector that looks at the windows finds what it finds when it looks everywhere."""

from __future__ import annotations

import os
from pathlib import Path
from re import _parser  # type: ignore[attr-defined]
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.stages.clean import addresses, digits, national, pii
from corpusmill.stages.clean.spans import SCANNED, Span, as_ascii, ascii_lower, blank
from corpusmill.stages.clean.windows import Windows, rescan, scan, scan_all, whole

SOUP = st.text(
    alphabet="0123456789  --..//()+,:;#xabcdefAZ_@\n\u00a0\u2009\u2011\u4e00é", max_size=80
)


def rows(text: str, type_: str) -> list[str]:
    return [text[low:high] for low, high in scan(text).of(type_)]


def test_what_one_pass_finds() -> None:
    text = (
        "call 415-555-0166 x12, 2a00::1:2 at 12:30, std::b, DE89 3704 0044 0532 0130 00, 8.8.8.88"
    )
    assert rows(text, "phone") == ["415-555-0166", "89 3704 0044 0532 0130 00"]
    assert [text[a:b] for a, b in scan(text).hexes()] == ["2a00::1:2"]
    assert rows(text, "iban") == ["DE89"]
    assert rows(text, "ip") == []
    assert rows(text + " is the host", "ip") == ["8.8.8.88"]
    assert {t for t in SCANNED if scan(text).may(t)} == {"phone", "ip", "iban"}
    assert scan("") == Windows(0, ())


@pytest.mark.parametrize(
    ("type_", "has", "has_not"),
    [
        ("email", "a@b.c", "a@b"),
        ("email", "é@ü.ö", "@media print.x"),
        ("ip", "8.8.88.88", "8.8.88.256"),
        ("ip", "8.8.88.88", "1.8.8.88.88"),
        ("ip", "8.8.88.88", "10.8.88.88"),
        ("ip", "8.8.88.88", "8.88.88.0"),
        ("ip", "myip: 8.8.8.8", "snippet: 8.8.8.8"),
        ("ip", "8.8.8.8 ips", "8.8.8.8 ipso"),
        ("ip", "http://8.8.8.8", "http:/8.8.8.8"),
        ("ip", "8.8.8.8:53", "8.8.8.8: 53"),
        ("ip", "ann@8.8.8.8", "ann 8.8.8.8"),
        ("ip", "VirtualHost 8.8.8.8", "VirtualHoot 8.8.8.8"),
        ("ip", "2a00::1:2", "fe80::1:2"),
        ("ip", "fe80:1:2:3:4:5:6:7", "fe80:1:2:3:4:5:6"),
        ("iban", "DE89370400440532013000", "DE88370400440532013000"),
        ("iban", "DE89 3704 0044 0532 0130 00", "DE89  3704 0044 0532 0130 00"),
        ("card", "4111 1111 1111 1111", "4111 1111 1111 1112"),
        ("card", "99 4111-1111-1111-1111", "99 4111..1111-1111-1111"),
        ("ssn", "123-45-6789", "123-45 6789"),
        ("ssn", "ssn is 123456789", "san is 123456789"),
        ("phone", "tel 555 0166", "no 555 0166"),
        ("phone", "tel 555 0166", "tell 555 0166"),
        ("phone", "555 0166 (desk)", "555 0166 (design)"),
        ("phone", "+49 30 1234", "49 30 1234"),
        ("phone", "Тел. 555 0166", "Нет. 555 0166"),
        ("phone", "(415) 555-0166", "415 555-0166"),
        ("national_id", "PESEL 44051401359", "PE 44051401359"),
        ("national_id", "RSSMRA85T10A562S", "RSSMRA85T10A562S1"),
        ("secret", "AKIA" + "Q" * 16, "AKIA" + "Q" * 15),
        ("secret", "-----BEGIN", "---- BEGIN"),
        ("wallet", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfN0"),
        ("mac", "3c:22:fb:8a:10:7e", "3c:22:fb:8a:10:7g"),
        ("mac", "3c22.fb8a.107e", "3c22.fb8a.107"),
    ],
)
def test_the_pass_lets_through_what_can_be(type_: str, has: str, has_not: str) -> None:
    assert scan(f"so {has}, yes").may(type_)
    assert not scan(f"so {has_not}, yes").may(type_)


def test_places_are_in_characters() -> None:
    text = "漢字é 415\u2009555\u20110166 tel a@b.cd"
    assert rows(text, "email") == ["@"]
    assert rows("tel " + text, "phone") == ["415\u2009555\u20110166"]


WORDS_OF_THEIR_OWN = st.sampled_from(
    "tel Phone FAX móvil TÉL Τηλ тел Факс 電話 전화 call office mobile ssn SS# tax PESEL bsn dni id "
    "codice n°ss r.č. rodné आधार t.c. GH hf_ sk- AKIA key- eyJ bc1q 0x gh".split()
)
LINES = """call\n12\n\n\n\n\n\n\n555 0166 77, 555 0167 78
555 0168 79\n\n\n\n\n\n\n\nmobile DE89 3704 0044 0532 0130 00
9.4111 1111 1111 1111-77 a1.2.1.88.88 x2a00::1:2 3c:22:fb:8a:10:7e ann.lee@tiny.host-é.org
漢字 AKIAQQQQQQQQQQQQQQQQ+49 30 1234 x 12 gh sk-proj-0000000000000000000000000000000000000000
1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa 0xAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA RSSMRA85T10A562S"""


def test_looking_again_around_what_was_blanked_is_looking_at_all() -> None:
    apart = "\n" + "and so it was, " * 60 + "\n"
    text = apart.join([LINES, "tel 555 0169", LINES])
    size, windows = len(LINES), scan(text)
    assert len(windows.rows) == 41
    for at in range(0, size - 3, 2):
        spans = [Span(at, at + 3, "phone"), Span(len(text) - size + at, len(text), "card")]
        for changed in (spans[:1], spans):
            work = blank(text, changed)
            assert rescan(windows, work, changed) == scan(work), at


def test_a_number_of_a_list_needs_one_before_it() -> None:
    text = "tel 555 0166 123, x 555 0167 123"
    assert [(text[a:b], alone) for a, b, alone in scan(text).phones()] == [
        ("555 0166 123", False), ("555 0167 123", True),
    ]  # fmt: skip


def test_texts_of_a_batch_are_apart() -> None:
    texts = ["tel 415", "-555-0166 a@", "b.cd", "", "ssn", " 123456789"]
    assert [w.mask for w in scan_all(texts)] == [0] * 6
    assert scan_all(["x", "tel 555 01 66", "y@z.io"]) == [
        scan("x"), scan("tel 555 01 66"), scan("y@z.io"),
    ]  # fmt: skip


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.lists(st.one_of(WORDS_OF_THEIR_OWN, SOUP.map(lambda s: s[:14])), max_size=10))
def test_windows_hide_nothing_beside_words(pieces: list[str]) -> None:
    check(" ".join(pieces))


def spellings(pattern: str) -> set[str]:
    """What an expression of words matches: each alternative, with and without what is optional."""
    return {form for form in spelled(_parser.parse(pattern)) if form.strip()}


def spelled(parts: Any) -> list[str]:
    forms = [""]
    for kind, what in parts:
        forms = [form + end for form in forms for end in ends(str(kind), what)]
    return forms


def ends(kind: str, what: Any) -> list[str]:
    match kind:
        case "NOT_LITERAL":
            return ["a"]
        case "LITERAL":
            return [chr(what)]
        case "IN" if str(what[0][0]) == "LITERAL":
            return [chr(code) for op, code in what if str(op) == "LITERAL"]
        case "IN":
            return [" " if str(what[0][0]) == "NEGATE" else "a"]
        case "BRANCH":
            return [form for branch in what[1] for form in spelled(branch)]
        case "SUBPATTERN":
            return spelled(what[3])
        case "MAX_REPEAT":
            least, most, inner = what
            once = spelled(inner)
            return once if least == 1 else ["", *once] if most == 1 else [""]
        case _:
            assert kind in ("AT", "ASSERT", "ASSERT_NOT")
            return [""]


NATIONAL = {word for k in national.KINDS if not k.alone for word in spellings(k.words)}
CALLED = {
    word
    for p in (digits._STRONG, digits._LABEL, digits._LETTER, digits._VERB)
    for word in spellings(p.pattern)
}


@pytest.mark.parametrize(
    ("type_", "words", "text"),
    [
        ("national_id", NATIONAL, "x {} 12345678 y"),
        ("national_id", NATIONAL, "x 12345678 {} y"),
        ("ssn", spellings(digits._SSN_WORDS.pattern), "x {} 123456789 y"),
        ("ssn", spellings(digits._SSN_WORDS.pattern), "x 123456789 {} y"),
        ("phone", CALLED, "x {} 555 0166 y"),
        ("phone", spellings(digits._LABEL_AFTER.pattern), "x 555 0166 {} y"),
        ("ip", spellings(addresses._NETWORK_BEFORE.pattern), "x {} 8.8.8.8 y"),
        ("ip", spellings(addresses._NETWORK_AFTER.pattern), "x 8.8.8.8 {}"),
    ],
)
def test_every_word_that_makes_a_number_opens_a_window(
    type_: str, words: set[str], text: str
) -> None:
    assert len(words) > 5
    assert not scan(text.format("a word")).may(type_)
    cased = words | {word.upper() for word in words if ascii_lower(word.upper()) == word}
    closed = [word for word in sorted(cased) if not scan(text.format(word)).may(type_)]
    assert closed == []


@settings(derandomize=True, deadline=None, max_examples=600)
@given(SOUP)
def test_windows_hide_nothing_in_a_soup_of_digits(text: str) -> None:
    check(text)


@pytest.mark.slow
@pytest.mark.fulldata
@pytest.mark.skipif("CORPUSMILL_DATA" not in os.environ, reason="CORPUSMILL_DATA is not set")
def test_windows_hide_nothing_in_real_text() -> None:
    from bench import texts

    rows = texts.rows(Path(os.environ["CORPUSMILL_DATA"]) / "html_gold" / "doc_containers.jsonl.gz")
    count = 0
    for row in rows:
        check(row["text"][:3000])
        count += 1
    assert count > 1000


def test_a_number_behind_a_window_is_not_cut_at_its_margin() -> None:
    text = "tel 555-0166, +49 (0) 30 - 1234 - 5678 90"
    assert [text[s.start : s.end] for s in pii.find(text)] == ["555-0166", text[14:]]
    check(text)


def check(text: str) -> None:
    work = as_ascii(text)
    windows, everywhere = scan(work), whole(work)
    for type_ in SCANNED:
        found = list(pii._detect(type_, work, everywhere, "tag"))
        assert windows.may(type_) or not found, type_
        if windows.may(type_):
            assert list(pii._detect(type_, work, windows, "tag")) == found, type_
