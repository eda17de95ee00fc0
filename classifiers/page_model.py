"""What a page is about, and what form it has: a linear model with a class for each answer.

Features are the vector of the text (`embedding.py`) and, where the model asks for it, its shape
(`shape.py`): whole numbers all, as are the weights, so that the sums are exact; one exponential a
class at the end, then 4 decimals.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from corpusmill.pipeline.errors import AssetError

from .embedding import DIMENSIONS, NAME
from .shape import NAMES, shape

if TYPE_CHECKING:
    import numpy.typing as npt

    from .embedding import Vectors

SCHEMA = "corpusmill/page-model/1"
UNIT = 1_000_000
"""Weights are in units of 1 / `UNIT` of a logit per whole number of a feature."""


def page_features(
    vectors: Vectors, texts: Sequence[str], urls: Sequence[str], with_shape: bool
) -> npt.NDArray[np.int64]:
    """A row a text: its vector and, `with_shape`, the numbers of its shape."""
    meaning = vectors.astype(np.int64)
    if not with_shape:
        return meaning
    shapes = [shape(text, url) for text, url in zip(texts, urls, strict=True)]
    rows = np.array(shapes, np.int64).reshape(len(texts), len(NAMES))
    return np.hstack([meaning, rows])


@dataclass(frozen=True, slots=True)
class PageModel:
    """`signal`: what it answers, "topic" or "format". `weights`: a row a class of `classes`."""

    signal: str
    classes: tuple[str, ...]
    shape: bool
    weights: npt.NDArray[np.int64]
    biases: npt.NDArray[np.int64]

    def logits(self, features: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """A row a text, a column a class."""
        result: npt.NDArray[np.float64] = (features @ self.weights.T + self.biases) / UNIT
        return result

    def judge(self, features: npt.NDArray[np.int64]) -> list[tuple[str, float]]:
        """The likeliest class of each text and its probability; the first by name of equal ones."""
        return [likeliest(row, self.classes) for row in self.logits(features).tolist()]

    def to_bytes(self) -> bytes:
        """The file of the model."""
        head = {
            "schema": SCHEMA, "signal": self.signal, "embedding": NAME, "shape": self.shape,
            "features": self.weights.shape[1],
        }  # fmt: skip
        lines = [json.dumps(head, sort_keys=True)]
        for name, bias, row in zip(
            self.classes, self.biases.tolist(), self.weights.tolist(), strict=True
        ):
            lines.append(json.dumps({"class": name, "bias": bias, "weights": row}))
        return ("\n".join(lines) + "\n").encode()


def likeliest(logits: Sequence[float], classes: Sequence[str]) -> tuple[str, float]:
    """The class with the largest logit and its softmax, 4 decimals."""
    best = max(range(len(logits)), key=logits.__getitem__)
    rest = math.fsum(math.exp(value - logits[best]) for value in logits)
    return classes[best], round(1 / rest, 4)


def load_page_model(path: str, signal: str) -> PageModel:
    """The model in a file, which must answer `signal`. Raises AssetError where it is missing,
    damaged, or another's."""
    try:
        with open(path, encoding="utf-8") as file:
            head, *rows = [json.loads(line) for line in file]
        _check_head(head, signal)
        width = DIMENSIONS + (len(NAMES) if head["shape"] else 0)
        if head["features"] != width or any(len(row["weights"]) != width for row in rows):
            raise ValueError(f"it has not {width} features")
        classes = tuple(str(row["class"]) for row in rows)
        if list(classes) != sorted(set(classes)) or not classes:
            raise ValueError("its classes are not in order")
        weights = np.array([row["weights"] for row in rows], np.int64)
        biases = np.array([row["bias"] for row in rows], np.int64)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise AssetError(
            f"model {path} is no model of a page's {signal}: {error}",
            hint="make it with corpusmill train topics",
        ) from error
    return PageModel(signal, classes, bool(head["shape"]), weights, biases)


def _check_head(head: Mapping[str, Any], signal: str) -> None:
    for key, wanted in (("schema", SCHEMA), ("signal", signal), ("embedding", NAME)):
        if head[key] != wanted:
            raise ValueError(f"its {key} is {head[key]!r}, not {wanted!r}")
