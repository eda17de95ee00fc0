"""What share of each block is in the gold text: the targets that the block model learns.

Tokens of the blocks and of the gold text are aligned by a longest common subsequence
(Hirschberg's method: time in the product of the lengths, memory in their sum). A matched token
counts if it stands in a run of at least `MIN_RUN` tokens that follow each other on both sides, or
in a run that covers a whole block: single words match by chance. For training only. Importing
this module compiles (or loads) the kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from corpusmill.stages import kernel_types as types
from corpusmill.stages.compiled import array, kernel, out
from corpusmill.stages.extract.scoring import words

if TYPE_CHECKING:
    import numpy.typing as npt

MIN_RUN = 4
_SMALL = 4_000_000
"""Cells of a table that is filled whole."""

_tokens = array(types.int64)
_matches = out(types.int64)


@kernel(types.void(_tokens, _tokens, types.int64, types.int64, _matches))
def _align_small(a, b, a0, b0, match):  # type: ignore[no-untyped-def]
    n = a.shape[0]
    m = b.shape[0]
    best = np.zeros((n + 1, m + 1), np.int32)
    for i in range(n - 1, -1, -1):
        for j in range(m - 1, -1, -1):
            if a[i] == b[j]:
                best[i, j] = best[i + 1, j + 1] + 1
            else:
                best[i, j] = max(best[i + 1, j], best[i, j + 1])
    i = 0
    j = 0
    while i < n and j < m:
        if a[i] == b[j]:
            match[a0 + i] = b0 + j
            i += 1
            j += 1
        elif best[i + 1, j] >= best[i, j + 1]:
            i += 1
        else:
            j += 1


@kernel(types.void(_tokens, _tokens, out(types.int32)))
def _lengths(a, b, row):  # type: ignore[no-untyped-def]
    row[:] = 0
    for i in range(a.shape[0]):
        diagonal = 0
        for j in range(b.shape[0]):
            kept = row[j + 1]
            if a[i] == b[j]:
                row[j + 1] = diagonal + 1
            elif row[j] > row[j + 1]:
                row[j + 1] = row[j]
            diagonal = kept


def align(a: npt.NDArray[np.int64], b: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """For each token of `a` the place of its partner in `b`, -1 for none; ascending."""
    match = np.full(len(a), -1, np.int64)
    todo = [(0, len(a), 0, len(b))]
    while todo:
        a0, a1, b0, b1 = todo.pop()
        while a0 < a1 and b0 < b1 and a[a0] == b[b0]:
            match[a0] = b0
            a0, b0 = a0 + 1, b0 + 1
        while a0 < a1 and b0 < b1 and a[a1 - 1] == b[b1 - 1]:
            a1, b1 = a1 - 1, b1 - 1
            match[a1] = b1
        n, m = a1 - a0, b1 - b0
        if n == 0 or m == 0:
            continue
        if n * m <= _SMALL or n == 1:
            _align_small(a[a0:a1], b[b0:b1], a0, b0, match)
            continue
        middle = a0 + n // 2
        forward, backward = np.zeros(m + 1, np.int32), np.zeros(m + 1, np.int32)
        _lengths(a[a0:middle], b[b0:b1], forward)
        _lengths(a[middle:a1][::-1].copy(), b[b0:b1][::-1].copy(), backward)
        cut = int(np.argmax(forward + backward[::-1]))
        todo.append((a0, middle, b0, b0 + cut))
        todo.append((middle, a1, b0 + cut, b1))
    return match


def shares(texts: Sequence[str], gold: str) -> npt.NDArray[np.float64]:
    """For each text, in page order, the share of its words that are in `gold`, from 0 to 1."""
    tokens = [words(text) for text in texts]
    numbers: dict[str, int] = {}
    a = _numbered((w for t in tokens for w in t), numbers)
    b = _numbered(words(gold), numbers)
    bounds = np.concatenate(([0], np.cumsum([len(t) for t in tokens], dtype=np.int64)))
    if not len(a) or not len(b):
        return np.zeros(len(texts))
    match = align(a, b)
    kept = np.zeros(len(a), bool)
    i = 0
    while i < len(a):
        if match[i] < 0:
            i += 1
            continue
        j = i + 1
        while j < len(a) and match[j] == match[j - 1] + 1:
            j += 1
        if j - i >= MIN_RUN:
            kept[i:j] = True
        else:
            block = int(np.searchsorted(bounds, i, "right")) - 1
            while block < len(texts) and bounds[block] < j:
                if bounds[block] >= i and bounds[block + 1] <= j:
                    kept[bounds[block] : bounds[block + 1]] = True
                block += 1
        i = j
    sums = np.concatenate(([0], np.cumsum(kept)))
    sizes = np.diff(bounds)
    found: npt.NDArray[np.float64] = (sums[bounds[1:]] - sums[bounds[:-1]]) / np.maximum(sizes, 1)
    return found


def _numbered(tokens: object, numbers: dict[str, int]) -> npt.NDArray[np.int64]:
    return np.array([numbers.setdefault(w, len(numbers)) for w in tokens], np.int64)  # type: ignore[attr-defined]
