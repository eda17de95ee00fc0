"""Drops what earlier runs hold already, and what was removed from them and must not come back.

Each text is looked up in indexes (see `corpusmill.stages.dedup.index`): the same content but for
white space is ``known_content``, a text that shares a band and whose estimated similarity is at
least `min_jaccard` is ``known_near``. Against an index that was made of removed documents
(``--only``) the reasons are ``forgotten_content`` and ``forgotten_near``. The value of a drop is
the run and the id of the document that it is.

No document is compared with another of its own run: put it before `dedup.exact` and
`dedup.minhash`, so that these do less. What an index was made with (bands, rows, words a shingle,
seed) is taken from it. An index holds the texts as they were at the end of their run, personal data
replaced and lines cut; a new text that still has them is found as near, not as same.

What is to be forgotten by address needs no index: `filters.url` (``optout``) and `filters.listed`
name hosts, URLs and records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

from corpusmill.pipeline.document import Document, Drop, Outcome
from corpusmill.pipeline.errors import AssetError, ConfigError
from corpusmill.pipeline.stage import Asset, Kind, Stage


@dataclass(frozen=True, slots=True)
class Params:
    """`indexes`: files that ``corpusmill dedup index`` made; the first that knows a document
    decides. `min_jaccard`: from which similarity on a text is known; 1 leaves those alone that are
    not the same in every minimum."""

    indexes: tuple[Asset, ...]
    min_jaccard: float = 0.7

    def __post_init__(self) -> None:
        if not self.indexes:
            raise ConfigError("dedup.known: indexes is empty", hint="or leave the step out")
        if not 0 <= self.min_jaccard <= 1:
            raise ConfigError(f"min_jaccard is {self.min_jaccard}", hint="a share, 0 to 1")


class Known(Stage):
    """`dedup.known`: see the module docstring."""

    name: ClassVar[str] = "dedup.known"
    version: ClassVar[int] = 1
    kind: ClassVar[Kind] = "decide"
    Params: ClassVar[type] = Params
    reasons: tuple[str, ...] = (
        "known_content", "known_near", "forgotten_content", "forgotten_near",
    )  # fmt: skip

    def check_assets(self) -> None:
        from .index import read_head

        for path in self.params.indexes:
            read_head(Path(path))

    def setup(self) -> None:
        """Maps the indexes. Raises AssetError for one that is none or is not whole."""
        from .index import Index

        self._indexes = [Index(path) for path in self.params.indexes]
        self._sketchers: dict[str, Any] = {}
        exact = Fraction(str(self.params.min_jaccard))
        self._least = []
        for index in self._indexes:
            if index.head.get("purpose") not in ("known", "forgotten"):
                raise AssetError(f"the index of {index.head.get('run')!r} has no purpose")
            self._sketchers.setdefault(str(index.parameters), index.sketcher())
            width = index.parameters["bands"] * index.parameters["rows"]
            self._least.append(-(-exact.numerator * width // exact.denominator))

    def apply(self, batch: Sequence[Document]) -> list[Outcome]:
        """One outcome for each document."""
        texts = [document.text for document in batch]
        outcomes: list[Outcome] = list(batch)
        sketches: dict[str, Any] = {}
        for index, least in zip(self._indexes, self._least, strict=True):
            form = str(index.parameters)
            if form not in sketches:
                sketches[form] = self._sketchers[form](texts)
            found = index.near(sketches[form], least) | index.same_content(texts)
            for place, match in found.items():
                if isinstance(outcomes[place], Document):
                    reason = f"{index.head['purpose']}_{'content' if match.same else 'near'}"
                    outcomes[place] = Drop(reason, f"{index.head['run']}/{match.id}")
        return outcomes


STAGE = Known
