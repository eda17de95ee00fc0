"""What a score must beat: guesses from a text's source alone, and from its length alone.

A classifier whose good and poor texts come from different places can be right by recognising the
place. `ablation` puts beside the model's AUC that of two guesses that never look at a word: the
share of good texts that the source had in training, and that of texts of about the same length.
The matched figures compare only good and poor texts of one source: there the first guess knows
nothing, and what is left of the model's AUC is what it sees in the words.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TypedDict

from .metrics import auc


class Ablation(TypedDict):
    """AUC of the model and of the guesses, over all held-out texts and over matched ones."""

    model: float | None
    source_only: float | None
    length_only: float | None
    matched_texts: int
    matched_model: float | None
    matched_source_only: float | None
    matched_length_only: float | None


def share_by(keys: Sequence[str], good: Sequence[bool]) -> dict[str, float]:
    """Share of good texts by key, one good and one poor text added to each; "" is of all."""
    counts: dict[str, list[int]] = defaultdict(lambda: [1, 1])
    for key, is_good in zip(keys, good, strict=True):
        for name in (key, ""):
            counts[name][is_good] += 1
    return {name: yes / (no + yes) for name, (no, yes) in counts.items()}


def length_key(text: str) -> str:
    """Quarter octaves of the length in characters."""
    length, whole = max(1, len(text)), 0
    while length >= 8:
        length //= 2
        whole += 1
    return f"{whole}.{length}"


def guesses(shares: Mapping[str, float], keys: Sequence[str]) -> list[float]:
    """The share of each key; that of all where training had none of it."""
    return [shares.get(key, shares[""]) for key in keys]


def matched_auc(
    values: Sequence[float], good: Sequence[bool], sources: Sequence[str]
) -> tuple[float | None, int]:
    """AUC over pairs of one source only, and how many texts are in such pairs."""
    by_source: dict[str, list[int]] = defaultdict(list)
    for i, source in enumerate(sources):
        by_source[source].append(i)
    wins = pairs = texts = 0.0
    for members in by_source.values():
        mine = [good[i] for i in members]
        found = auc([values[i] for i in members], mine)
        if found is not None:
            count = sum(mine) * (len(mine) - sum(mine))
            wins += found * count
            pairs += count
            texts += len(mine)
    return (round(wins / pairs, 4) if pairs else None), int(texts)


def ablation(
    values: Sequence[float],
    held: Sequence[tuple[str, str, bool]],
    train: Sequence[tuple[str, str, bool]],
) -> Ablation:
    """The figures for held-out scores `values`; `held` and `train` are (text, source, good)."""
    good = [row[2] for row in held]
    sources = [row[1] for row in held]
    learnt = [row[2] for row in train]
    by_source = guesses(share_by([row[1] for row in train], learnt), sources)
    by_length = guesses(
        share_by([length_key(row[0]) for row in train], learnt),
        [length_key(row[0]) for row in held],
    )
    matched, texts = matched_auc(values, good, sources)
    return {
        "model": auc(values, good),
        "source_only": auc(by_source, good),
        "length_only": auc(by_length, good),
        "matched_texts": texts,
        "matched_model": matched,
        "matched_source_only": matched_auc(by_source, good, sources)[0],
        "matched_length_only": matched_auc(by_length, good, sources)[0],
    }
