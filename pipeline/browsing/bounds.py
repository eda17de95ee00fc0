"""What another bound of a rule would change, worked out from the index."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from corpusmill.pipeline.errors import ConfigError, CorpusmillError
from corpusmill.pipeline.planning import Plan
from corpusmill.pipeline.registry import build
from corpusmill.pipeline.stage import Stage

from .filters import quoted
from .store import Store

_EXAMPLES = 8


@dataclass(frozen=True, slots=True)
class Bound:
    """One bound of a run, and the parameter that sets it (empty where none could be found)."""

    step: str
    stage: str
    reason: str
    signal: str
    bound: float
    side: str
    param: str
    scope: tuple[tuple[str, bool, tuple[str, ...]], ...]
    """(signal, whether it must have one of the values, values): for which documents it holds."""
    by_language: bool

    @property
    def rule(self) -> str:
        """``step:reason``, as the index has it."""
        return f"{self.step}:{self.reason}"


def bounds_of(plan: Plan) -> list[Bound]:
    """Every bound on a number of the run's steps, in order."""
    found = []
    for entry in plan.recipe["steps"]:
        made = build(entry["stage"], entry["params"], f"step {entry['id']}")
        if not isinstance(made, Stage):
            continue
        p = made.params
        scope = [(s, True, tuple(v)) for s, v in getattr(p, "when", {}).items()]
        scope += [(s, False, tuple(v)) for s, v in getattr(p, "unless", {}).items()]
        for reason, signal, bound, side in made.thresholds():
            found.append(Bound(
                entry["id"], entry["stage"], reason, signal, float(bound), side,
                _param(made, reason, side), tuple(scope),
                getattr(p, "by_language", None) is not None,
            ))  # fmt: skip
    return found


def _param(made: Stage, reason: str, side: str) -> str:
    """The parameter that moves a bound: found by moving each and looking at what moved."""

    def bound_of(params: Any) -> float | None:
        for r, _, bound, s in type(made)(params).thresholds():
            if (r, s) == (reason, side):
                return float(bound)
        return None

    old = bound_of(made.params)
    for field in dataclasses.fields(made.params):
        value = getattr(made.params, field.name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        for other in (value + 1, value - 1, value / 2):
            try:
                moved = dataclasses.replace(made.params, **{field.name: other})
                if bound_of(moved) not in (old, None):
                    return field.name
            except CorpusmillError:
                continue  # out of the parameter's own range: try another
    return ""


def chosen(bounds: Sequence[Bound], step: str, reason: str, side: str) -> Bound:
    """The bound that a request names. Raises ConfigError if there is none."""
    for bound in bounds:
        if (bound.step, bound.reason, bound.side) == (step, reason, side):
            return bound
    raise ConfigError(f"no bound {step}:{reason} ({side})")


def effect(store: Store, bound: Bound, value: float) -> dict[str, Any]:
    """What would change were the bound at `value`: four groups with their number, their characters
    and some documents.

    ``in``: dropped by this rule alone, now past all rules of their phase (what later phases would
    say is not known). ``other``: dropped by this rule first, still dropped by another.
    ``out``: kept, now dropped. ``anyway``: dropped by another rule, now by this one too.
    """
    column = f"{quoted(bound.signal)}::DOUBLE"
    sign = "<" if bound.side == "low" else ">"
    breaks = f"{column} {sign} ?"
    held, values = _scope(bound)
    rule = "list_contains(broken, ?)"
    groups = {
        "in": (f"{rule} AND complete AND len(broken) = 1 AND NOT ({breaks})", [bound.rule, value]),
        "other": (
            f"{rule} AND complete AND len(broken) > 1 AND step = ? AND reason = ? AND NOT "
            f"({breaks})", [bound.rule, bound.step, bound.reason, value],
        ),
        "out": (f"state = 'kept' AND {breaks} AND {held}", [value, *values]),
        "anyway": (
            f"state = 'dropped' AND NOT {rule} AND {breaks} AND {held}",
            [bound.rule, value, *values],
        ),
    }  # fmt: skip
    told: dict[str, Any] = {}
    for name, (where, parameters) in groups.items():
        sums = store.rows(
            f"SELECT count(*) AS documents, coalesce(sum(characters), 0)::BIGINT AS characters "
            f"FROM documents WHERE {where}", parameters,
        )[0]  # fmt: skip
        near = store.rows(
            f"SELECT id, url, {column} AS value FROM documents WHERE {where} "
            f"ORDER BY abs({column} - {bound.bound!r}), n LIMIT {_EXAMPLES}", parameters,
        )  # fmt: skip
        told[name] = {**sums, "examples": near}
    lost = store.rows(
        f"SELECT count(*) AS c FROM documents WHERE {rule} AND NOT complete", [bound.rule]
    )[0]["c"]
    kept = store.rows("SELECT count(*) AS c FROM documents WHERE state = 'kept'")[0]["c"]
    return {**told, "kept": kept, "unknown": lost, "line": line(bound, value)}


def _scope(bound: Bound) -> tuple[str, list[str]]:
    parts, values = ["TRUE"], []
    for signal, must, words in bound.scope:
        places = ", ".join("?" for _ in words)
        parts.append(f"({quoted(signal)}::VARCHAR IN ({places})) = {str(must).upper()}")
        values += list(words)
    return " AND ".join(parts), values


def line(bound: Bound, value: float) -> str:
    """What makes a run with this bound, to be copied."""
    number = str(int(value)) if value == int(value) else repr(value)
    if not bound.param:
        return f"# no single parameter of {bound.stage} sets this bound"
    return f"--set steps.{bound.step}.{bound.param}={number}"


__all__ = ["Bound", "bounds_of", "chosen", "effect", "line"]
