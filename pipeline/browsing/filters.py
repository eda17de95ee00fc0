"""What a request asks of the documents, as a condition and its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.indexing import FIXED

EXACT = ("state", "source", "step", "reason", "phase", "host", "lang")
"""Columns that are compared with one value."""
NUMBERS = ("BIGINT", "DOUBLE", "BOOLEAN")
SORTED = ("characters", "url", "id", "date")


@dataclass(frozen=True, slots=True)
class Query:
    """A request: `exact` values, `low` and `high` bounds of signals, part of an address, words of
    the text, a rule that is broken, and the order."""

    exact: Mapping[str, str] = field(default_factory=dict)
    low: Mapping[str, float] = field(default_factory=dict)
    high: Mapping[str, float] = field(default_factory=dict)
    url: str = ""
    words: str = ""
    rule: str = ""
    sort: str = ""
    descending: bool = False
    offset: int = 0
    limit: int = 25


def read_query(asked: Mapping[str, Sequence[str]], columns: Mapping[str, str]) -> Query:
    """A query from the parameters of an address. `columns` are those of the index with their
    types. Raises ConfigError for one that is unknown or of another kind."""
    exact: dict[str, str] = {}
    bounds: dict[str, dict[str, float]] = {"min": {}, "max": {}}
    rest: dict[str, str] = {}
    for key, values in asked.items():
        value = values[-1]
        side, _, name = key.partition(".")
        if side in bounds and name:
            if columns.get(name) not in NUMBERS or (name in FIXED and name != "characters"):
                raise ConfigError(f"{name!r} is no signal with numbers")
            bounds[side][name] = _number(value, key)
        elif key in EXACT:
            if key not in columns:
                raise ConfigError(f"this run has no {key!r}")
            exact[key] = value
        elif key in ("url", "q", "rule", "sort", "desc", "offset", "limit"):
            rest[key] = value
        else:
            raise ConfigError(f"unknown parameter {key!r}")
    sort = rest.get("sort", "")
    if sort and sort not in SORTED and (sort not in columns or sort in FIXED):
        raise ConfigError(f"cannot sort by {sort!r}")
    return Query(
        exact, bounds["min"], bounds["max"], rest.get("url", ""), rest.get("q", "").strip(),
        rest.get("rule", ""), sort, rest.get("desc") == "1",
        max(int(_number(rest.get("offset", "0"), "offset")), 0),
        min(max(int(_number(rest.get("limit", "25"), "limit")), 1), 200),
    )  # fmt: skip


def _number(value: str, key: str) -> float:
    try:
        number = float(value)
    except ValueError:
        raise ConfigError(f"{key} is {value!r}, no number") from None
    if number != number or abs(number) > 1e15:
        raise ConfigError(f"{key} is {value!r}, out of range")
    return number


def quoted(name: str) -> str:
    """A column's name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def condition(query: Query) -> tuple[str, list[Any]]:
    """The condition of a query without its words, and its parameters."""
    parts: list[str] = []
    values: list[Any] = []
    for name, value in query.exact.items():
        parts.append(f"{quoted(name)} = ?")
        values.append(value)
    for sign, bounds in ((">=", query.low), ("<=", query.high)):
        for name, bound in bounds.items():
            parts.append(f"{quoted(name)}::DOUBLE {sign} ?")
            values.append(bound)
    if query.url:
        parts.append("contains(lower(url), ?)")
        values.append(query.url.lower())
    if query.rule:
        parts.append("list_contains(broken, ?)")
        values.append(query.rule)
    return " AND ".join(parts) or "TRUE", values


def order(query: Query) -> str:
    """The ORDER BY of a query; ties and the default by number, which is stable."""
    if not query.sort:
        return "n"
    return f"{quoted(query.sort)} {'DESC' if query.descending else 'ASC'} NULLS LAST, n"


__all__ = ["EXACT", "NUMBERS", "Query", "condition", "order", "quoted", "read_query"]
