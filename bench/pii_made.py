"""Generated texts with personal data, to bound recall from below.

Another design than the committed sets: values are planted into paragraphs that people wrote
(encyclopedia, textbooks), mostly at the end of a sentence and often without a word that names
them, with numbers drawn at random for every issuer, country and plan. Nothing here was looked at
when the rules were written.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Final

from corpusmill.stages.clean.cards import luhn
from corpusmill.stages.clean.digits import mod97
from corpusmill.stages.clean.tables import CARD_ISSUERS, IBAN_FORMATS, IBAN_LENGTHS

Labels = list[tuple[str, int, int]]
Made = tuple[str, Labels]

REGIONS: Final = (
    "US", "GB", "DE", "FR", "ES", "IT", "NL", "BE", "CH", "AT", "PL", "SE", "NO", "DK", "FI", "PT",
    "CZ", "RU", "UA", "TR", "JP", "KR", "CN", "IN", "BR", "MX", "AU", "ZA",
)  # fmt: skip
"""Countries whose numbering plans are tried."""

_TEL: Final = {
    "DE": "Tel.: {}", "AT": "Telefon {}", "CH": "Tel. {}", "FR": "Tél. : {}", "BE": "Tél. {}",
    "ES": "Teléfono: {}", "MX": "Tel: {}", "IT": "tel. {}", "NL": "Telefoon: {}", "PL": "tel. {}",
    "SE": "Tel: {}", "NO": "Tlf. {}", "DK": "tlf. {}", "FI": "puh. {}", "PT": "Telefone: {}",
    "BR": "Telefone {}", "RU": "тел. {}", "UA": "тел. {}", "TR": "Tel: {}", "JP": "電話 {}",
    "KR": "전화 {}", "CN": "电话：{}",
}  # fmt: skip
_MAIL: Final = (
    "write to {}",
    "contact: {}",
    "({})",
    "<{}>",
    "{}",
    "mailto:{}",
    "E-mail {} or visit",
)
_TOP: Final = (
    "com",
    "org",
    "net",
    "de",
    "fr",
    "co.uk",
    "io",
    "info",
    "com.br",
    "museum",
    "рф",
    "jp",
)
_NAMES: Final = (
    "anna", "j.smith", "o'neil", "maria_lopez", "x", "first.last+news", "info", "björn", "zoë.k",
    "иван", "a1b2c3", "sales-eu", "Dr.Weiß", "li.wei88", "no-reply",
)  # fmt: skip
_HOSTS: Final = (
    "brightmail", "uni-köln", "mail.acme", "cs.stanford", "gmx", "kernel-works", "a1", "3m",
    "почта", "sub.dept.univ",
)  # fmt: skip
_CARD: Final = ("card {}", "Visa {} exp 04/27", "{}", "paid with {}", "card number: {}", "pay ({})")
_IBAN: Final = ("IBAN {}", "IBAN: {}", "account {}", "{}", "transfer to {} please", "({})")
_SSN: Final = (
    "SSN {}",
    "SSN: {}",
    "his social security number is {}",
    "{}",
    "social security # {}",
)


def _digits(rng: random.Random, n: int) -> str:
    return "".join(rng.choice("0123456789") for _ in range(n))


def email(rng: random.Random) -> tuple[str, str]:
    """A carrier and an address."""
    address = f"{rng.choice(_NAMES)}@{rng.choice(_HOSTS)}.{rng.choice(_TOP)}"
    return rng.choice(_MAIL), address


def card(rng: random.Random) -> tuple[str, str]:
    """A carrier and a number of a card that an issuer may hand out; bare or in groups where it has
    15 or 16 digits, of another length with a word of payment."""
    low, high, lengths = rng.choice(CARD_ISSUERS)
    size = rng.choice(lengths)
    head = str(rng.randint(int(low), int(high))).zfill(len(low))
    body = head + _digits(rng, size - len(head) - 1)
    number = next(body + d for d in "0123456789" if luhn(body + d))
    if len(set(number)) < 4:
        return card(rng)
    separator = rng.choice(("", " ", "-"))
    if size == 16:
        number = separator.join(number[k : k + 4] for k in range(0, 16, 4))
    elif size == 15:
        number = separator.join((number[:4], number[4:10], number[10:]))
    return (rng.choice(_CARD) if size in (15, 16) else "card number {}"), number


def iban(rng: random.Random) -> tuple[str, str]:
    """A carrier and an IBAN of any country of the registry, plain or in groups of four."""
    country = rng.choice(sorted(IBAN_LENGTHS))
    size = IBAN_LENGTHS[country] - 4
    while True:
        letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
        body = "".join(rng.choice(letters + "0123456789") for _ in range(size))
        mask = IBAN_FORMATS[country]
        for k in range(size):  # draw each place until the structure holds
            options = [
                c for c in letters + "0123456789"
                if _fits(mask.pattern, "00" + body[:k] + c, size + 2)
            ]  # fmt: skip
            body = body[:k] + rng.choice(options) + body[k + 1 :]
        for check in range(2, 99):
            number = f"{country}{check:02}{body}"
            if mod97(number):
                if rng.random() < 0.5:
                    number = " ".join(number[k : k + 4] for k in range(0, len(number), 4))
                return rng.choice(_IBAN), number


def _fits(pattern: str, start: str, size: int) -> bool:
    """Whether `start` can begin a text of the classes in `pattern`, like ``[0-9]{2}[A-Z]{4}``."""
    import re

    classes = "".join(kind * int(n) for kind, n in re.findall(r"(\[[^\]]*\])\{([0-9]+)\}", pattern))
    parts = re.findall(r"\[[^\]]*\]", classes)
    return len(parts) == size and all(
        re.match(part, c) for part, c in zip(parts, start, strict=False)
    )


def ssn(rng: random.Random) -> tuple[str, str]:
    """A carrier and a number that can have been given out: with dashes alone, else with a word."""
    area = rng.choice([a for a in range(1, 900) if a != 666])
    number = f"{area:03}-{rng.randint(1, 99):02}-{rng.randint(1, 9999):04}"
    form = rng.choice(("-", "-", " ", ""))
    carrier = rng.choice(_SSN if form == "-" else [c for c in _SSN if c != "{}"])
    return carrier, number.replace("-", form)


def ip(rng: random.Random) -> tuple[str, str]:
    """A carrier and a public address: IPv4 with a word of networks or with large numbers, IPv6."""
    if rng.random() < 0.3:
        head = f"{rng.choice(('2a00', '2a02', '2600', '2607', '2401'))}:{rng.randint(1, 65535):x}"
        tail = ":".join(f"{rng.randint(0, 65535):x}" for _ in range(rng.choice((2, 6))))
        return rng.choice(("{}", "from {}", "[{}]:443")), head + (
            ":" if tail.count(":") == 5 else "::"
        ) + tail
    first = rng.choice(
        [n for n in range(1, 224) if n not in (10, 100, 127, 169, 172, 192, 198, 203)]
    )
    parts = [first, *(rng.randint(0, 255) for _ in range(3))]
    parts[3] = parts[3] or 7
    bare = sum(p >= 64 for p in parts) >= 2
    carrier = rng.choice(
        ("{}", "from {}", "at {} since")
        if bare
        else ("server {}", "ping {}", "client {}", "http://{}/")
    )
    return carrier, ".".join(map(str, parts))


def phone(region: str, word: bool = True) -> Callable[[random.Random], tuple[str, str]]:
    """What draws numbers of a country, valid by its plan: international, or national with a word
    for a telephone in its language. Without `word`: national, with nothing that says what it is."""
    import phonenumbers as library

    kinds = (library.PhoneNumberType.FIXED_LINE, library.PhoneNumberType.MOBILE)
    examples = [library.example_number_for_type(region, kind) for kind in kinds]

    def draw(rng: random.Random) -> tuple[str, str]:
        while True:
            example = rng.choice([e for e in examples if e is not None])
            national = str(example.national_number)
            keep = rng.randint(2, max(2, len(national) - 4))
            national = national[:keep] + _digits(rng, len(national) - keep)
            number = library.PhoneNumber(
                country_code=example.country_code, national_number=int(national)
            )
            if library.is_valid_number_for_region(number, region):
                break
        form = rng.choice(("international", "national", "national", "e164")) if word else "bare"
        if form == "international":
            style = library.PhoneNumberFormat.INTERNATIONAL
            return rng.choice(("{}", "({})", "call {}")), library.format_number(number, style)
        if form == "e164":
            return "{}", library.format_number(number, library.PhoneNumberFormat.E164)
        if form == "bare":
            return "{}", library.format_number(number, library.PhoneNumberFormat.NATIONAL)
        carrier = _TEL.get(region, rng.choice(("phone {}", "Tel: {}", "Phone number: {}")))
        return carrier, library.format_number(number, library.PhoneNumberFormat.NATIONAL)

    return draw


DRAWN: Final[dict[str, Callable[[random.Random], tuple[str, str]]]] = {
    "email": email, "ip": ip, "card": card, "iban": iban, "ssn": ssn,
}  # fmt: skip


def planted(
    type_: str, draw: Callable[[random.Random], tuple[str, str]], paragraphs: Sequence[str], n: int
) -> list[Made]:
    """`n` texts, each a paragraph with one value behind one of its sentences."""
    rng = random.Random(f"{type_} {n}")
    made: list[Made] = []
    while len(made) < n:
        paragraph = rng.choice(paragraphs)[:1200].replace("<unk>", "Rowan")
        breaks = [k + 1 for k in range(len(paragraph) - 1) if paragraph[k : k + 2] == ". "]
        if not breaks:
            continue
        at = rng.choice(breaks)
        carrier, value = draw(rng)
        before, after = carrier.split("{}")
        start = at + 1 + len(before)
        text = f"{paragraph[:at]} {before}{value}{after}{rng.choice(('.', ',', '', ';'))}"
        made.append((text + paragraph[at:], [(type_, start, start + len(value))]))
    return made
