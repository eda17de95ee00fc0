"""How close an extracted text comes to a gold text.

Two measures, both macro means over pages:

* `word_bag`: precision, recall and F1 of the bags of words, the measure of WCXB [1]. Words are
  lower-cased ``\\w+``, Han and kana split into characters.
* `shingles`: the same over the bags of runs of four words, as in the article-extraction-benchmark
  [2]. It sees order, so that a text in pieces scores low.

A page whose gold text has no words is not scored. For measuring only: nothing that the pipeline
produces depends on this module (``\\w`` follows the interpreter's Unicode version).

[1] Murrough-Foley, Web Content Extraction Benchmark. [2] scrapinghub, article-extraction-benchmark.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

_WORD = re.compile(
    r"[\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]|[^\W\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+"
)
SHINGLE_WORDS = 4


@dataclass(frozen=True, slots=True)
class Score:
    """Precision, recall and F1, each from 0 to 1, and the number of pages they are of."""

    precision: float
    recall: float
    f1: float
    pages: int = 1


def words(text: str) -> list[str]:
    """The words of `text`, lower-cased, in order."""
    return _WORD.findall(text.lower())


def _overlap(got: Counter[Any], gold: Counter[Any]) -> Score:
    common = (got & gold).total()
    precision = common / got.total() if got else 0.0
    recall = common / gold.total() if gold else 0.0
    f1 = 2 * common / (got.total() + gold.total()) if got or gold else 1.0
    return Score(precision, recall, f1)


def word_bag(text: str, gold: str) -> Score:
    """The score of one page by its bag of words."""
    return _overlap(Counter(words(text)), Counter(words(gold)))


def shingles(text: str, gold: str, n: int = SHINGLE_WORDS) -> Score:
    """The score of one page by its bag of runs of `n` words (all of it, where it is shorter)."""
    return _overlap(_shingles(words(text), n), _shingles(words(gold), n))


@dataclass(frozen=True, slots=True)
class Gold:
    """A gold text, read once for many comparisons."""

    words: Counter[str]
    shingles: Counter[tuple[str, ...]]

    @classmethod
    def of(cls, text: str) -> Gold:
        tokens = words(text)
        return cls(Counter(tokens), _shingles(tokens, SHINGLE_WORDS))

    def scores(self, text: str) -> tuple[Score, Score, int]:
        """`word_bag` and `shingles` of `text`, and how many words it has."""
        tokens = words(text)
        bag = _overlap(Counter(tokens), self.words)
        return bag, _overlap(_shingles(tokens, SHINGLE_WORDS), self.shingles), len(tokens)


def _shingles(tokens: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    if not tokens:
        return Counter()
    return Counter(tuple(tokens[i : i + n]) for i in range(max(1, len(tokens) - n + 1)))


def macro(scores: Iterable[Score]) -> Score:
    """The mean of each measure over pages. Raises ValueError on no pages."""
    rows = list(scores)
    if not rows:
        raise ValueError("no pages to score")
    n = len(rows)
    return Score(
        sum(s.precision for s in rows) / n,
        sum(s.recall for s in rows) / n,
        sum(s.f1 for s in rows) / n,
        n,
    )
