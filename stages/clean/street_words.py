"""Words and forms of postal addresses, by family of languages.

A form is written in what google-re2 and `re` have in common: the one finds places, the other, with
borders around, decides there. The lists hold words that stand in many towns; a street that is a
bare name (``Dalbraut 99``) is known by what follows alone.
"""

from __future__ import annotations

from typing import Final

from .spans import LETTERS

UPPER: Final = "A-ZÀ-ÖØ-ÞĀ-ſȘȚ"
"""What names begin with in Latin script (small letters of Extended-A among it)."""
_IN: Final = f"[{LETTERS}'’\\-]"
SP: Final = "[ \u00a0]"


def _one(alternatives: list[str]) -> str:
    return f"(?:{'|'.join(dict.fromkeys(alternatives))})"


def either(words: str) -> str:
    """One of `words`, as they stand and in capitals."""
    forms = [form for word in words.split() for form in (word, word.upper())]
    return _one([form.replace(".", r"\.") for form in forms])


def _initial(words: str) -> str:
    """One of `words` with a small or a large first letter, or in capitals."""
    return either(" ".join(f"{word} {word[0].upper()}{word[1:]}" for word in words.split()))


# English and other languages that put the number first.
STRONG: Final = (
    "Street St Avenue Ave Av Road Rd Boulevard Blvd Lane Ln Parkway Pkwy Terrace Crescent "
    "Turnpike Causeway Expressway Freeway Esplanade Mews Str"
)
_WEAK: Final = (
    "Drive Dr Court Ct Way Square Sq Place Pl Close Circle Cir Row Walk Hill Trail Trl Gardens "
    "Gdns Plaza Quay Wharf Grove Parade Rise Loop Alley Highway Hwy Crossing Heights Embankment "
    "Streets Squares Pike"
)
"""Words that stand in other names too: something else must say that it is an address."""
_ENGLISH: Final = either(f"{STRONG} {_WEAK}")
DIRECTION: Final = (
    "(?:N\\.?[EW]\\.?|S\\.?[EW]\\.?|[NSEW]\\.?|North(?:east|west)?|South(?:east|west)?|East|West)"
)
_ORDINAL: Final = "[0-9]{1,3}(?:st|nd|rd|th|ST|ND|RD|TH)"
NAME: Final = rf"(?:[{UPPER}]{_IN}*|[{UPPER}]{_IN}{{0,3}}\.|{_ORDINAL})"
_NUMBER: Final = "[0-9]{1,5}(?:[\\-–/][0-9]{1,5})?[A-Za-z]?"
_COUNTED: Final = "(?:One|Two|Three|Four|Five|Six|Seven|Eight|Nine|Ten)"
_HIGHWAY: Final = (
    rf"(?:(?:{either('Highway Hwy Route Rte')}\.?|(?:County|State){SP}R(?:oad|d|oute)){SP}"
    r"[0-9]{1,4}[A-Z]?)"
)
_NAMED_AVENUE: Final = rf"(?:Broadway|Avenue{SP}of{SP}the{SP}{NAME}|Avenue{SP}[A-Z])"
_FLAT: Final = r"(?:[Ss]uite|SUITE|[Aa]pt\.?|APT\.?|[Ss]te\.?|STE\.?)"
_GAP: Final = rf",?{SP}?\n?{SP}?"
_NORTH_AMERICA: Final = (
    "AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM "
    "NY NC ND OH OK OR PA RI SC SD TN TX UT VT VA WA WV WI WY DC PR GU VI AB BC MB NB NL NS ON PE "
    "QC SK YT NT NU"
)
STATE: Final = _one(_NORTH_AMERICA.split())
BRITISH: Final = rf"[A-Z]{{1,2}}[0-9][0-9A-Z]?{SP}[0-9][A-Z]{{2}}"
"""Postcodes of the United Kingdom."""
_SMALL: Final = r"(?:street|st|avenue|ave|road|rd|drive|lane|boulevard)\.?,?"

