"""National identity, tax and insurance numbers of twenty-two countries, by their check digits.

Each kind has a written form, a check and words that name it in its own language. A form that
hardly anything else has (`alone`) needs no word; all others need one of their words near, since
one number of 10, 11 or 97 passes any check. Dates of birth inside a number must be dates. US
social security numbers, which have no check digit, are in `corpusmill.stages.clean.digits`.

Sources are the published rules of the issuers: ISO 7064 for the pure and hybrid systems, the
weights as given by each authority (named at each check).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from .spans import Span, after, before, word
from .windows import Windows

_EDGE: Final = r"(?<![0-9A-Za-z_])(?<![0-9][\-./])"
_END: Final = r"(?![0-9A-Za-z_]|[\-./][0-9])"
_NOT_ALNUM: Final = re.compile(r"[^0-9A-Z]")


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of number. `check` gets it in upper case without separators."""

    name: str
    form: str
    check: Callable[[str], bool]
    words: str
    alone: bool = False


def _weighted(digits: str, weights: str) -> int:
    """Sum of digits times weights; a weight of ten is written A."""
    return sum(int(d) * int(w, 11) for d, w in zip(digits, weights, strict=False))


_DAYS: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def _is_date(month: int, day: int) -> bool:
    return (
        1 <= month <= 12 and 1 <= day <= (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]
    )


def _luhn(number: str) -> bool:
    from .cards import luhn

    return luhn(number)


def spanish(n: str) -> bool:
    """DNI and NIE: a letter for the number modulo 23 (Real Decreto 1553/2005)."""
    number = n[:-1].translate(str.maketrans("XYZ", "012"))
    return "TRWAGMYFPDXBNJZSQVHLCKE"[int(number) % 23] == n[-1]


_ODD: Final = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25,
               24, 23)  # fmt: skip


def italian(n: str) -> bool:
    """Codice fiscale: values of odd and even places modulo 26 (D.M. 23 December 1976)."""
    total = 0
    for i, c in enumerate(n[:15]):
        value = int(c) if c.isdigit() else ord(c) - 65
        total += _ODD[value] if i % 2 == 0 else value
    day = int("".join(c if c.isdigit() else str("LMNPQRSTUV".index(c)) for c in n[9:11]))
    return chr(65 + total % 26) == n[15] and (1 <= day <= 31 or 41 <= day <= 71)


def french(n: str) -> bool:
    """NIR: a key of 97 minus the number modulo 97, Corsica as 19 and 18 (INSEE)."""
    body = n[:13].replace("2A", "19").replace("2B", "18")
    return body.isdigit() and 97 - int(body) % 97 == int(n[13:])


def polish(n: str) -> bool:
    """PESEL: weights 1 3 7 9, the century in the month."""
    return _weighted(n, "13791379131") % 10 == 0 and _is_date(int(n[2:4]) % 20, int(n[4:6]))


def dutch(n: str) -> bool:
    """BSN: weights 9 to 2 and -1, modulo 11."""
    return n != "0" * 9 and (_weighted(n[:8], "98765432") - int(n[8])) % 11 == 0


def belgian(n: str) -> bool:
    """Rijksregisternummer: 97 minus the number modulo 97, with a 2 before it from 2000 on."""
    if not _is_date(int(n[2:4]) % 20 or 1, int(n[4:6]) or 1):
        return False
    return int(n[9:]) in (97 - int(n[:9]) % 97, 97 - int("2" + n[:9]) % 97)


def swedish(n: str) -> bool:
    """Personnummer: Luhn over the ten last digits; days from 61 on for coordination numbers."""
    n = n[-10:]
    return _luhn(n) and _is_date(int(n[2:4]), int(n[4:6]) % 60)


def finnish(n: str) -> bool:
    """Henkilötunnus: date and number modulo 31."""
    digits = n[:6] + n[-4:-1]
    letter = "0123456789ABCDEFHJKLMNPRSTUVWXY"[int(digits) % 31]
    return letter == n[-1] and _is_date(int(n[2:4]), int(n[:2]))


def danish(n: str) -> bool:
    """CPR: a date; its check digit is given up since 2007."""
    return _is_date(int(n[2:4]), int(n[:2]))


def norwegian(n: str) -> bool:
    """Fødselsnummer: two check digits modulo 11."""
    first = _weighted(n, "3761894521") % 11 == 0
    return (
        first and _weighted(n, "54327654321") % 11 == 0 and _is_date(int(n[2:4]), int(n[:2]) % 40)
    )


