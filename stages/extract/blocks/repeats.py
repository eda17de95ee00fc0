"""What share of each block's text stands on the page twice: a part of the second pass.

A block's runs of four words are looked up among those of all blocks before it, and of all blocks
after it. Summaries, hidden copies of an article and quotes from it are found so, whatever their
markup. A word here is a run of ASCII letters, digits and bytes of other characters; letters A to Z
are lower-cased, no table of Unicode is needed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corpusmill.stages import kernel_types as types
from corpusmill.stages.compiled import array, kernel, out

from .columns import END, START
from .vocabulary import FNV_PRIME, FNV_START

_int: Any = np.int64  # loads of bytes: mypy sees no scalars where the compiler does
_FNV_START, _FNV_PRIME = np.uint64(FNV_START), np.uint64(FNV_PRIME)
_MIX, _SHIFT = np.uint64(11400714819323198485), np.uint64(24)
_RUN = 4


@kernel(
    types.void(
        array(types.uint8), types.int64, out(types.int64, dims=2), out(types.int64, dims=2)
    )
)  # fmt: skip
def repeats(text, n_blocks, blocks, seen):  # type: ignore[no-untyped-def]
    """Fills the two columns of `seen`: thousandths of the block's runs of words that an earlier, or
    a later, block has too; -1 where it has fewer than four words."""
    room = blocks[n_blocks - 1, END] // 2 + 2
    # runs[first[b]:first[b + 1]] are the hashes of block b's runs
    runs = np.empty(room, np.uint64)
    first = np.zeros(n_blocks + 1, np.int64)
    n = 0
    for b in range(n_blocks):
        first[b] = n
        word = one = two = three = _FNV_START
        length = 0
        words = 0
        end = blocks[b, END]
        for i in range(blocks[b, START], end + 1):
            c = _int(text[i]) if i < end else 32
            if c >= 65 and c <= 90:
                c |= 32
            if c >= 128 or (c >= 97 and c <= 122) or (c >= 48 and c <= 57):
                word = (word ^ np.uint64(c)) * _FNV_PRIME
                length += 1
            elif length > 0:
                words += 1
                if words >= _RUN:
                    run = ((three * _MIX + two) * _MIX + one) * _MIX + word
                    runs[n] = run if run != 0 else _MIX
                    n += 1
                three, two, one = two, one, word
                word = _FNV_START
                length = 0
    first[n_blocks] = n
    capacity = 16
    while capacity < 2 * n:
        capacity *= 2
    mask = np.uint64(capacity - 1)
    keys = np.zeros(capacity, np.uint64)
    lowest = np.empty(capacity, np.int32)
    highest = np.empty(capacity, np.int32)
    slots = np.empty(n, np.int32)
    for b in range(n_blocks):
        for k in range(first[b], first[b + 1]):
            slot = (runs[k] * _MIX >> _SHIFT) & mask
            while keys[slot] != 0 and keys[slot] != runs[k]:
                slot = (slot + np.uint64(1)) & mask
            if keys[slot] == 0:
                keys[slot] = runs[k]
                lowest[slot] = b
            highest[slot] = b
            slots[k] = slot
    for b in range(n_blocks):
        before = after = 0
        for k in range(first[b], first[b + 1]):
            before += lowest[slots[k]] < b
            after += highest[slots[k]] > b
        count = first[b + 1] - first[b]
        seen[b, 0] = before * 1000 // count if count > 0 else -1
        seen[b, 1] = after * 1000 // count if count > 0 else -1
