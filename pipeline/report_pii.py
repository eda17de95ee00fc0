"""Personal data that a run found, by type and by what was done with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .engine import RunFolder
from .ledger import sealed_docs_phases
from .planning import Plan
from .report_rows import base, draw_columns

_PREFIX = "pii_"
_NOT_TYPES = ("pii_spans", "pii_email_role")
"""Signals that are no counts of a type."""
_STEPS = ("clean.pii", "classifiers.names")


@dataclass(frozen=True, slots=True)
class Found:
    """`spans` of a type in `documents`, and the `policy` that they fell under."""

    type: str
    policy: str
    spans: int
    documents: int


def found_by_type(plan: Plan, rows: Sequence[Mapping[str, Any]]) -> list[Found]:
    """What kept documents (rows with their signals) had of each type, most first."""
    policies: dict[str, str] = {}
    for step in plan.recipe["steps"]:
        if step["stage"] == "clean.pii":
            policies |= step["params"]["policy"]
        elif step["stage"] == "classifiers.names":
            policies["name"] = step["params"]["policy"]
    types = {k for row in rows[:1] for k in row if k.startswith(_PREFIX)}.difference(_NOT_TYPES)
    found = []
    for signal in sorted(types):
        counts = [int(row[signal] or 0) for row in rows]
        type_ = signal.removeprefix(_PREFIX)
        found.append(
            Found(type_, policies.get(type_, "tag"), sum(counts), sum(c > 0 for c in counts))
        )
    return sorted(found, key=lambda f: (-f.spans, f.type))


def pii_rows(run: RunFolder) -> tuple[str, list[list[str]]]:
    """Which documents were looked at, and a row (type, policy, spans, documents) for each type that
    was found; "" where no step looked for personal data."""
    phases = sealed_docs_phases(run)
    if not phases or all(s["stage"] not in _STEPS for s in run.plan.recipe["steps"]):
        return "", []
    drawn = draw_columns(run, phases[-1], _PREFIX)
    found = [f for f in found_by_type(run.plan, drawn.rows) if f.spans]
    rows = [[f.type, f.policy, str(f.spans), str(f.documents)] for f in found]
    return base([drawn], "kept"), rows