def german(n: str) -> bool:
    """Steuer-ID: ISO 7064 MOD 11,10; of the first ten digits exactly one stands two or three
    times (BZSt)."""
    product = 10
    for c in n[:10]:
        total = (int(c) + product) % 10 or 10
        product = total * 2 % 11
    counts = sorted(n[:10].count(d) for d in set(n[:10]))
    return n[0] != "0" and (11 - product) % 10 == int(n[10]) and counts[-1] in (2, 3) and (
        len(counts) < 2 or counts[-2] == 1
    )  # fmt: skip


def british(n: str) -> bool:
    """National Insurance number: prefixes that are given out (HMRC, NIM39110)."""
    return (
        n[0] not in "DFIQUV" and n[1] not in "DFIOQUV"
        and n[:2] not in ("BG", "GB", "NK", "KN", "TN", "NT", "ZZ")
    )  # fmt: skip


def british_health(n: str) -> bool:
    """NHS number: weights 10 to 2, modulo 11."""
    return len(set(n)) > 1 and _weighted(n, "A987654321") % 11 == 0


def brazilian(n: str) -> bool:
    """CPF: two check digits modulo 11."""
    for size in (9, 10):
        total = sum(int(d) * w for d, w in zip(n[:size], range(size + 1, 1, -1), strict=True))
        if total * 10 % 11 % 10 != int(n[size]):
            return False
    return len(set(n)) > 1


def portuguese(n: str) -> bool:
    """NIF of a person: weights 9 to 2, modulo 11."""
    rest = _weighted(n[:8], "98765432") % 11
    return int(n[8]) == (0 if rest < 2 else 11 - rest)


def chinese(n: str) -> bool:
    """Resident identity number: ISO 7064 MOD 11-2 (GB 11643), with a date of birth."""
    total = sum(int(c) * 2 ** (17 - i) for i, c in enumerate(n[:17]))
    date = _is_date(int(n[10:12]), int(n[12:14])) and n[6:8] in ("19", "20")
    return date and "10X98765432"[total % 11] == n[17]


_VERHOEFF: Final = (
    "0123456789", "1234067895", "2340178956", "3401289567", "4012395678", "5987604321",
    "6598710432", "7659821043", "8765932104", "9876543210",
)  # fmt: skip
_TURNS: Final = (
    "0123456789", "1576283094", "5803796142", "8916043527", "9453126870", "4286573901",
    "2793806415", "7046913258",
)  # fmt: skip


def indian(n: str) -> bool:
    """Aadhaar: Verhoeff's check; the first digit is 2 or more (UIDAI)."""
    c = 0
    for i, d in enumerate(reversed(n)):
        c = int(_VERHOEFF[c][int(_TURNS[i % 8][int(d)])])
    return c == 0 and n[0] > "1"


def korean(n: str) -> bool:
    """Resident registration number: weights 2 to 9 and 2 to 5, modulo 11, and a date."""
    check = (11 - _weighted(n[:12], "234567892345") % 11) % 10
    return check == int(n[12]) and _is_date(int(n[2:4]), int(n[4:6]))


def canadian(n: str) -> bool:
    """Social Insurance Number: Luhn; 0 and 8 begin none."""
    return n[0] not in "08" and _luhn(n)


def australian(n: str) -> bool:
    """Tax file number of nine digits: weights 1 4 3 7 5 8 6 9 10, modulo 11."""
    return n != "0" * 9 and _weighted(n, "14375869A") % 11 == 0


def south_african(n: str) -> bool:
    """Identity number: a date, citizenship 0 to 2, Luhn."""
    return _luhn(n) and _is_date(int(n[2:4]), int(n[4:6])) and n[10] in "012"


def czech(n: str) -> bool:
    """Rodné číslo of ten digits: divisible by 11, 50 more in the month for women."""
    month = int(n[2:4])
    month -= 70 if month > 70 else 50 if month > 50 else 20 if month > 20 else 0
    return int(n) % 11 == 0 and _is_date(month, int(n[4:6]))


def turkish(n: str) -> bool:
    """Kimlik no: two check digits."""
    d = [int(c) for c in n]
    tenth = (7 * sum(d[0:9:2]) - sum(d[1:8:2])) % 10
    return d[0] > 0 and tenth == d[9] and sum(d[:10]) % 10 == d[10]


