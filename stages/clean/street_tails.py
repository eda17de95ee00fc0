"""What follows street and number in an address: flat, postcode, town, state, country."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from .spans import LETTERS
from .street_words import BRITISH, SP, STATE, UPPER

_BREAK: Final = r"\r?\n[ \t\u00a0]{0,16}"
_COMMA: Final = rf"(?:{SP}?[,•·|~]{SP}?(?:{_BREAK})?|{SP}?{_BREAK})"
_AND: Final = rf"(?:{_COMMA}|{SP}[\-–]{SP}|{SP})"
_END: Final = rf"(?![{LETTERS}0-9])"
_WORDED: Final = (
    "(?i:apt|apartment|suite|ste|unit|flat|floor|fl|room|rm|bldg|building|level|shop|store|pavilion|"
    "office|lot|top|stiege|stock|bus|bte|boîte|piso|interno|int|scala|lok|daire|kat|box|"
    "корп|корпус|стр|строение|кв|квартира|оф|офис|под|подъезд|этаж|к)"
)
_FLAT: Final = rf"{_WORDED}\.?{SP}?:?(?:[Nn]o\.?{SP}?)?#?{SP}?"
_COUNTED: Final = (
    "(?:[0-9]{1,2}(?:st|nd|rd|th|e)|First|Second|Third|Fourth|Fifth|Sixth|Seventh|Ground|Top)"
)
_UNIT: Final = re.compile(
    rf"{_AND}(?:{_FLAT}(?:[0-9]{{1,5}}[A-Za-zА-Яа-я]?|[A-Z][0-9]{{0,4}})(?:[\-/][0-9A-Z]{{1,4}})?"
    rf"|#{SP}?[A-Z]?-?[0-9]{{1,5}}[A-Za-z]?|D{SP}?:{SP}?[0-9]{{1,3}}"
    rf"|{_COUNTED}{SP}(?i:floor|étage)"
    rf"|P\.?{SP}?O\.?{SP}?Box{SP}[0-9]{{1,6}}){_END}"
)
_CAP: Final = f"{UPPER}А-ЯЁІЇЄҐΑ-ΩΆ-Ώ"
_JOINING: Final = (
    "(?:and|&|of|upon|on|the|de|la|le|les|du|des|sur|sous|am|an|der|den|im|in|bei|ob|di|del|della|"
    "do|da|dos|das|e|y|nad|pod|na|v|en|aan|op|bij|u)"
)
_WORD: Final = rf"(?:[{_CAP}][{LETTERS}]{{0,2}}\.(?={SP}?[{_CAP}])|[{_CAP}][{LETTERS}'’\-]{{0,24}})"
_TOWN: Final = (
    rf"(?:(?:г|м)\.{SP}?)?{_WORD}(?:{SP}(?:{_JOINING}{SP}){{0,2}}{_WORD}){{0,3}}"
    rf"(?:{SP}[0-9]{{1,2}}(?![0-9]))?"
)
_STATES: Final = (
    "(?:Alabama|Alaska|Arizona|Arkansas|California|Colorado|Connecticut|Delaware|Florida|Georgia|"
    "Hawaii|Idaho|Illinois|Indiana|Iowa|Kansas|Kentucky|Louisiana|Maine|Maryland|Massachusetts|"
    "Michigan|Minnesota|Mississippi|Missouri|Montana|Nebraska|Nevada|New Hampshire|New Jersey|"
    "New Mexico|New York|North Carolina|North Dakota|Ohio|Oklahoma|Oregon|Pennsylvania|"
    "Rhode Island|South Carolina|South Dakota|Tennessee|Texas|Utah|Vermont|Virginia|Washington|"
    "West Virginia|Wisconsin|Wyoming|Ontario|Quebec|Québec|British Columbia|Alberta|Manitoba|"
    "Saskatchewan|Nova Scotia|New Brunswick|Victoria|Queensland|New South Wales|Tasmania|"
    "South Australia|Western Australia)"
)
_COUNTRIES: Final = (
    "(?:USA|U\\.S\\.A\\.|United States(?: of America)?|Canada|United Kingdom|UK|U\\.K\\.|England|"
    "Scotland|Wales|Northern Ireland|Ireland|Australia|New Zealand|South Africa|India|Singapore|"
    "Germany|Deutschland|Austria|Österreich|Switzerland|Schweiz|Suisse|Svizzera|Liechtenstein|"
    "Luxembourg|France|Belgium|Belgique|België|Netherlands|The Netherlands|Nederland|Denmark|"
    "Danmark|Norway|Norge|Sweden|Sverige|Finland|Suomi|Iceland|Ísland|Estonia|Eesti|Latvia|"
    "Lithuania|Poland|Polska|Czech Republic|Czechia|Česká republika|Slovakia|Slovensko|Slovenia|"
    "Slovenija|Hungary|Magyarország|Croatia|Hrvatska|Serbia|Romania|România|Bulgaria|Greece|"
    "Cyprus|Turkey|Türkiye|Italy|Italia|Spain|España|Portugal|Brazil|Brasil|Mexico|México|"
    "Argentina|Chile|Colombia|Peru|Russia|Россия|Ukraine|Украина|Україна|Greenland|Uruguay|"
    "Tunisia|Morocco|Maroc|Japan|China|Hong Kong|Malaysia|Indonesia|Philippines|Israel|Vietnam|"
    "Thailand|Taiwan|South Korea|Kenya|Nigeria|Egypt|Pakistan)"
)
_DIGITS: Final = (
    rf"(?:[A-Z]{{1,2}}-)?(?:[0-9]{{5}}|[0-9]{{3}}{SP}[0-9]{{2}}|[0-9]{{2}}-[0-9]{{3}}|"
    rf"[0-9]{{4}}-[0-9]{{3}}|[0-9]{{5}}-[0-9]{{3}}|[0-9]{{4}}{SP}?[A-Z]{{2}}|[0-9]{{6}}|[0-9]{{4}})"
)
"""Postcodes that stand before a town."""
_MIXED: Final = (
    rf"(?:{BRITISH}|[A-Z][0-9]{{2}}{SP}?[A-Z0-9]{{4}}|[A-Z][0-9][A-Z]{SP}?[0-9][A-Z][0-9]"
    rf"|(?:NSW|VIC|QLD|ACT|TAS|SA|WA|NT)(?:,?{SP}[0-9]{{4}})?"
    rf"|(?:VIC|Vic|Qld|Tas){SP}[0-9]{{4}})"
)
"""Postcodes of Britain, Ireland and Canada, states and postcodes of Australia."""
_TITLED: Final = "(?:" + "|".join(s.title() for s in STATE[3:-1].split("|")) + ")"
_ZIP: Final = "[0-9]{5}(?:-[0-9]{4})?"
_ENDING: Final = rf"(?={SP}?(?:[,.;)|\n]|\Z))"


def _signs(number_first: bool) -> re.Pattern[str]:
    """What may follow. A postcode stands before the town only where a number stands last: behind
    ``12 Main Street`` it would be the number of the next address."""
    state = rf"(?:{STATE}|{_TITLED}|[A-Z]{{2}}),?(?:{SP}{{1,2}}|{SP}?{_BREAK})"
    country = rf"{_COUNTRIES}(?:{SP}\([A-Z][a-z]+\))?"
    choices = [
        rf"(?:{_TOWN}{_COMMA}){{1,3}}?{STATE}(?:,?{SP}{{1,2}}{_ZIP})?",
        rf"(?:{_TOWN}{_COMMA}){{0,2}}?{_TOWN},?{SP}{state}{_ZIP}",
        rf"(?:{_TOWN}{_COMMA}){{0,3}}?(?:{_TOWN},?{SP})?{_MIXED}",
        rf"(?:{_TOWN}{_COMMA}){{0,3}}?(?:{_TOWN}{SP})?{_STATES}(?:,?{SP}[0-9]{{5}})?",
        rf"{_TOWN},?{SP}(?:[–\-]{SP})?[0-9]{{5,6}}(?:-[0-9]{{3}})?",
        rf"{STATE},?{SP}{_ZIP}",
        rf"{_ZIP}{_ENDING}",
        rf"(?:{_TOWN}{_COMMA}){{0,2}}?(?:{_TOWN}{SP})?{country},?{SP}[0-9]{{4,6}}",
        rf"(?:{_TOWN}{_COMMA})?{_TOWN},?{SP}[0-9]{{4,6}},?{SP}{_COUNTRIES}",
        rf"(?:{_TOWN}{_COMMA})?{_COUNTRIES}",
        rf"(?:{_TOWN}{SP}?,{SP}?){{2}}{_COUNTRIES}",
    ]
    if not number_first:
        choices.insert(
            0, rf"(?:{_TOWN}{_COMMA})?{_DIGITS}{SP}{_TOWN}(?:{SP}\([A-Z]{{2}}\)(?![{LETTERS}0-9]))?"
        )
    return re.compile(rf"{_AND}(?:{'|'.join(choices)})(?:(?<=\))|{_END})")


_AFTER_NAME: Final = _signs(number_first=True)
_AFTER_NUMBER: Final = _signs(number_first=False)
_AFTER_CODE: Final = re.compile(rf"{_AND}(?:{_COUNTRIES}|US){_END}")
_THREE_DIGITS: Final = re.compile("[0-9]{3}")


@dataclass(frozen=True, slots=True)
class Tail:
    """Where an address ends, and what was found behind street and number."""

    end: int
    flat: bool
    signed: bool
    """Whether a postcode, a state or a country follows."""
    coded: bool
    """Whether a postcode does."""


def extended(work: str, end: int, number_first: bool) -> Tail:
    """What follows at `end`, where an address may end that begins with its number, or not."""
    signs = _AFTER_NAME if number_first else _AFTER_NUMBER
    flat = signed = coded = False
    for _ in range(5):
        m = _UNIT.match(work, end)
        if m is not None:
            flat = True
        else:
            m = (_AFTER_CODE if coded else signs).match(work, end)
            if m is None:
                break
            signed = True
            coded = coded or _THREE_DIGITS.search(m.group()) is not None
        end = m.end()
    return Tail(end, flat, signed, coded)
