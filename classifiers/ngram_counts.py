"""Estimation of an n-gram model over pieces: modified Kneser-Ney (Chen and Goodman 1998, 4.1.6).

The n-grams of one order are numbered by sorting the pairs (number of the n-gram without its last
piece, last piece). So an n-gram is one 64-bit key whatever the vocabulary and the order, the
n-grams that continue a context lie side by side, and the same sequences give the same numbers in
whatever order they come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from corpusmill.pipeline.errors import ConfigError

if TYPE_CHECKING:
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]

FALLBACK = (0.5, 1.0, 1.5)
"""Discounts of n-grams counted once, twice, and more often, where the counts give none (a text too
small or too regular); those that KenLM's option ``--discount_fallback`` has."""
MOST = 1 << 31


@dataclass(frozen=True, slots=True)
class Level:
    """The n-grams of one order, sorted. `context`: the number of each without its last piece, one
    order down (0 for single pieces); `last`: its last piece; `probability`: of `last` after the
    context; `backoff`: the share that the n-gram, as a context, leaves to shorter ones (1 where
    nothing follows it)."""

    context: Ints
    last: Ints
    probability: Floats
    backoff: Floats


@dataclass(frozen=True, slots=True)
class _Counted:
    """The n-grams of one order before estimation. `suffix`: the number of each without its first
    piece, one order down; `raw`: how often it stands in the text; `counts`: what is smoothed (below
    the highest order, how many different pieces stand before it)."""

    context: Ints
    last: Ints
    suffix: Ints
    raw: Ints
    counts: Ints


def estimate(sequences: Sequence[Ints], vocabulary: int, order: int, prune: int = 0) -> list[Level]:
    """The levels 1 to `order` of a model of `sequences`.

    Each sequence holds pieces from 0 to `vocabulary` - 1 and begins with one that starts sequences
    and stands nowhere else: it gets no probability, all the others do, seen or not. `prune`:
    n-grams of three pieces or more that stand at most so often are left out (0: none), their share
    goes to shorter contexts.

    Raises ConfigError if there is nothing to count, or more than 2 ** 31 different n-grams.
    """
    if order < 2 or not sequences or sum(len(s) for s in sequences) < 2:
        raise ConfigError("an n-gram model needs an order of 2 or more and some text")
    tables = _count(sequences, vocabulary, order)
    tables = _pruned(tables, vocabulary, prune)
    start = int(sequences[0][0])
    # Single pieces are smoothed with all pieces alike, but for the start, which is never predicted.
    lower = np.full(vocabulary, 1.0 / (vocabulary - 1))
    levels: list[Level] = []
    for n, table in enumerate(tables, 1):
        first = start if n == 1 else None
        probability, left = _smooth(table, lower, _discounts(table, first), first)
        if n > 1:
            levels[-1].backoff[: len(left)] = left
        kept = table.last >= 0
        row = Level(table.context[kept], table.last[kept], probability, np.ones(len(probability)))
        levels.append(row)
        lower = probability
    return levels


def _count(sequences: Sequence[Ints], vocabulary: int, order: int) -> list[_Counted]:
    tokens = np.concatenate([np.asarray(s, np.int64) for s in sequences])
    lengths = np.array([len(s) for s in sequences], np.int64)
    place = np.arange(len(tokens)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    number = tokens
    raw = np.bincount(tokens, minlength=vocabulary)
    everything = np.arange(vocabulary)
    made = [_Counted(np.zeros(vocabulary, np.int64), everything, everything, raw, raw)]
    for n in range(2, order + 1):
        at = np.nonzero(place >= n - 1)[0]
        if not len(at):
            break
        keys = number[at - 1] * vocabulary + tokens[at]
        found, where, which, raw = np.unique(
            keys, return_index=True, return_inverse=True, return_counts=True
        )
        if len(found) >= MOST:
            raise ConfigError(f"{len(found)} different {n}-grams, too many for one model")
        suffix = number[at[where]]
        # How many different pieces stand before the shorter n-gram. Nothing stands before one
        # that begins a sequence, which keeps its count.
        lower = made[-1]
        before = np.bincount(suffix, minlength=len(lower.raw))
        starts = np.zeros(len(lower.raw), bool)
        starts[number[place == n - 2]] = True
        counts = np.where(starts, lower.raw, before)
        made[-1] = _Counted(lower.context, lower.last, lower.suffix, lower.raw, counts)
        made.append(_Counted(found // vocabulary, found % vocabulary, suffix, raw, raw))
        number = np.full(len(tokens), -1, np.int64)
        number[at] = which.reshape(-1)
    return made


def _pruned(tables: list[_Counted], vocabulary: int, prune: int) -> list[_Counted]:
    """The same without rare n-grams of three pieces or more; those kept keep their counts, and the
    others stay as rows of their context with `last` -1, which `_smooth` reads as a lump."""
    if not prune:
        return tables
    made = tables[:2]
    renumber = np.arange(len(tables[1].raw)) if len(tables) > 1 else np.zeros(0, np.int64)
    for table in tables[2:]:
        keep = (table.raw > prune) & (renumber[table.context] >= 0) & (renumber[table.suffix] >= 0)
        lost = ~keep & (renumber[table.context] >= 0)
        next_number = np.where(keep, np.cumsum(keep) - 1, -1)
        context = np.concatenate([renumber[table.context[keep]], renumber[table.context[lost]]])
        none = np.full(int(lost.sum()), -1, np.int64)
        made.append(
            _Counted(
                context,
                np.concatenate([table.last[keep], none]),
                np.concatenate([renumber[table.suffix[keep]], none]),
                np.concatenate([table.raw[keep], table.raw[lost]]),
                np.concatenate([table.counts[keep], table.counts[lost]]),
            )
        )
        renumber = next_number
    return made


def _discounts(table: _Counted, start: int | None) -> tuple[float, float, float]:
    counts = table.counts if start is None else np.delete(table.counts, start)
    t1, t2, t3, t4 = (int((counts == k).sum()) for k in (1, 2, 3, 4))
    if not (t1 and t2 and t3):
        return FALLBACK
    y = t1 / (t1 + 2 * t2)
    found = (1 - 2 * y * t2 / t1, 2 - 3 * y * t3 / t2, 3 - 4 * y * t4 / t3)
    if all(0 <= d <= k for k, d in enumerate(found, 1)):
        return found
    return FALLBACK


def _smooth(
    table: _Counted, lower: Floats, discounts: tuple[float, float, float], start: int | None
) -> tuple[Floats, Floats]:
    """Probabilities of the n-grams that have a last piece, and what each context leaves over."""
    counts = table.counts.astype(np.float64)
    kept = table.last >= 0
    if start is not None:
        counts[start] = 0.0
    taken = np.array((0.0, *discounts))[np.minimum(table.counts, 3)]
    taken = np.minimum(np.where(kept, taken, counts), counts)
    contexts = int(table.context.max()) + 1
    total = np.bincount(table.context, counts, contexts)
    left = np.bincount(table.context, taken, contexts)
    share = np.divide(left, total, out=np.ones(contexts), where=total > 0)
    context = table.context[kept]
    sums = np.maximum(total[context], 1.0)
    own = (counts[kept] - taken[kept]) / sums
    probability = own + share[context] * lower[table.suffix[kept]]
    if start is not None:
        probability[start] = 0.0
    return probability, share