KINDS: Final = (
    Kind("cn", r"[1-9][0-9]{5}(?:19|20)[0-9]{9}[0-9Xx]", chinese,
         "身份证(?:号码?)?|身份證|resident id", alone=True),
    Kind("fr", r"[1-478] ?[0-9]{2} ?(?:0[1-9]|1[0-2]|[2-9][0-9]) ?(?:[0-9]{2}|2[ABab]) ?[0-9]{3} ?"
               r"[0-9]{3} ?[0-9]{2}", french,
         "nir|sécu(?:rité sociale)?|securite sociale|n° ?ss|insee"),
    Kind("kr", r"[0-9]{6}-[1-8][0-9]{6}", korean, "주민등록번호|resident registration", alone=True),
    Kind("za", r"[0-9]{13}", south_african,
         "id (?:no|number)|identity number|south african id"),
    Kind("it", r"[A-Za-z]{6}[0-9LMNP-Vlmnp-v]{2}[A-EHLMPR-Ta-ehlmpr-t][0-9LMNP-Vlmnp-v]{2}[A-Za-z]"
               r"[0-9LMNP-Vlmnp-v]{3}[A-Za-z]", italian, "codice fiscale|c\\.?f\\.?", alone=True),
    Kind("in", r"[2-9][0-9]{3}[ -]?[0-9]{4}[ -]?[0-9]{4}", indian, "aadhaar|aadhar|uidai|आधार"),
    Kind("br", r"[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}", brazilian, "cpf", alone=True),
    Kind("br", r"[0-9]{11}", brazilian, "cpf"),
    Kind("be", r"[0-9]{2}\.[0-9]{2}\.[0-9]{2}-[0-9]{3}\.[0-9]{2}", belgian,
         "rijksregister", alone=True),
    Kind("be", r"[0-9]{11}", belgian,
         "rijksregister(?:nummer)?|registre national|numéro national|insz|niss"),
    Kind("pl", r"[0-9]{11}", polish, "pesel"),
    Kind("no", r"[0-9]{6} ?[0-9]{5}", norwegian, "fødselsnummer|fødselsnr|personnummer|d-nummer"),
    Kind("de", r"[1-9][0-9](?: ?[0-9]{3}){3}", german,
         "steuer-?id(?:entifikationsnummer)?|steuerliche identifikationsnummer|idnr"),
    Kind("tr", r"[1-9][0-9]{10}", turkish, "t\\.?c\\.? kimlik(?: no)?|kimlik (?:no|numarası)|tckn"),
    Kind("fi", r"[0-9]{6}[-+ABCDEFYXWVU][0-9]{3}[0-9A-Ya-y]", finnish,
         "henkilötunnus|hetu|personbeteckning", alone=True),
    Kind("se", r"(?:(?:19|20)[0-9]{2}|[0-9]{2})[0-9]{4}[-+]?[0-9]{4}", swedish,
         "personnummer|personnr|pnr|samordningsnummer"),
    Kind("cz", r"[0-9]{6}/?[0-9]{4}", czech, "rodné číslo|rodne cislo|rodné číslo|r\\.? ?č\\.?"),
    Kind("dk", r"[0-9]{6}-?[0-9]{4}", danish, "cpr(?:-?(?:nr|nummer))?"),
    Kind("gb", r"[0-9]{3}[ -]?[0-9]{3}[ -]?[0-9]{4}", british_health, "nhs(?: (?:no|number))?"),
    Kind("gb", r"[A-Za-z]{2} ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-Da-d]", british,
         "nino?|national insurance|ni (?:no|number)"),
    Kind("nl", r"[0-9]{3}\.?[0-9]{3}\.?[0-9]{3}", dutch, "bsn|burgerservicenummer|sofi-?nummer"),
    Kind("pt", r"[1-3][0-9]{2} ?[0-9]{3} ?[0-9]{3}", portuguese, "nif|contribuinte"),
    Kind("es", r"(?:[0-9]{8}|[XYZxyz]-?[0-9]{7})-?[A-Za-z]", spanish,
         "dni|nif|nie|documento nacional"),
    Kind("ca", r"[1-79][0-9]{2}[ -]?[0-9]{3}[ -]?[0-9]{3}", canadian,
         "sin:|sin (?:no|number)|social insurance"),
    Kind("au", r"[0-9]{3} ?[0-9]{3} ?[0-9]{3}", australian, "tfn|tax file number"),
)  # fmt: skip
"""Longer forms first: of two readings of one number, the first claims it."""

COUNTRIES: Final = tuple(sorted({kind.name for kind in KINDS}))

