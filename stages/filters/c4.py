"""C4's page rules, on the signals of `measure.c4`.

Defaults: Raffel et al. 2020, section 2.2: pages with "lorem ipsum" or a curly bracket are dropped,
and pages with fewer than 5 sentences in the lines that the line rules keep. This stage changes no
text; `filters.c4_lines` takes the lines out. The bracket rule drops nearly all pages on
programming.
"""

from __future__ import annotations

from dataclasses import dataclass

from .rules import Bound, Scope, rule_set


@dataclass(frozen=True, slots=True)
class Params(Scope):
    """Which page rules are in force."""

    lorem_ipsum: bool = True
    curly_bracket: bool = True
    min_sentences: int | None = 5


def _bounds(p: Params) -> tuple[Bound, ...]:
    both = p.lorem_ipsum and p.curly_bracket
    return (
        # Of the dialect datatrove, where the first hit is the reason.
        Bound(
            "c4_curly_bracket",
            "c4_curly_first",
            high=0 if both else None,
            optional=True,
            extra=True,
        ),
        Bound("c4_lorem_ipsum", "c4_lorem_ipsum", high=0 if p.lorem_ipsum else None),
        Bound("c4_curly_bracket", "c4_curly_bracket", high=0 if p.curly_bracket else None),
        Bound("c4_few_sentences", "c4_sentences", low=p.min_sentences),
    )


STAGE = rule_set("filters.c4", 1, Params, _bounds)
