"""Postal addresses with a street and a number, a box or a military unit, by rules.

A form (`corpusmill.stages.clean.street_words`) says that there may be one: a number, a name and a
word for a street. Whether it is one is said by the word itself, or, where it stands in other names
too (``Court``, ``Place``, ``Way``), by what is around: a flat, a town with a postcode or a state
behind, a word such as "at" before, a line of its own. An address goes on over flat, postcode,
town, state and country where they follow, with the digits of a postcode, a state or a country as
the sign; a town alone is left, since nothing tells it from prose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from .spans import LETTERS, Span, before, word
from .street_tails import extended
from .street_words import DIRECTION, FORMS, MARKS, SP, STRONG, UPPER

_BEFORE, _BEHIND = 160, 120
"""Bytes that are looked at around a mark."""


def _automaton(pattern: str, megabytes: int) -> Any:
    """A google-re2 automaton over bytes."""
    import re2

    options = re2.Options()
    options.log_errors = False
    options.max_mem = megabytes << 20
    return re2.compile(pattern.encode(), options)


@lru_cache(maxsize=1)
def _marks() -> Any:
    return _automaton("|".join(MARKS), 16)


@lru_cache(maxsize=1)
def _places() -> Any:
    return _automaton("|".join(FORMS.values()), 64)


@lru_cache(maxsize=1)
def _compiled() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """The forms with borders: no letter and no digit beside."""
    return tuple(
        (name, re.compile(rf"(?<![{LETTERS}0-9_])(?:{form})(?![{LETTERS}0-9_])"))
        for name, form in FORMS.items()
    )


def may_be(work: str) -> bool:
    """Whether a mark of an address stands in `work`."""
    return _marks().search(work.encode("utf-8", "replace")) is not None


_TOKEN: Final = re.compile(rf"[{LETTERS}0-9]+|.", re.DOTALL)
"""What is passed over where there is no address."""


def streets(work: str) -> Iterator[Span]:
    """The addresses of `work`."""
    data = work.encode("utf-8", "replace")
    search = _places().search
    at = place = 0  # a byte, and the character that begins there
    free = 0  # the first character behind the last address
    for low, high in _regions(data):
        while found := search(data, max(at, low), high):
            place += len(data[at : found.start()].decode())
            at = found.start()
            end = _address(work, place)
            if end:
                yield Span(_begin(work, place, free), end, "street")
                free = end
            else:
                token = _TOKEN.match(work, place)
                end = token.end() if token else place + 1
            at += len(work[place:end].encode("utf-8", "replace"))
            place = end


def _regions(data: bytes) -> list[tuple[int, int]]:
    """The bytes around marks, neighbours joined."""
    regions: list[tuple[int, int]] = []
    for mark in _marks().finditer(data):
        low, high = max(0, mark.start() - _BEFORE), min(len(data), mark.end() + _BEHIND)
        while low and data[low] & 0xC0 == 0x80:
            low -= 1
        while high < len(data) and data[high] & 0xC0 == 0x80:
            high += 1
        if regions and low <= regions[-1][1]:
            low = regions.pop()[0]
        regions.append((low, high))
    return regions


def _address(work: str, place: int) -> int:
    """Where the address that begins at `place` ends; 0 if none does."""
    for name, form in _compiled():
        m = form.match(work, place)
        if m is not None:
            seen = _seen(work, name, m)
            if _RULES.get(name, _always)(seen):
                return seen.end
    return 0


@dataclass(frozen=True, slots=True)
class _Seen:
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


_FIRST: Final = re.compile("[0-9]+")
_NUMBERS: Final = re.compile("[0-9]+")
_DIRECTION_BEHIND: Final = re.compile(rf",?{SP}{DIRECTION}(?![{LETTERS}0-9])")
_TAIL_BEGINS: Final = re.compile(rf",{SP}|{SP}?\r?\n")
_WHOLE: Final = frozenset("Road Lane Way Walk Row Hill Loop Rise Quay Mews".split())


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


def _seen(work: str, name: str, m: re.Match[str]) -> _Seen:
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
    return _Seen(
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


def _always(_: _Seen) -> bool:
    return True


# Names that begin with a number.
_COUNTERS: Final = re.compile(
    word(
        "chapters?|sections?|episodes?|seasons?|tracks?|pages?|pp?|vol|volumes?|versions?|lessons?|"
        "weeks?|days?|figures?|fig|steps?|parts?|phases?|levels?|exit|bus|lines?|nos?|numbers?|top|"
        "under|over|than|about|nearly|the|of|in|since|until|by|from|during|early|late|and|"
        "january|february|march|april|may|june|july|august|september|october|november|december|"
        "jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec"
    )
    + rf"\.?{SP}?\Z"
)
_MONTHS: Final = frozenset(
    "january february march april may june july august september october november december jan feb "
    "mar apr jun jul aug sep sept oct nov dec".split()
)
_NO_NAMES: Final = _MONTHS | frozenset(
    "the a an my our your this that these in of for and to new best top great week day year month "
    "hour minute second mile star bedroom bed bath inch piece player man woman people dollar "
    "percent point step way ways two three four five supreme federal circuit "
    "national theme hard flash usb disk test vs versus if when how why what".split()
)
"""First words of names that streets seldom have."""
_STRONG: Final = frozenset(w.rstrip(".") for word_ in STRONG.split() for w in (word_, word_.upper()))
_MONEY: Final = frozenset("$£€¥#+=%@/.-–_&")
_GOES_ON: Final = re.compile(
    rf"(?:-|{SP})[A-ZÀ-Þ][{LETTERS}]|[\-–][{LETTERS}0-9]|{SP}(?:km|miles?|trip|tour|game|album|song)"
)


def _english(seen: _Seen) -> bool:
    names = [w.rstrip(".,").lower() for w in seen.words[1:-1]]
    street = seen.words[-1].rstrip(".")
    if not names or seen.glued in _MONEY:
        return False
    if street == "Str" and _HOUSE_NEXT.match(seen.after):
        return False  # a number, and the name of a German street
    if seen.signed or seen.flat:
        return True
    if any(n in _NO_NAMES for n in names[:1]) or (names[-1] in _COURTS):
        return False
    if _GOES_ON.match(seen.after):
        return False
    if seen.told:
        return True
    if _COUNTERS.search(seen.before):
        return False
    if (seen.year and seen.number >= "1900") or len(names) > 3:
        return seen.alone
    if street in _STRONG:
        return (
            _SENTENCE.match(seen.after) is not None
            or _POINTED.match(seen.text) is not None
            or seen.before.rstrip(" \u00a0").endswith(":")
        )
    return seen.alone and len(seen.number) > 2


_SENTENCE: Final = re.compile(
    rf"[^ \u00a0{LETTERS}0-9]|\Z|{SP}(?:[^{LETTERS}]|\Z|"
    + word(
        "and|or|in|on|at|is|was|has|had|will|for|to|near|with|by|from|of|off|between|across|"
        "opposite|behind|beside|next|until|since|before|after|where|which|who|that|as|if|when|"
        "while|but|because|so|are|were|into|over|under|around|this|last|just|now|today|every"
    )
    + ")"
)
"""How a sentence goes on behind an address; ``10 Kings Road races`` are something else."""
_POINTED: Final = re.compile(rf"[0-9A-Za-z\-]+{SP}(?:{DIRECTION}{SP}|[0-9]{{1,3}}[a-z]{{2}}{SP})")
"""A direction or an ordinal number as the name, or before it."""
_HOUSE_NEXT: Final = re.compile(rf"\.?{SP}?[0-9]")
_COURTS: Final = frozenset("supreme district federal circuit way rail silk sesame".split())


def _road(seen: _Seen) -> bool:
    if seen.glued in _MONEY:
        return False
    if seen.told:
        return True
    return len(seen.number) > 2 and not seen.year and not _COUNTERS.search(seen.before)


def _told(seen: _Seen) -> bool:
    return seen.told


def _counted(seen: _Seen) -> bool:
    return seen.signed or seen.flat


_THREE_DIGITS: Final = re.compile(r"(?i)apt|ste\.|[0-9]{3}[a-z]?\Z")


def _flat(seen: _Seen) -> bool:
    return seen.glued not in _MONEY and _THREE_DIGITS.search(seen.text[-8:]) is not None


# Numbers behind a name.
_UNIT_BEHIND: Final = re.compile(
    rf"[.,:][0-9]|{SP}?[%°€$]|{SP}(?:km|m|cm|kg|ha|Meter|metri|metros|mètres|Uhr|Euro|EUR|Prozent|"
    rf"Jahre|years|anni|años|ans)(?![{LETTERS}])"
)


def _dated(seen: _Seen) -> bool:
    return seen.year and not seen.signed and not seen.flat


_WEAK_FRENCH: Final = frozenset(
    "cours route passage square voie villa av ave place esplanade".split()
)


def _french(seen: _Seen) -> bool:
    if seen.glued in _MONEY:
        return False
    if seen.told:
        return True
    kind = next(w for w in seen.words[1:] if w not in ("bis", "ter", "quater"))
    plain = kind.lower().rstrip(".")
    if _dated(seen):
        return False
    return plain not in _WEAK_FRENCH or (kind.islower() and plain == "place") or seen.alone


_SURE_LEADING: Final = frozenset(
    "viale v.le p.zza piazza piazzale vicolo lungotevere lungarno calle c/ avda avda. avenida pza. "
    "ctra. travesía callejón carrer passeig plaça avinguda rua travessa praça jalan jl. jln "
    "chaussée bulevardul calea șoseaua rue str.".split()
)
_ENGLISH_TOO: Final = frozenset("avenue boulevard plaza via camino carrera route largo villa".split())
_NAMED: Final = re.compile(rf"[A-ZÀ-Þ][{LETTERS}]*\.?{SP}\Z")
_NAMED_NEXT: Final = re.compile(rf"{SP}[A-ZÀ-Þ]")
_COMMA: Final = re.compile(rf",{SP}?[^,]{{0,6}}[0-9][^,]*\Z|(?:[Nn]r?\.?[º°o]?\.?|№|#){SP}?[0-9]+\S*\Z")
_SOFT: Final = re.compile(rf"(?:[aeiouàèéìòùáíóú]|[XVI]+),?{SP}?[0-9]\S*\Z")
_MEDIA: Final = frozenset("email e-mail twitter sms skype zoom usb facebook app media".split())


def _leading(seen: _Seen) -> bool:
    first = seen.words[0].lower()
    if _dated(seen) and first not in _SURE_LEADING or _UNIT_BEHIND.match(seen.after):
        return False
    if first in _ENGLISH_TOO and (_NAMED.search(seen.named) or _NAMED_NEXT.match(seen.after)):
        return False
    if seen.signed or seen.flat or first in _SURE_LEADING:
        return True
    if any(w.lower().rstrip(",") in _MEDIA for w in seen.words[1:2]):
        return False
    if first in ("via", "corso", "largo", "strada", "contrada"):
        return _SOFT.search(seen.text) is not None
    return _COMMA.search(seen.text) is not None or seen.told or seen.alone


_NO_STREETS: Final = re.compile(
    r"(?i)(?:bundes|land|staats|kreis|landes|milch|wasser|auto|daten|schnell)stra(?:ß|ss)e|"
    r"(?:wander|rad|hin|rück|aus|um|um|königs|fern|lehr|rund|flucht|rechts)weg|"
    r"(?:arbeits|park|sitz|stell|camping|spiel|golf|flug|fußball|sport|tabellen|start|steh|platz|"
    r"treppchen|podest|lager|speicher|steck|studien|ausbildungs|liege)platz|"
    r"\A(?:spring|string|during|ring|bring|offering|engineering|fring|[a-z]+(?:ering|oring|aring))\b"
)
_SURE_ENDS: Final = re.compile(
    r"(?:stra(?:ß|ss)e|str\.?|gasse|gässli|gässchen|weg|platz|allee|damm|ufer|chaussee|straat|laan|plein|"
    r"gracht|gatan|vägen|veien|vegen|vej|gade|gata|gaten|stræde|stræti|vegur|katu|intie|"
    rf"braut|torget|alléen)\Z"
)


def _german(seen: _Seen) -> bool:
    if _dated(seen) or _UNIT_BEHIND.match(seen.after):
        return False
    if seen.coded or seen.flat:
        return True
    name = " ".join(seen.words[:-1]).lower()
    if _NO_STREETS.search(name) or len(name) < 6:
        return False
    return _SURE_ENDS.search(name) is not None or seen.told or seen.alone


def _parted(seen: _Seen) -> bool:
    if _dated(seen) or _UNIT_BEHIND.match(seen.after) or seen.words[0] in _ARTICLES:
        return False
    sure = seen.words[-2].lower().rstrip(".") in ("str", "straße", "strasse", "gasse", "allee")
    return sure or seen.signed or seen.flat


_ARTICLES: Final = frozenset("Die Der Das Den Dem Eine Ein In Im Am An A Az Auf Zur Zum".split())
_PLACES: Final = frozenset(
    "Markt Bahnhof Kirchplatz Dom Rathaus Hafen Park See Berg Marktplatz Kirche Anger Graben Wall "
    "Mühle Bach Brunnen Stadtpark Schloss Linden Schulzentrum Sportplatz Friedhof Hang Wald".split()
)


def _at(seen: _Seen) -> bool:
    if _dated(seen) or _UNIT_BEHIND.match(seen.after):
        return False
    if seen.words[-2].lower() in _MONTHS:
        return False
    return seen.coded or (seen.words[-2] in _PLACES and not seen.year)


_CAPITAL: Final = re.compile("[A-ZÀ-ÞĀ-Ž]")


def _slavic(seen: _Seen) -> bool:
    if _dated(seen) or seen.before.endswith("et ") or _UNIT_BEHIND.match(seen.after):
        return False
    return seen.words[0].lower() == "trg" or _CAPITAL.search(seen.text, 1) is not None


def _hungarian(seen: _Seen) -> bool:
    if _dated(seen) or seen.words[0] in _ARTICLES:
        return False
    if "u." in seen.words:
        return seen.text.endswith(".") or seen.told or seen.alone
    return not _UNIT_BEHIND.match(seen.after)


_RULES: Final = {
    "english": _english,
    "road": _road,
    "counted": _counted,
    "flat": _flat,
    "french": _french,
    "leading": _leading,
    "german": _german,
    "capitals": _german,
    "parted": _parted,
    "of": _german,
    "at": _at,
    "slavic": _slavic,
    "hungarian": _hungarian,
}
"""Form → what decides; the others are addresses wherever they stand."""

_UNIT_BEFORE: Final = re.compile(
    rf"(?<![{LETTERS}0-9])(?:(?:Flat|Unit|Suite|Apt\.?|Apartment|Room|Shop|Level|Studio|Floor){SP}"
    rf"(?:[0-9]{{1,4}}[A-Za-z]?|[A-Z]),?{SP}?\n?|[0-9]{{1,5}}{SP})\Z"
)


_ADJECTIVE: Final = re.compile(rf"(?<![{LETTERS}0-9])[{UPPER}][{LETTERS}]+er{SP}\Z")
"""Of a place, before a word that could be a name alone: ``Hanauer Landstr. 5``."""


def _begin(work: str, place: int, free: int) -> int:
    """`place`, or where the flat before it begins."""
    unit = _UNIT_BEFORE.search(work[max(free, place - 20) : place])
    return place - len(unit.group()) if unit else place
