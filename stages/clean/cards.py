"""Payment cards: by issuer, length, check digit and the way that cards are written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from .digits import in_word
from .spans import NOT_BEFORE_WORD, SEPARATOR, Span, after, before, word
from .tables import CARD_ISSUERS
from .windows import Windows, matches

_RUN: Final = re.compile(rf"(?<![0-9])[0-9]+(?:(?:{SEPARATOR}|(?<=[0-9]{{4}})\.)[0-9]+)*")
"""Groups of digits with single separators; a full stop only behind four digits."""
_GLUED: Final = re.compile(
    r"(?i:(?<![a-z])(?:(?:credit|debit|bank|payment|visa)?[_\-]?cards?[_\-]?(?:n(?:o|um|umber|r)|pan)?|"
    r"cc(?:n|[_\-]?(?:no|num|number))?|pan|visa|mastercard|amex|maestro|discover|diners|jcb|"
    r"unionpay|(?:kredit)?karten?(?:nummer|nr)?|tarjeta|cart[ae]|kort(?:nummer)?|kaart(?:nummer)?)"
    r"_?)\Z"
)
"""A word for a card that its number is joined to."""
_STRIPE_BEFORE: Final = re.compile(r"(?<![0-9A-Za-z])B\Z")
_STRIPE_AFTER: Final = re.compile(
    r"\^[^\^\n\x00\x01]{2,26}\^[0-9]{7}|=[0-9]{2}(?:0[1-9]|1[0-2])[0-9]{3}"
)
"""How the tracks of a magnetic stripe go on: with a name, or at once with a date and a code of
service (ISO/IEC 7813)."""
_GROUP: Final = re.compile("[0-9]+")
_WORD_END: Final = re.compile(NOT_BEFORE_WORD)
_LENGTHS: Final = range(12, 20)
_JOINTS: Final = frozenset("-.\u2007\u2009\u202f\u2010\u2011\u2012\u2013")
"""Beside a bare number another one begins only behind a space."""
_SHAPES: Final = {
    (4, 4, 4, 4), (4, 6, 5), (4, 6, 4), (4, 4, 4, 4, 3), (4, 4, 4, 1), (6, 13), (8, 8), (4, 4, 4),
    (4, 4, 4, 2), (4, 3, 3, 3), (4, 4, 4, 3), (4, 4, 4, 4, 2),
}  # fmt: skip
_OF_OTHER_LENGTHS: Final = {low for low, _, lengths in CARD_ISSUERS if lengths[0] == 12} | {"6762"}
"""First digits of issuers whose cards have any length."""
_LONGEST_SHAPE: Final = max(map(len, _SHAPES))
_WORDS: Final = re.compile(
    word(
        "cards?|(?:card|cc) ?(?:number|num|no)|ccn?|credit|debit|credit_?cards?|visa|master ?card|"
        "amex|american express|maestro|discover|diners|jcb|unionpay|payment|paid|pay|kreditkarten?|"
        "(?:kreditkarten|karten|kort|kaart)nummer|karte|carte|bancaire|tarjeta|carta|cart[aã]o|kort|"
        "kaart|карт[аыуе]"
    )
    + "|卡号|信用卡|银行卡|カード|카드"
)
_NUMBER_IS: Final = re.compile(
    "(?:"
    + word("(?:credit|debit|payment|bank|my|your|this) card|card[ _]?(?:number|num|no)")
    + "[^0-9]{0,16}|"
    + word("card|cc|ccnum")
    + "[ :#=]{0,3})\\Z"
)
_NOT: Final = re.compile(
    word("isbn|issn|ean|gtin|upc|imei|imsi|iccid|sha|md5|serial|timestamps?|epoch|uuid|guid|doi")
    + r"[^0-9]{0,16}\Z"
)
_ISO_DATE: Final = "(?:19|20)[0-9]{2}-(?:0[1-9]|1[0-2])-[0-3][0-9]"
_EXPIRY: Final = re.compile(
    rf"[ /](?:0[1-9]|1[0-2])[/\-](?:20)?[0-9]{{2}}(?![0-9])| {_ISO_DATE}(?![0-9])"
)
"""The month in which a card expires, or the day of a row."""
_DATE_BEFORE: Final = re.compile(rf"(?:(?:[0-9][/.:]|#)[0-9]{{1,4}}|{_ISO_DATE}) \Z")
"""A date, a time, a place in a list."""
_DECIMAL_OR_AMOUNT: Final = re.compile(r"[0-9]\.\Z|[$%&\\]\Z")
_FILE_OR_DECIMAL: Final = re.compile(r"\.[0-9a-z]")
_PARAMETER: Final = re.compile(
    r"[#.]\Z|[^\n]\+\Z|[a-z_]-\Z|(?:[?&;][^\s=?&;]{0,40}|(?<![a-z])(?:ids?|key|hash|seed|time|ts|stamp|size|addr))=\Z"
)
_PATH_AFTER: Final = re.compile(r"/[0-9A-Za-z]")
_DECIMAL_COMMA: Final = re.compile(r"[0-9](?<!-[0-9]{2}),\Z")
"""Behind a digit that ends no date."""


def luhn(digits: str) -> bool:
    """Does the last digit check the others (ISO/IEC 7812-1, annex B)?"""
    total = 0
    for i, c in enumerate(reversed(digits)):
        d = ord(c) - 48
        if i % 2:
            d = 2 * d - 9 if d > 4 else 2 * d
        total += d
    return total % 10 == 0


def known_issuer(digits: str) -> bool:
    """Does an issuer hand out cards with this prefix and this many digits?"""
    return any(
        low <= digits[: len(low)] <= high and len(digits) in lengths
        for low, high, lengths in CARD_ISSUERS
    )


@dataclass(frozen=True, slots=True)
class _Candidate:
    """Digits ``start:end`` of a text. `shape`: the sizes of their groups; `joined`: whether they go
    on, with a separator that may be one of their own."""

    start: int
    end: int
    digits: str
    shape: tuple[int, ...]
    joined: bool

    @property
    def bare(self) -> bool:
        return len(self.shape) == 1

    @property
    def shaped(self) -> bool:
        """Is it written as cards are, so that it needs no word? Bare numbers of other lengths are
        identifiers, time stamps and codes of goods."""
        if not self.bare:
            return self.shape in _SHAPES
        size, first = len(self.digits), self.digits[0]
        usual = size in (16, 19) or (size == 15 and first in "123") or (size == 14 and first == "3")
        return usual or self.digits[:4] in _OF_OTHER_LENGTHS


def cards(work: str, windows: Windows) -> Iterator[Span]:
    """Payment cards: an issuer's prefix and length, the Luhn digit, and the form of a card.

    A bare number of 16 digits (14 or 15 of some issuers) or one in the groups of a card needs no
    context; other lengths, which identifiers and time stamps have too, need a word of payment near,
    and so do groups that go on. Right after words such as "card number" the Luhn digit and a first
    digit of 3 to 6 suffice: new issuer ranges appear.
    """
    for run in matches(_RUN, work, windows.of("card")):
        low, high = run.span()
        named = False
        if in_word(work, low):
            named = _is_named(work, low, high)
            if not named:  # the first group ends a word
                low = _next_group(work, low, high)
        if not _WORD_END.match(work, high) and not (named and work.startswith("_", high)):
            continue
        done = low
        for candidate in _candidates(work, low, high):
            if candidate.start >= done and _is_card(work, candidate, named):
                done = candidate.end
                yield Span(candidate.start, candidate.end, "card")


def _is_named(work: str, low: int, high: int) -> bool:
    """Are the digits ``low:high`` joined to a word for a card, or in a magnetic stripe?"""
    if _GLUED.search(work, max(0, low - 24), low):
        return True
    stripe = _STRIPE_AFTER.match(work, high) is not None
    return stripe and _STRIPE_BEFORE.search(work, max(0, low - 2), low) is not None


def _next_group(work: str, low: int, high: int) -> int:
    """Where the second group of the digits ``low:high`` begins; `high` if there is none."""
    while low < high and work[low].isdigit():
        low += 1
    return min(low + 1, high)


def _candidates(work: str, low: int, high: int) -> Iterator[_Candidate]:
    """Parts of the run of digits ``low:high`` that pass Luhn's check, by where they begin, the
    longest first: those that are written as cards, and the run as a whole."""
    groups = [m.span() for m in _GROUP.finditer(work, low, high)]
    for i, (start, _) in enumerate(groups):
        found: list[_Candidate] = []
        shape: tuple[int, ...] = ()
        for j in range(i, len(groups)):
            first, end = groups[j]
            shape += (end - first,)
            if sum(shape) > _LENGTHS[-1] or (i and len(shape) > _LONGEST_SHAPE):
                break
            whole = start == low and end == high
            if sum(shape) not in _LENGTHS or not (whole or len(shape) == 1 or shape in _SHAPES):
                continue
            digits = "".join(work[a:b] for a, b in groups[i : j + 1])
            if luhn(digits) and len(set(digits)) > 1:
                beside = _beside(work, low, high, start, end)
                inner = {work[b] for _, b in groups[i:j]} or _JOINTS
                found.append(_Candidate(start, end, digits, shape, bool(beside & inner)))
        yield from reversed(found)


def _beside(work: str, low: int, high: int, start: int, end: int) -> set[str]:
    """The separators beside ``start:end`` with which the run ``low:high`` goes on, but for those
    behind a date and before the day of a row or the month in which a card expires."""
    beside: set[str] = set()
    if start > low and not _DATE_BEFORE.search(work, max(0, start - 11), start):
        beside.add(work[start - 1])
    if end < high and not _EXPIRY.match(work, end):
        beside.add(work[end])
    return beside


def _is_card(work: str, c: _Candidate, glued: bool) -> bool:
    """`glued`: is the run of digits joined to a word for a card?"""
    left, right = before(work, c.start, 80), after(work, c.end, 40)
    if _NOT.search(left) or _DECIMAL_OR_AMOUNT.search(work, max(0, c.start - 2), c.start):
        return False
    if c.bare and (left.endswith("/") or _FILE_OR_DECIMAL.match(right)):
        return False
    named = _NUMBER_IS.search(left) is not None
    context = glued or named or bool(_WORDS.search(left) or _WORDS.search(right))
    context = context or _STRIPE_AFTER.match(work, c.end) is not None
    if not context and (c.joined or (c.bare and _is_part(work, c, left))):
        return False
    if named and c.digits[0] in "3456":
        return True
    return known_issuer(c.digits) and (c.shaped or context)


def _is_part(work: str, c: _Candidate, left: str) -> bool:
    """Do the signs beside a bare number make it a decimal, a parameter, a part of a path?"""
    if _PARAMETER.search(left) or (
        _PATH_AFTER.match(work, c.end) and not _EXPIRY.match(work, c.end)
    ):
        return True
    of_row = work[c.end : c.end + 1] == "," or left.rpartition("\n")[2].count(",") > 1
    return _DECIMAL_COMMA.search(left) is not None and not of_row
