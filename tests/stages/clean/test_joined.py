"""Numbers that are joined to a word, and addresses with something joined to them."""

from __future__ import annotations

import pytest

from corpusmill.stages.clean.pii import find

CARD = "5513937574624203"
SHORT = "4222222222222"
IBAN = "DE89370400440532013000"


def found(text: str, type_: str) -> list[str]:
    return [text[s.start : s.end] for s in find(text, (type_,))]


@pytest.mark.parametrize(
    "word",
    [
        "VISA", "visa", "Visa_", "MasterCard", "AMEX", "card", "Card_", "my_card_", "creditcard", "credit_card_",
        "cardnumber", "cardNumber_", "card_no_", "cc", "cc_", "ccnum", "PAN", "pan_", "Kartennummer", "tarjeta",
    ],
)  # fmt: skip
def test_a_card_joined_to_a_word_for_it(word: str) -> None:
    assert found(f"so {word}{CARD} it", "card") == [CARD]
    assert found(f"{word}{SHORT}", "card") == [SHORT]
    assert found(f"{word}{CARD}_used.txt", "card") == [CARD]
    assert found(f"{word}5513 9375 7462 4203", "card") == ["5513 9375 7462 4203"]
    assert found(f"{word}5513937574624204", "card") == []


@pytest.mark.parametrize(
    "text",
    [
        f"order{CARD} r{CARD} L_{CARD} post_body_{CARD} menuFor{CARD}",
        f"discard{CARD} postcard_{CARD} japan{CARD} vacc{CARD}",
        f"VISA{CARD}x card{CARD}5 {CARD}VISA",
        f"0cc{CARD} 9aec84dc6e15db64d142c39{CARD}165d5f69",
        f"B{CARD} B{SHORT}^ %B{CARD} {SHORT}=1",
        f"hb-subset-fuzzer-{CARD} ca-pub-{CARD} nav_-{CARD}",
    ],
)
def test_a_number_joined_to_any_other_word_is_no_card(text: str) -> None:
    assert found(text, "card") == []


@pytest.mark.parametrize("number", [CARD, SHORT, "6759649826438453003"])
@pytest.mark.parametrize(
    "text",
    [
        "%B{}^DOE/JOHN^2512101000000?",
        "B{}^DOE/JOHN Q          ^2512101",
        ";{}=25121010000012300?",
        "track2={}=2512101",
        "%B{0}^DOE/JOHN^2512101?;{0}=2512101?",
    ],
)
def test_magnetic_stripes(text: str, number: str) -> None:
    assert set(found(text.format(number), "card")) == {number}
    assert number not in "".join(found(text.format(number[:-1] + "9"), "card"))


@pytest.mark.parametrize(
    ("text", "cards"),
    [
        ("x12 4111 1111 1111 1111", ["4111 1111 1111 1111"]),
        ("x4111 1111 1111 1111", []),
        ("visa-4111111111111111", ["4111111111111111"]),
        (
            "@@ -1 +1 @@\n-4222222222222220\n+4111111111111111",
            ["4222222222222220", "4111111111111111"],
        ),
        ("x+4111111111111111 1 +4111111111111111", []),
        ("2024-03-12 4111 1111 1111 1111 paid", ["4111 1111 1111 1111"]),
        ("4111 1111 1111 1111 2024-03-12", ["4111 1111 1111 1111"]),
        ("4111 1111 1111 1111 2024-33-12", []),
    ],
)
def test_groups_beside_words_and_days(text: str, cards: list[str]) -> None:
    assert found(text, "card") == cards


@pytest.mark.parametrize(
    "text",
    [
        "IBAN{}", "iban{}", "IBAN_{}_", "my_iban_{}", "IBAN_{}_x", "stmt_{}.csv", "{}_x.pdf",
        "IBAN: {}BIC: COBADEFFXXX", "{}SWIFT COBADEFFXXX",
    ],
)  # fmt: skip
@pytest.mark.parametrize("iban", [IBAN, "DE89 3704 0044 0532 0130 00"])
def test_an_iban_joined_to_words(text: str, iban: str) -> None:
    assert found(text.format(iban), "iban") == [iban]


@pytest.mark.parametrize(
    "text", ["x{}", "\\x{}", "3C{}", "u003c{}", "{}x", "{}Bic", "{}5", "abcIBA{}"]
)
def test_what_is_no_iban_in_a_word(text: str) -> None:
    assert found(text.format(IBAN), "iban") == []


