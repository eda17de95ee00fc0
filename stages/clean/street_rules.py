"""Which of the forms of `corpusmill.stages.clean.street_words` are addresses, by what is around.

A form's word may say it alone (``Street``, ``Gasse``, ``ul.``); words that stand in other names too
need a flat, a postcode, a state or a country behind, a word such as "at" before, or a line of
their own. A number that may be a year, a counted thing (``Chapter 3``), a price or a measure is
none of a house.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from .spans import LETTERS, before, word
from .street_tails import extended
from .street_words import DIRECTION, SP, STRONG


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


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
_WHOLE: Final = _words("Road Lane Way Walk Row Hill Loop Rise Quay Mews")


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
_MONTHS: Final = _words(
    "january february march april may june july august september october november december jan feb "
    "mar apr jun jul aug sep sept oct nov dec"
)
_NO_NAMES: Final = _MONTHS | _words(
    "the a an my our your this that these in of for and to new best top great week day year month "
    "hour minute second mile star bedroom bed bath inch piece player man woman people dollar "
    "percent point step way ways two three four five supreme federal circuit "
    "national theme hard flash usb disk test vs versus if when how why what"
)
"""First words of names that streets seldom have."""
_STRONG: Final = _words(f"{STRONG} {STRONG.upper()}")
_MONEY: Final = frozenset("$£€¥#+=%@/.-–_&")
_GOES_ON: Final = re.compile(
    rf"(?:-|{SP})[A-ZÀ-Þ][{LETTERS}]|[\-–][{LETTERS}0-9]|{SP}(?:km|miles?|trip|tour|game|album|song)"
)


def _english(seen: Seen) -> bool:
    names = [w.rstrip(".,").lower() for w in seen.words[1:-1]]
    street = seen.words[-1].rstrip(".")
    if not names or seen.glued in _MONEY:
        return False
    if street == "Str" and _HOUSE_NEXT.match(seen.after):
        return False  # a number, and the name of a German street
    if seen.signed or seen.flat:
        return True
    if names[0] in _NO_NAMES or names[-1] in _COURTS:
        return False
    if _GOES_ON.match(seen.after):
        return False
    if seen.told:
        return True
    if _COUNTERS.search(seen.before):
        return False
    if seen.year and (_YEARS.match(seen.text) or street == "Lane"):
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
_YEARS: Final = re.compile("[0-9]{4}(?:,|[-–/][0-9]{2})")
"""Years of a copyright, before a name such as Lane."""
_HOUSE_NEXT: Final = re.compile(rf"\.?{SP}?[0-9]")
_COURTS: Final = _words("supreme district federal circuit way rail silk sesame")


def _road(seen: Seen) -> bool:
    if seen.glued in _MONEY:
        return False
    if seen.told:
        return True
    return len(seen.number) > 2 and not seen.year and not _COUNTERS.search(seen.before)


def _counted(seen: Seen) -> bool:
    return seen.signed or seen.flat


_THREE_DIGITS: Final = re.compile(r"(?i)apt|ste\.|[0-9]{3}[a-z]?\Z")


def _flat(seen: Seen) -> bool:
    return seen.glued not in _MONEY and _THREE_DIGITS.search(seen.text[-8:]) is not None


def _state(seen: Seen) -> bool:
    return seen.coded and seen.glued not in _MONEY


# Numbers behind a name.
_UNIT_BEHIND: Final = re.compile(
    rf"[.,:][0-9]|{SP}?[%°€$]|{SP}(?:km|m|cm|kg|ha|Meter|metri|metros|mètres|Uhr|Euro|EUR|Prozent|"
    rf"Jahre|years|anni|años|ans)(?![{LETTERS}])"
)


def _dated(seen: Seen) -> bool:
    return seen.year and not seen.signed and not seen.flat


_WEAK_FRENCH: Final = _words("cours route passage square voie villa av ave place esplanade")


def _french(seen: Seen) -> bool:
    if seen.glued in _MONEY:
        return False
    if seen.told:
        return True
    kind = next(w for w in seen.words[1:] if w not in ("bis", "ter", "quater"))
    plain = kind.lower().rstrip(".")
    if _dated(seen):
        return False
    return plain not in _WEAK_FRENCH or (kind.islower() and plain == "place") or seen.alone


_SURE_LEADING: Final = _words(
    "viale v.le p.zza piazza piazzale vicolo lungotevere lungarno calle c/ avda avda. avenida pza. "
    "ctra. travesía callejón carrer passeig plaça avinguda rua travessa praça jalan jl. jln "
    "chaussée bulevardul calea șoseaua rue str."
)
_ENGLISH_TOO: Final = _words("avenue boulevard plaza via camino carrera route largo villa")
_NAMED: Final = re.compile(rf"[A-ZÀ-Þ][{LETTERS}]*\.?{SP}\Z")
_NAMED_NEXT: Final = re.compile(rf"{SP}[A-ZÀ-Þ]")
_COMMA: Final = re.compile(
    rf",{SP}?[^,]{{0,6}}[0-9][^,]*\Z|(?:[Nn]r?\.?[º°o]?\.?|№|#){SP}?[0-9]+\S*\Z"
)
_SOFT: Final = re.compile(rf"(?:[aeiouàèéìòùáíóú]|[XVI]+),?{SP}?[0-9]\S*\Z")
_MEDIA: Final = _words("email e-mail twitter sms skype zoom usb facebook app media")


def _leading(seen: Seen) -> bool:
    first = seen.words[0].lower()
    if (_dated(seen) and first not in _SURE_LEADING) or _UNIT_BEHIND.match(seen.after):
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


_IN_VIA: Final = re.compile(word("in|alla|dalla|nella|di|da|sita") + rf"{SP}\Z")
"""What stands before a street in Italian, and not before ``via Kafka 2``."""


def _leading_small(seen: Seen) -> bool:
    if _UNIT_BEHIND.match(seen.after):
        return False
    if seen.words[0] in ("via", "corso"):
        return seen.coded or (_IN_VIA.search(seen.before) is not None and not seen.year)
    return _COMMA.search(seen.text) is not None or not _dated(seen)


_NO_STREETS: Final = re.compile(
    r"(?i)(?:bundes|land|staats|kreis|landes|milch|wasser|auto|daten|schnell)stra(?:ß|ss)e|"
    r"(?:wander|rad|hin|rück|aus|um|um|königs|fern|lehr|rund|flucht|rechts)weg|"
    r"(?:arbeits|park|sitz|stell|camping|spiel|golf|flug|fußball|sport|tabellen|start|steh|platz|"
    r"treppchen|podest|lager|speicher|steck|studien|ausbildungs|liege)platz"
)
_SURE_ENDS: Final = re.compile(
    r"(?:stra(?:ß|ss)e|str\.?|gasse|gässli|gässchen|weg|platz|allee|damm|ufer|chaussee|straat|"
    r"laan|plein|gracht|gatan|vägen|veien|vegen|vej|gade|gata|gaten|stræde|stræti|vegur|katu|intie|"
    r"braut|torget|alléen)\Z"
)


def _german(seen: Seen) -> bool:
    if _dated(seen) or _UNIT_BEHIND.match(seen.after):
        return False
    if seen.coded or seen.flat:
        return True
    name = " ".join(seen.words[:-1]).lower()
    if _NO_STREETS.search(name) or len(name) < 6:
        return False
    return _SURE_ENDS.search(name) is not None or seen.told or seen.alone


def _parted(seen: Seen) -> bool:
    if _dated(seen) or _UNIT_BEHIND.match(seen.after) or seen.words[0] in _ARTICLES:
        return False
    sure = seen.words[-2].lower().rstrip(".") in ("str", "straße", "strasse", "gasse", "allee")
    return sure or seen.signed or seen.flat


_ARTICLES: Final = _words("Die Der Das Den Dem Eine Ein In Im Am An A Az Auf Zur Zum")
_PLACES: Final = _words(
    "Markt Bahnhof Kirchplatz Dom Rathaus Hafen Park See Berg Marktplatz Kirche Anger Graben Wall "
    "Mühle Bach Brunnen Stadtpark Schloss Linden Schulzentrum Sportplatz Friedhof Hang Wald"
)


def _at(seen: Seen) -> bool:
    if _dated(seen) or _UNIT_BEHIND.match(seen.after):
        return False
    if seen.words[-2].lower() in _MONTHS:
        return False
    return seen.coded or (seen.words[-2] in _PLACES and not seen.year)


_CAPITAL: Final = re.compile("[A-ZÀ-ÞĀ-Ž]")


def _slavic(seen: Seen) -> bool:
    if _dated(seen) or seen.before.endswith("et ") or _UNIT_BEHIND.match(seen.after):
        return False
    first, *names = seen.words[:-1]
    if first.endswith("."):  # which ends a sentence too
        return all(not name[0].islower() for name in names)
    return first.lower() == "trg" or any(_CAPITAL.match(name) for name in names)


def _hungarian(seen: Seen) -> bool:
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
    "state": _state,
    "french": _french,
    "leading": _leading,
    "leading small": _leading_small,
    "german": _german,
    "capitals": _german,
    "parted": _parted,
    "of": _german,
    "at": _at,
    "slavic": _slavic,
    "hungarian": _hungarian,
}
"""Form → what decides; the others are addresses wherever they stand."""


def accepted(seen: Seen) -> bool:
    """Whether it is an address."""
    rule = _RULES.get(seen.form)
    return rule is None or rule(seen)
