"""Clusters of texts alike in content: spherical k-means over vectors, in whole numbers.

Centres are unit vectors like those of the texts (`embedding.py`), so that a text's centre is that
of the largest product, exactly, on every machine; of equal ones the first. Training begins with
centres spread by k-means++ (Arthur and Vassilvitskii 2007), its draws made by a keyed hash, and
ends when no text changes its cluster or after `ROUNDS`.

Before anything is compared the mean direction of the training texts is taken off: sums of words
have much in common whatever the text is about.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from corpusmill.pipeline.errors import AssetError, ConfigError

from .embedding import DIMENSIONS, LENGTH, NAME, cosines, products, unit

if TYPE_CHECKING:
    import numpy.typing as npt

    from .embedding import Vectors

SCHEMA = "corpusmill/clusters/1"
ROUNDS = 50
_BLOCK = 4096
"""Vectors compared with the centres at a time."""


@dataclass(frozen=True, slots=True)
class Clusters:
    """`centres`: a row a cluster. `middle`: what is taken off a vector before. `words`: the words
    that mark each cluster, for readers."""

    centres: Vectors
    middle: Vectors
    words: tuple[tuple[str, ...], ...]

    def assign(self, vectors: Vectors) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """The cluster of each vector and the cosine with its centre, 4 decimals."""
        places, largest = nearest(centred(vectors, self.middle), self.centres)
        return places, cosines(largest)

    def to_bytes(self) -> bytes:
        """The file of the clusters."""
        head = {"schema": SCHEMA, "embedding": NAME, "middle": self.middle.tolist()}
        lines = [json.dumps(head, sort_keys=True)]
        for words, centre in zip(self.words, self.centres.tolist(), strict=True):
            lines.append(json.dumps({"words": words, "centre": centre}, ensure_ascii=False))
        return ("\n".join(lines) + "\n").encode()


def load_clusters(path: str) -> Clusters:
    """The clusters in a file. Raises AssetError where it is missing, damaged, or another's."""
    try:
        with open(path, encoding="utf-8") as file:
            head, *rows = [json.loads(line) for line in file]
        for key, wanted in (("schema", SCHEMA), ("embedding", NAME)):
            if head[key] != wanted:
                raise ValueError(f"its {key} is {head[key]!r}, not {wanted!r}")
        middle = np.array(head["middle"], np.int16)
        centres = np.array([row["centre"] for row in rows], np.int16)
        if middle.shape != (DIMENSIONS,) or centres.shape != (len(rows), DIMENSIONS) or not rows:
            raise ValueError(f"its vectors have not {DIMENSIONS} numbers")
        words = tuple(tuple(map(str, row["words"])) for row in rows)
    except (OSError, ValueError, KeyError, TypeError, OverflowError) as error:
        raise AssetError(
            f"{path} is no file of clusters: {error}", hint="make it with corpusmill train clusters"
        ) from error
    return Clusters(centres, middle, words)


def centred(vectors: Vectors, middle: Vectors) -> Vectors:
    """The vectors without their part along `middle`, scaled again; a vector of zeros stays."""
    along = products(vectors, middle[None, :]).astype(np.int64)
    wide = vectors.astype(np.int64) * LENGTH**2 - along * middle.astype(np.int64)
    return unit(wide)


def nearest(
    vectors: Vectors, centres: Vectors
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """For each vector the centre of the largest product, the first of equal ones, and it."""
    places = np.zeros(len(vectors), np.int64)
    largest = np.zeros(len(vectors), np.float32)
    for start in range(0, len(vectors), _BLOCK):
        found = products(vectors[start : start + _BLOCK], centres)
        places[start : start + _BLOCK] = found.argmax(axis=1)
        largest[start : start + _BLOCK] = found.max(axis=1)
    return places, largest


def fit_centres(vectors: Vectors, k: int, seed: int) -> tuple[Vectors, npt.NDArray[np.int64]]:
    """`k` centres and the cluster of each of the vectors, which must be in an order of their own,
    by a keyed hash, since draws go by place. Raises ConfigError for fewer different vectors."""
    centres = _spread(vectors, k, seed)
    places, _ = nearest(vectors, centres)
    for _ in range(ROUNDS):
        sums = np.zeros((k, vectors.shape[1]), np.int64)
        np.add.at(sums, places, vectors.astype(np.int64))
        filled = np.bincount(places, minlength=k) > 0
        centres = np.where(filled[:, None], unit(sums), centres)
        moved, _ = nearest(vectors, centres)
        if (moved == places).all():
            break
        places = moved
    return centres, places


def _spread(vectors: Vectors, k: int, seed: int) -> Vectors:
    """Different vectors to begin with, each drawn with a chance by its distance to the others."""
    chosen = [_draw(np.ones(len(vectors), np.int64), seed, 0)]
    nearest_yet = np.full(len(vectors), -float(LENGTH**2), np.float32)
    while len(chosen) < k:
        last = products(vectors, vectors[chosen[-1]][None, :])[:, 0]
        nearest_yet = np.maximum(nearest_yet, last)
        # In units that keep the sum far below 2 ** 63; rounding makes equal ones differ a bit.
        gap = np.maximum(0, LENGTH**2 - nearest_yet.astype(np.int64)) // LENGTH
        gap[gap < 10] = 0
        if not gap.any():
            raise ConfigError(
                f"only {len(chosen)} of the texts differ, too few for {k} clusters",
                hint="ask for fewer clusters, or give more texts",
            )
        chosen.append(_draw(gap, seed, len(chosen)))
    return vectors[chosen]


def _draw(weights: npt.NDArray[np.int64], seed: int, number: int) -> int:
    """A place, with a chance in proportion to its weight."""
    total = np.cumsum(weights)
    digest = hashlib.blake2b(f"clusters {seed} {number}".encode(), digest_size=16).digest()
    return int(np.searchsorted(total, int.from_bytes(digest) % int(total[-1]), side="right"))


def marking_words(
    words: Sequence[set[str]], places: npt.NDArray[np.int64], k: int, most: int = 8
) -> tuple[tuple[str, ...], ...]:
    """The words that stand in many texts of each cluster and in few of the others: by the share
    within squared, over the share in all."""
    everywhere: dict[str, int] = {}
    within: list[dict[str, int]] = [{} for _ in range(k)]
    for mine, place in zip(words, places.tolist(), strict=True):
        for word in mine:
            everywhere[word] = everywhere.get(word, 0) + 1
            within[place][word] = within[place].get(word, 0) + 1
    return tuple(
        tuple(sorted(
            (word for word, count in counts.items() if count > 1),
            key=lambda word: (-counts[word] ** 2 / everywhere[word], word),
        )[:most])
        for counts in within
    )  # fmt: skip
