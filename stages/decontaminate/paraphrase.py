"""Items told in other words: candidates by shared rare words, verdict by their rarity and order.

Words count by class (`corpusmill.stages.decontaminate.stems`), so that "sells" is "sold" and
"three" is "3". A window of one and a quarter times the item's length is judged where three of the
item's rarest words stand in it. It is the item where the classes that both have

- carry `paraphrase_bits` of rarity: about 2**-bits windows would have them all by chance;
- are `paraphrase_percent` of the rarity of all of the item's classes;
- and `paraphrase_order` per cent of the item's words, by rarity, stand in the item's order.

A word that stands elsewhere in the document too counts for less, the more often the less: a
chapter on the central limit theorem shares the words of every question on it, but has them on
every page. Other windows that hold as much of the item are left out of that count, so that a
page with several tellings of one question is no hiding place.

The idea of shared rare words and a weighted overlap is that of n-gram and IDF overlap tools such
as decon (Allen Institute for AI); the rarity in bits, the discount and the figures are ours, set
on one half of 660 rewordings of GSM8K (Yang et al. 2023, "Rethinking Benchmark and
Contamination") and tried on the other; see ``docs/contamination.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Final

import numpy as np

from corpusmill.stages.words import tokenise

from . import overlap, stems
from .anchors import Anchors, with_bits
from .grams import bit_filter
from .rules import Rules

if TYPE_CHECKING:
    import numpy.typing as npt

    U64 = npt.NDArray[np.uint64]
    I32 = npt.NDArray[np.int32]
    I64 = npt.NDArray[np.int64]

_TAIL: Final = 8
"""Words after the last anchor that still belong to the window."""

_FILTER_BITS: Final = 4
"""The filter of anchors has 2**k bits for each of their forms, or up to twice as many."""

_JUDGED: Final = 64
"""Windows of one item in one document that are judged, those that hold most of it."""

_ENGLISH_PERCENT: Final = 55
"""Least share of an item's words that must be common English ones; see `stems`."""


@dataclass(frozen=True, slots=True)
class Match:
    """A paraphrase of entry `number` in words ``start:end`` of a document; `share` of its
    rarity."""

    document: int
    number: int
    share: float
    start: int
    end: int


