"""Which of the forms of `corpusmill.stages.clean.street_words` are addresses, by what is around.

A form's word may say it alone (``Street``, ``Gasse``, ``ul.``); words that stand in other names too
need a flat, a postcode, a state or a country behind, a word such as "at" before, or a line of
their own. A number that may be a year, a counted thing (``Chapter 3``), a price or a measure is
none of a house.
"""

from __future__ import annotations

import re
from typing import Final

from .spans import LETTERS, word
from .street_seen import Seen
from .street_words import DIRECTION, SP, STRONG


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


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


def _no_house(seen: Seen) -> bool:
    """Whether the number is a year or has a unit behind it."""
    return _dated(seen) or _UNIT_BEHIND.match(seen.after) is not None


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
    if first in ("place", "route") or any(w.lower().rstrip(",") in _MEDIA for w in seen.words[1:2]):
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
    if _no_house(seen):
        return False
    if seen.coded or seen.flat:
        return True
    name = " ".join(seen.words[:-1]).lower()
    if name.endswith("ring") and not name.endswith(("-ring", " ring")):
        return False  # Catering 101
    if _NO_STREETS.search(name) or len(name) < 6:
        return False
    return _SURE_ENDS.search(name) is not None or seen.told or seen.alone


def _parted(seen: Seen) -> bool:
    if _no_house(seen) or seen.words[0] in _ARTICLES:
        return False
    sure = seen.words[-2].lower().rstrip(".") in ("str", "straße", "strasse", "gasse", "allee")
    return sure or seen.signed or seen.flat


_ARTICLES: Final = _words("Die Der Das Den Dem Eine Ein In Im Am An A Az Auf Zur Zum")
_PLACES: Final = _words(
    "Markt Bahnhof Kirchplatz Dom Rathaus Hafen Park See Berg Marktplatz Kirche Anger Graben Wall "
    "Mühle Bach Brunnen Stadtpark Schloss Linden Schulzentrum Sportplatz Friedhof Hang Wald"
)


def _at(seen: Seen) -> bool:
    if _no_house(seen):
        return False
    if seen.words[-2].lower() in _MONTHS:
        return False
    return seen.coded or (seen.words[-2] in _PLACES and not seen.year)


_CAPITAL: Final = re.compile("[A-ZÀ-ÞĀ-Ž]")


def _slavic(seen: Seen) -> bool:
    if _no_house(seen) or seen.before.endswith("et "):
        return False
    first, *names = seen.words[:-1]
    if first.endswith("."):  # which ends a sentence too
        return all(not name[0].islower() for name in names)
    return first.lower() == "trg" or any(_CAPITAL.match(name) for name in names)


_SURE_BEHIND: Final = _words("ulica ulice cesta trg tn tänav pst puiestee mnt maantee iela gatvė")


def _behind(seen: Seen) -> bool:
    if _no_house(seen) or seen.words[0] in _ARTICLES:
        return False
    return seen.coded or seen.flat or seen.words[-2] in _SURE_BEHIND


def _bare(seen: Seen) -> bool:
    """``Dam 1, 1012 JS Amsterdam``, but not ``In 2012, 1500 US soldiers``."""
    compound = _SURE_ENDS.search(seen.words[-2].lower())
    if len(seen.words) > 2 and compound is not None and compound.start() > 2:
        return False  # the last word is the street
    return seen.coded and not seen.year and seen.words[0].lower() not in _NO_NAMES


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
    "bare": _bare,
    "behind": _behind,
    "hungarian": _hungarian,
}
"""Form → what decides; the others are addresses wherever they stand."""


def accepted(seen: Seen) -> bool:
    """Whether it is an address."""
    rule = _RULES.get(seen.form)
    return rule is None or rule(seen)
