"""Which blocks to keep: those that make the expected F1 of the page greatest.

With p the score of a block and n its words, keeping the set S is expected to reach

    F1(S) = 2 * sum of p n over S / (sum of n over S + sum of p n over all blocks)

and the best S is a prefix of the blocks ordered by score. All in integers. The value of the chosen
set is the page's **confidence**: on pages that the model had not seen it went with the true F1 (see
the model card).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .forest import SCORE_ONE

GAP_BLOCKS = 2
GAP_WORDS = 14
"""Kept blocks with more left out between them are in two groups (`main_run`)."""
STRONG_PARTS = 3
STRONG_WHOLE = 4
"""A group of at least 3/4 of the main group's mean score ends the text, not a weaker one. In
cross-validation 3/4 was best of .7, .75, .8, .85, and better than a fixed score of .7 or more."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Numbers of the kept blocks, ascending, and the expected F1 from 0 to 1, six decimals."""

    kept: tuple[int, ...]
    confidence: float


def best_blocks(scores: Sequence[int], words: Sequence[int]) -> Decision:
    """The blocks to keep. `scores` are thousandths; blocks without words have no say and are
    kept if their score reaches that of the last block kept."""
    parts = [s * n for s, n in zip(scores, words, strict=True)]
    total = sum(parts)
    order = sorted(range(len(scores)), key=scores.__getitem__, reverse=True)  # stable
    best_part, best_whole, best_length, best_size = 0, 1, 0, 0
    part = size = 0
    for length, b in enumerate(order, start=1):
        if not parts[b]:  # no better than without it
            size += words[b]
            continue
        part += parts[b]
        size += words[b]
        whole = size * SCORE_ONE + total
        if part * best_whole > best_part * whole:
            best_part, best_whole, best_length, best_size = part, whole, length, size
    if best_length == 0:
        return Decision((), 0.0)
    least = scores[order[best_length - 1]]
    kept = [b for b in order[best_length:] if words[b] == 0 and scores[b] >= least]
    kept.extend(order[:best_length])
    return Decision(tuple(sorted(kept)), _expected(best_part, best_size, total))


def main_run(decision: Decision, scores: Sequence[int], words: Sequence[int]) -> Decision:
    """`decision` without doubtful groups of blocks at its beginning and its end.

    Kept blocks are in one group while at most `GAP_BLOCKS` blocks with at most `GAP_WORDS` words
    are left out between them. A group is strong if its mean score by words is at least
    `STRONG_PARTS` in `STRONG_WHOLE` of the mean of the group with the greatest sum of score times
    words. All groups from the first strong one to the last stay: the blocks of a list of other
    stories after a text are wrong together, which a score for each alone does not say.
    """
    groups: list[list[int]] = []
    for b in decision.kept:
        if groups:
            last = groups[-1][-1]
            if b - last - 1 <= GAP_BLOCKS and sum(words[last + 1 : b]) <= GAP_WORDS:
                groups[-1].append(b)
                continue
        groups.append([b])
    if len(groups) < 2:
        return decision
    parts = [sum(scores[b] * words[b] for b in group) for group in groups]
    sizes = [sum(words[b] for b in group) for group in groups]
    main = parts.index(max(parts))
    # parts / sizes >= parts[main] / sizes[main] * STRONG_PARTS / STRONG_WHOLE, without division
    strong = [
        i
        for i in range(len(groups))
        if parts[i] * sizes[main] * STRONG_WHOLE >= parts[main] * sizes[i] * STRONG_PARTS
        and sizes[i] > 0
    ]
    if len(strong) == 0 or strong[-1] - strong[0] + 1 == len(groups):
        return decision
    stay = range(strong[0], strong[-1] + 1)
    return Decision(
        tuple(b for i in stay for b in groups[i]),
        _expected(
            sum(parts[i] for i in stay),
            sum(sizes[i] for i in stay),
            sum(s * n for s, n in zip(scores, words, strict=True)),
        ),
    )


def _expected(part: int, size: int, total: int) -> float:
    return (2_000_000 * part // (size * SCORE_ONE + total)) / 1_000_000
