"""Whether a text that shares n-grams with a form of an item holds the item."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from . import overlap
from .items import Entry, Half, Vocabulary
from .overlap import GRAM
from .rules import Rules

if TYPE_CHECKING:
    import numpy.typing as npt

    U64 = npt.NDArray[np.uint64]
    I64 = npt.NDArray[np.int64]

PIECE: Final = 3
"""Words of the n-grams that tell the sentences of a short item in any order."""


@dataclass(frozen=True, slots=True)
class Match:
    """An item found by `method`, in words ``start:end`` of the document."""

    method: str
    coverage: float
    start: int
    end: int


class Judge:
    """The verdicts by `rules` on forms of items. `entries`: all forms."""

    def __init__(self, entries: Sequence[Entry], vocabulary: Vocabulary, rules: Rules) -> None:
        self._weights = _rarity(entries)
        self._vocabulary = vocabulary
        self._rules = rules

    def verdict(
        self, entry: Entry, words: U64, places: I64, entry_places: I64,
        breaks_off: Callable[[int], bool],
    ) -> Match | None:  # fmt: skip
        """What `words`, those of a document, hold of `entry`, if it is enough. `places`: where
        n-grams of the entry begin in `words`; `entry_places`: where they begin in the entry.
        `breaks_off`: whether the text does before a word of that number."""
        if entry.half is not None:
            starts = np.unique(places - entry_places).tolist()
            return _first_words(entry.half, len(entry.words), words, starts, breaks_off)
        if entry.exact:
            return self._exact(entry, words, places, entry_places)
        size = len(entry.words)
        span = size * 3 // 2 + GRAM
        inside = np.searchsorted(places, places + span - GRAM) - np.arange(len(places))
        best = int(np.argmax(inside))
        low = max(0, int(places[best] - entry_places[best]) - size // 8)
        window = words[low : low + span + size // 8]
        shown = places[best : best + int(inside[best])]
        first, last = int(shown.min()), int(shown.max()) + GRAM
        if entry.kind == "joined" and not _is_asked(entry.others[0], window):
            return None
        method, coverage = self._long(entry, window)
        return Match(method, round(coverage, 6), first, last) if method else None

    def _long(self, entry: Entry, window: U64) -> tuple[str, float]:
        rules = self._rules
        size = len(entry.words)
        covered, distinct = overlap.covered(entry.words, window, rules.ngram_words)
        most = max(rules.ngram_percent * size, 100 * min(rules.run_words, size))
        if covered * 100 >= most and distinct >= rules.ngram_words:
            return "ngram", covered / size
        run, at = overlap.longest_run(entry.words, window)
        inside = entry.words[at - run : at]
        enough = run >= rules.run_words and run * 100 >= rules.run_percent * size
        if enough and len(np.unique(inside)) >= GRAM:
            return "run", run / size
        share = self._window(entry.words, window)
        if share:
            return "window", share
        if entry.kind == "long" and entry.numbers and self._is_part(run, size, inside):
            return "part", run / size
        return "", 0.0

    def _is_part(self, run: int, size: int, words: U64) -> bool:
        percent = self._rules.part_percent
        enough = percent > 0 and run * 100 >= percent * size
        return enough and self._vocabulary.bits(words) >= self._rules.part_bits

    def _window(self, item: U64, window: U64) -> float:
        """The weighted share of the item's words that the window holds, 0 if that is too little.

        A long item may have its sentences in another order. In a short one a single phrase of the
        subject weighs too much for that: its words must stand in their order, or three by three.
        """
        rules = self._rules
        weights = [self._weights[word] for word in item.tolist()]
        percent = rules.window_percent
        if len(item) >= rules.free_words:
            there = Counter(window.tolist())
            kept = []
            for word in item.tolist():
                kept.append(there[word] > 0)
                there[word] -= 1
        else:
            covered, _ = overlap.covered(item, window, PIECE)
            if covered * 100 >= rules.pieces_percent * len(item):
                return covered / len(item)
            kept = overlap.in_order(item, window)
            percent = rules.order_percent
        held = sum(weight for weight, there_is in zip(weights, kept, strict=True) if there_is)
        total = sum(weights)
        if sum(kept) * 100 < percent * len(item) or held * 100 < rules.window_percent * total:
            return 0.0
        return held / total

    def _exact(self, entry: Entry, words: U64, places: I64, entry_places: I64) -> Match | None:
        size = len(entry.words)
        for start in np.unique(places - entry_places).tolist():
            end = start + size
            if start < 0 or not np.array_equal(words[start:end], entry.words):
                continue
            if entry.kind == "pair" or self._answered(entry, words, start, end):
                return Match("short", 1.0, start, end)
        return None

    def _answered(self, entry: Entry, words: U64, start: int, end: int) -> bool:
        rules = self._rules
        size = len(entry.words)
        if size >= rules.alone_words and entry.kind == "question":
            return True
        seen = [other for other in entry.others if self._is_near(words, start, end, other)]
        right = len(entry.answer) > 0 and self._is_near(words, start, end, entry.answer)
        evidence = size + sum(len(other) for other in seen)
        enough = right or len(seen) >= 2 or any(len(other) >= 3 for other in seen)
        return enough and evidence >= rules.short_evidence

    def _is_near(self, words: U64, start: int, end: int, other: U64) -> bool:
        """Whether `other` begins soon behind `end`, or ends shortly before `start`."""
        most = self._rules.near_words + len(other)
        return overlap.holds(words[end : end + most], other) or overlap.holds(
            words[max(0, start - most) : start], other
        )


def _first_words(
    half: Half, least: int, words: U64, starts: Sequence[int], breaks_off: Callable[[int], bool]
) -> Match | None:
    """The first of `starts` behind which enough of an item's first words stand."""
    for start in starts:
        here = words[max(0, start) : max(0, start) + len(half.whole)]
        other = np.flatnonzero(here != half.whole[: len(here)])
        run = int(other[0]) if len(other) else len(here)
        end = start + run
        if start < 0 or run < least or run == half.question:
            continue
        if run >= half.enough or breaks_off(end):
            return Match("half", round(run / len(half.whole), 6), start, end)
    return None


def _is_asked(question: U64, window: U64) -> bool:
    """Whether half of the words of `question` stand in `window`, in their order: an answer alone
    is no item."""
    return 2 * sum(overlap.in_order(question, window)) >= len(question)


def _rarity(entries: Sequence[Entry]) -> dict[int, int]:
    """Word → 1 + the whole part of log2(entries / entries that have it)."""
    holders: Counter[int] = Counter()
    for entry in entries:
        holders.update(set(entry.words.tolist()))
    return {word: (len(entries) // n).bit_length() for word, n in holders.items()}
