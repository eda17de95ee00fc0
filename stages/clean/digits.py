"""Numbers of persons: IBANs, US social security numbers, telephone numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from .spans import (
    LETTERS,
    NOT_BEFORE_WORD,
    NOT_IN_WORD,
    PHONE_FILLER,
    SEPARATOR,
    SPACE,
    Span,
    after,
    before,
    word,
)
from .tables import IBAN_FORMATS, IBAN_LENGTHS
from .windows import Windows, matches

_NOT_DIGIT: Final = re.compile(r"[^0-9]+")

_OUTSIDE: Final = re.compile(NOT_IN_WORD)
_ESCAPE: Final = re.compile(r"(?:\\(?:[nrt]|(?:u00|x)[0-9A-Fa-f][A-Fa-f])|%[0-9A-F][A-F])\Z")
"""A sign as strings of code and URLs have it, if its last character is a letter."""


def in_word(work: str, start: int) -> bool:
    """Are digits that begin at `start` joined to letters or digits before them?"""
    if _OUTSIDE.match(work, start):
        return False
    return _ESCAPE.search(work, max(0, start - 6), start) is None


# ---------------------------------------------------------------- IBAN

_IBAN_GAP: Final = rf"(?:{SEPARATOR}|\.)"
_IBAN_HEAD: Final = re.compile(
    r"(?:(?<![0-9A-Za-z])|(?i:(?<=iban))|(?<=\\[nrt])|(?<=\\u00[0-9A-Fa-f]{2})|(?<=%[0-9A-F]{2}))"
    rf"([A-Za-z]{{2}})[0-9]{{2}}(?={_IBAN_GAP}?[0-9A-Za-z])"
)
"""Behind no letter or digit but those of the word or of an escaped sign."""
_GROUPED: Final = re.compile(rf"[0-9A-Za-z]+(?:{_IBAN_GAP}[0-9A-Za-z]+)*")
_IBAN_GAPS: Final = re.compile(_IBAN_GAP)
_IBAN_END: Final = re.compile(rf"{NOT_BEFORE_WORD}|_|BIC|SWIFT")
"""Behind an IBAN; the label of the next field may be joined to it."""
LONGEST_IBAN: Final = 34
"""ISO 13616-1."""


def mod97(iban: str) -> bool:
    """Are the check digits right (ISO 7064 MOD 97-10), for an upper-case IBAN?"""
    turned = iban[4:] + iban[:4]
    return int("".join(str(int(c, 36)) for c in turned)) % 97 == 1


def ibans(work: str, windows: Windows) -> Iterator[Span]:
    """IBANs of known countries: length, structure and check digits must hold. Groups may be
    parted by one space, hyphen or full stop, wherever it stands."""
    for m in matches(_IBAN_HEAD, work, windows.of("iban")):
        country = m.group(1).upper()
        length = IBAN_LENGTHS.get(country)
        if length is None:
            continue
        end = _after_alphanumerics(work, m.start(), length)
        if end is None:
            continue
        written = work[m.start() : end]
        iban = _IBAN_GAPS.sub("", written).upper()
        if not IBAN_FORMATS[country].fullmatch(iban[2:]) or not mod97(iban):
            continue
        if written != written.upper() and written != written.lower():
            continue  # words of a sentence, not one number
        yield Span(m.start(), end, "iban")


def _after_alphanumerics(work: str, start: int, count: int) -> int | None:
    """Where `count` letters and digits end, single separators between them; None if the run is
    shorter, or goes on without a separator."""
    run = _GROUPED.match(work, start, start + 2 * LONGEST_IBAN)
    if run is None:
        return None
    seen = 0
    for i in range(run.start(), run.end()):
        seen += work[i].isalnum()
        if seen == count:
            return i + 1 if _IBAN_END.match(work, i + 1) else None
    return None


# ---------------------------------------------------------------- US social security numbers

_SSN: Final = re.compile(
    r"(?<![0-9])([0-9]{3})([\-./ \u2010-\u2013]?)([0-9]{2})\2([0-9]{4})"
    r"(?![0-9]|[\-.][0-9]|/(?!(?:19|20)[0-9]{2}-)[0-9])"
)
_GLUED: Final = re.compile(
    r"(?:(?i:(?<![a-z])(?:ssn|social|security|tax_?id|i?tin))|(?<=[a-z])(?:Ssn|SSN))"
    r"(?i:(?:um|_?n(?:o|r|um|umber))?_?)\Z"
)
"""A word for the number that it is joined to."""
_SSN_END: Final = re.compile(NOT_BEFORE_WORD)
_SSN_GOES_ON: Final = re.compile(r"[0-9][\-./]\Z|\+[0-9]{1,3} \Z")
_SSN_GROUPED: Final = re.compile(r"[0-9][ ,]\Z")
"""Digits before one without dashes, of which it may be the end."""
_SSN_WORDS: Final = re.compile(
    word(
        r"ssns?|ss#|s\.s\.n\.?|social[ _-]?security[a-z]*|social insurance|soc\.? sec|"
        r"(?:my|your|his|her|their|full) social|social:|tax(?:payer)? id|seguro social|"
        r"sozialversicherungsnummer"
    )
)
_SSN_NOT: Final = re.compile(
    word("part|order|model|serial|isbn|issn|cas|ticket|sku|upc|ean|phone|tel|fax|zip|doi|rfc|dpci")
    + r"[^0-9]{0,20}\Z"
)


def ssns(work: str, windows: Windows) -> Iterator[Span]:
    """US social security numbers that can have been given out: area not 000, 666 or 900 and up,
    group not 00, serial not 0000 (SSA, POMS RM 10201.035). With dashes the form alone suffices,
    unless a word such as "part" or "order" stands before; with others or without separators a
    word of social security must stand near, and where the number is joined to one (``ssn_123…``) it
    may be joined to what follows. A number that was found no longer counts as digits left
    of the next one, so that a list of them is found in one sweep."""
    seen = 0
    for m in matches(_SSN, work, windows.of("ssn")):
        area, separator, group, serial = m.groups()
        if area in ("000", "666") or area >= "900" or group == "00" or serial == "0000":
            continue
        joined = in_word(work, m.start())
        if joined and not _GLUED.search(work, max(0, m.start() - 24), m.start()):
            continue
        unseen = work[max(seen, m.start() - 5) : m.start()]
        dashed = separator not in ("", " ", ".", "/")
        if _SSN_GOES_ON.search(unseen) or (not dashed and _SSN_GROUPED.search(unseen)):
            continue
        if not dashed and re.match(",[0-9]", work[m.end() : m.end() + 2]):
            continue
        left = before(work, m.start(), 60)
        named = _SSN_WORDS.search(left)
        if not _SSN_END.match(work, m.end()) and not (dashed and (joined or named)):
            continue
        named = named or _SSN_WORDS.search(after(work, m.end(), 24))
        if named or (dashed and (joined or not _SSN_NOT.search(left))):
            seen = m.end()
            yield Span(m.start(), seen, "ssn")


# ---------------------------------------------------------------- telephone numbers

_BLANK: Final = r"[ \u00a0\u2007\u2009\u202f]"
_GAP: Final = rf"(?:{_BLANK}?[\-./()\u2010-\u2013]{{1,2}}{_BLANK}?|{_BLANK})"
# Begins with a class of characters, so that the search can skip to where one stands.
_PHONE: Final = re.compile(
    r"[+(0-9](?<![0-9A-Za-z_][+(0-9])(?<![0-9][.,/\-][+(0-9])"
    rf"(?:(?<=\+){SPACE}?\(?[0-9]|(?<=\()[0-9]|(?<=[0-9]))(?:{_GAP}?[0-9]){{5,16}}"
    r"(?:[ ]?(?:x|ext\.?|#)[ ]?[0-9]{1,5})?(?![0-9A-Za-z_]|[.,:/\-][0-9])"
)
_EXTENSION: Final = re.compile(r"[ ]?(?:x|ext\.?|#)[ ]?[0-9]{1,5}\Z")
_STRONG: Final = re.compile(
    "(?:"
    + word(
        r"(?:tele|i|smart)?phones?|phone ?(?:no|number|#)\.?|tel|tlf|telefax|fax|faks|"
        rf"telefon[{LETTERS}]{{0,5}}|fon|telp|telepon|cep|điện thoại|"
        r"(?:my|our|your|his|her) (?:new |old |phone )?number is|mob n[or]|"
        r"whats ?app|viber|sms|gsm|hotline|helpline|handy(?:nummer)?|rufnummer|mobilnummer|"
        r"(?:mobile|cell|contact|office|home|work|direct|toll[ -]free) (?:phone|number|no|line)|"
        r"tel[eé]fonos?|m[oó]vil|celular|t[eé]l[eé]phone|t[eé]l|t[eé]l[eé]copie|portable|cellulare|"
        r"telefone|telem[oó]vel|telefoon|gsm-nummer|puhelin|puh|telefonszám|numer telefonu|"
        r"тел|телефон[а-я]{0,3}|факс|моб|τηλ|τηλέφωνο|טלפון|هاتف|تليفون"
    )
    + "|फ़ोन|फोन|मोबाइल|โทร|電話(?:番号)?|电话|手机|手機|傳真|传真|携帯|전화(?:번호)?|휴대폰|팩스)"
    rf"(?:[^0-9\x00\x01\n]{{0,16}}\n?{SPACE}{{0,2}})\Z"
)
_LABEL: Final = re.compile(
    word("mobile|mob|cell|desk|office|direct|home|work|main|contact")
    + rf"\.?{SPACE}?[:：]{SPACE}{{0,2}}\Z"
)
_LETTER: Final = re.compile(word("(?:[tmpf]|ph|hp):|ph\\.") + r" {1,2}\Z")
"""Labels so short that the number must be written in groups."""
_VERB: Final = re.compile(
    word(
        "call(?:ed|ing|s)?|dial(?:led|ed|ing)?|ring|rang|reach(?:ed|able)?|contact(?:ed)?|text(?:ed)?|"
        "answer(?:ed|ing)?|messages?|cell|mobile|anrufen|appelez|llame|llama[rd]?|chiama(?:re)?|ligue"
    )
    + r"[^0-9\n]{0,24}\n?\Z"
)
_LABEL_AFTER: Final = re.compile(
    r"[ \-–,(]{0,3}" + word("office|fax|mobile|cell|phone|desk|home|work|direct|voice")
)
_LISTED: Final = re.compile(
    rf"{PHONE_FILLER}(?:{SPACE}*[,;/|&]{SPACE}*|{SPACE}+(?:or|and|und|ou|o|y|/){SPACE}+)\Z"
)
_NEAR: Final = 12
"""Characters from one number of a list to the next, at most."""
_PHONE_NOT: Final = re.compile(
    word(
        "isbn|issn|doi|oid|order|ticket|versions?|ver|builds?|pages?|pp|model|serial|imei|invoice|"
        "port|ports|rfc|section|chapter|pmid|uid|gid|id|ids|ip|windows phone|year|years|bug|issue"
    )
    + r"[^0-9]{0,12}\Z"
)
_DATE: Final = re.compile(
    r"(?:1[6-9]|20)[0-9]{2}[\-./](?:0?[1-9]|1[0-2])[\-./][0-3]?[0-9](?![0-9])"
    r"|[0-3]?[0-9][\-./](?:0?[1-9]|1[0-2])[\-./](?:1[6-9]|20)[0-9]{2}(?![0-9])"
    r"|(?:1[6-9]|20)[0-9]{2} ?[\-–/,] ?(?:1[6-9]|20)[0-9]{2}\Z"
)
_NORTH_AMERICA: Final = re.compile(r"\(([2-9][0-9]{2})\) ?[2-9][0-9]{2}[\- .][0-9]{4}\Z")
_IN_HYPHENS: Final = re.compile(
    r"(?:1[\-.\u2010-\u2013])?([2-9][0-9]{2})([\-.\u2010-\u2013])[2-9][0-9]{2}\2[0-9]{4}\Z"
)
"""The same without brackets: a number where the plan has the area."""


def phones(work: str, windows: Windows) -> Iterator[Span]:
    """Telephone numbers, by their context: an international prefix with a possible number behind
    it, the North American forms ``(415) 555-0166`` and ``415-555-0166`` (the latter in areas that
    there are), a word for a telephone before or after the number, a verb such as "call", or another
    number just before it in a list.

    Numbers without any of these are left alone: bare digits in technical text are far more
    often something else. National numbering plans are not asked for numbers with a word before
    them: in the labelled set measured here that loses two thirds of them (recall .59 at
    "possible", .18 at "valid", US plan). The next of a list leans on the one found before it, so
    that a list is found in one sweep.
    """
    seen = 0
    possible = (
        (low, high)
        for low, high, needs_one in windows.phones()
        if not needs_one or (seen and low - seen < _NEAR)
    )  # asked for one by one, each after what was found in those before it
    for m in matches(_PHONE, work, possible, early=4):
        if work[m.start() - 1 : m.start()] in ("/", "\\", "=", "#"):
            continue  # a path, a parameter, an anchor
        end = m.end()
        while end > m.start():
            if _is_phone(work, m.start(), end, seen):
                seen = end
                yield Span(m.start(), end, "phone")
                break
            # two things parted by a space may have been read as one: try without the last
            end = work.rfind(" ", m.start(), end)


def _is_phone(work: str, start: int, end: int, seen: int) -> bool:
    """Whether ``start:end`` is a number; the one before it ends at `seen`, 0 if there is none."""
    number = _EXTENSION.sub("", work[start:end])
    digits = _NOT_DIGIT.sub("", number)
    if not 7 <= len(digits) <= 15 or not _plausible(number):
        return False
    left = before(work, start, 64)
    if _PHONE_NOT.search(left):
        return False
    if number.startswith("+") and _possible("+" + digits, number):
        return True
    if number.startswith("00") and len(digits) >= 11 and _possible("+" + digits[2:], number):
        return True
    if _IN_HYPHENS.match(number) and _possible("+1" + digits[-10:], digits):
        return True
    if _NORTH_AMERICA.match(number) or _STRONG.search(left) or _LABEL.search(left):
        return True
    shaped = number != digits or len(digits) >= 9
    if number != digits and len(digits) >= 9 and _LETTER.search(left):
        return True
    if shaped and (_VERB.search(left) or _LABEL_AFTER.match(after(work, end, 12))):
        return True
    if not shaped:
        return False
    near = PHONE_FILLER + work[seen:start] if 0 < start - seen < _NEAR and seen else None
    return _LISTED.search(near or work[max(0, start - _NEAR) : start]) is not None


def _plausible(number: str) -> bool:
    """Rules out dates, ranges of years, decimals, version numbers and unbalanced brackets."""
    if _DATE.match(number) or number.count("(") != number.count(")"):
        return False
    groups = [g for g in _NOT_DIGIT.split(number) if g]
    dots = number.count(".")
    if dots and dots == len(groups) - 1:
        longest = 7 if number.startswith("+") else 5
        return len(groups) > 2 and all(2 <= len(g) <= longest for g in groups)
    return len(groups) < 8 and not all(len(g) == 1 for g in groups)


def _possible(international: str, written: str) -> bool:
    """Does libphonenumber hold the number for possible, and for valid if written without a gap?"""
    import phonenumbers

    try:
        parsed = phonenumbers.parse(international, None)
    except phonenumbers.NumberParseException:
        return False
    if written.lstrip("+ ").isdigit():
        return bool(phonenumbers.is_valid_number(parsed))
    return bool(phonenumbers.is_possible_number(parsed))


__all__ = ["ibans", "mod97", "phones", "ssns"]
