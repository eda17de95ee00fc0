"""Domains of a mix: rules on columns that say to which domain a document belongs."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from .errors import ConfigError

HELDOUT = "heldout"
"""Name of the domain that held-out documents go to; no rule may use it."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_NUMBER = r"-?[0-9]+(?:\.[0-9]+)?"
_RANGE = re.compile(rf"({_NUMBER})?\.\.({_NUMBER})?")


class Rule(Protocol):
    """What names a domain: documents whose columns match all patterns of `match`."""

    @property
    def name(self) -> str: ...

    @property
    def match(self) -> Mapping[str, str]: ...


@dataclass(frozen=True, slots=True)
class DomainRule:
    """A `Rule` and nothing more. A pattern is alternatives separated by ``|``; ``*`` in one
    stands for any characters, everything else for itself: ``{lang: "de|fr", host: "*.gov"}``.
    A range of numbers is written ``0.5..0.8`` (the lower bound belongs to it, the upper does
    not; one of them may be left out): ``{quality_score: "0.8.."}``; it matches numbers only.
    An absent value matches no pattern. The first rule that matches wins; an empty `match`
    takes all that is left."""

    name: str
    match: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_name(self.name)


def check_name(name: str) -> None:
    """Raises ConfigError unless `name` can be a domain: it becomes a folder's name."""
    if not _NAME.fullmatch(name) or name == HELDOUT:
        raise ConfigError(
            f"{name!r} cannot name a domain",
            hint=f"letters, digits, '.', '_' and '-', not {HELDOUT!r}",
        )


def check_rules(rules: Sequence[Rule]) -> None:
    """Raises ConfigError if two rules share a name, or a range is empty."""
    names = [r.name for r in rules]
    twice = next((n for i, n in enumerate(names) if n in names[:i]), None)
    if twice is not None:
        raise ConfigError(f"two domains are named {twice!r}")
    for rule in rules:
        for column, pattern in rule.match.items():
            if bounds := _bounds(pattern):
                low, high = bounds
                if low is not None and high is not None and low >= high:
                    raise ConfigError(f"domain {rule.name!r}: {column} {pattern!r} is empty")


def domain_of(columns: Mapping[str, object], rules: Sequence[Rule]) -> str | None:
    """The domain of one document: the first rule that its columns match, None if none does.
    Without rules its ``source``."""
    return domains_of({k: [v] for k, v in columns.items()}, rules, 1)[0]


def domains_of(
    columns: Mapping[str, Sequence[object]], rules: Sequence[Rule], count: int
) -> list[str | None]:
    """`domain_of` for `count` documents given by columns; an absent column is absent values."""
    if not rules:
        return [None if v is None else str(v) for v in columns["source"]]
    result: list[str | None] = [None] * count
    left = list(range(count))
    for rule in rules:
        hits = left
        for name, pattern in rule.match.items():
            values = columns.get(name)
            hits = [] if values is None else _matching(values, hits, pattern)
        for i in hits:
            result[i] = rule.name
        left = [i for i in left if result[i] is None]
    return result


def assign(
    columns: Mapping[str, Sequence[object]],
    rules: Sequence[Rule],
    count: int,
    *,
    refused: Collection[str] = (),
    heldout: bool = True,
) -> tuple[list[str | None], dict[str, int]]:
    """The domain of each of `count` documents, by ``source``, ``split`` and the rules' columns;
    and how many are left out (None) and why. Documents of a `refused` source are; those held out
    are of `HELDOUT`, or left out without `heldout`; so are those that no rule matches."""
    domains = domains_of(columns, rules, count)
    counts = {"kept": 0, "heldout_left_out": 0, "licence_left_out": 0, "unmatched": 0}
    splits = columns.get("split") or [None] * count
    for i, (source, split) in enumerate(zip(columns["source"], splits, strict=True)):
        if source in refused:
            domains[i] = None
            counts["licence_left_out"] += 1
        elif split == "heldout":
            domains[i] = HELDOUT if heldout else None
            counts["kept" if heldout else "heldout_left_out"] += 1
        else:
            counts["unmatched" if domains[i] is None else "kept"] += 1
    return domains, counts


def _matching(values: Sequence[object], rows: list[int], pattern: str) -> list[int]:
    """Those of `rows` whose value matches."""
    if bounds := _bounds(pattern):
        low, high = bounds
        return [i for i in rows if _within(values[i], low, high)]
    wanted = _pattern(pattern)
    return [i for i in rows if values[i] is not None and wanted.fullmatch(_as_text(values[i]))]


def _bounds(pattern: str) -> tuple[float | None, float | None] | None:
    found = _RANGE.fullmatch(pattern)
    if found is None or pattern == "..":
        return None
    low, high = found.groups()
    return (None if low is None else float(low), None if high is None else float(high))


def _within(value: object, low: float | None, high: float | None) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return (low is None or value >= low) and (high is None or value < high)


def _pattern(pattern: str) -> re.Pattern[str]:
    """`a|b*` as a regular expression."""
    parts = (".*".join(re.escape(p) for p in a.split("*")) for a in pattern.split("|"))
    return re.compile("|".join(f"(?:{p})" for p in parts), re.DOTALL)


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
