"""What the PII detectors share: the span type, the fillers, and the windows of context.

Detectors run one after the other over a *working text* of the same length as the input, in which
everything already found (and every tag such as ``<PHONE>`` that stood in the input) is replaced
by a filler character. A filler is a wall: no span and no context crosses it. What a detector
decides can therefore not depend on the length of a tag, which makes masking idempotent.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

TYPES: Final = (
    "secret", "email", "wallet", "mac", "ip", "iban", "national_id", "card", "ssn", "phone",
    "private_ip", "street",
)  # fmt: skip
"""Every type, in the order in which the detectors claim text."""

SCANNED: Final = tuple(t for t in TYPES if t != "street")
"""Those that the compiled pass looks for. Streets have an automaton of their own, which reads a
text only where they are asked for."""

DEFAULT_TYPES: Final = ("email", "ip", "iban", "card", "ssn", "phone", "national_id", "secret")
"""What is replaced unless asked otherwise. Wallets, which are public and mostly nobody's by name,
MAC and private IP addresses, which technical text is full of, and addresses of streets, which are
mostly those of shops and offices, are found on demand."""

TAGS: Final = {t: f"<{t.upper()}>" for t in TYPES}


def _tags(types: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"<({'|'.join(types).upper()})(?:-[b-df-hj-np-tv-z]{{12}})?>")


TAG: Final = _tags(TYPES)
"""A replacement: of the type alone, or with the twelve letters of a pseudonym."""

_SCANNED_TAG: Final = _tags(SCANNED)
"""The same where streets are not asked for: there ``<STREET>`` is text as any other."""

FILLER: Final = "\x00"
"""Stands for a character that belongs to a span of any type but phone."""

PHONE_FILLER: Final = "\x01"
"""Stands for a character of a phone number: the next number of a list may lean on it."""


LETTERS: Final = (
    "A-Za-zÀ-ÖØ-öø-\u024f\u0370-\u03ff\u0400-\u052f\u0531-\u0587\u05d0-\u05ea\u0620-\u065f"
    "\u0671-\u06d3\u0900-\u0963\u0980-\u0df3\u10a0-\u10ff\u1e00-\u1fff"
)
"""Letters and marks of scripts that put spaces between words, as the inside of a character class.
Fixed ranges, since ``\\w`` follows the Unicode tables of the running Python. Chinese, Japanese and
Thai are left out: there an address follows the sentence without a space."""

_ASCII: Final = str.maketrans(
    "".join(chr(first + d) for first in (0xFF10, 0x660, 0x6F0, 0x966) for d in range(10))
    + "".join(map(chr, (*range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B))))
    + "＠．－＿＋：（）／",
    "0123456789" * 4 + "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" + "@.-_+:()/",
)
_OTHER_DIGITS: Final = re.compile("[\uff10-\uff5a\u0660-\u0669\u06f0-\u06f9\u0966-\u096f]")


@lru_cache(maxsize=1)
def _ascii_codes() -> npt.NDArray[np.uint32]:
    """What becomes of each code point."""
    codes = np.arange(0x110000, dtype=np.uint32)
    codes[list(_ASCII)] = list(_ASCII.values())
    return codes


def as_ascii(text: str) -> str:
    """`text` with full-width letters, digits and signs and with Arabic-Indic, Persian and
    Devanagari digits as ASCII ones: as many characters, so that offsets stay."""
    if text.isascii() or not _OTHER_DIGITS.search(text):
        return text
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    return str(_ascii_codes()[codes].data, "utf-32-le", "surrogatepass")


SPACE: Final = r"[ \t\n\r\u00a0]"
"""Space between words, as a pattern."""


SEPARATOR: Final = r"[ \-\u00a0\u2007\u2009\u202f\u2010-\u2013]"
"""Between groups of digits: spaces of any width that do not break a line, hyphens, dashes."""

NOT_IN_WORD: Final = r"(?<![0-9A-Za-z])(?<![0-9A-Za-z]_)"
NOT_BEFORE_WORD: Final = r"(?![0-9A-Za-z]|_[0-9A-Za-z])"
"""No letter or digit beside a number, and none behind an underscore: those of ``_12_`` emphasise,
that of ``file_12`` joins."""


def word(alternatives: str) -> str:
    """A pattern for one of `alternatives` standing as a word of its own."""
    return rf"(?<![{LETTERS}0-9])(?:{alternatives})(?![{LETTERS}0-9])"


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Personal data of one `type` at the characters ``start:end`` of a text."""

    start: int
    end: int
    type: str


def before(work: str, start: int, width: int) -> str:
    """Up to `width` characters left of `start`, lower case, cut at the last filler."""
    window = work[max(0, start - width) : start]
    cut = max(window.rfind(FILLER), window.rfind(PHONE_FILLER))
    return ascii_lower(window[cut + 1 :])


def after(work: str, end: int, width: int) -> str:
    """Up to `width` characters right of `end`, lower case, cut at the first filler."""
    window = work[end : end + width]
    for filler in (FILLER, PHONE_FILLER):
        at = window.find(filler)
        if at >= 0:
            window = window[:at]
    return ascii_lower(window)


_LOWER: Final = str.maketrans(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞ"
    "АБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩ",
    "abcdefghijklmnopqrstuvwxyzàáâãäåæçèéêëìíîïðñòóôõöøùúûüýþ"
    "абвгдежзийклмнопрстуфхцчшщъыьэюяαβγδεζηθικλμνξοπρστυφχψω",
)


def ascii_lower(text: str) -> str:
    """Lower case of the Latin-1, Russian and Greek letters alone: the same on every Python."""
    return text.lower() if text.isascii() else text.translate(_LOWER)


def blank(work: str, spans: list[Span]) -> str:
    """`work` with the characters of `spans` (sorted, disjoint) replaced by fillers."""
    pieces: list[str] = []
    at = 0
    for span in spans:
        filler = PHONE_FILLER if span.type == "phone" else FILLER
        pieces += [work[at : span.start], filler * (span.end - span.start)]
        at = span.end
    pieces.append(work[at:])
    return "".join(pieces)


def without_tags(work: str, streets: bool) -> str:
    """`work` with the characters of every tag replaced by fillers; `streets`: of that type too."""
    tag = TAG if streets else _SCANNED_TAG
    return tag.sub(lambda m: (PHONE_FILLER if m[1] == "PHONE" else FILLER) * len(m[0]), work)
