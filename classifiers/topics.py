"""What a document is about, what form it has, and to which cluster of alike texts it belongs.

The three models read one vector of the text (`embedding.py`, the extra ``embed``), so they are one
stage; each is given or left out. Topics and formats are classes with a definition
(``configs/classifiers/topics.yaml``, ``formats.yaml``); clusters come from the texts alone. The
stage only measures: a mix takes them as domains, ``filters.threshold`` can ask for a score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from corpusmill.pipeline.document import Document, Outcome
from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.stage import Asset, Kind, SignalType, Stage
from corpusmill.stages.measure.language_codes import check_codes

from .clusters_model import Clusters, load_clusters
from .embedding import PACKAGE, Embedder, load_embedder, with_words
from .page_model import PageModel, load_page_model, page_features

UNSURE = "unsure"


@dataclass(frozen=True, slots=True)
class Params:
    """`topic` and `format`: files of ``corpusmill train topics``. `clusters`: one of ``corpusmill
    train clusters``. `languages`: documents whose signal ``lang`` is none of these get nothing;
    empty means every document, though the vectors know English and little else. `min_score`: a
    class that is less likely than that is written as ``unsure``, so that a mix can leave it out."""

    topic: Asset | None = None
    format: Asset | None = None
    clusters: Asset | None = None
    languages: tuple[str, ...] = ("en",)
    min_score: float = 0.0

    def __post_init__(self) -> None:
        check_codes(self.languages, "languages")
        if not 0 <= self.min_score <= 1:
            raise ConfigError(f"min_score is {self.min_score}", hint="a probability, 0 to 1")
        if self.topic is None and self.format is None and self.clusters is None:
            raise ConfigError(
                "classifiers.topics has no model",
                hint="give topic, format or clusters, as topic: package:sample/models/topics.jsonl",
            )


class Topics(Stage):
    """Writes `topic`, `topic_score`, `format`, `format_score`: the likeliest class and its
    probability, 4 decimals; `text_cluster`, a number, and `text_cluster_score`, the cosine with the
    cluster's middle. Nothing for a text without a word."""

    name = "classifiers.topics"
    version = 1
    kind: ClassVar[Kind] = "measure"
    pins = (PACKAGE, "tokenizers")
    Params: ClassVar[type] = Params

    def __init__(self, params: Any) -> None:
        super().__init__(params)
        self.reads = ("lang",) if params.languages else ()
        writes: dict[str, SignalType] = {}
        for name in ("topic", "format"):
            if getattr(params, name) is not None:
                writes |= {name: "str", f"{name}_score": "float"}
        if params.clusters is not None:
            writes |= {"text_cluster": "int", "text_cluster_score": "float"}
        self.writes = writes
        self._embedder: Embedder | None = None
        self._models: list[PageModel] = []
        self._clusters: Clusters | None = None

    def check_assets(self) -> None:
        self._load_models()

    def setup(self) -> None:
        self._embedder = load_embedder(self.name)
        self._load_models()

    def _load_models(self) -> None:
        p: Params = self.params
        named = (("topic", p.topic), ("format", p.format))
        self._models = [load_page_model(str(path), name) for name, path in named if path]
        self._clusters = load_clusters(str(p.clusters)) if p.clusters else None

    def apply(self, batch: Sequence[Document]) -> list[Outcome]:
        p: Params = self.params
        if self._embedder is None:
            raise ConfigError(f"{self.name}: apply before setup")
        asked = [d for d in batch if not p.languages or d.signals.get("lang", "") in p.languages]
        vectors = self._embedder.vectors([doc.text for doc in asked])
        chosen = with_words(vectors)
        docs = [asked[n] for n in np.flatnonzero(chosen).tolist()]
        vectors = vectors[chosen]
        shaped = any(model.shape for model in self._models)
        features = page_features(vectors, [d.text for d in docs], [d.url for d in docs], shaped)
        for model in self._models:
            mine = features[:, : model.weights.shape[1]]
            for doc, (name, score) in zip(docs, model.judge(mine), strict=True):
                doc.signals[model.signal] = name if score >= p.min_score else UNSURE
                doc.signals[f"{model.signal}_score"] = score
        if self._clusters is not None:
            places, cosines = self._clusters.assign(vectors)
            for doc, place, cosine in zip(docs, places.tolist(), cosines.tolist(), strict=True):
                doc.signals["text_cluster"] = place
                doc.signals["text_cluster_score"] = cosine
        return list(batch)


STAGE = Topics
