"""Orders of steps that are known to be bad, as warnings of `validate`."""

from __future__ import annotations

from .recipe import Recipe

_BEFORE = (
    ("dedup.exact", "dedup.minhash", "exact duplicates are cheap to find and spare MinHash work"),
    ("dedup.exact", "dedup.lines", "texts that were equal are no longer so without their lines"),
    ("dedup.lines", "dedup.minhash", "a frame that pages share makes them look alike"),
    ("dedup.minhash", "dedup.substrings", "what a cut leaves of a copy is no longer near it"),
    ("decontaminate.ngram", "clean.pii", "tags in the place of PII split n-grams and hide items"),
    ("filters.url", "extract.tiers", "URL rules need no extraction and save its cost"),
    ("measure.language", "measure.gopher", "rules and stop words depend on the language"),
    ("dedup.minhash", "measure.split", "held-out text must have no near-duplicate in training"),
)  # fmt: skip


def order_warnings(recipe: Recipe) -> list[str]:
    """One line for each pair of steps in the wrong order."""
    place = {step.stage: i for i, step in enumerate(recipe.steps)}
    return [
        f"{first} comes after {second}: {why}"
        for first, second, why in _BEFORE
        if first in place and second in place and place[first] > place[second]
    ]
