"""The compiled question whether two tokens can stand side by side within a piece. Import inside
functions only."""

from __future__ import annotations

from corpusmill.stages import kernel_types as types
from corpusmill.stages.compiled import array, kernel, out

_I32, _I64, _U8 = types.int32, types.int64, types.uint8

NONE = (1 << 31) - 1
"""Rank of what is not merged: above every rank."""


@kernel(_I32(_I64, _I64, array(_I64), array(_I32), array(_I32)), inline=True)
def rank_of(left, right, begins, rights, ranks):  # type: ignore[no-untyped-def]
    """The rank of a merge, by a binary search among those of its left part."""
    low, high = begins[left], begins[left + 1]
    while low < high:
        middle = (low + high) >> 1
        if rights[middle] < right:
            low = middle + 1
        else:
            high = middle
    if low < begins[left + 1] and rights[low] == right:
        return ranks[low]
    return NONE


@kernel(
    types.void(
        array(_I32), array(_I32), array(_I64), array(_I32), array(_I32), array(_I32),
        array(_I64), array(_I32), array(_I32), out(_U8, dims=2),
    )
)  # fmt: skip
def keep_apart(lefts, rights, begins, steps, last, first, of_left, seconds, ranks, table):  # type: ignore[no-untyped-def]
    """Sets ``table[i, j]`` to 0 wherever it is 1 and merging the bytes of tokens ``lefts[i]`` and
    ``rights[j]`` leaves just these two.

    ``begins[t]:begins[t + 1]`` are the states of token t while it is merged alone: the rank of the
    next merge (`NONE` in the final state), its last symbol and its first. Side by side, both do
    what they do alone, the lower rank first, until a merge across their border has its turn: it is
    then the lowest, and of equal ones the leftmost.
    """
    for i in range(len(lefts)):
        for j in range(len(rights)):
            if table[i, j] == 0:
                continue
            a, b = begins[lefts[i]], begins[rights[j]]
            while True:
                across = rank_of(last[a], first[b], of_left, seconds, ranks)
                if across < steps[a] and across <= steps[b]:
                    break
                if steps[a] == NONE and steps[b] == NONE:
                    table[i, j] = 0
                    break
                if steps[a] <= steps[b]:
                    a += 1
                else:
                    b += 1
