"""Distinct counts: equal to datasketch's own update, merged in any order."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

from corpusmill.pipeline.errors import ConfigError, IntegrityError
from corpusmill.stages.measure.distinct import Distinct, hash_texts


def hashes(first: int, count: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return hash_texts(f"host{n}.example" for n in range(first, first + count))


@pytest.mark.parametrize("p", [4, 12, 16])
def test_registers_equal_datasketchs(p: int) -> None:
    from datasketch import HyperLogLogPlusPlus

    values = [*hashes(0, 5000).tolist(), 0, 1, 2**64 - 1, 1 << 63, (1 << 32) - 1, 1 << p, 1 << 40]
    theirs = HyperLogLogPlusPlus(p=p, hashfunc=int)
    for value in values:
        theirs.update(value)
    ours = Distinct(p)
    ours.add(np.array(values, np.uint64))
    assert (ours.registers == theirs.reg).all()
    assert ours.estimate() == round(theirs.count())


@pytest.mark.parametrize("p", [4, 8, 12, 16])
def test_estimate_equals_datasketchs_on_both_sides_of_its_threshold(p: int) -> None:
    from datasketch import HyperLogLogPlusPlus

    ours = Distinct(p)
    counts = []
    for n in range(40):
        ours.add(hashes(n << p - 2, 1 << p - 2))
        counts.append(ours.estimate())
        assert counts[-1] == round(HyperLogLogPlusPlus(reg=ours.registers).count())
    assert counts[0] < (1 << p) // 2 < 4 << p < counts[-1]


@pytest.mark.parametrize("count", [0, 1, 100, 3000, 20_000, 200_000])
def test_estimate(count: int) -> None:
    sketch = Distinct()
    sketch.add(np.concatenate([hashes(0, count), hashes(0, count // 2)]))
    assert abs(sketch.estimate() - count) <= 0.05 * count


def test_merge_in_any_order_through_json() -> None:
    parts = []
    for n in range(20):
        part = Distinct()
        part.add(hashes(n * 50, 100 if n else 0))
        parts.append(json.loads(json.dumps(part.to_json())))
    whole = Distinct()
    whole.add(np.concatenate([hashes(n * 50, 100 if n else 0) for n in range(20)]))
    for seed in range(3):
        random.Random(seed).shuffle(parts)
        merged = Distinct()
        for part_json in parts:
            merged.merge(Distinct.from_json(part_json))
        assert merged.to_json() == whole.to_json()


def test_short_and_long_form() -> None:
    few, many = Distinct(), Distinct()
    few.add(hashes(0, 10))
    many.add(hashes(0, 10_000))
    assert len(few.to_json()["registers"]) == 10
    assert isinstance(many.to_json()["registers"], str)
    for sketch in (few, many):
        assert (Distinct.from_json(sketch.to_json()).registers == sketch.registers).all()


def test_errors() -> None:
    with pytest.raises(ConfigError, match="p is 3"):
        Distinct(3)
    with pytest.raises(IntegrityError, match="precision 12 and 13"):
        Distinct(12).merge(Distinct(13))
    good = Distinct().to_json()
    for bad in ({"p": 12}, {**good, "schema": "x"}, {**good, "registers": "AAAA"},
                {**good, "registers": [[9999, 1]]}, {**good, "registers": [[0, 99]]}):  # fmt: skip
        with pytest.raises(IntegrityError):
            Distinct.from_json(bad)