class Paraphrases:
    """The long items of an index, ready to be looked for in other words."""

    def __init__(
        self, items: Sequence[tuple[int, U64]], stem_of: Mapping[int, str], rules: Rules
    ) -> None:
        """`items`: entry numbers and their words; `stem_of`: the stem of each."""
        from . import paraphrase_kernel

        self.rules = rules
        common = stems.common()
        self.items = [
            (number, words)
            for number, words in items
            if len(words) >= rules.paraphrase_words
            and sum(stem_of[w] in common for w in words.tolist()) * 100
            >= _ENGLISH_PERCENT * len(words)
        ]
        used = sorted({stem_of[w] for _, words in self.items for w in words.tolist()})
        class_of = {name: n for n, name in enumerate(used)}
        self._bits = np.array([stems.bits(name) for name in used], np.int64)
        self._sequences: list[I32] = [
            np.array([class_of[stem_of[w]] for w in words.tolist()], np.int32)
            for _, words in self.items
        ]
        self._kernel = paraphrase_kernel
        self._make_classes(len(used))
        self._make_table(used, class_of, {h: s for h, s in stem_of.items() if s in class_of})

    def _make_table(self, used: list[str], class_of: dict[str, int], own: dict[int, str]) -> None:
        words, classes = [], []
        for name in used:
            for form in stems.forms(name):
                words.append(form)
                classes.append(class_of[name])
        for form, name in sorted(stems.KNOWN.items()):
            target = class_of.get(stems.stem(name))
            if target is not None:
                words.append(form)
                classes.append(target)
        hashes = np.concatenate([np.array(list(own), np.uint64), tokenise(words).hash])
        values = np.array([*(class_of[name] for name in own.values()), *classes], np.int32)
        unique, first = np.unique(hashes, return_index=True)
        values = values[first]
        self._slots = np.zeros(1 << max(4, (2 * len(unique)).bit_length()), np.uint64)
        self._kernel.fill(unique, values, self._slots)
        self._filter = bit_filter(unique[self._anchors.is_anchor[values] > 0], _FILTER_BITS)

    def _make_classes(self, classes: int) -> None:
        count = len(self._sequences)
        sizes = np.array([len(sequence) for sequence in self._sequences], np.int64)
        words = np.concatenate([*self._sequences, np.zeros(0, np.int32)]).astype(np.int64)
        pairs = np.unique(np.repeat(np.arange(count), sizes) * classes + words)
        item, own = pairs // max(1, classes), pairs % max(1, classes)
        bits = self._bits[own]
        self._class_list = own.astype(np.int32)
        self._class_first = np.searchsorted(item, np.arange(count + 1)).astype(np.int64)
        self._classes = with_bits(own, bits).astype(np.uint32)
        width = np.minimum(sizes * 5 // 4 + 10, self._kernel.WIDEST)
        self._width = width.astype(np.int32)
        total = np.bincount(item, bits, minlength=count).astype(np.int64)
        share = -(-total * self.rules.paraphrase_percent // 100)
        least = np.maximum(share, self.rules.paraphrase_bits)
        self._anchors = Anchors(item, own, bits, classes, least)

    def find(self, words: U64, begin: I64, stop: I64) -> list[Match]:
        """Every item at most once in each document ``words[begin[d]:stop[d]]``, where most of it
        is, by document and entry."""
        if not self.items or not len(words):
            return []
        rows = self._scan(words, begin, stop)
        order = np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0]))
        found = []
        classes = np.zeros(0, np.int32)
        known = -1
        for (document, item), windows in groupby(rows[order].tolist(), lambda r: (r[0], r[1])):
            first, last = int(begin[document]), int(stop[document])
            if document != known:
                known, classes = document, np.empty(last - first, np.int32)
                self._kernel.classify(words[first:last], self._slots, classes)
            places = [(held, low - first, high - first) for _, _, low, high, held in windows]
            best = self._judge(item, classes, places)
            if best is not None:
                share, low, high = best
                found.append(Match(document, self.items[item][0], share, low, high))
        return found

    def _scan(self, words: U64, begin: I64, stop: I64) -> I64:
        """The windows that hold enough of an item; see `paraphrase_kernel.windows`."""
        at, classes = np.empty(len(words), np.int64), np.empty(len(words), np.int32)
        n = self._kernel.anchors(
            words, begin, stop, self._filter, self._slots, self._anchors.is_anchor, at, classes
        )
        at, classes = at[:n], classes[:n]
        self._anchors.seen(classes)
        kernel, anchors = self._kernel, self._anchors
        near = partial(kernel.near_pairs, stop, at, classes, *anchors.postings, self._width)
        pairs = _with_room(near, 3, len(at) // 2)
        if not len(pairs):
            return np.empty((0, 5), np.int64)
        class_at = np.zeros(len(words), np.int32)
        places = np.zeros((2, len(anchors.is_anchor)), np.int32)
        windows = partial(
            kernel.windows, words, begin, stop, at, classes, self._slots,
            pairs, self._width, anchors.items, self._classes, _TAIL,
            class_at, places,
        )  # fmt: skip
        return _with_room(windows, 5, _JUDGED)

    def _judge(
        self, item: int, words: I32, places: Sequence[tuple[int, int, int]]
    ) -> tuple[float, int, int] | None:
        own = self._class_list[self._class_first[item] : self._class_first[item + 1]]
        elsewhere = np.ones(len(words), np.bool_)
        for _, low, high in places:
            elsewhere[max(0, low - _TAIL) : high + _TAIL] = False
        others = words[elsewhere]
        at = np.searchsorted(own, others)
        at[at == len(own)] = 0
        times = np.bincount(at[own[at] == others], minlength=len(own)).tolist()
        full = self._bits[own].tolist()
        # Once in q windows of this width, so log2(q) bits, where that is less than elsewhere.
        width = int(self._width[item])
        local = [
            min(bits, (len(words) // (width * k)).bit_length() - 1) if k else bits
            for bits, k in zip(full, times, strict=True)
        ]
        best: tuple[float, int, int] | None = None
        for _, low, high in sorted(places, key=lambda p: -p[0])[:_JUDGED]:
            there = np.isin(own, words[max(0, low - _TAIL) : high + _TAIL]).tolist()
            held = sum(max(0, b) for b, is_there in zip(local, there, strict=True) if is_there)
            rules = self.rules
            if held < rules.paraphrase_bits or held * 100 < rules.paraphrase_percent * sum(full):
                continue
            sequence = self._sequences[item]
            weights = self._bits[sequence]
            slack = max(_TAIL, len(sequence) // 4)
            around = words[max(0, low - slack) : high + slack]
            kept = overlap.heaviest_common(sequence, around, weights)
            if kept * 100 < rules.paraphrase_order * int(weights.sum()):
                continue
            share = round(held / sum(full), 6)
            if best is None or share > best[0]:
                best = (share, low, high)
        return best


def _with_room(fill: Callable[[I64], int], columns: int, room: int) -> I64:
    """The rows that `fill` puts into an array, which says with a negative number that it was too
    short. At first it has `room` of them; what is never written takes no memory."""
    while True:
        rows = np.empty((room, columns), np.int64)
        n = fill(rows)
        if n >= 0:
            return rows[:n]
        room = 4 * room + _JUDGED
