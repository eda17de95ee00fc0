"""Values in the surroundings that they have in logs, code, tables, lists and other scripts."""

from __future__ import annotations

import pytest

from corpusmill.stages.clean.pii import find, replace
from corpusmill.stages.clean.pseudonyms import plain

CARD = "5513937574624203"
GROUPED = "5513 9375 7462 4203"
SURROUNDINGS = (
    "{}", "here.\n{}", "17,Smith,{},Berlin", "9,8,{}", "{},1,2", "17;{};open", "a\t{}\tb", "|{}|", "_{}_",
    "**{}**", '{{"val": "{}"}}', "<td>{}</td>", "«{}»", "请使用：{}，谢谢", "رقم {} هنا", "\u200b{}\u200b",
    "2024-03-12T10:11:12Z INFO user={} ok", "GET {} HTTP", "{}…", "https://site.net\n{}", "№{}",
)  # fmt: skip
VALUES = {
    "email": ["ann@brightmail.net", "山田@mail.jp", "김철수@한국.kr", "müller@例え.jp", "me@cal.so"],
    "card": [
        CARD, GROUPED, GROUPED.replace(" ", "\u2009"), GROUPED.replace(" ", "."),
        "3643-123456-7894", "36431234567894", "6759 6498 2643 8453 003", "5018 0000 0009",
    ],
    "iban": [
        "DE89370400440532013000", "DE89\u202f3704\u202f0044\u202f0532\u202f0130\u202f00",
        "NL91\u2007ABNA\u20070417\u20071643\u200700", "NL91.ABNA.0417.1643.00",
    ],
    "ssn": ["123-45-6789", "123\u201145\u20116789"],
}  # fmt: skip


@pytest.mark.parametrize("around", SURROUNDINGS)
@pytest.mark.parametrize(("type_", "values"), VALUES.items())
def test_surroundings(type_: str, values: list[str], around: str) -> None:
    for value in values:
        text = around.format(value)
        spans = find(text)
        assert [(s.type, text[s.start : s.end]) for s in spans] == [(type_, value)], text
        assert replace(text, spans) == around.format(f"<{type_.upper()}>")


@pytest.mark.parametrize(
    ("text", "cards"),
    [
        (f"{CARD} 12/25 123", [CARD]),
        (f"{GROUPED} 12/25 123", [GROUPED]),
        (f"{CARD}/12/2025", [CARD]),
        (f"{GROUPED}/12/25", [GROUPED]),
        (f"{CARD}|12|25|123", [CARD]),
        (f"12 {CARD} 9", [CARD]),
        ("card 4111 1111 1111 1111 029", ["4111 1111 1111 1111 029"]),
        (f"12 {GROUPED}", []),
        (f"on 12/03/2023 {GROUPED} was used", [GROUPED]),
        (f"at 10:15 {GROUPED}", [GROUPED]),
        (f"#1 {GROUPED}", [GROUPED]),
        (f"card 12: {GROUPED} 12", [GROUPED]),
        (f"99 {GROUPED.replace(' ', '-')} 1", [GROUPED.replace(" ", "-")]),
        (f"12-{CARD}", []),
        (f"cardNumber={CARD}, ccnum={CARD}", [CARD, CARD]),
        (f"CARD={CARD} n={CARD}", [CARD, CARD]),
        (f"https://x.io/?q={CARD}&id={CARD}", []),
        (f"/{CARD} {CARD}.jpg #{CARD} ${CARD} 3.{CARD} {CARD}/x", []),
        (f"/{GROUPED} #{GROUPED}", [GROUPED, GROUPED]),
        (f"it was 8,{CARD}", []),
        (f"it was 8,{CARD}, or", [CARD]),
        (f"{CARD} {CARD}", [CARD, CARD]),
        ("4222222222222 and 4111111111111", []),
        ("visa 4222222222222", ["4222222222222"]),
        ("5018000000009", []),
        ("4011988888881881004", ["4011988888881881004"]),
    ],
)
def test_cards_beside_signs_and_numbers(text: str, cards: list[str]) -> None:
    assert [text[s.start : s.end] for s in find(text, ("card",))] == cards


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("social_security_number: 123 45 6789", ["123 45 6789"]),
        ("SSN 123.45.6789", ["123.45.6789"]),
        ("SSN 123/45/6789", ["123/45/6789"]),
        ("my social is 123456789", ["123456789"]),
        ("123.45.6789 and 123/45/6789", []),
        ("200 123-45-6789 512", ["123-45-6789"]),
        ("+7 123-45-6789", []),
        ("SSN 1,123 45 6789", []),
        ("SSN 123456789,5", []),
        ("file_123-45-6789_x", []),
    ],
)
def test_social_security_numbers(text: str, found: list[str]) -> None:
    assert [text[s.start : s.end] for s in find(text, ("ssn",))] == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("IBANDE89370400440532013000", ["DE89370400440532013000"]),
        ("XBANDE89370400440532013000", []),
        ("file_DE89370400440532013000_x", ["DE89370400440532013000"]),
        ("DE89370400440532013000.5", ["DE89370400440532013000"]),
    ],
)
def test_account_numbers(text: str, found: list[str]) -> None:
    assert [text[s.start : s.end] for s in find(text, ("iban",))] == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("john#doe@tiny.io", ["doe@tiny.io"]),
        ("see https://tiny.io\nann@tiny.io", ["ann@tiny.io"]),
        ("https://tiny.io/x/\nann@tiny.io/y", ["ann@tiny.io"]),
        ("a@b.c和d", []),
        ("x@-a.com x@.公司", []),
    ],
)
def test_addresses(text: str, found: list[str]) -> None:
    assert [text[s.start : s.end] for s in find(text, ("email",))] == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("anna@web[.]de", ["anna@web[.]de"]),
        ("anna@web(dot)de", ["anna@web(dot)de"]),
        ("anna at web [dot] de", ["anna at web [dot] de"]),
        ("anna (ät) web.de", ["anna (ät) web.de"]),
        ("anna[kropka]berg[małpa]web.pl", ["anna[kropka]berg[małpa]web.pl"]),
        ("?mail=anna%40web.de", ["anna%40web.de"]),
        ("anna&#64;web.de", ["anna&#64;web.de"]),
        ("anna 【at】 web.de", ["anna 【at】 web.de"]),
        ("look (at) it, 20%40 or so", []),
    ],
)
def test_addresses_in_words(text: str, found: list[str]) -> None:
    assert [text[s.start : s.end] for s in find(text, ("email",), spelled=True)] == found
    assert find(text, ("email",)) == []


