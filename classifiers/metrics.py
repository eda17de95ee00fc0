"""Figures for a two-class scorer: ranking, precision at a keep rate, reliability."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypedDict


class Bin(TypedDict):
    """One reliability bin: scores in [low, high), how many, their mean, the share of good ones."""

    low: float
    high: float
    count: int
    mean_score: float
    share_good: float


def auc(scores: Sequence[float], good: Sequence[bool]) -> float | None:
    """The chance that a random good text scores above a random poor one, ties as half.

    None if one of the classes is empty. 4 decimals.
    """
    positives = sum(good)
    negatives = len(good) - positives
    if not positives or not negatives:
        return None
    order = sorted(range(len(scores)), key=lambda i: scores[i])
    doubled = 0  # twice the sum of ranks of the good ones, so that ties stay integers
    at = 0
    while at < len(order):
        end = at
        while end < len(order) and scores[order[end]] == scores[order[at]]:
            end += 1
        doubled += (at + 1 + end) * sum(good[i] for i in order[at:end])
        at = end
    wins = doubled - positives * (positives + 1)
    return round(wins / (2 * positives * negatives), 4)


def keep_threshold(scores: Sequence[float], keep_rate: float) -> float:
    """The score that at least `keep_rate` of the texts reach: keep those at or above it.

    Ties at the threshold are all kept, so that more than `keep_rate` may be kept.
    """
    ranked = sorted(scores, reverse=True)
    return ranked[min(len(ranked), max(1, math.ceil(len(ranked) * keep_rate))) - 1]


def precision_recall(
    scores: Sequence[float], good: Sequence[bool], threshold: float
) -> tuple[float, float, float]:
    """Precision, recall and the share kept when scores at or above `threshold` are kept."""
    kept = [g for s, g in zip(scores, good, strict=True) if s >= threshold]
    hits = sum(kept)
    return (
        round(hits / len(kept), 4) if kept else 0.0,
        round(hits / max(1, sum(good)), 4),
        round(len(kept) / max(1, len(scores)), 4),
    )


def reliability(scores: Sequence[float], good: Sequence[bool], bins: int = 10) -> list[Bin]:
    """Equal-width bins of the score (the last one closed), empty ones left out."""
    members: list[list[int]] = [[] for _ in range(bins)]
    for i, score in enumerate(scores):
        members[min(bins - 1, int(score * bins))].append(i)
    return [
        {
            "low": round(n / bins, 4),
            "high": round((n + 1) / bins, 4),
            "count": len(inside),
            "mean_score": round(math.fsum(scores[i] for i in inside) / len(inside), 4),
            "share_good": round(sum(good[i] for i in inside) / len(inside), 4),
        }
        for n, inside in enumerate(members)
        if inside
    ]


def calibration_error(scores: Sequence[float], good: Sequence[bool], bins: int = 10) -> float:
    """Mean gap between score and share of good texts over the bins, weighted by their texts
    (Naeini et al. 2015). 4 decimals; 0 for no texts."""
    gaps = [
        row["count"] * abs(row["mean_score"] - row["share_good"])
        for row in reliability(scores, good, bins)
    ]
    return round(math.fsum(gaps) / max(1, len(scores)), 4)


def spearman(a: Sequence[float], b: Sequence[float]) -> float:
    """The correlation of ranks, equal values having the mean of theirs (Spearman 1904); 4
    decimals. Of two values or more on each side, not all equal."""
    x, y = _ranks(a), _ranks(b)
    mean_x, mean_y = math.fsum(x) / len(x), math.fsum(y) / len(y)
    both = math.fsum((u - mean_x) * (v - mean_y) for u, v in zip(x, y, strict=True))
    one = math.fsum((u - mean_x) ** 2 for u in x)
    other = math.fsum((v - mean_y) ** 2 for v in y)
    return round(both / math.sqrt(one * other), 4)


def _ranks(values: Sequence[float]) -> list[float]:
    order = sorted(range(len(values)), key=values.__getitem__)
    made = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for i in order[start : end + 1]:
            made[i] = (start + end) / 2 + 1
        start = end + 1
    return made


def accuracy_and_f1(found: Sequence[str], truth: Sequence[str]) -> dict[str, float]:
    """The share that is right, and the mean over the classes of `truth` of the harmonic mean of
    precision and recall; 4 decimals."""
    right = sum(a == b for a, b in zip(found, truth, strict=True))
    f1 = []
    for name in sorted(set(truth)):
        hits = sum(a == b == name for a, b in zip(found, truth, strict=True))
        f1.append(2 * hits / (found.count(name) + truth.count(name)))
    return {
        "accuracy": round(right / max(1, len(truth)), 4),
        "macro_f1": round(math.fsum(f1) / max(1, len(f1)), 4),
    }
