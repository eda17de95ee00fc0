"""SPDX licence expressions, as far as the question goes what may be used."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from .errors import ConfigError

NOASSERTION = "NOASSERTION"
"""SPDX's word for a licence about which nothing is claimed."""

_TOKEN = re.compile(r"\s*([()]|[A-Za-z0-9.+:-]+)")


def satisfied(expression: str, allowed: Collection[str]) -> bool:
    """Whether the `allowed` ids suffice: all parts of an ``AND``, one of an ``OR``. An id with
    an exception (``X WITH y``) is allowed if X is, or the whole. Ids are compared without case.

    Raises ConfigError if `expression` is no expression.
    """
    known = {a.casefold() for a in allowed}
    return _Reader(expression, lambda word: word.casefold() in known).read()


def check_expression(expression: str) -> None:
    """Raises ConfigError unless this is one licence, exception and all."""
    ids = licence_ids(expression)
    if len(ids) != 1:
        raise ConfigError(f"{expression!r} is not one licence", hint="an SPDX id, as CC-BY-4.0")


def refused_sources(
    sources: Mapping[str, Mapping[str, Any]], allowed: Collection[str]
) -> frozenset[str]:
    """The sources whose ``licence`` is not satisfied by `allowed`; none if that is empty."""
    if not allowed:
        return frozenset()
    return frozenset(n for n, s in sources.items() if not satisfied(str(s["licence"]), allowed))


def licence_ids(expression: str) -> list[str]:
    """The licences that an expression names, sorted, each once; ``X WITH y`` as the whole.
    Raises ConfigError if it is no expression."""
    found: set[str] = set()

    def note(word: str) -> bool:
        found.add(word)
        return True

    _Reader(expression, note).read()
    whole = {w for w in found if " WITH " in w}
    return sorted(whole | (found - {w.split(" WITH ")[0] for w in whole}))


class _Reader:
    """``OR`` binds less than ``AND``; both sides are always read, so that faults are seen."""

    def __init__(self, expression: str, holds: Callable[[str], bool]) -> None:
        self._expression = expression
        self._words = _TOKEN.findall(expression)
        if "".join(self._words) != re.sub(r"\s", "", expression):
            raise self._fault()
        self._holds = holds
        self._at = 0

    def read(self) -> bool:
        result = self._either()
        if self._at != len(self._words):
            raise self._fault()
        return result

    def _next(self) -> str:
        if self._at >= len(self._words):
            raise self._fault()
        self._at += 1
        return str(self._words[self._at - 1])

    def _take(self, word: str) -> bool:
        if self._at < len(self._words) and self._words[self._at].upper() == word:
            self._at += 1
            return True
        return False

    def _either(self) -> bool:
        result = self._both()
        while self._take("OR"):
            other = self._both()
            result = result or other
        return result

    def _both(self) -> bool:
        result = self._one()
        while self._take("AND"):
            other = self._one()
            result = result and other
        return result

    def _one(self) -> bool:
        word = self._next()
        if word == "(":
            result = self._either()
            if self._next() != ")":
                raise self._fault()
            return result
        if word == ")" or word.upper() in ("AND", "OR", "WITH"):
            raise self._fault()
        plain = self._holds(word)
        if self._take("WITH"):
            whole = self._holds(f"{word} WITH {self._next()}")
            return plain or whole
        return plain

    def _fault(self) -> ConfigError:
        return ConfigError(
            f"{self._expression!r} is no licence expression",
            hint="SPDX ids with AND, OR, WITH and brackets, LicenseRef-… or NOASSERTION",
        )
