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
"""Kept blocks with more than this, or a heading, left out between them are in two groups."""
Bounds = tuple[tuple[int, int], tuple[int, int]]
"""Shares of the main group's mean score from which a group is strong: groups in general, and those
that are lists without links: other stories and offers have links, ingredients and steps none."""
ARTICLE: Bounds = (3, 4), (1, 2)
"""For articles. In cross-validation 3/4 was best of .7, .75, .8, .85, and better than a fixed score
of .7 or more; the lower bound for lists brought list items present from .927 to .929."""
ANYWHERE: Bounds = (1, 2), (2, 5)
"""For other pages: 3/5 lost .003 of F1 on forums, 1/2 nothing."""


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
        if part * best_whole <= best_part * whole:
            break  # the scores that follow are lower still
        best_part, best_whole, best_length, best_size = part, whole, length, size
    if best_length == 0:
        return Decision((), 0.0)
    least = scores[order[best_length - 1]]
    kept = [b for b in order[best_length:] if words[b] == 0 and scores[b] >= least]
    kept.extend(order[:best_length])
    return Decision(tuple(sorted(kept)), _expected(best_part, best_size, total))


def main_run(
    decision: Decision,
    scores: Sequence[int],
    words: Sequence[int],
    bounds: Bounds = ARTICLE,
    *,
    listed: Sequence[int] = (),
    headings: Sequence[bool] = (),
) -> Decision:
    """`decision` without doubtful groups of blocks at its beginning and its end.

    Kept blocks are in one group while at most `GAP_BLOCKS` blocks with at most `GAP_WORDS` words
    are left out between them and none of these is a heading (`headings`: of each block, whether it
    is one): *You may also like* is left out, and the stories below stand apart. (Not a heading
    right before a kept block: it is the block's own, and comes back.) The main group is
    that with the greatest sum of squared score times words: of a long list that is likely wrong and
    a short text that is likely right, the text. A group is strong if its mean score by words is at
    least that share of the main group's which `bounds` says. `listed` has for each block its words
    if it stands in a list, 0 if not, -1 if it has a link; more than half of a group's words make it
    a list. All groups from the first strong one to the last stay: the blocks of a list of other
    stories after a text are wrong together, which a score for each alone does not say.
    """
    groups = _groups(decision.kept, words, headings)
    if len(groups) < 2:
        return decision
    of_block = [s * n for s, n in zip(scores, words, strict=True)]
    parts = [sum(of_block[b] for b in group) for group in groups]
    sizes = [sum(words[b] for b in group) for group in groups]
    squares = [sum(scores[b] * of_block[b] for b in group) for group in groups]
    main = squares.index(max(squares))
    ends = []
    for i, group in enumerate(groups):
        some = [listed[b] for b in group] if listed else [0]
        part, whole = bounds[min(some) >= 0 and 2 * sum(some) > sizes[i]]
        # parts / sizes >= parts[main] / sizes[main] * part / whole, without division
        if parts[i] * sizes[main] * whole >= parts[main] * sizes[i] * part and sizes[i] > 0:
            ends.append(i)
    if len(ends) == 0 or ends[-1] - ends[0] + 1 == len(groups):
        return decision
    stay = range(ends[0], ends[-1] + 1)
    return Decision(
        tuple(b for i in stay for b in groups[i]),
        _expected(
            sum(parts[i] for i in stay),
            sum(sizes[i] for i in stay),
            sum(of_block),
        ),
    )


def _groups(kept: Sequence[int], words: Sequence[int], headings: Sequence[bool]) -> list[list[int]]:
    groups: list[list[int]] = []
    for b in kept:
        if groups:
            first = groups[-1][-1] + 1
            if (
                b - first <= GAP_BLOCKS
                and sum(words[first:b]) <= GAP_WORDS
                and not any(headings[first : b - 1])
            ):
                groups[-1].append(b)
                continue
        groups.append([b])
    return groups


def _expected(part: int, size: int, total: int) -> float:
    return (2_000_000 * part // (size * SCORE_ONE + total)) / 1_000_000