@pytest.mark.parametrize(
    ("text", "ssns"),
    [
        ("SSN123-45-6789", ["123-45-6789"]),
        ("ssn_123-45-6789", ["123-45-6789"]),
        ("user_ssn_no_123-45-6789_x", ["123-45-6789"]),
        ("social_security_number_123-45-6789", ["123-45-6789"]),
        ("SSN123456789", ["123456789"]),
        ("SSN: 123-45-6789DOB: 1980", ["123-45-6789"]),
        ("Ann Lee/123-45-6789/1980-05-01", ["123-45-6789"]),
        ("case 123-45-6789", ["123-45-6789"]),
        ("in this case, 123-45-6789", ["123-45-6789"]),
        ("case number 123-45-6789, docket 123-45-6789", ["123-45-6789"] * 2),
        ("ssnum_123-45-6789, userSsn123-45-6789, userSSN_123-45-6789", ["123-45-6789"] * 3),
        ("order 123-45-6789, part no. 123-45-6789", []),
        ("dpci: 070-01-0141", []),
        ("lesson123-45-6789 x_123-45-6789 ssnx123-45-6789 ISSN123-45-6789", []),
        ("123-45-6789x 123-45-6789_x SSN 123456789x", []),
        ("300-14-1024x623.png", []),
        ("Ann/123-45-6789/5", []),
        ("SSN1234567890", []),
    ],
)
def test_social_security_numbers_joined_to_words(text: str, ssns: list[str]) -> None:
    assert found(text, "ssn") == ssns


@pytest.mark.parametrize(
    "text",
    [
        "{}:x", "Mail {}: she answers", "{}:secret", "1:{}:5f4dcc3b5aa765d61d8327deb882cf99",
        "{}:P4ss_w0rd!", "{}:123456", "{}：她说", "{}:https://tiny.io", "scp is a tool.\n{}:x",
    ],
)  # fmt: skip
def test_an_address_with_a_password_or_a_remark(text: str) -> None:
    assert found(text.format("ann@tiny.io"), "email") == ["ann@tiny.io"]


@pytest.mark.parametrize(
    "text",
    [
        "scp foo ann@tiny.io:foo", "rsync -a ann@tiny.io:backup .", "$ git push ann@tiny.io:x", "repo: ann@tiny.io:x",
        "ann@tiny.io:/srv", "ann@tiny.io:~/x", "ann@tiny.io:src/x", "ann@tiny.io:x.git", "ann@tiny.io:.",
        "git@tiny.io:x", "root@tiny.io:x", "username@tiny.io:x", "my-user@tiny.io:x", "ann@tiny.io:22",
        "user:pass@tiny.io:8080", "lsof -iTCP@tiny.io:ftp-data",
    ],
)  # fmt: skip
def test_a_place_on_a_host(text: str) -> None:
    assert found(text, "email") == []


@pytest.mark.parametrize(
    "text", ["ann.lee@tiny.io:22", "admin@gmail.com:x", "ann@gmail.com:1234", "ann@gmx.de:a/b"]
)
def test_what_no_host_has(text: str) -> None:
    assert len(found(text, "email")) == 1


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ('write to "ann lee"@tiny.io', ['"ann lee"@tiny.io']),
        ('<"ann.o\'neil"@tiny.io>', ['"ann.o\'neil"@tiny.io']),
        ('{"type":"@builder.io/sdk"}', []),
        ('data["a"]["@odata.id"], "b", "@odata.id"', []),
        ('name="site" content="@tiny.org" x"@tiny.org', []),
        ('"ann\nlee"@tiny.io a"ann"@tiny.io', []),
    ],
)
def test_local_parts_in_quotation_marks(text: str, addresses: list[str]) -> None:
    assert found(text, "email") == addresses


@pytest.mark.parametrize("sign", ["\\n", "\\t", "\\r\\n", "\\u003c", "\\x3e", "%3C", "x%3D"])
@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("card", CARD), ("card", "5513 9375 7462 4203"), ("ssn", "123-45-6789"),
        ("email", "nora@tiny.io"), ("email", "u003@tiny.io"),
    ],
)  # fmt: skip
def test_behind_an_escaped_sign(sign: str, type_: str, value: str) -> None:
    assert found(f"{sign}{value}\\n{sign}", type_) == [value]


@pytest.mark.parametrize("sign", ["\\n", "\\t", "\\r\\n", "\\u003c", "\\u0022", "%3C", "%20"])
def test_an_iban_behind_an_escaped_sign(sign: str) -> None:
    assert found(f"{sign}{IBAN}{sign}", "iban") == [IBAN]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("?to=x%20nora@tiny.io", "nora@tiny.io"),
        ("%22nora@tiny.io%22", "nora@tiny.io"),
        ("50%off@tiny.io", "50%off@tiny.io"),
        ("\\n@tiny.io", "n@tiny.io"),
        ("a%20@tiny.io", "a%20@tiny.io"),
    ],
)
def test_escaped_signs_are_no_part_of_an_address(text: str, address: str) -> None:
    assert found(text, "email") == [address]
