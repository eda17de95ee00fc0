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

from corpusmill.pipeline.document import Document, Drop, Outcome
from corpusmill.pipeline.stage import Kind, Side, Stage

from .rules import Bound, Rules, Scope


@dataclass(frozen=True, slots=True)
class Params(Scope):
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
        self._rules = Rules(self.name, params, _bounds)
        self.reads, self.reasons = self._rules.reads, self._rules.reasons

    def setup(self) -> None:
        """Reads the bounds of languages, where a file of them is named."""
        self._rules.setup()

    def thresholds(self) -> list[tuple[str, str, float, Side]]:
        """The bounds of the rules."""
        return self._rules.thresholds()

    def broken(self, batch: Sequence[Document]) -> list[list[Drop]]:
        """All rules that each document breaks."""
        return self._rules.broken(batch)

    def apply(self, batch: Sequence[Document]) -> list[Outcome]:
        """Drops by the first rule that a document breaks."""
        return self._rules.apply(batch)


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


STAGE = C4

__all__ = ["C4", "STAGE", "Params"]
