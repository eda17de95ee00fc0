"""Gopher's repetition rules, on the signals of `measure.repetition`.

Defaults: Rae et al. 2021, table A1. The rules decide in the order of the parameters, and the
first broken one is the reason, `rep_empty` before them: a document of nothing but white space.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from .rules import Bound, Scope, rule_set


@dataclass(frozen=True, slots=True)
class Params(Scope):
    """Largest fractions allowed; None switches a rule off. Signals are ``rep_<name>``."""

    dup_paras: float | None = 0.30
    dup_para_chars: float | None = 0.20
    dup_lines: float | None = 0.30
    dup_line_chars: float | None = 0.20
    top_2gram: float | None = 0.20
    top_3gram: float | None = 0.18
    top_4gram: float | None = 0.16
    dup_5gram: float | None = 0.15
    dup_6gram: float | None = 0.14
    dup_7gram: float | None = 0.13
    dup_8gram: float | None = 0.12
    dup_9gram: float | None = 0.11
    dup_10gram: float | None = 0.10


_OWN = [f for f in fields(Params) if f.name not in {g.name for g in fields(Scope)}]


def _bounds(p: Params) -> tuple[Bound, ...]:
    return (
        Bound("rep_empty", "rep_filled", low=1),
        *(Bound(f"rep_{f.name}", f"rep_{f.name}", high=getattr(p, f.name)) for f in _OWN),
    )


STAGE = rule_set("filters.gopher_repetition", 2, Params, _bounds)