def test_one_address_in_words_or_not_has_one_plain_form() -> None:
    forms = ("anna@web.de", "Anna (ät) web.de", "anna%40web[punkt]de", "anna at web dot de")
    assert {plain("email", form) for form in forms} == {"anna@web.de"}


@pytest.mark.parametrize(
    "number",
    [
        "M: 07700 900123", "T: 01632 960983", "Ph: 02 9374 4000", "Ph. (02) 9374 4000",
        "Mob.: 0171 1234567", "Fon: 0711 123456", "फ़ोन: 011-23456789", "मोबाइल 98765 43210",
        "โทร 02-123-4567", "điện thoại: 024 3825 3108", "telepon 021-3456789", "HP: 0812-3456-7890",
        "my number is 201-555-0123", "+49.30.901820", "cep: 0532 123 45 67",
        "mob no 9876543210",
    ],
)  # fmt: skip
def test_labels_of_telephone_numbers(number: str) -> None:
    assert [s.type for s in find(f"so\n{number}\n")] == ["phone"]


@pytest.mark.parametrize(
    "text",
    [
        "t: 20240102",
        "ratio m: 1234567 to f: 123456789",
        "alpha: 07700 900123",
        "number is 2015550123",
    ],
)
def test_what_is_no_label(text: str) -> None:
    assert find(text) == []


@pytest.mark.parametrize(
    "text",
    [
        '5.9.1.2 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0"',
        "5.9.1.2 - frank [10/Oct/2000:13:55:36 -0700]",
        "Received: from mail (mail.tiny.org [5.9.1.2])",
        "X-Forwarded-For: 5.9.1.2",
        "SRC=5.9.1.2 LEN=40",
        "::ffff:5.9.1.2",
        "5.9.1.2 was banned",
        "blocked 5.9.1.2",
    ],
)
def test_addresses_of_small_numbers_in_logs(text: str) -> None:
    assert [text[s.start : s.end] for s in find(text)] == ["5.9.1.2"]


@pytest.mark.parametrize(
    "text",
    [
        "## [5.9.1.2] - 2020-01-01", "5.9.1.2 - new features", "the source code (see 1.3.2.3)",
        "pkg 5.9.1.2 [main]", "range 5.9.1.2 -- 5.9.1.9",
        "your.name@example.com and first.last@example.org",
    ],
)  # fmt: skip
def test_versions_and_placeholders_stay(text: str) -> None:
    assert find(text) == []
