"""Finds benchmark items in texts, whole or altered, by the words they share.

Two steps. *Candidates*: the 5-grams of folded words (see `corpusmill.stages.words`: case,
punctuation, line breaks and Unicode composition do not count) of a batch are looked up in one
table of the 5-grams of all items, in numpy; an item is a candidate where at least a fifth of its
own 5-grams occur. *Verdict*, on the words of both, for an item of `long_words` words or more, in
the order of the methods:

- ``ngram``: 8-grams that occur in a window of the text cover half of the item's words (Tulu 3,
  Lambert et al. 2024, section 3.2: 8-grams, more than 50 % of the tokens of the instance), and 13
  words at least, so that no stock phrase decides on a short item;
- ``run``: 13 words in a row that are also 40 % of the item (13 after GPT-3, Brown et al. 2020,
  appendix C, which takes any 13-gram; the share is ours, against quotations);
- ``window``: a window of one and a half times the item's length holds 60 % of its words, both
  counted and weighted by their rarity among the items. Below 25 words, 75 % of them in their
  order. Finds changed numbers, dropped words and sentences in another order. Shares are ours:
  the lowest that flagged no page of 1,500 technical ones and no encyclopedia section;
- ``part`` (off by default): a run of words that is `part_percent` of the item and rare enough
  together. Finds pieces of short items, and every text that quotes what the item quotes.

A shorter item is found (``short``) where the whole question occurs and is of 8 words or more, or
its answer or options stand near. Items too short even for this are *not visible*:
`coverage_report` counts them, so that nobody takes "none found" for "none there".

Items of 25 words or more that share too few 5-grams with a text are looked for by rare words
(``paraphrase``, see `corpusmill.stages.decontaminate.paraphrase`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from corpusmill.pipeline.errors import AssetError, ConfigError
from corpusmill.stages.words import WordTable, tokenise

from . import overlap, stems
from .benchmarks import Benchmark
from .items import Entry, entries_of
from .markup import unmarked
from .overlap import GRAM
from .paraphrase import Paraphrases
from .rules import Rules

if TYPE_CHECKING:
    import numpy.typing as npt

    U64 = npt.NDArray[np.uint64]
    I64 = npt.NDArray[np.int64]

COMMON: Final = 64
"""An n-gram in more items than this proposes none, unless an item has no rarer one."""

_FILTER_BITS: Final = 25


@dataclass(frozen=True, slots=True)
class Hit:
    """An item found in a text. `method`: one of `METHODS`. `coverage`: the share of
    the item that the method found, 6 decimals. ``start:end``: characters of the text from the
    first to the last matched words."""

    benchmark: str
    item: str
    method: str
    coverage: float
    start: int
    end: int

    @property
    def name(self) -> str:
        """``benchmark/item``."""
        return f"{self.benchmark}/{self.item}"


@dataclass(frozen=True, slots=True)
class Coverage:
    """Of one benchmark: its items, those that some method can see, those found in any text."""

    benchmark: str
    version: str
    licence: str
    items: int
    visible: int
    found: int


class ContaminationIndex:
    """The items of some benchmarks, ready to be looked for. Build it once a process."""

    def __init__(
        self,
        entries: Sequence[Entry],
        invisible: Counter[str],
        spelling: dict[int, str],
        rules: Rules,
    ) -> None:
        self.rules = rules
        self.entries = entries
        self.invisible = invisible
        """Items that no method can see, by benchmark."""
        self._weights = _rarity(entries)
        self._rareness = {
            word: stems.bits(stems.stem(spelling[word]))
            for word in sorted({w for e in entries for w in e.words.tolist()})
        }
        self._paraphrases = (
            Paraphrases([(n, e.words) for n, e in enumerate(entries) if e.kind == "long"],
                        spelling, rules)
            if rules.paraphrase_words else None
        )  # fmt: skip
        self._make_table()

    @classmethod
    def build(
        cls, benchmarks: Sequence[Benchmark], rules: Rules | None = None
    ) -> ContaminationIndex:
        """An index of all items of `benchmarks`. Raises AssetError if none of them is visible."""
        rules = rules or Rules()
        entries: list[Entry] = []
        invisible: Counter[str] = Counter()
        spelling: dict[int, str] = {}
        for benchmark in benchmarks:
            for entry, name in entries_of(benchmark, rules, spelling):
                if entry is None:
                    invisible[name] += 1
                else:
                    entries.append(entry)
        if not entries:
            names = [b.name for b in benchmarks]
            raise AssetError(f"no item of the benchmarks {names} is long enough to be found")
        return cls(entries, invisible, spelling, rules)

    def _make_table(self) -> None:
        grams, owner, place = [], [], []
        for number, entry in enumerate(self.entries):
            own = overlap.grams(entry.words)
            grams.append(own)
            owner.append(np.full(len(own), number, np.int64))
            place.append(np.arange(len(own), dtype=np.int64))
        gram, item, at = (np.concatenate(parts) for parts in (grams, owner, place))
        _, inverse, counts = np.unique(gram, return_inverse=True, return_counts=True)
        often = counts[inverse]
        rarest = np.full(len(self.entries), np.iinfo(np.int64).max)
        np.minimum.at(rarest, item, often)
        keep = (often <= COMMON) | (often == rarest[item])
        gram, item, at = gram[keep], item[keep], at[keep]
        order = np.lexsort((at, item, gram))
        self._posting_item, self._posting_at = item[order], at[order]
        self._gram, first = np.unique(gram[order], return_index=True)
        self._first = np.append(first, len(order)).astype(np.int64)
        distinct = np.unique(item * (int(at.max()) + 1) + at)
        self._wanted = np.bincount(distinct // (int(at.max()) + 1), minlength=len(self.entries))
        self._bits = np.zeros(1 << (_FILTER_BITS - 3), np.uint8)
        index = (self._gram >> np.uint64(64 - _FILTER_BITS)).astype(np.int64)
        np.bitwise_or.at(self._bits, index >> 3, (1 << (index & 7)).astype(np.uint8))

    def find(self, texts: Sequence[str]) -> list[list[Hit]]:
        """The items in each text, by where they start; every item at most once a text."""
        table = tokenise([unmarked(text) for text in texts])
        matches: dict[tuple[int, int], tuple[str, float, int, int]] = {}
        for document, number, places, item_places in self._candidates(table):
            first, last = int(table.doc_start[document]), int(table.doc_start[document + 1])
            match = self._verdict(
                self.entries[number], table.hash[first:last], places - first, item_places
            )
            if match is not None:
                method, coverage, low, high = match
                matches[document, number] = (method, coverage, first + low, first + high)
        if self._paraphrases is not None:
            told = self._paraphrases.find(table)
            # The words of a text tell one item: of items that are alike, the one found first.
            for m in sorted(told, key=lambda m: (-m.share, m.document, m.number)):
                taken = [(x[2], x[3]) for (d, _), x in matches.items() if d == m.document]
                if not any(
                    2 * (min(m.end, b) - max(m.start, a)) > m.end - m.start for a, b in taken
                ):
                    matches[m.document, m.number] = ("paraphrase", m.share, m.start, m.end)
        found: list[list[Hit]] = [[] for _ in texts]
        for (document, number), (method, coverage, low, high) in matches.items():
            entry = self.entries[number]
            raw = unmarked(texts[document]).encode("utf-8", "surrogatepass")
            start, end = (
                len(raw[: int(b)].decode("utf-8", "surrogatepass"))
                for b in (table.start[low], table.end[high - 1])
            )
            found[document].append(Hit(entry.benchmark, entry.item, method, coverage, start, end))
        for hits in found:
            hits.sort(key=lambda h: (h.start, h.benchmark, h.item))
        return found

    def _candidates(self, table: WordTable) -> Iterable[tuple[int, int, I64, I64]]:
        """(document, entry, places in the table, places in the item) where enough is shared."""
        gram = overlap.grams(table.hash)
        index = gram >> np.uint64(64 - _FILTER_BITS)
        bit = self._bits[(index >> np.uint64(3)).astype(np.int64)] >> (index & np.uint64(7)).astype(
            np.uint8
        )
        at = np.flatnonzero(bit & 1)
        slot = np.searchsorted(self._gram, gram[at])
        slot[slot == len(self._gram)] = 0
        hit = self._gram[slot] == gram[at]
        at, slot = at[hit], slot[hit]
        document = np.searchsorted(table.doc_start, at, side="right") - 1
        inside = at + GRAM <= table.doc_start[document + 1]
        at, slot, document = at[inside], slot[inside], document[inside]
        if not len(at):
            return
        many = self._first[slot + 1] - self._first[slot]
        source = np.repeat(np.arange(len(at)), many)
        step = np.arange(len(source)) - np.repeat(np.cumsum(many) - many, many)
        posting = self._first[slot][source] + step
        item, item_at = self._posting_item[posting], self._posting_at[posting]
        at, document = at[source], document[source]
        order = np.lexsort((item_at, at, item, document))
        item, item_at, at, document = item[order], item_at[order], at[order], document[order]
        border = np.flatnonzero(np.diff(document) | np.diff(item)) + 1
        first = np.concatenate(([0], border))
        last = np.concatenate((border, [len(item)]))
        # no more distinct grams than hits, so most pairs fall without a look at which they are
        enough = (last - first) * 100 >= self.rules.candidate_percent * self._wanted[item[first]]
        for low, high in zip(first[enough], last[enough], strict=True):
            number = int(item[low])
            wanted = int(self._wanted[number])
            distinct = len(np.unique(item_at[low:high]))
            if distinct * 100 >= self.rules.candidate_percent * wanted:
                yield int(document[low]), number, at[low:high], item_at[low:high]

    def _verdict(
        self, entry: Entry, words: U64, places: I64, item_places: I64
    ) -> tuple[str, float, int, int] | None:
        """(method, coverage, first word, word after the last) or None if it is not the item."""
        if entry.kind != "long":
            return self._short(entry, words, places, item_places)
        size = len(entry.words)
        span = size * 3 // 2 + GRAM
        inside = np.searchsorted(places, places + span - GRAM) - np.arange(len(places))
        best = int(np.argmax(inside))
        low = max(0, int(places[best] - item_places[best]) - size // 8)
        window = words[low : low + span + size // 8]
        shown = places[best : best + int(inside[best])]
        first, last = int(shown.min()), int(shown.max()) + GRAM
        rules = self.rules
        covered, distinct = overlap.covered(entry.words, window, rules.ngram_words)
        most = max(rules.ngram_percent * size, 100 * min(rules.run_words, size))
        if covered * 100 >= most and distinct >= rules.ngram_words:
            return "ngram", round(covered / size, 6), first, last
        run, at = overlap.longest_run(entry.words, window)
        distinct = len(np.unique(entry.words[at - run : at]))
        if run >= rules.run_words and run * 100 >= rules.run_percent * size and distinct >= GRAM:
            return "run", round(run / size, 6), first, last
        share = self._window(entry.words, window)
        if share is not None:
            return "window", share, first, last
        if rules.part_percent and run * 100 >= rules.part_percent * size:
            rarity = sum(self._rareness[word] for word in set(entry.words[at - run : at].tolist()))
            if rarity >= rules.part_bits:
                return "part", round(run / size, 6), first, last
        return None

    def _window(self, item: U64, window: U64) -> float | None:
        """The weighted share of the item's words that the window holds, if that is enough.

        A long item may have its sentences in another order. In a short one a single phrase of the
        subject weighs too much for that: its words must stand in their order.
        """
        rules = self.rules
        weights = [self._weights[word] for word in item.tolist()]
        if len(item) >= rules.free_words:
            there = Counter(window.tolist())
            kept = []
            for word in item.tolist():
                kept.append(there[word] > 0)
                there[word] -= 1
            percent = rules.window_percent
        else:
            kept = overlap.in_order(item, window)
            percent = rules.order_percent
        held = sum(weight for weight, there_is in zip(weights, kept, strict=True) if there_is)
        total = sum(weights)
        if sum(kept) * 100 < percent * len(item) or held * 100 < rules.window_percent * total:
            return None
        return round(held / total, 6)

    def _short(
        self, entry: Entry, words: U64, places: I64, item_places: I64
    ) -> tuple[str, float, int, int] | None:
        size = len(entry.words)
        for start in np.unique(places - item_places).tolist():
            if start < 0 or not np.array_equal(words[start : start + size], entry.words):
                continue
            end = start + size
            seen = [other for other in entry.others if self._is_near(words, start, end, other)]
            right = len(entry.answer) > 0 and self._is_near(words, start, end, entry.answer)
            evidence = size + sum(len(other) for other in seen)
            enough = right or len(seen) >= 2 or any(len(other) >= 3 for other in seen)
            alone = size >= self.rules.alone_words and entry.kind == "question"
            if alone or (enough and evidence >= self.rules.short_evidence):
                return "short", 1.0, start, end
        return None

    def _is_near(self, words: U64, start: int, end: int, other: U64) -> bool:
        """Whether `other` begins soon behind `end`, or ends shortly before `start`."""
        most = self.rules.near_words + len(other)
        return overlap.holds(words[end : end + most], other) or overlap.holds(
            words[max(0, start - most) : start], other
        )


def coverage_report(
    benchmarks: Sequence[Benchmark], hits: Iterable[Hit], rules: Rules | None = None
) -> list[Coverage]:
    """Per benchmark: items, visible items, and how many different ones the `hits` name."""
    rules = rules or Rules()
    found: dict[str, set[str]] = {b.name: set() for b in benchmarks}
    for hit in hits:
        if hit.benchmark not in found:
            raise ConfigError(f"a hit names the benchmark {hit.benchmark!r}, which is not given")
        found[hit.benchmark].add(hit.item)
    return [
        Coverage(
            b.name, b.version, b.licence, len(b.items),
            sum(entry is not None for entry, _ in entries_of(b, rules)), len(found[b.name]),
        )
        for b in benchmarks
    ]  # fmt: skip


def _rarity(entries: Sequence[Entry]) -> dict[int, int]:
    """Word → 1 + the whole part of log2(items / items that have it)."""
    holders: Counter[int] = Counter()
    for entry in entries:
        holders.update(set(entry.words.tolist()))
    return {word: (len(entries) // n).bit_length() for word, n in holders.items()}
