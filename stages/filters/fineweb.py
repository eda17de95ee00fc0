"""FineWeb's line rules, on the signals of `measure.fineweb`.

Defaults: Penedo et al. 2024, section 3.6: drop where at most 12 % of lines end in a sentence mark,
10 % or more of characters are in repeated lines, 67 % or more of lines have fewer than 30
characters. `max_dup_line_chars` is 0.01 in their published code, not the paper's 0.1: that is the
default here, since it made the data set. The list rule (line breaks over words, at most 0.3) is in
the code only. The bounds are strict, as there: a value equal to the bound is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

from .rules import Bound, Scope, rule_set


@dataclass(frozen=True, slots=True)
class Params(Scope):
    """Bounds; None switches a rule off."""

    min_line_punct: float | None = 0.12
    max_short_lines: float | None = 0.67
    max_dup_line_chars: float | None = 0.01
    max_newlines_per_word: float | None = 0.3


def _bounds(p: Params) -> tuple[Bound, ...]:
    return (
        Bound("fineweb_empty", "fineweb_lines", low=1),
        Bound("fineweb_line_punct", "fineweb_line_punct", low=p.min_line_punct, optional=True),
        Bound("fineweb_short_lines", "fineweb_short_lines", high=p.max_short_lines),
        Bound("fineweb_dup_lines", "fineweb_dup_line_chars", high=p.max_dup_line_chars),
        Bound("fineweb_list", "fineweb_newlines_per_word", high=p.max_newlines_per_word),
    )


STAGE = rule_set("filters.fineweb", 1, Params, _bounds)
