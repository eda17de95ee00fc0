"""Which blocks to keep: those that make the expected F1 of the page greatest.

With p the score of a block and n its words, keeping the set S is expected to reach

    F1(S) = 2 * sum of p n over S / (sum of n over S + sum of p n over all blocks)

and the best S is a prefix of the blocks ordered by score. All in integers. The value of the chosen
set is the page's **confidence**: on pages that the model had not seen it went with the true F1 (see
the model card). Where precision is worth more, F-beta with beta below 1 is made greatest instead:

    (1 + beta**2) * sum of p n over S / (sum of n over S + beta**2 * sum of p n over all blocks)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .forest import SCORE_ONE


@dataclass(frozen=True, slots=True)
class Decision:
    """Numbers of the kept blocks, ascending, and the expected F1 from 0 to 1, six decimals."""

    kept: tuple[int, ...]
    confidence: float


def best_blocks(scores: Sequence[int], words: Sequence[int], *, strict: int = 1) -> Decision:
    """The blocks to keep. `scores` are thousandths; blocks without words have no say and are
    kept if their score reaches that of the last block kept. `strict` is 1 / beta**2."""
    total = sum(s * n for s, n in zip(scores, words, strict=True))
    order = sorted(range(len(scores)), key=lambda b: (-scores[b], b))
    best_part, best_whole, best_length, best_size = 0, 1, 0, 0
    part = size = 0
    for length, b in enumerate(order, start=1):
        part += scores[b] * words[b]
        size += words[b]
        whole = strict * size * SCORE_ONE + total
        if part * best_whole > best_part * whole:
            best_part, best_whole, best_length, best_size = part, whole, length, size
    if best_length == 0:
        return Decision((), 0.0)
    least = scores[order[best_length - 1]]
    kept = [b for b in order[best_length:] if words[b] == 0 and scores[b] >= least]
    kept.extend(order[:best_length])
    return Decision(
        tuple(sorted(kept)), (2_000_000 * best_part // (best_size * SCORE_ONE + total)) / 1_000_000
    )
