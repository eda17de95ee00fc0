"""Words as spaCy's English tokenizer cuts them, without spaCy: for decisions equal to datatrove's.

The rules are data (``data/spacy_en.json``, written by ``bench/peers/datatrove/word_rules.py``):
a text is cut at white space; from each piece prefixes and suffixes are taken off, special cases
(``don't``, ``e.g.``, ``:-)``) are looked up, web addresses stay whole, and the rest is cut at
infixes. A piece's words depend on the piece alone, so each different one is worked out once.

Known differences: in pieces of more than `LONG` characters no web address is looked for (the
expression takes quadratic time); a special case whose parts also lie in a longer one across a
blank is put together here and not there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from corpusmill.pipeline.errors import AssetError
from corpusmill.stages.unicode_data import CATEGORIES, tables

LONG = 10_000
"""Longest piece, in characters, that is looked at as a web address."""

_DATA = Path(__file__).resolve().parent / "data" / "spacy_en.json"
_SUFFIX_WINDOW = 16
"""More characters than the longest suffix has, but for a run of full stops, and looks back at."""
_SINGLE_ENDS = frozenset(',;:?!)]}"')
"""Characters that end a piece as a suffix of their own whatever stands before them."""
_NO_PREFIX = frozenset("BDEFGHIJKLMNOPQRSTVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
"""Characters that begin no prefix (U, C and A do: ``US$``)."""
_DIGITS = frozenset("0123456789")
_MAY_BE_INFIX = re.compile(r"[-.+*^,~:<>=/]|[^\x00-\x7f]")
"""What the first character of an infix is."""


@lru_cache(maxsize=1)
def facts() -> dict[str, Any]:
    """The rule data. Raises AssetError where it cannot be read."""
    try:
        found: dict[str, Any] = json.loads(_DATA.read_text(encoding="ascii"))
    except (OSError, ValueError) as error:
        raise AssetError(f"{_DATA.name} cannot be read: {error}") from error
    return found


def word_rule() -> str:
    """The name of the rule: spaCy's version and language."""
    return str(facts()["version"])