# Streets whose name stands behind a word.
_PARTICLES: Final = (
    "de del della delle dei degli di da do das dos du des la las le les los lo el al y e et à aux "
    "au en sur sous i dels van von der den het ter"
)
_GLUED: Final = "(?:[dDlL]['’]|[Dd]ell['’]|[Dd]all['’]|[Ss]ant['’])"
_DAY: Final = rf"[0-9]{{1,2}}{SP}(?:de{SP})?{_IN}{{4}}{_IN}*"
_ROMANCE: Final = (
    rf"(?:{_one(_PARTICLES.split())}{SP}|{_GLUED})*"
    rf"(?:[{UPPER}]{_IN}*|[{UPPER}]{_IN}{{0,3}}\.|{_DAY})"
)
_HOUSE: Final = "[0-9]{1,4}(?:[a-zA-Z]|[\\-–/][0-9]{1,4}[a-zA-Z]?|/[A-Za-z])?"
_NO: Final = r"(?:[Nn]\.?[º°o]\.?|[Nn][úu]m\.?|[Nn]r?\.|№|#)"
_BEHIND_NAME: Final = rf"(?:{SP}{_ROMANCE}){{0,5}}{SP}?,?{SP}?(?:{_NO}{SP}?)?{_HOUSE}"
_FRENCH: Final = _initial(
    "rue avenue av. ave boulevard bd bld blvd boul. place allée allées chemin impasse quai cours "
    "route square passage faubourg voie sentier esplanade rond-point ruelle chaussée villa av"
)
_LEADING_WORDS: Final = (
    "Via Viale V.le Piazza P.zza Piazzale Corso C.so Vicolo Largo Strada Contrada Lungotevere "
    "Lungarno Salita Calle C/ Avenida Avda. Avda Av. Av Plaza Pza. Paseo Carrera Camino Carretera "
    "Ctra. Ronda Travesía Callejón Calzada Bulevar Rambla Glorieta Carrer Passeig Plaça Avinguda "
    "Rua Travessa Praça Alameda Rodovia Estrada Beco Ladeira Rue Avenue Boulevard Chaussée Quai "
    "Chemin Route Place Jalan Jl. Jln Str. Bulevardul Calea Șoseaua Bd. Laan Quadra"
)
_LEADING: Final = rf"(?:{either(_LEADING_WORDS)}{SP}|{either('C/ Avda. Av. Ctra. Jl.')})"
_SMALL_WORDS: Final = (
    "via viale piazza corso vicolo calle avenida avda\\. plaza paseo rua travessa praça"
)
_LEADING_SMALL: Final = _one(_SMALL_WORDS.split())
_GRID: Final = "(?:Calle|Carrera|Cra\\.?|Cl\\.?|Av\\.?|Avenida|Transversal|Diagonal)"

# Streets whose word stands at the end of the name.
_GERMAN: Final = either("Str. Straße Strasse Gasse Platz Weg Allee Ring Damm Ufer Chaussee")
_ENDS: Final = (
    "(?:stra(?:ß|ss)e|str\\.?|gasse|gässli|gässchen|weg|platz|allee|ring|damm|ufer|chaussee|markt|"
    "graben|steig|stieg|pfad|zeile|promenade|straat|laan|plein|gracht|kade|dijk|singel|steeg|gatan|"
    "gata|gaten|gate|vägen|vegen|veien|vej|vei|gade|allé|alléen|torget|torvet|stræde|stræti|braut|"
    "vegur|katu|tie|kuja|polku|stigen|gränd|plads)"
)
_CAPITAL_ENDS: Final = "(?:STRA(?:SS|ß|ẞ)E|STR\\.|GASSE|PLATZ|ALLEE|GATAN|VÄGEN|VEJ|GADE|STRAAT)"
_OF: Final = rf"(?:Straße|Strasse|Platz|Allee|Laan|Plein){SP}(?:de[srmn]|van|der|zu[rm]){SP}"
_AT: Final = (
    rf"(?:A[mn]|Im|In|Auf|Beim?|Zu[mr]|Unter|Hinter|Vor)(?:{SP}(?:de[rmn]|[an]lten|neuen))?{SP}"
)

