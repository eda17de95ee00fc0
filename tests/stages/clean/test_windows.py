"""A detector that looks at the windows finds what it finds when it looks everywhere."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.stages.clean import national, pii
from corpusmill.stages.clean.spans import TYPES, as_ascii
from corpusmill.stages.clean.windows import Windows, scan, scan_all, whole

SOUP = st.text(
    alphabet="0123456789  --..//()+,:;#xabcdefAZ_@\n\u00a0\u2009\u2011\u4e00é", max_size=80
)


def rows(text: str, type_: str) -> list[str]:
    return [text[low:high] for low, high in scan(text).of(type_)]


def test_what_one_pass_finds() -> None:
    text = "call 415-555-0166 x12, 2a00::1:2 at 12:30, std::b, DE89 3704 0044 0532 0130 00, 8.8.8.8"
    assert rows(text, "phone") == ["415-555-0166", "89 3704 0044 0532 0130 00"]
    assert [text[a:b] for a, b in scan(text).hexes()] == ["2a00::1:2"]
    assert rows(text, "iban") == ["DE89"]
    assert rows(text, "ip") == ["8.8.8.8"]
    assert {t for t in TYPES if scan(text).may(t)} == {"phone", "ip", "iban"}
    assert scan("") == Windows(0, ())


@pytest.mark.parametrize(
    ("type_", "has", "has_not"),
    [
        ("email", "a@b.c", "a@b"),
        ("email", "é@ü.ö", "@media print.x"),
        ("ip", "8.8.8.8", "8.8.8.256"),
        ("ip", "8.8.8.8", "1.8.8.8.8"),
        ("ip", "8.8.8.8", "10.8.8.8"),
        ("ip", "2a00::1:2", "fe80::1:2"),
        ("ip", "fe80:1:2:3:4:5:6:7", "fe80:1:2:3:4:5:6"),
        ("iban", "DE89370400440532013000", "DE88370400440532013000"),
        ("iban", "DE89 3704 0044 0532 0130 00", "DE89  3704 0044 0532 0130 00"),
        ("card", "4111 1111 1111 1111", "4111 1111 1111 1112"),
        ("card", "99 4111-1111-1111-1111", "99 4111.1111-1111-1111"),
        ("ssn", "123-45-6789", "123-45 6789"),
        ("ssn", "ssn is 123456789", "san is 123456789"),
        ("phone", "tel 555 0166", "no 555 0166"),
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


WORDS_OF_THEIR_OWN = st.sampled_from(
    "tel Phone FAX móvil TÉL Τηλ тел Факс 電話 전화 call office mobile ssn SS# tax PESEL bsn dni id "
    "codice n°ss r.č. rodné आधार t.c. GH hf_ sk- AKIA key- eyJ bc1q 0x gh".split()
)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.lists(st.one_of(WORDS_OF_THEIR_OWN, SOUP.map(lambda s: s[:14])), max_size=10))
def test_windows_hide_nothing_beside_words(pieces: list[str]) -> None:
    check(" ".join(pieces))


def alternatives() -> list[tuple[str, str]]:
    """(how it begins, a number that needs such a word) for the words of national numbers."""
    found = []
    for kind in national.KINDS:
        if not kind.alone:
            for part in re.sub(r"\([^()]*(?:\([^()]*\)[^()]*)*\)\??", "", kind.words).split("|"):
                found.append(re.sub(r"\\.\??|\? ", lambda m: "." if "." in m[0] else " ", part))
    return [(part.replace("?", ""), "12345678") for part in found if part]


@pytest.mark.parametrize(("word", "number"), alternatives())
def test_every_word_of_a_national_number_opens_a_window(word: str, number: str) -> None:
    for spelled in (word, word.upper()):
        if "č" in spelled.lower() and spelled != word:
            continue  # the detector does not know that letter in upper case
        assert scan(f"x {spelled} {number} y").may("national_id"), spelled


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
    for type_ in TYPES:
        found = list(pii._detect(type_, work, everywhere, "tag"))
        assert windows.may(type_) or not found, type_
        if windows.may(type_):
            assert list(pii._detect(type_, work, windows, "tag")) == found, type_
