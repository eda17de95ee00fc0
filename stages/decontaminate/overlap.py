"""What two sequences of word hashes have in common. Sequences are uint64 arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    U64 = npt.NDArray[np.uint64]

GRAM: Final = 5
"""Words of the n-grams that propose candidates."""

ODD: Final = np.array(
    [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x27D4EB2F165667C5,
     0xD6E8FEB86659FD93],
    dtype=np.uint64,
)  # fmt: skip
"""Odd factors, one a place, so that the order of the words counts."""

MIX: Final = np.uint64(29)


def grams(words: U64, size: int = GRAM) -> U64:
    """A 64-bit hash of each `size` words in a row (empty for fewer), `GRAM` at most."""
    count = max(0, len(words) - size + 1)
    total = np.zeros(count, np.uint64)
    for i in range(size):
        total += words[i : i + count] * ODD[i]
    total ^= total >> MIX
    total *= ODD[0]
    return total


def covered(item: U64, window: U64, n: int) -> tuple[int, int]:
    """How many words of `item` lie in one of its n-grams that `window` has too, and how many
    different words these are."""
    there = {window[i : i + n].tobytes() for i in range(len(window) - n + 1)}
    covered = np.zeros(len(item), np.bool_)
    for i in range(len(item) - n + 1):
        if item[i : i + n].tobytes() in there:
            covered[i : i + n] = True
    return int(covered.sum()), len(np.unique(item[covered]))


def longest_run(item: U64, window: U64) -> tuple[int, int]:
    """Words in the longest common run, and where it ends in `item`; the first of several."""
    best = end = 0
    previous = np.zeros(len(window) + 1, np.int64)
    for i, word in enumerate(item):
        current = np.zeros(len(window) + 1, np.int64)
        current[1:] = np.where(window == word, previous[:-1] + 1, 0)
        if int(current.max()) > best:
            best, end = int(current.max()), i + 1
        previous = current
    return best, end


def in_order(item: U64, window: U64) -> list[bool]:
    """Which words of `item` belong to a longest common subsequence with `window`."""
    rows = [np.zeros(len(window) + 1, np.int64)]
    for word in item:
        above = rows[-1]
        matched = np.where(window == word, above[:-1] + 1, above[1:])
        row = np.zeros(len(window) + 1, np.int64)
        np.maximum.accumulate(matched, out=row[1:])
        rows.append(row)
    kept = [False] * len(item)
    j = len(window)
    for i in range(len(item), 0, -1):
        if rows[i][j] == rows[i - 1][j]:
            continue
        while rows[i][j - 1] == rows[i][j]:
            j -= 1
        kept[i - 1] = True
        j -= 1
    return kept


def holds(words: U64, other: U64) -> bool:
    """Does `other` occur in `words`, whole and in a row?"""
    size = len(other)
    if not size or size > len(words):
        return False
    return any(
        np.array_equal(words[i : i + size], other)
        for i in np.flatnonzero(words[: len(words) - size + 1] == other[0]).tolist()
    )


def heaviest_common(
    item: npt.NDArray[np.int32], window: npt.NDArray[np.int32], weights: npt.NDArray[np.int64]
) -> int:
    """The greatest sum of `weights` of words of `item` that form a common subsequence."""
    above = np.zeros(len(window) + 1, np.int64)
    for word, weight in zip(item, weights, strict=True):
        row = np.zeros(len(window) + 1, np.int64)
        np.maximum.accumulate(
            np.where(window == word, np.maximum(above[:-1] + weight, above[1:]), above[1:]),
            out=row[1:],
        )
        above = row
    return int(above[-1])