_SLAVIC_WORDS: Final = (
    "ul. ulica ulice al. aleja aleje os. osiedle pl. plac nám. náměstí námestie třída tř. trg "
    "cesta bul. bulevar"
)
_SLAVIC: Final = _one(
    [w.replace(".", r"\.") for word in _SLAVIC_WORDS.split() for w in (word, word.capitalize())]
    + [r"UL\.", "ULICA"]
)
_SLAVIC_NAME: Final = (
    rf"(?:[{UPPER}]{_IN}*\.?|[0-9]{{1,2}}\.?{SP}[{UPPER}]{_IN}*|[a-zà-ž]{_IN}{{3}}{_IN}*)"
)
_SLAVIC_HOUSE: Final = "[0-9]{1,4}[A-Za-z]?(?:/[0-9]{1,4}[A-Za-z]?){0,2}"
_BEHIND: Final = (
    "(?:ulica|ulice|cesta|trg|náměstí|námestie|třída|tn|tänav|pst|puiestee|mnt|maantee|plats|tee|"
    "iela|gatvė|gate|gata|vei|veg|väg|vej|plass|plads|allé|torg)"
)
_HUNGARIAN: Final = "(?:utca|utcája|u\\.|út|útja|tér|tere|körút|krt\\.|sétány|köz|fasor|rakpart)"
_TURKISH: Final = either("Cad Cadde Caddesi Cd Sok Sokak Sokağı Sk Bulvarı Bulv Mah Mahallesi")
_CYRILLIC: Final = (
    "(?:[Уу]л\\.|[Уу]лица|[Пп]р\\.|[Пп]росп\\.|[Пп]р-т\\.?|[Пп]роспект|[Пп]ер\\.|[Пп]ереулок|"
    "[Пп]л\\.|[Пп]лощадь|[Нн]аб\\.|[Нн]абережная|[Шш]\\.|[Шш]оссе|[Бб]ульвар|[Бб]ул\\.|[Бб]-р|"
    "[Пп]роезд|[Вв]ул\\.|[Вв]улиця|[Пп]лоща)"
)
_CYRILLIC_NAME: Final = "[А-ЯЁІЇЄҐ][А-Яа-яЁёІіЇїЄєҐґ'’\\-]*\\.?"
_CYRILLIC_HOUSE: Final = (
    rf",?{SP}?(?:(?:д|дом|буд|будинок)\.?{SP}?)?[0-9]{{1,3}}{SP}?[А-Яа-я]?(?:/[0-9]{{1,3}})?"
)
_GREEK: Final = "(?:Λεωφόρος|Λεωφ\\.|Οδός|Οδ\\.|Πλατεία)"
_GREEK_NAME: Final = "[Α-ΩΆ-Ώ][Α-Ωα-ωΆ-ώ]*"

_PO_BOX: Final = (
    rf"(?:(?:[GC]\.?)?[Pp]\.?{SP}?[Oo]\.?{SP}?(?:[Bb]ox|BOX)|Post{SP}Office{SP}Box|"
    rf"Private{SP}Bag|Postfach|Postbus|Boîte{SP}postale|Apartado{SP}(?:de{SP}Correos|[Pp]ostal)|"
    rf"Caixa{SP}Postal){SP}?(?:[Nn]o\.?{SP}?|#)?"
)
_CODE: Final = (
    rf"(?:[0-9]{{3}}{SP}[0-9]{{2}}|[A-Z]{{1,2}}-[0-9]{{4,5}}|[0-9]{{2}}-[0-9]{{3}}|"
    rf"[1-9][0-9]{{3}}{SP}?[A-Z]{{2}})"
)
"""Postcodes that are no plain number."""
_BEFORE_CODE: Final = rf"(?:,{SP}|{SP}?\n{SP}?)"

