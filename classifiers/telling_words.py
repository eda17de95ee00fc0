"""The words by which a quality model judges, for its card: what it has learnt, to be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

LEAST_TEXTS = 10
"""Training texts that a word must stand in: a rare word says what one text was, and no more."""
MOST_WORDS = 20


def telling_words(
    score: Callable[[Sequence[str]], list[float]], lines: Sequence[str]
) -> dict[str, list[list[str | float]]]:
    """Under ``good`` and ``poor`` the words that score highest and lowest as texts of their own,
    most telling first, with their scores; of equal ones the more frequent. `lines` are the
    normalised training texts."""
    count = Counter(word for line in lines for word in set(line.split(" ")))
    words = sorted(word for word, texts in count.items() if texts >= LEAST_TEXTS and word)
    values = dict(zip(words, score(words), strict=True))

    def first(sign: int) -> list[list[str | float]]:
        ranked = sorted(words, key=lambda word: (sign * values[word], -count[word], word))
        return [[word, values[word]] for word in ranked[:MOST_WORDS]]

    return {"good": first(-1), "poor": first(1)}
