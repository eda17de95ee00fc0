"""Trains clusters of texts and says what words mark each.

Every figure in the card is a whole number or a share of texts, and the clusters are the same for
the same texts in whatever order (`clusters_model.py`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.places import resolve_path
from corpusmill.stages.json_rows import read_rows, text_of

from .clusters_model import Clusters, centred, fit_centres, marking_words, nearest
from .embedding import LENGTH, NAME, load_embedder, unit, with_words, words_of
from .train_config import read_config

SCHEMA = "corpusmill/clusters-card/1"
_WORD_LENGTH = 4
"""Letters of a word that can mark a cluster."""


@dataclass(frozen=True, slots=True)
class ClustersConfig:
    """A training run: `texts`, JSONL files (``.gz`` or plain) whose rows have a field `text`; how
    many `clusters`; `seed` of the first centres; `examples` of each whose beginnings the card has,
    those nearest to its middle: 0 where texts may not be shown."""

    name: str
    texts: tuple[str, ...]
    clusters: int = 256
    seed: int = 1
    examples: int = 3

    def __post_init__(self) -> None:
        if not self.texts or not 2 <= self.clusters <= 65_536:
            raise ConfigError(
                f"{len(self.texts)} files of texts, {self.clusters} clusters",
                hint="name a file; ask for 2 to 65,536 clusters",
            )


def train_clusters(config: ClustersConfig, base: Path, out: Path) -> dict[str, Any]:
    """Trains and writes ``clusters.jsonl`` and ``card.json`` to `out`; returns the card.

    Raises ConfigError for too few texts, InputError for a file of texts, StageError where the
    extra is missing.
    """
    texts: list[str] = []
    data = []
    for name in config.texts:
        path = resolve_path(name, base)
        mine = [text_of(row, f"{path.name}: line {number}") for number, row in read_rows(path)]
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        data.append({"file": name, "sha256": digest, "texts": len(mine)})
        texts += mine
    # In an order that hangs on the texts alone; draws of the first centres go by place.
    texts = sorted(set(texts), key=_digest)
    embedder = load_embedder("train clusters")
    vectors = embedder.vectors(texts)
    chosen = with_words(vectors)
    texts = [texts[n] for n in np.flatnonzero(chosen).tolist()]
    vectors = vectors[chosen]
    if len(texts) < config.clusters:
        raise ConfigError(f"{len(texts)} different texts, too few for {config.clusters} clusters")
    middle = unit(vectors.astype(np.int64).sum(axis=0, keepdims=True))[0]
    turned = centred(vectors, middle)
    centres, places = fit_centres(turned, config.clusters, config.seed)
    words = marking_words([_marks(text) for text in texts], places, config.clusters)
    made = Clusters(centres, middle, words)
    raw = made.to_bytes()
    out.mkdir(parents=True, exist_ok=True)
    (out / "clusters.jsonl").write_bytes(raw)
    _, products = nearest(turned, centres)
    sizes = np.bincount(places, minlength=config.clusters)
    card: dict[str, Any] = {
        "schema": SCHEMA, "name": config.name, "embedding": NAME,
        "model": {"file": "clusters.jsonl", "size": len(raw),
                  "sha256": hashlib.sha256(raw).hexdigest()},
        "params": {"clusters": config.clusters, "seed": config.seed},
        "data": data,
        "training": {"texts": len(texts), "largest": int(sizes.max()), "smallest": int(sizes.min()),
                     "mean_cosine": round(float(products.mean()) / LENGTH**2, 4)},
        "clusters": _described(texts, places, products, words, config.examples),
    }  # fmt: skip
    text = json.dumps(card, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    (out / "card.json").write_text(text, encoding="utf-8", newline="\n")
    return card


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass")).digest()


def _marks(text: str) -> set[str]:
    return {word for word in words_of(text) if len(word) >= _WORD_LENGTH}


def _described(
    texts: Sequence[str], places: Any, products: Any, words: Sequence[Sequence[str]], examples: int
) -> list[dict[str, Any]]:
    """Number, size, words and some texts of each cluster, the largest first."""
    rows = []
    for number, own in enumerate(words):
        members = np.flatnonzero(places == number)
        middle = members[np.argsort(-products[members], kind="stable")][:examples]
        rows.append({
            "cluster": number, "texts": len(members), "words": list(own),
            "examples": [" ".join(texts[n][:300].split())[:100] for n in middle.tolist()],
        })  # fmt: skip
    return sorted(rows, key=lambda row: (-row["texts"], row["cluster"]))


def train_clusters_file(path: Path, out: Path) -> dict[str, Any]:
    """`train_clusters` with the configuration in a YAML file."""
    return train_clusters(read_config(path, ClustersConfig), path.resolve().parent, out)
