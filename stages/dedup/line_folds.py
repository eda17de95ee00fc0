"""How `dedup.lines` spells what a line folds to, for hashing: as bytes.

An ASCII code point is its byte; others are two bytes below 0x2000 and else three, of which the
first is above 0x7F and says how many they are. So two lines have the same bytes if and only if
their folded code points are the same.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from corpusmill.stages.unicode_data import IGNORABLE, tables
from corpusmill.stages.words import fold_pieces

if TYPE_CHECKING:
    import numpy.typing as npt

TWO_BYTES = 0x2000
"""Code points from here on are three bytes."""
LENGTH, BEGINS, ENDS, SLOW = 56, 59, 60, 61
"""Bits of an entry of `spelt` above its bytes: how many these are (three bits); whether the
character is a mark; whether a mark comes last; whether the entry does not do."""
ROOM = 1024
"""Bytes that a line is spelt into at a time."""

_POINT = np.uint64(0x1FFFFF)
_MOST = 7


def folding(longest: int) -> tuple[npt.NDArray[Any], ...]:
    """What the kernels fold lines of texts of up to `longest` bytes with: `flags`, `ccc`, `fold`,
    `offsets` and `pool` of the tables, `spelt`, and room to work in."""
    t = tables()
    return (
        t.flags, t.ccc, t.fold, t.offsets, t.pool, spelt(),
        np.empty(longest + 32, np.uint32), np.empty(longest + 32, np.uint32),
        np.empty(257, np.int64), np.empty(ROOM, np.uint8),
    )  # fmt: skip


@lru_cache(maxsize=1)
def spelt() -> npt.NDArray[np.uint64]:
    """For each code point of the first plane the bytes of what it folds to, the first in the lowest
    bits, with what the bits above them say; 0 for what is left out."""
    pieces = fold_pieces()
    rest = pieces & np.uint64((1 << 63) - 1)
    alone = rest <= _POINT
    entry, length = np.zeros((2, len(pieces)), np.uint64)
    slow = pieces == np.uint64(0xFFFFFFFFFFFFFFFF)
    for n in range(3):
        point = rest & _POINT
        rest >>= np.uint64(21)
        here = ~slow & ((point > 0) | (n == 0))
        size = np.where(point < 0x80, 1, np.where(point < TWO_BYTES, 2, 3)).astype(np.uint64)
        slow |= here & (length + size > _MOST)
        here &= ~slow
        entry[here] |= (_bytes(point) << (np.uint64(8) * length))[here]
        length[here] += size[here]
    marked = (pieces >> np.uint64(63)).astype(np.bool_)
    entry |= length << np.uint64(LENGTH)
    entry[marked & alone] |= np.uint64(1 << BEGINS)
    entry[marked] |= np.uint64(1 << ENDS)
    entry[slow] = np.uint64(1 << SLOW)
    entry[tables().flags[: len(pieces)] & IGNORABLE > 0] = 0
    return entry


def _bytes(point: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The bytes of each code point, as `lines_kernel.put` writes them."""
    low, high = point & np.uint64(0x7F), point >> np.uint64(7)
    two = np.uint64(0x80) | high | low << np.uint64(8)
    three = (
        np.uint64(0xC0) | high >> np.uint64(8) | (high & np.uint64(0xFF)) << np.uint64(8)
        | low << np.uint64(16)
    )  # fmt: skip
    return np.where(point < 0x80, point, np.where(point < TWO_BYTES, two, three))
