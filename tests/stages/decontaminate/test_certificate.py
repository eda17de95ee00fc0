"""What a search is worth, and the arithmetic behind it."""

from __future__ import annotations

import json

import pytest

from corpusmill.pipeline.errors import ConfigError
from corpusmill.stages.decontaminate.benchmarks import Benchmark, Item
from corpusmill.stages.decontaminate.certificate import certify, measurement, upper_95
from corpusmill.stages.decontaminate.index import Hit
from corpusmill.stages.decontaminate.rules import HALF_ANYWHERE, METHODS, Rules

LONG = " ".join(f"word{n}" for n in range(30))
SET = Benchmark("set", "1", "CC0-1.0", "0" * 64, (Item("a", LONG), Item("b", "Open jar", "pull")))


@pytest.mark.parametrize(
    ("flagged", "documents", "rate"),
    [
        (0, 10, 1 - 0.05**0.1),  # (1 - p)**10 = 0.05
        (0, 1000, 1 - 0.05**0.001),
        (1, 1, 1.0),
        (1, 2, 0.95**0.5),  # 1 - p**2 = 0.05
        (9, 10, 0.95**0.1),
    ],
)
def test_upper_end(flagged: int, documents: int, rate: float) -> None:
    assert upper_95(flagged, documents) == pytest.approx(rate, abs=2e-9)


def test_upper_end_grows_with_the_alarms() -> None:
    rates = [upper_95(n, 30_000) for n in (0, 1, 2, 20)]
    assert rates == sorted(rates)
    assert rates[0] == pytest.approx(3 / 30_000, rel=0.002)


@pytest.mark.parametrize("counts", [(0, 0), (2, 1), (-1, 5)])
def test_impossible_counts(counts: tuple[int, int]) -> None:
    with pytest.raises(ConfigError):
        upper_95(*counts)


def test_certificate() -> None:
    hits = [Hit("set", "a", method, 0.6, 0, 9) for method in ("paraphrase", "window", "paraphrase")]
    (made,) = certify([SET], hits)
    assert (made.items, made.visible, made.found) == (2, 1, 1)
    assert made.by_method == {"window": 1}
    assert set(made.false_alarms) == set(METHODS) - {"part"}
    assert json.loads(json.dumps(made.plain()))["false_alarms"]["ngram"] == {
        "flagged": made.false_alarms["ngram"].flagged,
        "documents": measurement()["documents"],
        "upper_95": f"{made.false_alarms['ngram'].upper:.3g}",
    }


def test_no_figures_for_rules_that_were_not_measured() -> None:
    assert certify([SET], [], Rules(window_percent=50))[0].false_alarms == {}
    assert "part" in certify([SET], [], Rules(part_percent=40))[0].false_alarms
    anywhere, usual = (
        certify([SET], [], r)[0].false_alarms for r in (Rules(**HALF_ANYWHERE), None)
    )
    assert anywhere["half"].flagged == measurement()["half_anywhere"] > usual["half"].flagged
    assert anywhere["window"] == usual["window"]
    with pytest.raises(ConfigError, match="other"):
        certify([SET], [Hit("other", "a", "run", 1.0, 0, 1)])


def test_items_that_another_set_has_too() -> None:
    part = Benchmark("part", "1", "CC0-1.0", "1" * 64, (Item("x", f" {LONG.upper()}\n"),))
    other = Benchmark("other", "1", "CC0-1.0", "2" * 64, (Item("b", "Open jar", "push"),))
    made = {c.benchmark: c for c in certify([SET, part, other], [])}
    assert made["set"].plain()["also_in"] == {"part": 1}
    assert made["part"].plain()["also_in"] == {"set": 1}
    assert "also_in" not in made["other"].plain()