FORMS: Final = {
    "box": rf"{_PO_BOX}[0-9]{{1,6}}(?:{SP}[0-9]{{2,3}}){{0,2}}",
    "military": rf"(?:(?:PSC|CMR|[Uu]nit|UNIT|OPS|SSG){SP}[0-9A-Z]{{1,5}},?{SP}[Bb]ox{SP}"
    rf"[0-9]{{1,6}}|(?:USNS|USNV|USS|USCGC){SP}{NAME}(?:{SP}{NAME})?)"
    rf"[ \n]{{1,3}}[ADF]PO,?{SP}A[AEP]{SP}[0-9]{{5}}",
    "english": rf"{_NUMBER},?{SP}(?:{DIRECTION}{SP})?(?:{NAME}{SP}){{1,4}}{_ENGLISH}",
    "road": rf"{_NUMBER},?{SP}(?:{NAME}{SP}){{0,3}}(?:{_NAMED_AVENUE}|{_HIGHWAY})",
    "counted": rf"{_COUNTED}{SP}(?:{NAME}{SP}){{1,3}}{_ENGLISH}",
    # A name alone, with a flat or a state and its postcode behind.
    "flat": rf"{_NUMBER},?{SP}{NAME}(?:{SP}{NAME}){{0,3}}{_GAP}{_FLAT}{SP}#?[0-9]{{1,4}}[A-Z]?",
    "named": rf"{NAME}(?:{SP}{NAME}){{0,3}}{SP}[0-9]{{1,5}}[a-z]?\.?{_GAP}{_FLAT}{SP}"
    "#?[0-9]{3,4}",
    "state": rf"{_NUMBER}(?:{SP}{NAME}){{1,4}}(?:,{SP}|{SP}?\n)(?:{NAME}(?:,?{SP}|{SP}?\n)){{0,4}}"
    rf"{NAME}{SP}?,?{SP}(?:{STATE}{SP}[0-9]{{5}}|{BRITISH})",
    "small": rf"{_NUMBER},?{SP}(?:[a-zA-Z.]+{SP}){{1,3}}{_SMALL}{SP}(?:suite|apt\.?|unit|#){SP}?"
    "[0-9]{1,4}",
    "french": rf"[0-9]{{1,4}}(?:{SP}?(?:bis|ter|quater)|[A-Za-z])?,?{SP}{_FRENCH}"
    rf"(?:{SP}{_ROMANCE}){{1,5}}",
    "leading": rf"{_LEADING}{_ROMANCE}{_BEHIND_NAME}",
    "leading small": rf"{_LEADING_SMALL}{SP}{_ROMANCE}{_BEHIND_NAME}",
    "grid": rf"{_GRID}{SP}[0-9]{{1,3}}[A-Z]?(?:{SP}(?:Sur|Bis))?{SP}?(?:#|[Nn]o\.?|[Nn]°){SP}?"
    rf"[0-9]{{1,3}}[A-Z]?{SP}?[\-–]{SP}?[0-9]{{1,3}}",
    "german": rf"[{UPPER}]{_IN}*(?:[.\-]{_IN}+)*(?:{_ENDS}|-{_GERMAN}){SP}{_HOUSE}",
    "capitals": rf"[{UPPER}]{_IN}*{_CAPITAL_ENDS}{SP}{_HOUSE}",
    "parted": rf"(?:{NAME}{SP}){{1,3}}{_GERMAN}{SP}{_HOUSE}",
    "of": rf"{_OF}(?:[0-9]{{1,2}}\.{SP})?{NAME}(?:{SP}{NAME})?{SP}{_HOUSE}",
    "at": rf"{_AT}[{UPPER}]{_IN}*{SP}{_HOUSE}",
    "bare": rf"{NAME}(?:{SP}{_IN}+){{0,2}}{SP}[0-9]{{1,4}}[a-z]?(?:/[0-9]{{1,4}})?{_BEFORE_CODE}"
    rf"{_CODE}{SP}{NAME}",
    "slavic": rf"{_SLAVIC}{SP}?{_SLAVIC_NAME}(?:{SP}{_SLAVIC_NAME}){{0,3}}{SP}{_SLAVIC_HOUSE}",
    "behind": rf"{NAME}(?:{SP}{NAME})?{SP}{_BEHIND}{SP}[0-9]{{1,4}}[a-z]?(?:-[0-9]{{1,3}})?",
    "hungarian": rf"[{UPPER}]{_IN}*\.?{SP}(?:{_IN}{{3}}{_IN}*{SP}){{0,2}}{_HUNGARIAN}{SP}"
    r"[0-9]{1,4}(?:[\-–/][0-9A-Za-z]{1,4})?\.?",
    "turkish": rf"{NAME}{SP}(?:{NAME}{SP}){{0,3}}{_TURKISH}\.?,?{SP}(?:{NAME}{SP}){{0,6}}"
    rf"(?:No|NO|no|N){SP}?[:.]?{SP}?[0-9]{{1,4}}(?:/[0-9A-Z]{{1,4}})?",
    "cyrillic": rf"{_CYRILLIC}{SP}?(?:(?:[0-9]{{1,2}}(?:-[а-я]{{1,2}})?{SP})?{_CYRILLIC_NAME}{SP}?)"
    rf"{{1,4}}{_CYRILLIC_HOUSE}",
    "cyrillic behind": rf"{_CYRILLIC_NAME}{SP}{_CYRILLIC}{_CYRILLIC_HOUSE}",
    "cyrillic house": rf"{_CYRILLIC_NAME}(?:{SP}[а-яё]+)?,{SP}д\.{SP}?[0-9]{{1,3}}[а-я]?",
    "greek": rf"{_GREEK}{SP}{_GREEK_NAME}(?:{SP}{_GREEK_NAME}){{0,2}}{SP}[0-9]{{1,4}}",
}
"""Name → expression."""

