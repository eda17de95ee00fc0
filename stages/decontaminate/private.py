"""Texts without the items of private benchmarks, for reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from corpusmill.pipeline.errors import AssetError

from .benchmarks import Benchmark
from .index import ContaminationIndex, Hit
from .rules import Rules

_AROUND: Final = 200
"""Characters beside a found item that go with it, and as many more as the item has: its answer or
its other half may stand there."""

_COPIES: Final = 50
"""An item is found once in a text, so the text is searched until nothing is: so often at most."""


class PrivateItems:
    """The items of those of `benchmarks` that are private."""

    def __init__(self, benchmarks: Sequence[Benchmark], rules: Rules) -> None:
        private = [b for b in benchmarks if b.private]
        self._reach = {
            f"{b.name}/{i.id}": _AROUND + sum(map(len, (i.question, i.answer, *i.options)))
            for b in private
            for i in b.items
        }
        self._index: ContaminationIndex | None = None
        if private:
            try:
                self._index = ContaminationIndex.build(private, rules)
            except AssetError:  # not one of their items can be found
                return

    def without(self, text: str) -> str:
        """`text`, with the name of an item in the place of each and what stands around it."""
        if self._index is None:
            return text
        for _ in range(_COPIES):
            (hits,) = self._index.find([text])
            if not hits:
                return text
            text = self._replaced(text, hits)
        return ""  # more of it than anything else

    def _replaced(self, text: str, hits: Sequence[Hit]) -> str:
        pieces = []
        at = 0
        for hit in hits:
            reach = self._reach[hit.name]
            start, end = max(0, hit.start - reach), hit.end + reach
            if end > at:
                pieces += [text[at : max(at, start)], f"[{hit.name}]"]
                at = end
        return "".join([*pieces, text[at:]])
