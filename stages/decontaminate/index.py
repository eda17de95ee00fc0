"""Finds benchmark items in texts, whole or altered, by the words they share.

Words are compared folded (see `corpusmill.stages.words`: case, punctuation, line breaks and Unicode
composition do not count), and once more without those that are numbers, so that other numbers hide
no item. Every form of an item (`corpusmill.stages.decontaminate.items`) is looked for in two steps.
*Candidates*: the 5-grams of a batch are looked up in a table of those of all forms; a form is a
candidate where a fifth of its own occur. *Verdict*, on the words of both, for a question of
`long_words` words or more, and for a shorter one that has as many together with its answer, in the
order of the methods:

- ``ngram``: 8-grams that occur in a window of the text cover half of the words (Tulu 3, Lambert et
  al. 2024, section 3.2: 8-grams, more than 50 % of the tokens of the instance), and 13 words at
  least, so that no stock phrase decides on a short item;
- ``run``: 13 words in a row that are also 40 % of it (13 after GPT-3, Brown et al. 2020, appendix
  C, which takes any 13-gram; the share is ours, against quotations);
- ``window``: a window of one and a half times the length holds 60 % of the words, both counted and
  weighted by their rarity among the items. Below 25 words, 75 % of them in their order, or 85 %
  three by three. Finds changed numbers, dropped words and sentences in another order. Shares are
  ours: the lowest that flagged no page of 1,500 technical ones and no encyclopedia section;
- ``short``: the whole question occurs and is of 8 words or more, or its answer or options stand
  near;
- ``half``: its first words occur in a row, 40 % of it with its answer, seven or more and rare
  enough together; five or more where the text breaks off behind them;
- ``part`` (off by default): a run of words that is `part_percent` of the question and rare enough
  together. Finds pieces of short items, and every text that quotes what the item quotes.

Items too short even for ``short`` are *not visible*: `coverage_report` counts them, so that nobody
takes "none found" for "none there". Questions of 25 words or more that share too few 5-grams with
a text are looked for by rare words (``paraphrase``, see
`corpusmill.stages.decontaminate.paraphrase`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from corpusmill.pipeline.errors import AssetError, ConfigError
from corpusmill.stages.words import ALL_DIGITS, WordTable

from .benchmarks import Benchmark
from .grams import GramTable
from .items import Entry, Vocabulary, forms_of
from .markup import plain_of, plain_words, tokenise_plain
from .paraphrase import Paraphrases
from .rules import METHODS, Rules
from .verdict import Judge, Match

if TYPE_CHECKING:
    import numpy.typing as npt

    U64 = npt.NDArray[np.uint64]
    I64 = npt.NDArray[np.int64]


_BREAKS: Final = (b"\n", b"\r", b"...", "…".encode())
"""What stands between two words where a text breaks off."""


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
    """Of one benchmark: its items, those that some method can see told whole, and by their first
    half, those found in any text."""

    benchmark: str
    version: str
    licence: str
    items: int
    visible: int
    by_half: int
    found: int


@dataclass(frozen=True, slots=True)
class _Part:
    """Documents ``begin[d]:stop[d]`` of a table, those of ``texts[d]`` of the texts searched."""

    table: WordTable
    texts: Sequence[int]
    begin: I64
    stop: I64

    def breaks_off(self, document: int, word: int) -> bool:
        """Whether nothing of the line follows before `word` of a document (counted from its
        first), or nothing of the document. A colon says that it goes on."""
        at = int(self.begin[document]) + word
        if at == self.stop[document]:
            return True
        raw = int(self.table.byte_start[document])
        gap = self.table.data[raw + self.table.end[at - 1] : raw + self.table.start[at]].tobytes()
        return b":" not in gap and any(mark in gap for mark in _BREAKS)


class ContaminationIndex:
    """The items of some benchmarks, ready to be looked for. Build it once a process."""

    def __init__(
        self, entries: Sequence[Entry], invisible: Counter[str], vocabulary: Vocabulary,
        rules: Rules,
    ) -> None:  # fmt: skip
        self.rules = rules
        self.entries = entries
        self.invisible = invisible
        """Items that no method can see, by benchmark."""
        self._judge = Judge(entries, vocabulary, rules)
        self._paraphrases = None
        if rules.paraphrase_words:
            long = [(n, e.words) for n, e in enumerate(entries) if e.kind == "long" and e.numbers]
            self._paraphrases = Paraphrases(long, vocabulary.stems, rules)
        self._grams = GramTable(
            [e.words for e in entries],
            [100 if e.exact else rules.candidate_percent for e in entries],
            [e.numbers for e in entries],
        )

    @classmethod
    def build(
        cls, benchmarks: Sequence[Benchmark], rules: Rules | None = None
    ) -> ContaminationIndex:
        """An index of all items of `benchmarks`. Raises AssetError if none of them is visible."""
        rules = rules or Rules()
        entries: list[Entry] = []
        invisible: Counter[str] = Counter()
        vocabulary = Vocabulary()
        for benchmark in benchmarks:
            for forms in forms_of(benchmark, rules, vocabulary):
                entries += forms.entries
                invisible[benchmark.name] += not forms.visible
        if not entries:
            names = [b.name for b in benchmarks]
            raise AssetError(f"no item of the benchmarks {names} is long enough to be found")
        return cls(entries, +invisible, vocabulary, rules)

    def find(self, texts: Sequence[str], table: WordTable | None = None) -> list[list[Hit]]:
        """The items in each text, by where they start; every item at most once a text. `table`:
        the words of `texts`, where they are known."""
        found: list[list[Hit]] = [[] for _ in texts]
        for part in _parts(texts, table):
            for document, hit in self._hits(part, texts):
                found[part.texts[document]].append(hit)
        for hits in found:
            hits.sort(key=lambda h: (h.start, h.benchmark, h.item))
        return found

    def proposed(self, texts: Sequence[str]) -> list[bool]:
        """Whether a text has a candidate by n-grams, which costs a verdict, found or not."""
        have = [False for _ in texts]
        for part in _parts(texts, None):
            table = part.table
            for c in self._grams.candidates(table.hash, table.flags, part.begin, part.stop):
                have[part.texts[c.document]] = True
        return have

    def _hits(self, part: _Part, texts: Sequence[str]) -> Iterator[tuple[int, Hit]]:
        """(document of `part`, what is found in it)."""
        best: dict[tuple[int, str, str], Match] = {}
        for document, entry, match in self._matches(part):
            key = document, entry.benchmark, entry.item
            known = best.setdefault(key, match)
            best[key] = min(known, match, key=lambda m: (METHODS.index(m.method), -m.coverage))
        self._add_paraphrases(part, best)
        for (document, benchmark, item), match in best.items():
            raw = texts[part.texts[document]].encode("utf-8", "surrogatepass")
            first = int(part.begin[document])
            start, end = (
                len(raw[: int(b)].decode("utf-8", "surrogatepass"))
                for b in (
                    part.table.start[first + match.start], part.table.end[first + match.end - 1]
                )
            )  # fmt: skip
            yield document, Hit(benchmark, item, match.method, match.coverage, start, end)

    def _matches(self, part: _Part) -> Iterator[tuple[int, Entry, Match]]:
        """(document, form, where) of every form found, places in words of the document."""
        words, flags = part.table.hash, part.table.flags
        for c in self._grams.candidates(words, flags, part.begin, part.stop):
            entry = self.entries[c.entry]
            here = slice(int(part.begin[c.document]), int(part.stop[c.document]))
            breaks_off = partial(part.breaks_off, c.document)
            if entry.numbers:
                match = self._judge.verdict(
                    entry, words[here], c.places, c.entry_places, breaks_off
                )  # fmt: skip
            else:
                kept = np.flatnonzero((flags[here] & ALL_DIGITS) == 0)
                places = np.searchsorted(kept, c.places)
                match = self._judge.verdict(
                    entry, words[here][kept], places, c.entry_places, breaks_off
                )  # fmt: skip
                if match is not None:
                    start, end = int(kept[match.start]), int(kept[match.end - 1]) + 1
                    match = Match(match.method, match.coverage, start, end)
            if match is not None:
                yield c.document, entry, match

    def _add_paraphrases(self, part: _Part, best: dict[tuple[int, str, str], Match]) -> None:
        """The words of a text tell one item: of items that are alike, the one found first. One that
        stands in two benchmarks, word for word, is found for both."""
        if self._paraphrases is None:
            return
        told = self._paraphrases.find(part.table.hash, part.begin, part.stop)
        taken: dict[int, list[tuple[Match, Entry | None]]] = {}
        for (document, _, _), match in best.items():
            taken.setdefault(document, []).append((match, None))
        for m in sorted(told, key=lambda m: (-m.share, m.document, m.number)):
            match = Match("paraphrase", m.share, m.start, m.end)
            others = taken.setdefault(m.document, [])
            entry = self.entries[m.number]
            if not any(_mostly_in(match, o) and not _copies(entry, its) for o, its in others):
                best[m.document, entry.benchmark, entry.item] = match
                others.append((match, entry))


def _copies(entry: Entry, other: Entry | None) -> bool:
    """Whether two benchmarks have the same item."""
    if other is None or entry.benchmark == other.benchmark:
        return False
    return np.array_equal(entry.words, other.words)


def _mostly_in(match: Match, other: Match) -> bool:
    shared = min(match.end, other.end) - max(match.start, other.start)
    return 2 * shared > match.end - match.start


def _parts(texts: Sequence[str], table: WordTable | None) -> Iterator[_Part]:
    """The words of `texts` without markup, of every text in one of the parts. `table` has those of
    `texts` as they are."""
    if table is None:
        yield _whole(tokenise_plain(texts))
        return
    plain = plain_of(table.data, table.byte_start)
    if plain is None:
        yield _whole(table)
        return
    begin, stop = table.doc_start[:-1], table.doc_start[1:].copy()
    stop[plain.documents] = begin[plain.documents]
    yield _Part(table, range(len(texts)), begin, stop)
    yield _whole(plain_words(table, plain))


def _whole(table: WordTable) -> _Part:
    return _Part(table, range(table.documents), table.doc_start[:-1], table.doc_start[1:])


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
    lines = []
    for b in benchmarks:
        forms = list(forms_of(b, rules))
        visible, by_half = sum(f.visible for f in forms), sum(f.by_half for f in forms)
        count = len(found[b.name])
        lines.append(Coverage(b.name, b.version, b.licence, len(forms), visible, by_half, count))
    return lines
