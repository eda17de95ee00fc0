"""Shares of shingles against sets of words worked out by hand and by Python's own sets."""

from __future__ import annotations

import random

import numpy as np
import pytest

from corpusmill.stages.measure.overlap import SHINGLE, Probe, Sample, Share, shingles


def words(*numbers: int) -> str:
    return " ".join(f"w{n}" for n in numbers)


def plain_shingles(texts: list[str]) -> set[tuple[str, ...]]:
    found = set()
    for text in texts:
        split = text.lower().split()
        found |= {tuple(split[i : i + SHINGLE]) for i in range(len(split) - SHINGLE + 1)}
    return found


def texts_of(seed: int, count: int = 300) -> list[str]:
    draw = random.Random(seed)
    return [words(*(draw.randrange(60) for _ in range(draw.randrange(40)))) for _ in range(count)]


def test_a_shingle_ends_with_its_text() -> None:
    assert len(shingles([words(*range(8))])) == 1
    assert len(shingles([words(*range(7)), words(*range(7))])) == 0
    assert len(shingles([words(*range(10)), words(*range(9))])) == 3  # two of three are the same
    assert len(shingles([])) == len(shingles(["", "w1"])) == 0


def test_order_and_case_of_shingles() -> None:
    there = shingles([words(*range(8))])
    assert shingles([words(*range(8)).upper()]).tolist() == there.tolist()
    assert shingles([words(*reversed(range(8)))]).tolist() != there.tolist()
    assert shingles([words(1, 0, *range(2, 8))]).tolist() != there.tolist()


def test_as_many_as_python_finds() -> None:
    texts = texts_of(1)
    assert len(shingles(texts)) == len(plain_shingles(texts))


def test_the_whole_is_counted_exactly() -> None:
    a, b = texts_of(1), [*texts_of(2), *texts_of(1)[:100]]
    sample = Sample()
    for name, texts in (("a", a), ("b", b)):
        for text in texts:
            sample.add(name, shingles([text]))
    common = plain_shingles(a) & plain_shingles(b)
    assert sample.share("a", "b") == Share(len(common), len(plain_shingles(a)), False)
    assert sample.share("a", "b").error == 0
    assert 0 < sample.share("b", "a").share < 1


def test_a_sample_is_near_the_whole_and_the_same_in_any_order() -> None:
    a, b = texts_of(3, 3000), [*texts_of(4, 3000), *texts_of(3, 3000)[:1500]]
    made = []
    for step in (1, -1):
        sample = Sample(most=10_000)
        for name, texts in (("a", a), ("b", b))[::step]:
            for start in range(0, len(texts), 50)[::step]:
                sample.add(name, shingles(texts[start : start + 50]))
        made.append((sample.share("a", "b"), sample.share("b", "a"), sample.bound))
    assert made[0] == made[1]
    share, bound = made[0][0], made[0][2]
    assert bound < 1 << 64
    assert 1000 < share.compared < 10_000
    true = len(plain_shingles(a) & plain_shingles(b)) / len(plain_shingles(a))
    assert abs(share.share - true) < 4 * share.error
    assert share.error == pytest.approx((share.share * (1 - share.share) / share.compared) ** 0.5)


def test_a_probe_is_looked_for_everywhere() -> None:
    probe = Probe()
    probe.add(shingles([words(*range(12))]))  # 5 shingles
    probe.look("one", shingles([words(*range(9))]))
    probe.look("one", shingles([words(*range(4, 12))]))
    probe.look("two", shingles([words(*range(20, 40))]))
    probe.look("two", np.zeros(0, np.uint64))
    assert probe.share("one") == Share(3, 5, False)
    assert probe.share("two") == Share(0, 5, False)
    assert probe.share("three") == Share(0, 5, False)


def test_a_probe_keeps_the_least() -> None:
    whole, part = Probe(), Probe(most=100)
    for text in texts_of(5):
        whole.add(shingles([text]))
        part.add(shingles([text]))
    assert part.hashes.tolist() == whole.hashes[:100].tolist()
    assert (part.sampled, whole.sampled) == (True, False)


@pytest.mark.parametrize("most", [10_000, 5_000])
def test_a_sample_gives_up_no_more_than_it_must(most: int) -> None:
    """A bound of twice the size would hold too many."""
    found = shingles(texts_of(3, 3000))
    sample = Sample(most=most)
    sample.add("a", found)
    assert sample.share("a", "a").compared == int((found < sample.bound).sum()) <= most
    assert int((found < 2 * sample.bound).sum()) > most
