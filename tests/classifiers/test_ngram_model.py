"""The n-gram model against a slow one of its own, written from the formulas."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from corpusmill.classifiers.ngram_counts import estimate
from corpusmill.classifiers.ngram_model import UNIT, fit_ngrams, load_ngrams
from corpusmill.pipeline.errors import AssetError, ConfigError

VOCABULARY, ORDER = 120, 4


def texts(count: int = 150, seed: int = 3) -> list[list[int]]:
    """Sequences from 0 (the start) over 2 to 99 (100 and more never) to 1 (the end): rare and
    frequent pieces, of which each is likely to be followed by one of three."""
    random = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        row = [0]
        for _ in range(int(random.integers(0, 15))):
            drawn = (
                1 + int(random.zipf(1.6))
                if random.random() < 0.6
                else 3 * row[-1] + int(random.integers(3))
            )
            row.append(2 + drawn % 98)
        made.append([*row, 1])
    return made


class Slow:
    """Modified Kneser-Ney by dictionaries, from Chen and Goodman's equations 26 and 27."""

    def __init__(self, rows: list[list[int]], order: int) -> None:
        self.order = order
        raw = [Counter[tuple[int, ...]]() for _ in range(order + 1)]
        for row in rows:
            for n in range(1, order + 1):
                raw[n].update(tuple(row[i : i + n]) for i in range(len(row) - n + 1))
        self.counts = [Counter[tuple[int, ...]]() for _ in range(order + 1)]
        for n in range(1, order):
            left = Counter(gram[1:] for gram in raw[n + 1])
            for gram in raw[n]:
                self.counts[n][gram] = raw[n][gram] if gram[0] == 0 else left[gram]
        self.counts[order] = raw[order]
        del self.counts[1][(0,)]
        self.discounts = [(0.0, 0.0, 0.0)]
        for n in range(1, order + 1):
            t = Counter(self.counts[n].values())
            made = (0.5, 1.0, 1.5)
            if t[1] and t[2] and t[3]:
                y = t[1] / (t[1] + 2 * t[2])
                worked = (1 - 2 * y * t[2] / t[1], 2 - 3 * y * t[3] / t[2], 3 - 4 * y * t[4] / t[3])
                if all(0 <= d <= k for k, d in enumerate(worked, 1)):
                    made = worked
            self.discounts.append(made)

    def probability(self, context: tuple[int, ...], piece: int) -> float:
        n = len(context) + 1
        lower = self.probability(context[1:], piece) if context else 1 / (VOCABULARY - 1)
        following = {g: c for g, c in self.counts[n].items() if g[:-1] == context}
        if not following:
            return lower
        total = sum(following.values())
        discount = self.discounts[n]
        left = sum(discount[min(c, 3) - 1] for c in following.values())
        own = following.get((*context, piece), 0)
        return (own - (discount[min(own, 3) - 1] if own else 0)) / total + left / total * lower


def test_probabilities_are_those_of_the_formulas() -> None:
    rows = texts()
    slow = Slow(rows, ORDER)
    assert len([d for d in slow.discounts[1:] if d != (0.5, 1.0, 1.5)]) == 4
    model = fit_ngrams([np.array(r) for r in rows], VOCABULARY, ORDER)
    for row in texts(60, seed=4):  # others, with n-grams never seen
        row = [*row[:-1], 110, *row[-1:]]
        wanted = sum(
            math.log2(slow.probability(tuple(row[max(0, i - ORDER + 1) : i]), row[i]))
            for i in range(1, len(row))
        )
        (bits,) = model.bits([np.array(row, np.int32)])
        # Each number that is added was rounded to 1 / 1024 bit; at most four a piece.
        assert bits / UNIT == pytest.approx(-wanted, abs=len(row) * ORDER / UNIT / 2)


@pytest.mark.parametrize("prune", [0, 1, 2])
def test_probabilities_after_every_context_sum_to_one(prune: int) -> None:
    rows = [np.array(r) for r in texts()]
    model = fit_ngrams(rows, VOCABULARY, ORDER, prune)
    for row in texts(20, seed=5):
        context = np.array(row[:-1], np.int32)
        pieces = [np.append(context, np.int32(p)) for p in range(1, VOCABULARY)]
        whole = model.bits(pieces)
        (before,) = model.bits([context])
        assert sum(2 ** -((w - before) / UNIT) for w in whole) == pytest.approx(1, abs=0.01)


def test_pruning_takes_rare_long_n_grams_only() -> None:
    rows = [np.array(r) for r in texts()]
    whole, less = estimate(rows, VOCABULARY, ORDER), estimate(rows, VOCABULARY, ORDER, 1)
    assert [len(a.last) for a in whole[:2]] == [len(a.last) for a in less[:2]]
    seen = Counter(tuple(r[i : i + 3]) for r in texts() for i in range(len(r) - 2))
    assert len(less[2].last) == sum(c > 1 for c in seen.values()) < len(whole[2].last) == len(seen)


def test_order_of_the_texts_does_not_matter() -> None:
    rows = [np.array(r) for r in texts()]
    one = fit_ngrams(rows, VOCABULARY, ORDER).to_bytes()
    assert one == fit_ngrams(rows[::-1], VOCABULARY, ORDER).to_bytes()


def test_file_is_read_back_and_damage_is_seen(tmp_path: Path) -> None:
    model = fit_ngrams(
        [np.array(r) for r in texts()], VOCABULARY, ORDER, 1, {"language": "en"}, b"xyz"
    )
    path = tmp_path / "m.ngram"
    path.write_bytes(model.to_bytes())
    read = load_ngrams(path)
    rows = [np.array(r, np.int32) for r in texts(30, seed=6)]
    assert read.bits(rows) == model.bits(rows)
    assert (read.extra, read.head) == (b"xyz", {"language": "en", "vocabulary": VOCABULARY})
    assert read.to_bytes() == model.to_bytes()
    raw = path.read_bytes()
    for wrong in (raw[:-1], raw + b"x", raw[:-5] + bytes([raw[-5] ^ 1]) + raw[-4:]):
        path.write_bytes(wrong)
        with pytest.raises(AssetError, match="damaged"):
            load_ngrams(path)
    path.write_bytes(b"\x00fasttext")
    with pytest.raises(AssetError, match="no n-gram model"):
        load_ngrams(path)
    with pytest.raises(AssetError, match="cannot be read"):
        load_ngrams(tmp_path / "none")


def test_little_text_gives_a_model_and_none_an_error() -> None:
    model = fit_ngrams([np.array([0, 2, 1])], VOCABULARY, 5)
    assert model.order == 3
    (seen,), (other,) = (
        model.bits([np.array([0, 2, 1], np.int32)]),
        model.bits([np.array([0, 3, 1], np.int32)]),
    )
    assert 0 < seen < other
    with pytest.raises(ConfigError):
        fit_ngrams([], VOCABULARY)
    with pytest.raises(ValueError, match="outside"):
        model.bits([np.array([0, VOCABULARY], np.int32)])
