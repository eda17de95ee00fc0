"""Words of English as classes: one class for the forms of a word, with its rarity in bits.

The stem is crude and its own: endings of number, tense and participle are cut, irregular forms
and number words are looked up. It has one use, to recognise an item told in other words, so it
must put forms together and need not be a word. The rarities (`bits`) come from
``common_words.txt``. They speak of English: an item in another language has no paraphrase search.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from types import MappingProxyType
from typing import Final

RAREST: Final = 8
"""Bits of a word that ``common_words.txt`` does not list."""

_ONE_LETTER: Final = 2
"""Most bits of a word of one letter: variables and bullets come in runs."""

_IRREGULAR: Final = """
buy bought|sell sold|eat ate eaten|give gave given|take took taken|get got gotten|make made|
go went gone|find found|have has had|do does did done|be is are was were been am|spend spent|
pay paid|say said|run ran|drive drove driven|write wrote written|keep kept|leave left|lose lost|
win won|begin began begun|bring brought|build built|catch caught|choose chose chosen|come came|
draw drew drawn|drink drank drunk|fall fell fallen|feed fed|feel felt|fly flew flown|
forget forgot forgotten|grow grew grown|hold held|know knew known|lay laid|lead led|meet met|
ride rode ridden|rise rose risen|see saw seen|send sent|shoot shot|sing sang sung|sit sat|
sleep slept|speak spoke spoken|stand stood|steal stole stolen|swim swam swum|teach taught|
tell told|think thought|throw threw thrown|wear wore worn|break broke broken|child children|
man men|woman women|foot feet|tooth teeth|mouse mice|goose geese|person people|knife knives|
half halves|loaf loaves|leaf leaves|shelf shelves|life lives|wife wives
"""

_UNITS: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
)
_TENS: Final = "thirty forty fifty sixty seventy eighty ninety"
_OTHER_NUMBERS: Final = (
    "hundred 100|thousand 1000|once 1|first 1|second 2|twice 2|double 2|doubled 2|third 3|"
    "thrice 3|triple 3|tripled 3|fourth 4|quarter 4|fifth 5|dozen 12"
)

_VOWELS: Final = frozenset("aeiouy")


def _words() -> dict[str, str]:
    known: dict[str, str] = {}
    for row in _IRREGULAR.replace("\n", "").split("|"):
        first, *others = row.split()
        known.update(dict.fromkeys(others, first))
    known.update({word: str(n) for n, word in enumerate(_UNITS.split())})
    known.update({word: str(10 * n) for n, word in enumerate(_TENS.split(), 3)})
    known.update({word: number for word, number in map(str.split, _OTHER_NUMBERS.split("|"))})
    return known


KNOWN: Final[Mapping[str, str]] = MappingProxyType(_words())
"""Irregular forms → their first form; number words → digits."""


def stem(word: str) -> str:
    """The class of a folded word. Words that are not of ASCII letters, or shorter than four,
    are their own class unless `KNOWN` has them."""
    word = KNOWN.get(word, word)
    if len(word) < 4 or not (word.isascii() and word.isalpha()):
        return word
    if word.endswith("ies") and len(word) > 4:
        word = word[:-3] + "y"
    elif word.endswith("es") and word[:-2].endswith(("s", "x", "z", "ch", "sh", "o")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    word = _without_tense(word)
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


def _without_tense(word: str) -> str:
    for ending in ("ing", "ed"):
        if not word.endswith(ending):
            continue
        rest = word[: -len(ending)]
        if ending == "ed" and rest.endswith("i"):
            rest = rest[:-1] + "y"
        if len(rest) < 3 or not _VOWELS & set(rest[:-1]):
            return word
        doubled = len(rest) > 3 and rest[-1] == rest[-2] and rest[-1] not in "lsz"
        return rest[:-1] if doubled else rest
    return word


def forms(of: str) -> list[str]:
    """Words whose stem is `of`, as far as its endings go: what a document may have instead."""
    if len(of) < 3 or not (of.isascii() and of.isalpha()):
        return []
    tried = [of + end for end in ("", "e", "s", "es", "ed", "ing")]
    tried += [of + of[-1] + end for end in ("ed", "ing")]
    if of.endswith("y"):
        tried += [of[:-1] + end for end in ("ies", "ied")]
    return [word for word in tried if stem(word) == of]


@lru_cache(maxsize=1)
def common() -> Mapping[str, int]:
    """Stem → bits, of the words of ``common_words.txt``."""
    path = resources.files("corpusmill.stages.decontaminate") / "common_words.txt"
    lines = [line for line in path.read_text("ascii").splitlines() if not line.startswith("#")]
    return MappingProxyType({word: n for n, line in enumerate(lines) for word in line.split()})


def bits(of: str) -> int:
    """Rarity of a stem: about one window of 50 words in 2**bits has it."""
    found = common().get(of, RAREST)
    return min(found, _ONE_LETTER) if len(of) == 1 and of.isalpha() else found
