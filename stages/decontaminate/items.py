"""The items of benchmarks as words: what is looked for, and what is too short to be."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from corpusmill.stages.unicode_data import fold
from corpusmill.stages.words import WordTable, tokenise

from .benchmarks import Benchmark
from .markup import unmarked
from .overlap import GRAM
from .rules import Rules

if TYPE_CHECKING:
    import numpy.typing as npt

    U64 = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Entry:
    """An item as words: `words` the question (or, where that is too short, the answer or an
    option), `others` the word sequences of which one must stand near (short items only)."""

    benchmark: str
    item: str
    words: U64
    others: tuple[U64, ...]
    answer: U64
    kind: Literal["long", "question", "answer"]
    """What `words` are: a long question, a short one, or an answer."""


def entries_of(
    benchmark: Benchmark, rules: Rules, spelling: dict[int, str] | None = None
) -> Iterable[tuple[Entry | None, str]]:
    """Each item as words; None for those that no method can see. Adds the folded words to
    `spelling`, by hash."""
    texts: list[str] = []
    for item in benchmark.items:
        texts += map(unmarked, (item.question, item.answer, *item.options))
    table = tokenise(texts)
    if spelling is not None:
        _spell(table, spelling)
    at = 0
    for item in benchmark.items:
        parts = [
            table.hash[table.doc_start[d] : table.doc_start[d + 1]]
            for d in range(at, at + 2 + len(item.options))
        ]
        at += len(parts)
        yield _entry(benchmark.name, item.id, parts, rules), benchmark.name


def _entry(benchmark: str, item: str, parts: list[U64], rules: Rules) -> Entry | None:
    question, answer = parts[0], parts[1]
    if len(question) >= rules.long_words:
        return Entry(benchmark, item, question, (), answer, "long")
    others = {tuple(p.tolist()): p for p in parts[1:] if len(p)}
    if len(question) >= GRAM:
        most = len(question) + max((len(p) for p in others.values()), default=0)
        if most < rules.short_evidence or (not others and len(question) < rules.alone_words):
            return None
        return Entry(benchmark, item, question, tuple(others.values()), answer, "question")
    # A question of a word or two is found from its answer, or the longest option where that is
    # too short.
    least = max(GRAM, rules.short_evidence - len(question))
    anchor = answer
    if len(answer) < least:
        anchor = max(others.values(), key=len, default=question)
    if len(question) == 0 or len(anchor) < least:
        return None
    return Entry(benchmark, item, anchor, (question,), question, "answer")


def _spell(table: WordTable, spelling: dict[int, str]) -> None:
    hashes, first = np.unique(table.hash, return_index=True)
    document = np.searchsorted(table.doc_start, first, side="right") - 1
    for h, at, doc in zip(hashes.tolist(), first.tolist(), document.tolist(), strict=True):
        if h not in spelling:
            spelling[h] = fold(table.text(doc, at - int(table.doc_start[doc])))
