"""The n-grams of items in one table, and where a batch of texts shares enough of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from .overlap import GRAM, grams

if TYPE_CHECKING:
    import numpy.typing as npt

    U64 = npt.NDArray[np.uint64]
    I32 = npt.NDArray[np.int32]
    I64 = npt.NDArray[np.int64]
    U8 = npt.NDArray[np.uint8]

COMMON: Final = 128
"""An n-gram in more entries than this proposes none, unless an entry has no rarer one."""

INNER: Final = 3
"""Words of the n-grams by which a text is looked through: of those in a row that begin at every
third word, each longer n-gram holds one."""

_NEAR, _FAR = 1, 4
"""The filters have 2**k bits for each n-gram, or up to twice as many. The near one has its place in
the second cache: 256 kB with ten benchmarks."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entry that shares enough n-grams with a document. `places`: where they begin in the
    document; `entry_places`: where each begins in the entry."""

    document: int
    entry: int
    places: I64
    entry_places: I64


class GramTable:
    """The n-grams of `entries` (sequences of word hashes). An entry is a candidate where
    `percent[entry]` of its n-grams stand in a document: in the words that are no numbers, where
    `numbers[entry]` is false."""

    def __init__(
        self, entries: Sequence[U64], percent: Sequence[int], numbers: Sequence[bool]
    ) -> None:
        self._entries = len(entries)
        if not entries:
            return
        self._numbers = np.asarray(numbers, np.bool_)
        gram, entry, at = _grams_of(entries)
        often = np.empty(len(gram), np.int64)
        for kind in (True, False):
            own = self._numbers[entry] == kind
            _, inverse, counts = np.unique(gram[own], return_inverse=True, return_counts=True)
            often[own] = counts[inverse]
        rarest = np.full(len(entries), np.iinfo(np.int64).max)
        np.minimum.at(rarest, entry, often)
        keep = (often <= COMMON) | (often == rarest[entry])
        gram, entry, at = gram[keep], entry[keep], at[keep]
        order = np.lexsort((at, entry, gram))
        self._posting_entry, self._posting_at = entry[order], at[order]
        self._gram, first = np.unique(gram[order], return_index=True)
        self._first = np.append(first, len(order)).astype(np.int64)
        wanted = np.bincount(entry, minlength=len(entries)) * np.asarray(percent)
        self._needed = -(-wanted // 100)
        self._heads = _heads(self._gram)
        self._far = bit_filter(self._gram, _FAR, lowest=True)
        inner = _inner_of(entries, entry, at)
        self._inner_near = bit_filter(inner, _NEAR)
        self._inner_far = bit_filter(inner, _FAR, lowest=True)

    def candidates(self, words: U64, flags: U8, begin: I64, stop: I64) -> Iterator[Candidate]:
        """Those of the documents ``words[begin[d]:stop[d]]``, in their order; `flags` as in
        `corpusmill.stages.words.WordTable`."""
        if not self._entries:
            return
        at, slot, over = self._look_up(words, flags, begin, stop)
        if not len(at):
            return
        many = self._first[slot + 1] - self._first[slot]
        source = np.repeat(np.arange(len(at)), many)
        step = np.arange(len(source)) - np.repeat(np.cumsum(many) - many, many)
        posting = self._first[slot][source] + step
        fits = ~(over[source] & self._numbers[self._posting_entry[posting]])
        source, posting = source[fits], posting[fits]
        if not len(source):
            return
        entry, entry_at = self._posting_entry[posting], self._posting_at[posting]
        at = at[source]
        document = np.searchsorted(begin, at, side="right") - 1
        order = np.lexsort((entry_at, at, entry, document))
        entry, entry_at, at, document = entry[order], entry_at[order], at[order], document[order]
        border = np.flatnonzero(np.diff(document) | np.diff(entry)) + 1
        first = np.concatenate(([0], border))
        last = np.concatenate((border, [len(entry)]))
        # No more distinct grams than hits, so most pairs fall without a look at which they are.
        enough = last - first >= self._needed[entry[first]]
        for low, high in zip(first[enough].tolist(), last[enough].tolist(), strict=True):
            number, own = int(entry[low]), int(document[low])
            if len(set(entry_at[low:high].tolist())) >= self._needed[number]:
                places = at[low:high] - begin[own]
                yield Candidate(own, number, places, entry_at[low:high])

    def _look_up(
        self, words: U64, flags: U8, begin: I64, stop: I64
    ) -> tuple[I64, I64, npt.NDArray[np.bool_]]:
        """The places in `words` where an n-gram of the table begins, its number there, and
        whether numbers were left out of it."""
        from . import grams_kernel as kernel

        room = 2 * len(words) + GRAM
        at, gram = np.empty(room, np.int64), np.empty(room, np.uint64)
        n = kernel.every_third(words, begin, stop, self._inner_near, at, gram)
        n = kernel.thinned(self._inner_far, 0, n, 0, at, gram)
        rows = kernel.around(words, begin, stop, at[:n].copy(), at, gram)
        every = kernel.over_numbers(words, flags, begin, stop, self._inner_near, rows, at, gram)
        plain = kernel.thinned(self._far, 0, rows, 0, at, gram)
        n = kernel.thinned(self._far, rows, every, plain, at, gram)
        slot = np.empty(n, np.int64)
        whole = kernel.found(self._gram, self._heads, 0, plain, 0, at, gram, slot)
        n = kernel.found(self._gram, self._heads, plain, n, whole, at, gram, slot)
        return at[:n], slot[:n], np.arange(n) >= whole


def _grams_of(entries: Sequence[U64]) -> tuple[U64, I64, I64]:
    """Every n-gram, the number of its entry, and where it begins there."""
    sizes = np.array([len(words) for words in entries], np.int64)
    last = np.cumsum(sizes)
    gram = grams(np.concatenate(entries))
    place = np.arange(len(gram), dtype=np.int64)
    entry = np.repeat(np.arange(len(entries), dtype=np.int64), sizes)[: len(gram)]
    inside = place + GRAM <= last[entry]
    at = place - (last - sizes)[entry]
    return gram[inside], entry[inside], at[inside]


def _inner_of(entries: Sequence[U64], entry: I64, at: I64) -> U64:
    """The n-grams of `INNER` words in those that begin at places `at` of entries, each once."""
    first = np.cumsum([0, *map(len, entries)])[entry] + at
    hashes = grams(np.concatenate(entries), INNER)
    found = np.concatenate([hashes[first + step] for step in range(GRAM - INNER + 1)])
    found.sort()  # a third of the time that np.unique takes, which hashes
    return found[np.concatenate(([True], found[1:] != found[:-1]))]


def _heads(ascending: U64) -> I32:
    """Where the hashes with each value of their highest bits begin, and their number: about one
    has each value."""
    size = max(1, len(ascending).bit_length())
    values = np.arange(1 << size, dtype=np.uint64) << np.uint64(64 - size)
    return np.append(np.searchsorted(ascending, values), len(ascending)).astype(np.int32)


def bit_filter(hashes: U64, each: int, *, lowest: bool = False) -> U8:
    """A bit for each value of the highest bits of `hashes`, or the lowest; 2**`each` of them a
    hash, or up to twice as many."""
    size = max(4, len(hashes).bit_length() + each)
    values = hashes & np.uint64((1 << size) - 1) if lowest else hashes >> np.uint64(64 - size)
    index = values.astype(np.int64)
    bits = np.zeros(1 << (size - 3), np.uint8)
    np.bitwise_or.at(bits, index >> 3, (1 << (index & 7)).astype(np.uint8))
    return bits
