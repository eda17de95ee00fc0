"""The items of benchmarks as words: what is looked for, and what is too short to be.

An item is looked for in several forms: its question; a question of less than `long_words` words
also together with the right answer; what a page tells of it by its first words, where so few of
them are long and rare enough to stand for the item; and, where it has numbers, all but the last
without them, so that other numbers do not hide it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from corpusmill.stages.unicode_data import fold
from corpusmill.stages.words import ALL_DIGITS, WordTable

from . import stems
from .benchmarks import Benchmark
from .markup import tokenise_plain
from .overlap import GRAM
from .rules import Rules

if TYPE_CHECKING:
    import numpy.typing as npt

    U64 = npt.NDArray[np.uint64]

Kind = Literal["long", "question", "answer", "joined", "pair", "half"]

_FEWEST_BITS: Final = 3
"""More bits that the fewest words must have which stand for an item by themselves."""

_NUMBERLESS_ANSWER: Final = 2
"""Words that an answer must have without its numbers to stand for one with them."""


@dataclass(frozen=True, slots=True)
class Half:
    """What a page tells of an item. Its first `enough` words stand for it wherever they are in a
    row; those that are looked for, which may be fewer, do where the text breaks off. A question of
    `question` words with nothing of its answer does not: pages ask the same."""

    whole: U64
    enough: int
    question: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One form of an item: `words` are looked for, and of `others` one must stand near."""

    benchmark: str
    item: str
    words: U64
    others: tuple[U64, ...]
    answer: U64
    kind: Kind
    """What `words` are: a long question, a short one, an answer (or, where that is too short,
    an option); a short question and its answer, long together ("joined") or not ("pair"); the
    first words of what a page tells."""
    numbers: bool
    """Whether `words` has the numbers of the item, or they were left out."""
    half: Half | None = None

    @property
    def exact(self) -> bool:
        """Whether all of `words` must stand in a row."""
        return self.kind not in ("long", "joined")

    @property
    def told(self) -> bool:
        """Whether `words` are all that a page tells of the item."""
        alone = self.kind == "question" and not len(self.answer)
        return alone or self.kind in ("long", "joined", "pair")


@dataclass(frozen=True, slots=True)
class Forms:
    """The forms of one item. `visible`: whether some method sees it, told whole (with its right
    answer, or an option where it has none); `by_half`: whether its first half is enough."""

    entries: tuple[Entry, ...]
    visible: bool
    by_half: bool

    @property
    def long(self) -> bool:
        """Whether the question alone is long enough for the methods of long items."""
        return bool(self.entries) and self.entries[0].kind == "long"


class Vocabulary:
    """The folded words of items, by hash, with their stems and rarities."""

    def __init__(self) -> None:
        self._stems: dict[int, str] = {}

    def add(self, table: WordTable) -> None:
        """Adds the words of `table`."""
        hashes, first = np.unique(table.hash, return_index=True)
        document = np.searchsorted(table.doc_start, first, side="right") - 1
        at = first - table.doc_start[document]
        for h, doc, word in zip(hashes.tolist(), document.tolist(), at.tolist(), strict=True):
            if h not in self._stems:
                self._stems[h] = stems.stem(fold(table.text(doc, word)))

    @property
    def stems(self) -> dict[int, str]:
        """Hash → stem of the word."""
        return self._stems

    def bits(self, words: U64) -> int:
        """The rarity of the different stems among `words`, together."""
        return self.running_bits(words)[-1] if len(words) else 0

    def running_bits(self, words: U64) -> list[int]:
        """The same of the first word, the first two, and so on."""
        seen: set[str] = set()
        sums: list[int] = []
        for name in map(self._stems.__getitem__, words.tolist()):
            new = 0 if name in seen else stems.bits(name)
            seen.add(name)
            sums.append(new + (sums[-1] if sums else 0))
        return sums


def forms_of(
    benchmark: Benchmark, rules: Rules, vocabulary: Vocabulary | None = None
) -> Iterator[Forms]:
    """The forms of each item, none for those that no method can see. Their words are added to
    `vocabulary`."""
    vocabulary = vocabulary or Vocabulary()
    texts: list[str] = []
    for item in benchmark.items:
        texts += (item.question, item.answer, *item.options)
    table = tokenise_plain(texts)
    vocabulary.add(table)
    letters = (table.flags & ALL_DIGITS) == 0
    at = 0
    for item in benchmark.items:
        size = 2 + len(item.options)
        bounds = [
            slice(int(table.doc_start[d]), int(table.doc_start[d + 1]))
            for d in range(at, at + size)
        ]
        at += size
        parts = [table.hash[b] for b in bounds]
        named = _Named(benchmark.name, item.id, rules, vocabulary)
        entries = named.with_numbers(parts)
        seen = any(entry.kind != "half" for entry in entries) and named.answered(parts)
        if not letters[bounds[0].start : bounds[-1].stop].all():
            entries += named.without_numbers([table.hash[b][letters[b]] for b in bounds])
        yield Forms(tuple(entries), seen, seen and named.halved(entries))