_ALONE: Final = (
    r"[1-9][0-9]{5}(?:19|20)[0-9]{9}[0-9Xx]|[0-9]{6}-[1-8][0-9]{6}"
    r"|[A-Za-z]{6}[0-9L-Vl-v]{2}[A-Ta-t][0-9L-Vl-v]{2}[A-Za-z][0-9L-Vl-v]{3}[A-Za-z]"
    r"|[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}|[0-9]{2}\.[0-9]{2}\.[0-9]{2}-[0-9]{3}\.[0-9]{2}"
    r"|[0-9]{6}[-+A-FU-Y][0-9]{3}[0-9A-Ya-y]"
)

_WORDS: Final = "|".join(k.words for k in KINDS if not k.alone)

_BEFORE: Final = 40
_AFTER: Final = 20
_LONGEST: Final = 30
_AROUND: Final = _BEFORE + _LONGEST
"""Characters beside the digits of a number in which its words, and the rest of its form, lie."""
_DIGITS: Final = re.compile(r"[0-9][0-9A-Za-z]?[ \-/.]?[0-9]")


@lru_cache(maxsize=1)
def _compiled() -> tuple[tuple[Kind, re.Pattern[str], re.Pattern[str]], ...]:
    return tuple(
        (kind, re.compile(_EDGE + kind.form + _END), re.compile(word(kind.words))) for kind in KINDS
    )


@lru_cache(maxsize=1)
def _places() -> tuple[re.Pattern[str], Any, Any]:
    """The forms that need no word, as `re` and as google-re2 has them, and the words: where
    there are none, `re` takes much longer to say so."""
    import re2

    options = re2.Options()
    options.log_errors = False
    words = re2.compile(f"(?i:(?:^|[^0-9A-Za-z])(?:{_WORDS}))".encode(), options)
    shapes = re.compile(_EDGE + f"(?:{_ALONE})")
    return shapes, re2.compile(_ALONE.encode(), options), words


def national_ids(work: str, windows: Windows) -> Iterator[Span]:
    """Numbers that pass the check of their kind and, unless their form says enough, have one of
    its words in the 40 characters before them or the 20 behind. The first of `KINDS` that fits
    claims a number."""
    shapes, shaped, words = _places()
    around = "\n".join(
        work[max(0, low - _AROUND) : high + _AROUND] for low, high in windows.of("national_id")
    ).encode("utf-8", "surrogatepass")
    claimed: list[Span] = []
    for m in shapes.finditer(work) if shaped.search(around) else ():
        for kind, form, _ in _compiled():
            found = form.match(work, m.start()) if kind.alone else None
            if found is not None and kind.check(_NOT_ALNUM.sub("", found.group().upper())):
                claimed.append(Span(found.start(), found.end(), "national_id"))
                break
    regions = _regions(words, work) if words.search(around) else []
    taken = bytearray(len(work) if regions else 0)
    for span in claimed if regions else ():
        taken[span.start : span.end] = b"\x01" * (span.end - span.start)
    for kind, form, own in _compiled():
        if kind.alone:
            continue
        for low, high in regions:
            for m in form.finditer(work, low, min(len(work), high + _LONGEST)):
                if m.start() > high or any(taken[m.start() : m.end()]):
                    continue
                left, right = before(work, m.start(), _BEFORE), after(work, m.end(), _AFTER)
                if not own.search(left) and not own.search(right):
                    continue
                if kind.check(_NOT_ALNUM.sub("", m.group().upper())):
                    claimed.append(Span(m.start(), m.end(), "national_id"))
                    taken[m.start() : m.end()] = b"\x01" * (m.end() - m.start())
    yield from claimed


def _regions(words: Any, work: str) -> list[tuple[int, int]]:
    """Where a number may start so that a word is near it; overlapping ones joined."""
    raw = work.encode("utf-8", "surrogatepass")
    regions: list[tuple[int, int]] = []
    done = at = 0  # bytes, and the characters that they are
    for m in words.finditer(raw):
        at += len(raw[done : m.start()].decode("utf-8", "surrogatepass"))
        done = m.start()
        end = at + len(raw[done : m.end()].decode("utf-8", "surrogatepass"))
        low, high = max(0, at - _AFTER - _LONGEST), min(len(work), end + _BEFORE)
        if not _DIGITS.search(work, low, high + _LONGEST):
            continue
        if regions and low <= regions[-1][1] + _LONGEST:
            regions[-1] = (regions[-1][0], high)
        else:
            regions.append((low, high))
    return regions
