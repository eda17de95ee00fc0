"""Contamination: documents that hold items of evaluation sets.

What counts as found, and the papers behind it, is in `corpusmill.stages.decontaminate.index`; the
layouts that can be read in `corpusmill.stages.decontaminate.benchmarks`. Run it before PII removal:
tags would split the n-grams.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from corpusmill.pipeline.document import Document, Drop, Outcome
from corpusmill.pipeline.errors import ConfigError, StageError
from corpusmill.pipeline.stage import Asset, SignalType, Stage
from corpusmill.stages.measure.text_tables import known_words

from .benchmarks import Benchmark, load
from .index import ContaminationIndex, Hit
from .private import PrivateItems
from .rules import Rules


@dataclass(frozen=True)
class NgramParams:
    """`benchmarks`: the folder. `action`: "drop" documents with a hit, "annotate" them, or "cut"
    what was found out of them, with `cut_margin` characters on both sides, up to a space; pieces
    of fewer than `cut_least` characters go too, and documents with more than `cut_most` hits are
    dropped (200, 200 and 10 in GPT-3: Brown et al. 2020, appendix C). `public`: items
    (``benchmark/item``) whose finding is to be passed over, since they quote what is known to be
    public. `rules`: see `Rules`."""

    benchmarks: Asset
    action: Literal["drop", "cut", "annotate"] = "drop"
    public: tuple[str, ...] = ()
    rules: Rules = field(default_factory=Rules)
    cut_margin: int = 200
    cut_least: int = 200
    cut_most: int = 10

    def __post_init__(self) -> None:
        if self.action not in ("drop", "cut", "annotate"):
            raise ConfigError(
                f"decontaminate.ngram: action={self.action!r}", hint="write drop, cut or annotate"
            )
        for name in ("cut_margin", "cut_least", "cut_most"):
            if getattr(self, name) < 0:
                raise ConfigError(f"decontaminate.ngram: {name}={getattr(self, name)} is negative")
        for name in self.public:
            if "/" not in name:
                raise ConfigError(
                    f"decontaminate.ngram: public item {name!r}", hint="write benchmark/item"
                )


class Ngram(Stage):
    """Drops with reason ``contaminated`` (value: ``benchmark/item`` of the first hit in the text),
    or writes ``contamination_hits`` and, where there are any, ``contamination_first``; with "cut"
    both, and drops where nothing would be left."""

    name = "decontaminate.ngram"
    version = 7
    kind = "decide"
    Params = NgramParams
    params: NgramParams

    def __init__(self, params: NgramParams) -> None:
        super().__init__(params)
        self.writes: Mapping[str, SignalType] = {}
        if params.action != "drop":
            self.writes = {"contamination_hits": "int", "contamination_first": "str"}
        self.reasons = ("contaminated",) if params.action != "annotate" else ()
        self.edits_text = params.action == "cut"  # type: ignore[misc]
        self._private: set[str] = set()
        self._index: ContaminationIndex | None = None
        self._texts: dict[str, str] = {}
        self._hidden: PrivateItems | None = None

    def check_assets(self) -> None:
        _check_public(self.params.public, load(self.params.benchmarks))

    def setup(self) -> None:
        """Reads the benchmarks and builds the index. Raises AssetError for a folder that cannot
        be read in full, ConfigError for an item of `public` that is in no benchmark."""
        benchmarks = load(self.params.benchmarks)
        _check_public(self.params.public, benchmarks)
        self._private = {b.name for b in benchmarks if b.private}
        self._index = ContaminationIndex.build(benchmarks, self.params.rules)

    def apply(self, batch: Sequence[Document]) -> list[Outcome]:
        if self._index is None:
            raise StageError("decontaminate.ngram: apply before setup")
        texts = [document.text for document in batch]
        found = self._index.find(texts, known_words(texts))
        return [
            self._one(document, [h for h in hits if h.name not in self.params.public])
            for document, hits in zip(batch, found, strict=True)
        ]

    def findings(self, outcomes: Sequence[Outcome]) -> list[tuple[str, str]]:
        """The set of the first item in a document, and dropped, cut or annotated."""
        done = {"cut": "cut", "annotate": "annotated"}.get(self.params.action, "")
        found = []
        for outcome in outcomes:
            if isinstance(outcome, Drop):
                found.append((str(outcome.value).partition("/")[0], "dropped"))
            elif isinstance(outcome, Document) and "contamination_first" in outcome.signals:
                first = str(outcome.signals["contamination_first"])
                found.append((first.partition("/")[0], done))
        return found

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
            if h.name not in self.params.public and h.benchmark not in self._private
        ]

    def hidden(self, text: str) -> str:
        """Items of private benchmarks have their names in their place."""
        if self._hidden is None:
            self._hidden = PrivateItems(load(self.params.benchmarks), self.params.rules)
        return self._hidden.without(text)

    def _one(self, document: Document, hits: list[Hit]) -> Outcome:
        if self.params.action == "drop":
            return Drop("contaminated", hits[0].name) if hits else document
        if self.params.action == "cut" and hits:
            params = self.params
            left = cut(document.text, hits, params.cut_margin, params.cut_least)
            if not left or len(hits) > params.cut_most:
                return Drop("contaminated", hits[0].name)
            raw = document.text.encode("utf-8", "surrogatepass")
            document.meta.setdefault("text_sha256_raw", hashlib.sha256(raw).hexdigest())
            document.text = left
        document.signals["contamination_hits"] = len(hits)
        if hits:
            document.signals["contamination_first"] = hits[0].name
        return document


def cut(text: str, hits: Sequence[Hit], margin: int, least: int) -> str:
    """What is left of `text` without the `hits` and `margin` characters on both sides of each, up
    to the next space: pieces of `least` characters or more, an empty line between them."""
    pieces = []
    at = 0
    for start, end in [*sorted((h.start, h.end) for h in hits), (len(text) + margin, 0)]:
        stop = max(0, start - margin)
        if stop < len(text):
            stop = max(at, text.rfind(" ", at, stop + 1))
        piece = text[at:stop].strip()
        if len(piece) >= max(1, least):
            pieces.append(piece)
        space = text.find(" ", end + margin)
        at = max(at, len(text) if space < 0 else space)
    return "\n\n".join(pieces)


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
