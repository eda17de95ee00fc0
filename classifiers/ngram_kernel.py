"""The compiled loop of the n-gram model, in whole numbers. Import inside functions only."""

from __future__ import annotations

import numpy as np

from corpusmill.stages import kernel_types as types
from corpusmill.stages.compiled import array, kernel, out

_I16, _I32, _I64 = types.int16, types.int32, types.int64


@kernel(
    types.void(array(_I32), array(_I64), array(_I32), array(_I64), array(_I16), array(_I16),
               _I64, out(_I64))
)  # fmt: skip
def sums(pieces, start, last, child, score, backoff, order, result):  # type: ignore[no-untyped-def]
    """Adds to ``result[s]`` the score of sequence s, ``pieces[start[s]:start[s + 1]]``, after its
    first piece.

    Nodes are n-grams, shorter ones first; those that continue node i by one piece are
    ``child[i]:child[i + 1]``, sorted by `last`. Node p is the single piece p.
    """
    node = np.empty(order + 1, np.int64)
    for s in range(len(start) - 1):
        if start[s] == start[s + 1]:
            continue
        node[1] = pieces[start[s]]
        for n in range(2, order):
            node[n] = -1
        for at in range(start[s] + 1, start[s + 1]):
            piece = pieces[at]
            found = 1
            best = np.int64(piece)
            # From the longest context down, so that the shorter ones are still of the piece before.
            for n in range(order, 1, -1):
                context = node[n - 1]
                here = np.int64(-1)
                if context >= 0:
                    low = child[context]
                    high = child[context + 1]
                    while low < high:
                        middle = (low + high) >> 1
                        if last[middle] < piece:
                            low = middle + 1
                        else:
                            high = middle
                    if low < child[context + 1] and last[low] == piece:
                        here = low
                    elif found == 1:
                        result[s] += backoff[context]
                if here >= 0 and found == 1:
                    found = n
                    best = here
                node[n] = here
            node[1] = piece
            result[s] += score[best]
