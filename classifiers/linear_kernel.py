"""The compiled loops of the linear quality model. Import inside functions only.

A text is one line of words separated by blanks (`quality_text.normalise`). Its features are its
words and pairs of neighbouring words, hashed to a power of two of weights; its score is their mean,
with `CALM` more of weight 0.
"""

from __future__ import annotations

import numpy as np

from corpusmill.stages import kernel_types as types
from corpusmill.stages.compiled import array, kernel, out

CALM = 16
"""Features of weight nothing that every text has besides its own: a few words say little."""

_U8, _I32, _I64, _F64 = types.uint8, types.int32, types.int64, types.float64


@kernel(_I64(array(_U8), _I64, _I64, _I64, out(_I64)))
def features(data, first, end, buckets, into):  # type: ignore[no-untyped-def]
    """Weights that the words and word pairs of ``data[first:end]`` meet; returns how many."""
    n = 0
    before = np.uint64(0)
    at = first
    while at < end:
        h = np.uint64(0xCBF29CE484222325)
        start = at
        while at < end and data[at] != 32:
            h = (h ^ np.uint64(data[at])) * np.uint64(0x100000001B3)
            at += 1
        if at > start:
            h ^= h >> np.uint64(31)
            h *= np.uint64(0x9E3779B97F4A7C15)
            into[n] = np.int64(h >> np.uint64(34)) & (buckets - 1)
            n += 1
            if before != 0:
                pair = (before * np.uint64(3) + h) * np.uint64(0xBF58476D1CE4E5B9)
                into[n] = np.int64(pair >> np.uint64(34)) & (buckets - 1)
                n += 1
            before = h
        at += 1
    return n


@kernel(types.void(array(_U8), array(_I64), array(_I32), out(_I64, dims=2)))
def sums(data, start, weights, result):  # type: ignore[no-untyped-def]
    """For each text: sum of the weights that its features meet, and how many these are."""
    longest = np.int64(0)
    for doc in range(len(start) - 1):
        longest = max(longest, start[doc + 1] - start[doc])
    into = np.empty(2 * longest + 2, np.int64)
    for doc in range(len(start) - 1):
        n = features(data, start[doc], start[doc + 1], len(weights), into)
        total = np.int64(0)
        for j in range(n):
            total += weights[into[j]]
        result[doc, 0] = total
        result[doc, 1] = n


@kernel(
    _F64(array(_U8), array(_I64), array(_F64), array(_I64), _F64, _F64, out(_F64))
)  # fmt: skip
def fit(data, start, good, order, rate, decay, weights):  # type: ignore[no-untyped-def]
    """Logistic regression by AdaGrad over the texts in `order`; the last weight is the bias.

    `good` is 1 or 0 a text, `decay` the pull of each met weight to zero. Returns the mean loss.
    """
    longest = np.int64(0)
    for doc in range(len(start) - 1):
        longest = max(longest, start[doc + 1] - start[doc])
    into = np.empty(2 * longest + 2, np.int64)
    buckets = len(weights) - 1
    seen = np.full(len(weights), 1e-8)
    loss = 0.0
    for doc in order:
        n = features(data, start[doc], start[doc + 1], buckets, into)
        if n == 0:
            continue
        score = 0.0
        for j in range(n):
            score += weights[into[j]]
        size = n + CALM
        score = score / size + weights[buckets]
        chance = 1.0 / (1.0 + np.exp(-score))
        error = chance - good[doc]
        loss -= np.log(max(1e-12, chance if good[doc] > 0.5 else 1.0 - chance))
        for j in range(n):
            w = into[j]
            gradient = error / size + decay * weights[w]
            seen[w] += gradient * gradient
            weights[w] -= rate * gradient / np.sqrt(seen[w])
        seen[buckets] += error * error
        weights[buckets] -= rate * error / np.sqrt(seen[buckets])
    return loss / max(1, len(order))
