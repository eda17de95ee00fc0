"""A form of an address that fits at a place, with what stands around it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from .spans import LETTERS, before, word
from .street_tails import extended
from .street_words import DIRECTION, SP


@dataclass(frozen=True, slots=True)
class Seen:
    """A form that fits, and what is around."""

    form: str
    text: str
    """What the form took."""
    words: tuple[str, ...]
    number: str
    """The first one where the form begins with a number, else the last."""
    before: str
    """What stands before, small letters."""
    named: str
    """The same as it stands, shorter."""
    glued: str
    """The sign before, if no space is between."""
    line: bool
    """Whether the line begins with it."""
    after: str
    end: int
    """With flat, postcode, town and country."""
    flat: bool
    signed: bool
    """Whether a postcode, a state or a country follows."""
    coded: bool
    """Whether a postcode does."""

    @property
    def told(self) -> bool:
        """Whether something around says that it is an address."""
        return self.flat or self.signed or _LEAD.search(self.before) is not None

    @property
    def alone(self) -> bool:
        """Whether it is a line of its own."""
        return self.line and _LINE_ENDS.match(self.after) is not None

    @property
    def year(self) -> bool:
        return len(self.number) == 4 and "1500" <= self.number <= "2099"


_NUMBERS: Final = re.compile("[0-9]+")
_DIRECTION_BEHIND: Final = re.compile(rf",?{SP}{DIRECTION}(?![{LETTERS}0-9])")
_TAIL_BEGINS: Final = re.compile(rf",{SP}|{SP}?\r?\n")
_WHOLE: Final = ("Road", "Lane", "Way", "Walk", "Row", "Hill", "Loop", "Rise", "Quay", "Mews")


def _full_stop(text: str, following: str) -> int:
    """How long the full stop of an abbreviation behind is."""
    last = text.rpartition(" ")[2].title()
    return int(following == "." and len(last) <= 4 and last not in _WHOLE)


_LINE_ENDS: Final = re.compile(rf"{SP}*[,.;|]?{SP}*(?:\r?\n|\Z)")
_LINE_BEGINS: Final = re.compile(rf"(?:\A|\n)(?:{SP}|[\t*•·|\-–>])*\Z")
_LEAD: Final = re.compile(
    "(?:"
    + word(
        "at|address(?:es)?(?: is)?|addr|located|location|visit|office|offices|headquarters|hq|"
        "corner of|lives? (?:at|on)|living (?:at|on)|reside[sd]? (?:at|on)|moved? to|"
        "(?:ship|deliver|mail|write|send|sent|drive|go|head|walk)[a-z]* (?:it )?to|"
        "adresse?|anschrift|sitz|standort|wohnhaft|dirección|domicilio|indirizzo|sede|sito in|"
        "endereço|morada|adres|siedziba|sídlo|adresa|osoite|adress|cím|cím|адрес|адреса|"
        "domiciliée?|situ[ée]e?s?(?: au)?|sise?(?: au)?|au|habite(?: au)?"
    )
    + rf"|📍){SP}?[:\-–]?{SP}?\n?{SP}?(?:[0-9]{{1,5}}{SP})?\Z"
)


_UNIT_LAST: Final = re.compile(rf"{SP}(?i:apt\.?|suite|ste\.?|unit|bât\.?|appt?\.?)\Z")


def seen_at(work: str, name: str, m: re.Match[str]) -> Seen:
    text = m.group()
    if name == "french":  # its name is open at the end
        text = _UNIT_LAST.sub("", text)
    elif name in ("bare", "state"):  # with what follows, which `extended` reads
        text = _TAIL_BEGINS.split(text)[0]
    end = m.start() + len(text)
    if name in _NUMBER_FIRST:
        numbers = _NUMBERS.findall(text)[:1]
        if name != "french":
            end += _full_stop(text, work[end : end + 1])
            more = _DIRECTION_BEHIND.match(work, end)
            end = more.end() if more else end
    else:
        numbers = _NUMBERS.findall(text)[-1:]
    tail = extended(work, end, number_first=name in _NUMBER_FIRST and name != "french")
    left = before(work, m.start(), 48)
    line = _LINE_BEGINS.search(work[max(0, m.start() - 24) : m.start()])
    return Seen(
        form=name,
        text=text,
        words=tuple(text.replace("\u00a0", " ").split()),
        number=numbers[0] if numbers else "",
        before=left,
        named=work[max(0, m.start() - 16) : m.start()],
        glued=left[-1:].strip(),
        line=line is not None and (line.group()[:1] == "\n" or m.start() <= 24),
        after=work[tail.end : tail.end + 24],
        end=tail.end,
        flat=tail.flat,
        signed=tail.signed,
        coded=tail.coded,
    )


_NUMBER_FIRST: Final = frozenset(("english", "road", "counted", "flat", "state", "small", "french"))
