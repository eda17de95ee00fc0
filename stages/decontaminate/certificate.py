"""What a search for benchmark items is worth: what it saw, what it found, how often it errs.

A certificate says per benchmark how many items there are, how many any method can see, which were
found and by what; and, for the method that found them, how many of the documents that hold no
item it flags. That last figure is not of the corpus at hand, where nobody knows which documents
are clean, but of a measurement over texts that are (``certificate.json``), with the upper end of
its confidence interval: no alarm in n documents does not mean that there is none.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any, Final

from corpusmill.pipeline.errors import AssetError, ConfigError

from .benchmarks import Benchmark, shared_items
from .index import Hit, coverage_report
from .rules import HALF_ANYWHERE, METHODS, Rules

SCHEMA: Final = "corpusmill/contamination-measurement/1"
_FILE: Final = "certificate.json"


@dataclass(frozen=True, slots=True)
class FalseAlarms:
    """Of one method: documents flagged without holding an item, of `documents` looked at, as
    measured; `upper` is the upper end of the one-sided 95 % interval of the rate."""

    flagged: int
    documents: int
    upper: float


@dataclass(frozen=True, slots=True)
class Certificate:
    """Of one benchmark: see the module."""

    benchmark: str
    version: str
    items: int
    visible: int
    by_half: int
    """Items that the first half of what a page tells of them gives away."""
    found: int
    by_method: Mapping[str, int]
    """Method → items that it found, an item counting for the first method that found it."""
    false_alarms: Mapping[str, FalseAlarms]
    """Method → its false alarms over clean documents, for the methods that the search used."""
    also_in: Mapping[str, int]
    """Other benchmark → items of this one that are among its items too."""

    def plain(self) -> dict[str, Any]:
        """As JSON has it; rates as strings, since a lock holds no floats. ``also_in`` is there
        where it is not empty."""
        return {
            "items": self.items,
            "visible": self.visible,
            "visible_by_half": self.by_half,
            "found": self.found,
            "by_method": dict(self.by_method),
            "false_alarms": {
                method: {
                    "flagged": f.flagged,
                    "documents": f.documents,
                    "upper_95": f"{f.upper:.3g}",
                }
                for method, f in self.false_alarms.items()
            },
            **({"also_in": dict(sorted(self.also_in.items()))} if self.also_in else {}),
        }


def upper_95(flagged: int, documents: int) -> float:
    """Upper end of the one-sided 95 % interval of a rate (Clopper and Pearson 1934), to 9
    decimals: the rate at which as few as `flagged` of `documents` would come in 1 of 20 tries.
    3 / documents for none flagged ("rule of three"). Raises ConfigError for impossible counts."""
    if not 0 <= flagged <= documents or not documents:
        raise ConfigError(f"{flagged} of {documents} documents flagged")
    if flagged == documents:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(60):
        rate = (low + high) / 2
        term = tail = (1 - rate) ** documents
        for k in range(flagged):
            if rate >= 1.0:
                break
            term *= (documents - k) / (k + 1) * rate / (1 - rate)
            tail += term
        low, high = (rate, high) if tail > 0.05 else (low, rate)
    return round(high, 9)


@lru_cache(maxsize=1)
def measurement() -> Mapping[str, Any]:
    """The committed measurement. Raises AssetError where it does not fit this code."""
    path = resources.files("corpusmill.stages.decontaminate") / _FILE
    content: dict[str, Any] = json.loads(path.read_text("utf-8"))
    if content.get("schema") != SCHEMA or not set(METHODS) <= set(content["false_alarms"]):
        raise AssetError(f"{_FILE}: of another schema or without some method")
    return content


def certify(
    benchmarks: Sequence[Benchmark], hits: Iterable[Hit], rules: Rules | None = None
) -> list[Certificate]:
    """One certificate a benchmark, by name. `hits`: all that a search with `rules` found.

    The false alarms were measured with the default rules, with `part_percent` 40, and with
    `HALF_ANYWHERE`: for others none are given. Raises ConfigError for a hit that names
    another benchmark.
    """
    rules = rules or Rules()
    found = list(hits)
    first: dict[tuple[str, str], str] = {}
    for hit in found:
        key = (hit.benchmark, hit.item)
        known = first.get(key, hit.method)
        first[key] = min(known, hit.method, key=METHODS.index)
    alarms = _alarms(rules)
    shared = shared_items(benchmarks)
    result = []
    for line in coverage_report(benchmarks, found, rules):
        methods = [m for (b, _), m in sorted(first.items()) if b == line.benchmark]
        result.append(
            Certificate(
                line.benchmark, line.version, line.items, line.visible, line.by_half,
                line.found,
                {m: methods.count(m) for m in METHODS if m in methods}, alarms,
                shared[line.benchmark],
            )
        )  # fmt: skip
    return result


def _alarms(rules: Rules) -> dict[str, FalseAlarms]:
    anywhere = Rules(**HALF_ANYWHERE)
    if rules not in (Rules(), Rules(part_percent=40), anywhere):
        return {}
    measured = measurement()
    documents = int(measured["documents"])
    counts = {m: int(measured["false_alarms"][m]) for m in METHODS}
    if rules == anywhere:
        counts["half"] = int(measured["half_anywhere"])
    return {
        method: FalseAlarms(n, documents, upper_95(n, documents))
        for method, n in counts.items()
        if method != "part" or rules.part_percent
    }
