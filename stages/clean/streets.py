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
from functools import lru_cache
from typing import Any, Final

from .spans import LETTERS, Span
from .street_rules import accepted
from .street_seen import Seen, seen_at
from .street_words import FORMS, MARKS, SP, UPPER

_BEFORE, _BEHIND = 160, 120
"""Bytes that are looked at around a mark."""


_NUMBERED: Final = re.compile(b"[0-9]|One|Two|Three|Four|Five|Six|Seven|Eight|Nine|Ten")
"""What is in every address."""


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


def prepare() -> None:
    """Compiles what the first text would have to wait for."""
    _marks(), _places(), _compiled()


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
            seen = _address(work, place)
            if seen is not None:
                yield Span(_begin(work, place, free, seen), seen.end, "street")
                free = end = seen.end
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
        if not _NUMBERED.search(data, low, high):
            continue
        while low and data[low] & 0xC0 == 0x80:
            low -= 1
        while high < len(data) and data[high] & 0xC0 == 0x80:
            high += 1
        if regions and low <= regions[-1][1]:
            low = regions.pop()[0]
        regions.append((low, high))
    return regions


def _address(work: str, place: int) -> Seen | None:
    """The address that begins at `place`."""
    for name, form in _compiled():
        m = form.match(work, place)
        if m is not None:
            seen = seen_at(work, name, m)
            if accepted(seen):
                return seen
    return None


_UNIT_BEFORE: Final = re.compile(
    rf"(?<![{LETTERS}0-9])(?:(?:Flat|Unit|Suite|Apt\.?|Apartment|Room|Shop|Level|Studio|Floor){SP}"
    rf"(?:[0-9]{{1,4}}[A-Za-z]?|[A-Z]),?{SP}?\n?|[0-9]{{1,5}}{SP})\Z"
)
_ADJECTIVE: Final = re.compile(rf"(?<![{LETTERS}0-9])[{UPPER}][{LETTERS}]+er{SP}\Z")
"""Of a town, before what could be a name alone: ``Hanauer Landstr. 5``."""


def _begin(work: str, place: int, free: int, seen: Seen) -> int:
    """`place`, or where the flat before the number begins, or the first word of the name."""
    left = work[max(free, place - 24) : place]
    found = _UNIT_BEFORE.search(left) or (seen.form == "german" and _ADJECTIVE.search(left))
    return place - len(found.group()) if found else place