class Cutter:
    """Cuts pieces without white space into words."""

    def __init__(self) -> None:
        rules = facts()
        self._special: dict[str, tuple[str, ...]] = {
            text: tuple(parts) for text, parts in rules["special"].items()
        }
        self._longest = max(map(len, self._special))
        self._prefix = re.compile(_either(rules["prefixes"]))
        self._suffix = re.compile(f"(?:{_either(rules['suffixes'])})\\Z")
        self._infix = re.compile(_either(rules["infixes"]))
        self._url = re.compile(pinned(rules["url"]))
        self._sequences: dict[tuple[str, ...], str] = {}
        self._firsts: frozenset[str] = frozenset()
        # Cases that the affix rules would cut are put together again wherever their parts stand
        # beside each other.
        for text in self._special:
            if self._prefix_size(text, 0, len(text)) or self._suffix_size(text) or (
                self._infix.search(text)
            ):  # fmt: skip
                self._sequences[tuple(self._cut(text, special=False))] = text
        self._firsts = frozenset(parts[0] for parts in self._sequences)
        self._most = max(map(len, self._sequences))

    def words(self, piece: str) -> Sequence[str]:
        """The words of one piece, in order; joined they are the piece."""
        special = self._special.get(piece)
        if special is not None:
            return self._joined(special)
        if piece.isascii() and piece.isalpha():
            return (piece,)
        return self._joined(self._cut(piece, special=True))

    def _cut(self, piece: str, special: bool) -> list[str]:
        before: list[str] = []
        after: list[str] = []
        low, high = 0, len(piece)
        size = -1
        while low < high and high - low != size:
            size = high - low
            if special and self._is_special(piece, low, high):
                break
            prefix = self._prefix_size(piece, low, high)
            if prefix and special and self._is_special(piece, low + prefix, high):
                before.append(piece[low : low + prefix])
                low += prefix
                break
            suffix = self._suffix_size(piece[max(low + prefix, high - _SUFFIX_WINDOW) : high])
            if suffix == _SUFFIX_WINDOW:  # a run of full stops that fills the window
                suffix = _run_of_dots(piece, low + prefix, high)
            if suffix and special and self._is_special(piece, low, high - suffix):
                after.append(piece[high - suffix : high])
                high -= suffix
                break
            if prefix:
                before.append(piece[low : low + prefix])
                low += prefix
            if suffix and prefix + suffix <= size:
                after.append(piece[high - suffix : high])
                high -= suffix
        if low < high:
            before.extend(self._middle(piece[low:high], special))
        before.extend(reversed(after))
        return before

    def _middle(self, text: str, special: bool) -> Sequence[str]:
        if special and text in self._special:
            return self._special[text]
        if _MAY_BE_INFIX.search(text) is None:
            return (text,)
        if "." in text and len(text) <= LONG and self._url.match(text):
            return (text,)
        parts: list[str] = []
        start = 0
        for match in self._infix.finditer(text):
            if match.start() == 0:
                continue
            if match.start() != start:
                parts.append(text[start : match.start()])
            if match.start() != match.end():
                parts.append(match[0])
            start = match.end()
        if start < len(text):
            parts.append(text[start:])
        return parts

    def _joined(self, words: Sequence[str]) -> Sequence[str]:
        """`words` with the parts of special cases put together, the longest first."""
        if self._firsts.isdisjoint(words):
            return words
        found = [
            (stop - start, -start)
            for start, word in enumerate(words)
            if word in self._firsts
            for stop in range(start + 1, min(start + self._most, len(words)) + 1)
            if tuple(words[start:stop]) in self._sequences
        ]
        seen: set[int] = set()
        chosen: dict[int, int] = {}
        for size, minus in sorted(found, reverse=True):
            start = -minus
            if start not in seen and start + size - 1 not in seen:
                chosen[start] = start + size
            seen.update(range(start, start + size))
        result: list[str] = []
        at = 0
        while at < len(words):
            if at in chosen:
                stop = chosen[at]
                result.extend(self._special[self._sequences[tuple(words[at:stop])]])
                at = stop
            else:
                result.append(words[at])
                at += 1
        return result

    def _is_special(self, piece: str, low: int, high: int) -> bool:
        return 0 < high - low <= self._longest and piece[low:high] in self._special

    def _prefix_size(self, piece: str, low: int, high: int) -> int:
        if piece[low] in _NO_PREFIX:
            return 0
        found = self._prefix.match(piece, low, high)
        return found.end() - low if found else 0

    def _suffix_size(self, tail: str) -> int:
        if not tail:
            return 0
        last = tail[-1]
        if last in _SINGLE_ENDS:
            return 1
        if last in _DIGITS:
            return 0
        if last.isalpha() and _DIGITS.isdisjoint(tail) and last not in "sS":
            return 0  # a letter ends a unit, which follows a digit, or 's
        found = self._suffix.search(tail)
        return len(tail) - found.start() if found else 0


def _run_of_dots(piece: str, low: int, high: int) -> int:
    at = high
    while at > low and piece[at - 1] == ".":
        at -= 1
    return high - at


def _either(pieces: Sequence[str]) -> str:
    return "|".join(piece for piece in pieces if piece.strip())


def pinned(pattern: str) -> str:
    r"""`pattern` with ``\w`` and ``\d`` written out from the pinned tables: those of `re` change
    with Python's version."""
    digits = _ranges({"Nd"})
    words = _ranges({"Lu", "Ll", "Lt", "Lm", "Lo", "Nd", "Nl", "No"}) + "_"
    return pattern.replace(r"[\w", f"[{words}").replace(r"\d", f"[{digits}]")


def _ranges(names: set[str]) -> str:
    wanted = np.isin(tables().category, [CATEGORIES.index(name) for name in names])
    border = np.flatnonzero(np.diff(wanted, prepend=False, append=False)).tolist()
    pairs = zip(border[::2], border[1::2], strict=True)
    return "".join(f"\\U{first:08x}-\\U{stop - 1:08x}" for first, stop in pairs)