@dataclass(frozen=True, slots=True)
class _Named:
    benchmark: str
    item: str
    rules: Rules
    vocabulary: Vocabulary

    def with_numbers(self, parts: Sequence[U64]) -> list[Entry]:
        entries = self._whole(parts, True)
        question = len(parts[0])
        halves = [self._half(entry.words, question) for entry in entries if entry.told]
        return [*entries, *(half for half in halves if half is not None)]

    def _half(self, whole: U64, question: int) -> Entry | None:
        rules = self.rules
        rarity = self.vocabulary.running_bits(whole)
        share = -(-rules.half_percent * len(whole) // 100)
        sizes = range(share, len(whole))
        cut = [n for n in sizes if n >= rules.cut_words and rarity[n - 1] >= rules.cut_bits]
        sure = [
            n for n in sizes
            if n >= rules.half_words
            and rarity[n - 1] >= rules.half_bits + _FEWEST_BITS * (n == rules.half_words)
        ]  # fmt: skip
        if not cut and not sure:
            return None
        words = whole[: min([*cut, *sure])]
        enough = min(sure, default=len(whole) + 1)
        half = Half(whole, enough, question)
        return Entry(self.benchmark, self.item, words, (), whole[:0], "half", True, half)

    def without_numbers(self, parts: Sequence[U64]) -> list[Entry]:
        others = [part for part in parts[2:] if len(part) >= _NUMBERLESS_ANSWER]
        answer = parts[1] if len(parts[1]) >= _NUMBERLESS_ANSWER else parts[1][:0]
        return self._whole([parts[0], answer, *others], False)

    def halved(self, entries: Sequence[Entry]) -> bool:
        """Whether less than half of what a page tells stands for the item."""
        return any(
            entry.half is not None and 2 * len(entry.words) < len(entry.half.whole)
            for entry in entries
        )

    def answered(self, parts: Sequence[U64]) -> bool:
        """Whether question and right answer, where there is one, have words enough to be found."""
        question, answer = parts[0], parts[1]
        alone = len(question) >= min(self.rules.alone_words, self.rules.long_words)
        words = len(question) + len(answer)
        return alone or not len(answer) or words >= self.rules.short_evidence

    def _whole(self, parts: Sequence[U64], numbers: bool) -> list[Entry]:
        question, answer = parts[0], parts[1]
        if len(question) >= self.rules.long_words:
            return [self._entry(question, "long", numbers, answer=answer)]
        entries = self._short(parts, numbers)
        joined = np.concatenate([question, answer])
        if len(question) and len(answer) and len(joined) >= self.rules.short_evidence:
            kind: Kind = "joined" if len(joined) >= self.rules.long_words else "pair"
            entries.append(self._entry(joined, kind, numbers, (question,), answer))
        return entries

    def _short(self, parts: Sequence[U64], numbers: bool) -> list[Entry]:
        rules = self.rules
        question, answer = parts[0], parts[1]
        others = {tuple(p.tolist()): p for p in parts[1:] if len(p)}
        if len(question) >= GRAM:
            most = len(question) + max((len(p) for p in others.values()), default=0)
            if most < rules.short_evidence or (not others and len(question) < rules.alone_words):
                return []
            return [self._entry(question, "question", numbers, tuple(others.values()), answer)]
        # A question of a word or two is found from its answer, or the longest option where that
        # is too short.
        least = max(GRAM, rules.short_evidence - len(question))
        anchor = answer
        if len(answer) < least:
            anchor = max(others.values(), key=len, default=question)
        if len(question) == 0 or len(anchor) < least:
            return []
        return [self._entry(anchor, "answer", numbers, (question,), question)]

    def _entry(
        self,
        words: U64,
        kind: Kind,
        numbers: bool,
        others: tuple[U64, ...] = (),
        answer: U64 | None = None,
    ) -> Entry:
        none = words[:0]
        answer = none if answer is None else answer
        return Entry(self.benchmark, self.item, words, others, answer, kind, numbers)
