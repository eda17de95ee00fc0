"""How much of one set of texts is also in another: shares of their shingles, sampled by hash.

A shingle is a run of `SHINGLE` words. `Sample` keeps those whose 64-bit hash is below a bound that
halves until what is kept fits: every set that was sampled with the same bound kept the same
shingles, so that what two of them share can be counted. `Probe` holds all shingles of a small set
(a benchmark, held-out text), or a sample of them, and marks those that are met elsewhere. Neither
depends on the order of the texts.

Standard errors are those of a proportion of n sampled shingles, sqrt(p (1 - p) / n); 0 where all
were compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from corpusmill.stages.words import tokenise

if TYPE_CHECKING:
    import numpy.typing as npt

    Hashes = npt.NDArray[np.uint64]

SHINGLE = 8
"""Words of a shingle: as many as make a benchmark's item visible to `decontaminate.ngram`."""
_ODD = np.uint64(0x9E3779B97F4A7C15)
_ALL = 1 << 64
_WORTH_A_MERGE = 1 << 16


@dataclass(frozen=True, slots=True)
class Share:
    """`found` of `compared` shingles of a set were met in another one; `sampled` if there are
    more than those compared."""

    found: int
    compared: int
    sampled: bool

    @property
    def share(self) -> float:
        return self.found / self.compared if self.compared else 0.0

    @property
    def error(self) -> float:
        """The standard error of `share`."""
        if not self.sampled or not self.compared:
            return 0.0
        return float(np.sqrt(self.share * (1 - self.share) / self.compared))


def shingles(texts: Sequence[str]) -> Hashes:
    """The distinct shingles of `texts`, sorted: none goes from one text into the next."""
    table = tokenise(texts)
    count = len(table.hash) - SHINGLE + 1
    if count < 1:
        return np.zeros(0, np.uint64)
    mixed = np.zeros(count, np.uint64)
    for n in range(SHINGLE):
        mixed = (mixed + table.hash[n : n + count]) * _ODD
        mixed ^= mixed >> np.uint64(29)
    ends = np.repeat(table.doc_start[1:], np.diff(table.doc_start))[:count]
    whole = np.arange(count) + SHINGLE <= ends
    return np.unique(mixed[whole])


@dataclass
class Sample:
    """Samples of several sets under one bound; `most` is what they may hold together."""

    most: int = 1 << 22
    bound: int = _ALL
    sets: dict[str, Hashes] = field(default_factory=dict)
    _waiting: dict[str, list[Hashes]] = field(default_factory=dict)

    def add(self, name: str, found: Hashes) -> None:
        """Adds sorted, distinct shingles to the set `name`."""
        self.sets.setdefault(name, np.zeros(0, np.uint64))
        waiting = self._waiting.setdefault(name, [])
        waiting.append(self._below(found))
        if sum(map(len, waiting)) > len(self.sets[name]) + _WORTH_A_MERGE:
            self._merge(name)

    def _merge(self, name: str) -> None:
        waiting = self._waiting.pop(name, [])
        self.sets[name] = self._below(np.unique(np.concatenate([self.sets[name], *waiting])))
        while sum(map(len, self.sets.values())) > self.most:
            self.bound //= 2
            self.sets = {n: self._below(h) for n, h in self.sets.items()}

    def _below(self, hashes: Hashes) -> Hashes:
        if self.bound == _ALL:
            return hashes
        return hashes[: int(np.searchsorted(hashes, np.uint64(self.bound)))]

    def share(self, of: str, among: str) -> Share:
        """How much of the set `of` is in the set `among`."""
        for name in list(self._waiting):
            self._merge(name)
        mine = self.sets[of]
        met = np.isin(mine, self.sets[among], assume_unique=True)
        return Share(int(met.sum()), len(mine), self.bound < _ALL)


class Probe:
    """Shingles of one set that are looked for in others, at most `most`: those of least hash."""

    def __init__(self, most: int = 1 << 20) -> None:
        self.most = most
        self.sampled = False
        self.hashes: Hashes = np.zeros(0, np.uint64)
        self.met: dict[str, npt.NDArray[np.bool_]] = {}

    def add(self, found: Hashes) -> None:
        """Adds to what is looked for; before the first `look`."""
        joined = np.union1d(self.hashes, found)
        self.sampled |= len(joined) > self.most
        self.hashes = joined[: self.most]

    def look(self, name: str, found: Hashes) -> None:
        """Marks what is met in a part of the set `name`; `found` sorted."""
        marks = self.met.setdefault(name, np.zeros(len(self.hashes), np.bool_))
        at = np.searchsorted(found, self.hashes)
        at[at == len(found)] = 0
        if len(found):
            marks |= found[at] == self.hashes

    def share(self, among: str) -> Share:
        """How much of it was met in the set `among`."""
        marks = self.met.get(among)
        found = 0 if marks is None else int(marks.sum())
        return Share(found, len(self.hashes), self.sampled)
