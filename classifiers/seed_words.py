"""What the words of the seeds alone say of a text: the guess that a trained model must beat."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from .embedding import MAX_CHARS, lower

_WORD = re.compile(r"[a-z]{3,}")


def guesses(texts: Sequence[str], seeds: Mapping[str, Sequence[str]], otherwise: str) -> list[str]:
    """For each text the class most of whose seeds' own words (of no other class's seeds) it has,
    each counted once; of equal ones the first by name; `otherwise` for a text without any."""
    words = {name: set(_WORD.findall(lower(" ".join(own)))) for name, own in seeds.items()}
    of: dict[str, str] = {}
    shared: set[str] = set()
    for name in sorted(words):
        for word in words[name]:
            if word in of:
                shared.add(word)
            of[word] = name
    found = []
    for text in texts:
        counts: dict[str, int] = {}
        for word in set(_WORD.findall(lower(text[:MAX_CHARS]))):
            if word in of and word not in shared:
                counts[of[word]] = counts.get(of[word], 0) + 1
        found.append(min(counts, key=lambda name: (-counts[name], name)) if counts else otherwise)
    return found
