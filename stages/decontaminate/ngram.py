"""Contamination: documents that hold items of evaluation sets.

What counts as found, and the papers behind it, is in `corpusmill.stages.decontaminate.index`; the
layouts that can be read in `corpusmill.stages.decontaminate.benchmarks`. Run it before PII removal:
tags would split the n-grams.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from corpusmill.pipeline.document import Document, Drop, Outcome
from corpusmill.pipeline.errors import ConfigError, StageError
from corpusmill.pipeline.stage import Asset, SignalType, Stage

from .benchmarks import Benchmark, load
from .index import ContaminationIndex, Hit
from .rules import Rules


@dataclass(frozen=True)
class NgramParams:
    """`benchmarks`: the folder. `action`: "drop" documents with a hit, or "annotate" them.
    `public`: items (``benchmark/item``) whose finding is to be passed over, since they quote what
    is known to be public. `rules`: see `Rules`."""

    benchmarks: Asset
    action: Literal["drop", "annotate"] = "drop"
    public: tuple[str, ...] = ()
    rules: Rules = field(default_factory=Rules)

    def __post_init__(self) -> None:
        if self.action not in ("drop", "annotate"):
            raise ConfigError(
                f"decontaminate.ngram: action={self.action!r}", hint="write drop or annotate"
            )
        for name in self.public:
            if "/" not in name:
                raise ConfigError(
                    f"decontaminate.ngram: public item {name!r}", hint="write benchmark/item"
                )


class Ngram(Stage):
    """Drops with reason ``contaminated`` (value: ``benchmark/item`` of the first hit in the text),
    or writes ``contamination_hits`` and, where there are any, ``contamination_first``."""

    name = "decontaminate.ngram"
    version = 2
    kind = "decide"
    Params = NgramParams
    params: NgramParams

    def __init__(self, params: NgramParams) -> None:
        super().__init__(params)
        self.writes: Mapping[str, SignalType] = {}
        if params.action == "annotate":
            self.writes = {"contamination_hits": "int", "contamination_first": "str"}
        self.reasons = ("contaminated",) if params.action == "drop" else ()
        self._index: ContaminationIndex | None = None
        self._texts: dict[str, str] = {}

    def setup(self) -> None:
        """Reads the benchmarks and builds the index. Raises AssetError for a folder that cannot
        be read in full, ConfigError for an item of `public` that is in no benchmark."""
        benchmarks = load(self.params.benchmarks)
        _check_public(self.params.public, benchmarks)
        self._index = ContaminationIndex.build(benchmarks, self.params.rules)

    def apply(self, batch: Sequence[Document]) -> list[Outcome]:
        if self._index is None:
            raise StageError("decontaminate.ngram: apply before setup")
        found = self._index.find([document.text for document in batch])
        return [
            self._one(document, [h for h in hits if h.name not in self.params.public])
            for document, hits in zip(batch, found, strict=True)
        ]

    def spans(self, document: Document) -> list[tuple[int, int, str]]:
        """Each item found, with its method and its own text."""
        if self._index is None:
            raise StageError("decontaminate.ngram: spans before setup")
        (hits,) = self._index.find([document.text])
        if hits and not self._texts:
            self._texts = {
                f"{b.name}/{item.id}": f"{item.question} {item.answer}".strip()
                for b in load(self.params.benchmarks)
                for item in b.items
            }
        return [
            (h.start, h.end, f"{h.name} by {h.method}, {h.coverage:.0%}: {self._texts[h.name]}")
            for h in hits
            if h.name not in self.params.public
        ]

    def _one(self, document: Document, hits: list[Hit]) -> Outcome:
        if self.params.action == "drop":
            return Drop("contaminated", hits[0].name) if hits else document
        document.signals["contamination_hits"] = len(hits)
        if hits:
            document.signals["contamination_first"] = hits[0].name
        return document


def _check_public(public: Sequence[str], benchmarks: Sequence[Benchmark]) -> None:
    if not public:
        return
    names = {f"{b.name}/{item.id}" for b in benchmarks for item in b.items}
    for name in public:
        if name not in names:
            near = difflib.get_close_matches(name, sorted(names), n=1)
            raise ConfigError(
                f"decontaminate.ngram: public item {name!r} is in no benchmark",
                hint=f"did you mean {near[0]!r}?" if near else None,
            )


Params = NgramParams
STAGE = Ngram
