"""Quality buckets: where a document lies among many by several scores, as one whole number.

As in Nemotron-CC (Su et al. 2024, 3.2): the scores of different models are not comparable, their
ranks are. Each score is turned into the twentieth of the corpus that it falls in, and an ensemble
is the largest or the mean of those. The edges of the twentieths are a file that `corpusmill
quantiles` makes of a run, so that the same score falls into the same bucket in every run.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from corpusmill.pipeline.document import Document, Outcome
from corpusmill.pipeline.errors import AssetError, ConfigError
from corpusmill.pipeline.stage import Asset, Kind, Stage

SCHEMA = "corpusmill/quantiles/1"


@dataclass(frozen=True, slots=True)
class Params:
    """`signals`: the scores, numbers, better when higher; `lower`: scores that are better when
    lower (perplexity). `edges`: the file of `corpusmill quantiles`, which must hold them all.
    `combine`: max, as Nemotron-CC does (a text is good if any model says so), or mean, rounded
    down."""

    signals: tuple[str, ...]
    edges: Asset
    lower: tuple[str, ...] = ()
    combine: Literal["max", "mean"] = "max"

    def __post_init__(self) -> None:
        names = (*self.signals, *self.lower)
        if not names or len(set(names)) < len(names):
            raise ConfigError(
                f"classifiers.buckets: signals {list(self.signals)}, lower {list(self.lower)}",
                hint="name each score once, in one of the two",
            )


def read_edges(path: str, signals: Sequence[str]) -> dict[str, tuple[float, ...]]:
    """The edges of each of `signals`, ascending. Raises AssetError where the file lacks them."""
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
        if found["schema"] != SCHEMA:
            raise ValueError(f"its schema is {found['schema']!r}, not {SCHEMA!r}")
        edges = {name: tuple(map(float, found["signals"][name])) for name in signals}
    except KeyError as error:
        raise AssetError(
            f"the file of edges {path} has no {error}",
            hint="make it with corpusmill quantiles RUN --signal NAME …",
        ) from None
    except (OSError, ValueError, TypeError) as error:
        raise AssetError(f"the file of edges {path} cannot be used: {error}") from error
    for name, values in edges.items():
        if list(values) != sorted(values) or len({len(v) for v in edges.values()}) != 1:
            raise AssetError(
                f"the file of edges {path}: {name} is not in order, or of other length"
            )
    return edges


class Buckets(Stage):
    """Writes `quality_bucket`, 0 (worst) to the number of edges, and `quality_spread`: how far the
    models are apart on it. Nothing for a document without any of the scores."""

    name = "classifiers.buckets"
    version = 1
    kind: ClassVar[Kind] = "measure"
    Params: ClassVar[type] = Params

    writes = {"quality_bucket": "int", "quality_spread": "int"}  # noqa: RUF012 - by the base class

    def __init__(self, params: Any) -> None:
        super().__init__(params)
        self.reads = (*params.signals, *params.lower)
        self._edges: Mapping[str, tuple[float, ...]] = {}

    def check_assets(self) -> None:
        read_edges(str(self.params.edges), self.reads)

    def setup(self) -> None:
        self._edges = read_edges(str(self.params.edges), self.reads)

    def apply(self, batch: Sequence[Document]) -> list[Outcome]:
        p: Params = self.params
        for doc in batch:
            found = []
            for name, edges in self._edges.items():
                value = doc.signals.get(name)
                if value is None:
                    continue
                place = bisect_right(edges, float(value))
                found.append(len(edges) - place if name in p.lower else place)
            if found:
                mean = sum(found) // len(found)
                doc.signals["quality_bucket"] = max(found) if p.combine == "max" else mean
                doc.signals["quality_spread"] = max(found) - min(found)
        return list(batch)


STAGE = Buckets