MARKS: Final = (
    rf"[{UPPER}0-9]{_IN}*\.?{SP}{_ENGLISH}(?:[^A-Za-z]|$)",
    rf"[0-9A-Za-z.,]{SP}(?:{_NAMED_AVENUE}|{_HIGHWAY})",
    rf"{_FLAT}{SP}#?[0-9]",
    rf"{_SMALL}{SP}(?:suite|apt|unit|#)",
    rf"{STATE}{SP}[0-9]{{5}}",
    BRITISH,
    rf"[0-9A-Za-z],?{SP}{_FRENCH}{SP}",
    rf"{_LEADING}[{UPPER}a-z0-9]",
    rf"{_LEADING_SMALL}{SP}{_ROMANCE}",
    rf"{_GRID}{SP}[0-9]",
    rf"(?:{_ENDS}|{_CAPITAL_ENDS}|{_GERMAN}){SP}[0-9]",
    rf"{_OF}",
    rf"{_AT}[{UPPER}][^ \n0-9]*{SP}[0-9]",
    rf"[0-9][a-z]?{_BEFORE_CODE}{_CODE}{SP}[{UPPER}]",
    rf"{_SLAVIC}{SP}?[{UPPER}a-z0-9]",
    rf"(?:{_BEHIND}|{_HUNGARIAN}){SP}[0-9]",
    rf"{_TURKISH}[.,]?{SP}",
    _CYRILLIC,
    rf",{SP}д\.{SP}?[0-9]",
    _GREEK,
    rf"{_PO_BOX}[0-9]",
    "[ADF]PO,? A[AEP] ",
)
"""What stands in every address of some form, for one quick pass: expressions that look back no
further than a word. The forms themselves, side by side, have too many states for that."""
