"""C4's page rules, on the signals of `measure.c4`.

Defaults: Raffel et al. 2020, section 2.2: pages with "lorem ipsum" or a curly bracket are dropped,
and pages with fewer than 5 sentences in the lines that the line rules keep. This stage changes no
text; `filters.c4_lines` takes the lines out. The bracket rule drops nearly all pages on
programming.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from corpusmill.pipeline.document import Document, Outcome
from corpusmill.pipeline.stage import Kind, Stage

from .rules import Bound, first_broken


@dataclass(frozen=True, slots=True)
class Params:
    """Which page rules are in force."""

    lorem_ipsum: bool = True
    curly_bracket: bool = True
    min_sentences: int | None = 5


class C4(Stage):
    """`filters.c4`: see the module docstring."""

    name: ClassVar[str] = "filters.c4"
    version: ClassVar[int] = 1
    kind: ClassVar[Kind] = "decide"
    Params: ClassVar[type] = Params

    def __init__(self, params: Any) -> None:
        super().__init__(params)
        p: Params = params
        both = p.lorem_ipsum and p.curly_bracket
        self.bounds = (
            # Of the dialect datatrove, whose first hit is the reason; not in `reads`, since others
            # do not write it.
            Bound("c4_curly_bracket", "c4_curly_first", high=0 if both else None, optional=True),
            Bound("c4_lorem_ipsum", "c4_lorem_ipsum", high=0 if p.lorem_ipsum else None),
            Bound("c4_curly_bracket", "c4_curly_bracket", high=0 if p.curly_bracket else None),
            Bound("c4_few_sentences", "c4_sentences", low=p.min_sentences),
        )
        self.reads = tuple(b.signal for b in self.bounds[1:])
        self.reasons = tuple(b.reason for b in self.bounds[1:])

    def apply(self, batch: Sequence[Document]) -> list[Outcome]:
        """Drops by the first rule that a page breaks."""
        return [first_broken(d, self.bounds, self.name) or d for d in batch]


STAGE = C4

__all__ = ["C4", "STAGE", "Params"]
