"""Cards, IBANs, social security and telephone numbers, case by case."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from corpusmill.stages.clean.cards import cards, known_issuer, luhn
from corpusmill.stages.clean.digits import (
    ibans,
    mod97,
    phones,
    ssns,
)
from corpusmill.stages.clean.spans import Span
from corpusmill.stages.clean.tables import IBAN_FORMATS, IBAN_LENGTHS
from corpusmill.stages.clean.windows import Windows, scan, whole

Detector = Callable[[str, Windows], Iterator[Span]]


def found(detector: Detector, text: str) -> list[str]:
    return [text[s.start : s.end] for s in detector(text, scan(text))]


# Test numbers that the card schemes publish.
@pytest.mark.parametrize(
    "number",
    [
        "4111111111111111", "4012888888881881", "4222222222222", "5555555555554444",
        "5105105105105100", "2223003122003222", "378282246310005", "371449635398431",
        "30569309025904", "38520000023237", "6011111111111117", "3530111333300000",
        "6200000000000005", "6304000000000000",
    ],
)  # fmt: skip
def test_published_test_cards(number: str) -> None:
    assert luhn(number)
    assert known_issuer(number)
    assert not luhn(number[:-1] + str((int(number[-1]) + 1) % 10))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4012 8888 8888 1881", ["4012 8888 8888 1881"]),
        ("paid with 3782-822463-10005.", ["3782-822463-10005"]),
        ("4222222222222", []),  # thirteen digits: not without a word of payment
        ("visa 4222222222222", ["4222222222222"]),
        ("40 12 88 88 88 88 18 81", []),
        ("9999999999999995", []),
        ("0.4012888888881881", []),
        ("id=4012888888881881", []),
        ("4012888888881881.5", []),
        ("a4012888888881881", []),
        ("4012 8888 8888 1881 2", []),
    ],
)
def test_cards(text: str, expected: list[str]) -> None:
    assert found(cards, text) == expected


# Example numbers of the IBAN registry.
REGISTRY = """
AD1200012030200359100100 AE070331234567890123456 AT611904300234573201 BE68539007547034
BG80BNBG96611020345678 BR1800360305000010009795493C1 CH9300762011623852957
CY17002001280000001200527600 CZ6508000000192000145399 DE89370400440532013000 DK5000400440116243
EE382200221020145685 ES9121000418450200051332 FI2112345600000785 FR1420041010050500013M02606
GB29NWBK60161331926819 GE29NB0000000101904917 GI75NWBK000000007099453 GR1601101250000000012300695
HR1210010051863000160 HU42117730161111101800000000 IE29AIBK93115212345678 IL620108000000099999999
IS140159260076545510730339 IT60X0542811101000000123456 KW81CBKU0000000000001234560101
KZ86125KZT5004100100 LB62099900000001001901229114 LI21088100002324013AA LT121000011101001000
LU280019400644750000 LV80BANK0000435195001 MC5811222000010123456789030 MD24AG000225100013104168
ME25505000012345678951 MK07250120000058984 MT84MALT011000012345MTLCAST001S
MU17BOMM0101101030300200000MUR NL91ABNA0417164300 NO9386011117947 PK36SCBL0000001123456702
PL61109010140000071219812874 PT50000201231234567890154 QA58DOHB00001234567890ABCDEFG
RO49AAAA1B31007593840000 RS35260005601001611379 SA0380000000608010167519 SE4550000000058398257466
SI56263300012039086 SK3112000000198742637541 SM86U0322509800000000270100 TN5910006035183598478831
TR330006100519786457841326 UA213223130000026007233566001 VG96VPVG0000012345678901
XK051212012345678906
"""


@pytest.mark.parametrize("iban", REGISTRY.split())
def test_registry_examples(iban: str) -> None:
    assert mod97(iban)
    assert len(iban) == IBAN_LENGTHS[iban[:2]]
    assert IBAN_FORMATS[iban[:2]].fullmatch(iban[2:])
    grouped = " ".join(iban[i : i + 4] for i in range(0, len(iban), 4))
    assert found(ibans, f"to {grouped}, thanks") == [grouped]
    assert found(ibans, f"to {iban.lower()} thanks") == [iban.lower()]
    wrong = iban[:3] + str((int(iban[3]) + 1) % 10) + iban[4:]
    assert found(ibans, wrong) == []


def test_iban_ends_where_its_country_says() -> None:
    assert found(ibans, "BE68 5390 0754 7034 1234") == ["BE68 5390 0754 7034"]
    assert found(ibans, "BE685390075470341") == []
    assert found(ibans, "xBE68539007547034") == []
    assert found(ibans, "ZZ68539007547034") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("123-45-6789", ["123-45-6789"]),
        ("ssn 123 45 6789", ["123 45 6789"]),
        ("123 45 6789", []),
        ("SSN 123456789", ["123456789"]),
        ("123456789", []),
        ("part 123-45-6789", []),
        ("1-123-45-6789", []),
        ("123-45-6789-1", []),
        ("899-45-6789", ["899-45-6789"]),
        ("900-45-6789 666-45-6789 000-45-6789 123-00-6789 123-45-0000", []),
    ],
)
def test_ssns(text: str, expected: list[str]) -> None:
    assert found(ssns, text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Phone: 415-555-0166 x12, thanks", ["415-555-0166 x12"]),
        ("+44 20 7946 0123", ["+44 20 7946 0123"]),
        ("+999 20 7946 0123", []),  # no such country
        ("+11234567890", []),  # without gaps a number must be valid
        ("+12025550123", ["+12025550123"]),
        ("(415) 555-0166", ["(415) 555-0166"]),
        ("(115) 555-0166", []),
        ("415-555-0166", ["415-555-0166"]),
        ("or 1-415-555-0166.", ["1-415-555-0166"]),
        ("or 415.555.0166, or 415\u2011555\u20110166", ["415.555.0166", "415\u2011555\u20110166"]),
        ("415 555 0166", []),
        ("415-555.0166", []),
        ("255-555-0166", []),  # no such area
        ("415-155-0166", []),
        ("order 415-555-0166", []),
        ("2415-555-0166 and 415-555-01667 and 12.415.555.0166", []),
        ("tel 415-555-0166 2024-01-02", ["415-555-0166"]),
        ("tel 2024-01-02", []),
        ("tel 12345", []),
        ("phone 1.2.3.4.5.6.7", []),
        ("call 5550166", []),
        ("call 555-0166", ["555-0166"]),
        ("030/1234567 office", ["030/1234567"]),
        ("phone id 12345678", []),
        ("/phone/12345678", []),
        ("phone=12345678", []),
    ],
)
def test_phones(text: str, expected: list[str]) -> None:
    assert found(phones, text) == expected


def test_the_joints_of_a_north_american_number_are_alike() -> None:
    """Asked of the detector itself: the pass would not send it there."""
    assert list(phones("415-555.0166", whole("415-555.0166"))) == []
    assert len(list(phones("415-555-0166", whole("415-555-0166")))) == 1


def test_a_list_of_numbers_leans_on_the_first() -> None:
    assert found(phones, "\x01\x01\x01, 415-555-0166") == ["415-555-0166"]
    assert found(phones, "\x00\x00\x00, 415 555 0166") == []
