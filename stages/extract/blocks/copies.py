"""Text that stands on a page twice is kept once.

Pages hold whole copies of their text: for narrow screens, for print, for other programs as one
hidden paragraph, behind tabs, and quoted in answers. The model scores one copy like the other, and
may keep both, or the one without paragraphs. The runs of four words that `repeats` counts say
which blocks can be meant; these are compared here word by word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .columns import END, HASH, SEEN_AFTER, SEEN_BEFORE, START, WORDS

if TYPE_CHECKING:
    from .passes import Blocks

COPY_WORDS = 60
"""Kept blocks in a row that repeat earlier ones go if they have as many words: a line that a text
has twice, as instructions do, stays."""
SURE = 900
"""But where the mean score by words of such a row is higher, only if it has at least one
`SURE_PART`th of the words before it: plans and recipes say the same again."""
SURE_PART = 3
SEEN = 800
"""Thousandths of a block's runs that stand elsewhere too, for it to be looked at."""
SAME = 19, 20
"""Share of a block's runs that stand before, for it to be a copy: with the share of other words
that differ, prices and names say something new."""
WHOLE_WORDS = 80
"""A block with as many words may be a copy of several others, which are then kept in its place."""
PARTS = 4, 5
"""Share of its runs that they must have: the runs across their borders are not among them."""
_RUN = 4
_WORD = re.compile(rb"[0-9A-Za-z\x80-\xff]+")

Run = tuple[bytes, ...]
Runs = frozenset[Run]


def once(page: Blocks, kept: Sequence[int], scores: Sequence[int]) -> tuple[int, ...]:
    """`kept` (ascending numbers of blocks) without copies of other kept blocks; where a block is
    one long copy of several others, those stand in its place. `scores`: of all blocks."""
    words = page.measures[:, WORDS].tolist()
    seen = page.measures[:, (SEEN_BEFORE, SEEN_AFTER)].max(1).tolist()
    if sum(words[b] for b in kept if seen[b] >= SEEN) < COPY_WORDS:
        return tuple(kept)
    known: dict[int, Runs] = {}
    chosen = set(kept)
    for b in kept:
        if words[b] >= WHOLE_WORDS and seen[b] >= SEEN:
            parts = _parts(page, b, known, words, seen)
            if parts:
                chosen.remove(b)
                chosen.update(parts)
    return _first_ones(page, sorted(chosen), known, words, scores)


def _parts(
    page: Blocks, whole: int, known: dict[int, Runs], words: Sequence[int], seen: Sequence[int]
) -> list[int]:
    """The blocks that `whole` is a copy of, if they are at least two and make up most of it."""
    part, all_of = PARTS
    mine = _runs(page, whole, known)
    covered: set[Run] = set()
    found = []
    for b in range(len(page)):
        if b == whole or seen[b] < SEEN or 2 * words[b] > words[whole]:
            continue
        theirs = _runs(page, b, known)
        if len(theirs & mine) * all_of >= len(theirs) * part and not theirs <= covered:
            found.append(b)
            covered |= theirs
    enough = len(covered & mine) * all_of >= len(mine) * part
    return found if enough and len(found) > 1 else []


def _first_ones(
    page: Blocks,
    chosen: Sequence[int],
    known: dict[int, Runs],
    words: Sequence[int],
    scores: Sequence[int],
) -> tuple[int, ...]:
    """`chosen` without rows of blocks that repeat earlier ones."""
    part, all_of = SAME
    before, after = page.measures[:, SEEN_BEFORE].tolist(), page.measures[:, SEEN_AFTER].tolist()
    runs: set[Run] = set()
    texts: set[int] = set()
    stay: list[int] = []
    row: list[int] = []

    def end_row() -> None:
        size = sum(words[b] for b in row)
        sure = sum(scores[b] * words[b] for b in row) > SURE * size
        if size < COPY_WORDS or (sure and SURE_PART * size < sum(words[b] for b in stay)):
            stay.extend(row)
        row.clear()

    for b in chosen:
        if before[b] < 0:  # fewer than four words: has no run
            copy = int(page.measures[b, HASH]) in texts
        elif before[b] < SEEN:
            copy = False
        else:
            mine = _runs(page, b, known)
            copy = len(mine & runs) * all_of >= len(mine) * part
        if copy:
            row.append(b)
            continue
        if row:
            end_row()
        stay.append(b)
        if before[b] < 0:
            texts.add(int(page.measures[b, HASH]))
        elif after[b] > 0:
            runs |= _runs(page, b, known)
    end_row()
    return tuple(stay)


def _runs(page: Blocks, b: int, known: dict[int, Runs]) -> Runs:
    """The runs of four words of a block, as `repeats` counts them."""
    if b not in known:
        start, end = page.blocks[b, START], page.blocks[b, END]
        found = _WORD.findall(page.text[start:end].lower())
        known[b] = frozenset(zip(*(found[i:] for i in range(_RUN)), strict=False))
    return known[b]
