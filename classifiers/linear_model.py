"""A linear quality model over hashed words and word pairs, in whole numbers, in one small file.

The second model beside fastText's: no library, a file that says what it is, and the same score on
any machine (sums of whole numbers; one division and one exponential at the end, then 4 decimals).
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from corpusmill.pipeline.errors import AssetError, ConfigError

from .quality_text import MAX_CHARS, normalise

if TYPE_CHECKING:
    import numpy.typing as npt

MAGIC = b"corpusmill linear model 1\n"
_UNIT = 512


@dataclass(frozen=True, slots=True)
class LinearParams:
    """How a linear model is trained: `bits`: 2 ** bits weights; `epochs` over the texts; `rate` of
    AdaGrad (Duchi et al. 2011); `decay`: pull of the weights to zero. Chosen on the held-out groups
    of the sample's labels, among a few."""

    bits: int = 16
    epochs: int = 8
    rate: float = 0.5
    decay: float = 1e-5

    def __post_init__(self) -> None:
        if not 8 <= self.bits <= 24:
            raise ConfigError(f"bits is {self.bits}", hint="give 8 to 24")
        if self.epochs < 1 or self.rate <= 0 or self.decay < 0:
            raise ConfigError("epochs and rate must be above 0, decay not below it")


@dataclass(frozen=True, slots=True)
class LinearModel:
    """`weights` and `bias` in units of 1 / 512 of a logit; `label` is the good class."""

    label: str
    weights: npt.NDArray[np.int32]
    bias: int

    def scores(self, texts: Sequence[str], max_chars: int = MAX_CHARS) -> list[float]:
        """The model's probability of the good class, 0 to 1, 4 decimals; 0.0 for a text without
        a word."""
        lines = [normalise(text, max_chars) for text in texts]
        return [
            0.0 if logit is None else round(1 / (1 + math.exp(-max(-50.0, logit))), 4)
            for logit in self.logits(lines)
        ]

    def logits(self, lines: Sequence[str]) -> list[float | None]:
        """The logit of each normalised text; None for one without a word."""
        from .linear_kernel import CALM, sums

        data, start = _joined(lines)
        result = np.zeros((len(lines), 2), np.int64)
        sums(data, start, self.weights, result)
        return [
            (total / (n + CALM) + self.bias) / _UNIT if n else None for total, n in result.tolist()
        ]

    def to_bytes(self) -> bytes:
        """The file of the model."""
        head = {"label": self.label, "weights": len(self.weights), "bias": self.bias}
        body = self.weights.astype("<i2").tobytes()
        return b"".join((MAGIC, json.dumps(head, sort_keys=True).encode(), b"\n", body))


def _joined(lines: Sequence[str]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    raw = [line.encode("utf-8", "replace") for line in lines]
    start = np.zeros(len(raw) + 1, np.int64)
    np.cumsum([len(part) for part in raw], out=start[1:])
    return np.frombuffer(b"".join(raw), np.uint8), start


def load_linear(path: str | Path, label: str) -> LinearModel:
    """The model in a file, whose good class must be `label`. Raises AssetError where it is
    missing, damaged, or another's."""
    name = Path(path).name
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise AssetError(f"model {name} cannot be read: {error.strerror}") from error
    if not raw.startswith(MAGIC):
        raise AssetError(
            f"model {name} is no linear model: it starts with {raw[:12]!r}",
            hint="give a .lin file; a fastText model belongs to classifiers.fasttext_quality",
        )
    try:
        end = raw.index(b"\n", len(MAGIC))
        head = json.loads(raw[len(MAGIC) : end])
        weights = np.frombuffer(raw, "<i2", offset=end + 1)
        found, size, bias = str(head["label"]), int(head["weights"]), int(head["bias"])
    except (ValueError, KeyError, TypeError) as error:
        raise AssetError(f"model {name} is damaged: {error}", hint="copy the file again") from error
    if size != len(weights) or size & (size - 1):
        raise AssetError(
            f"model {name} is damaged: {len(weights)} weights, its head says {size}",
            hint="copy the file again",
        )
    if found != label:
        raise AssetError(f"model {name} has the good class {found!r}, not {label!r}")
    return LinearModel(found, weights.astype(np.int32), bias)


def fit_linear(
    texts: Sequence[str], good: Sequence[bool], label: str, params: LinearParams, seed: int
) -> LinearModel:
    """A model trained on normalised `texts`, in their order and, for every epoch after the first,
    in one that hangs on `seed` only."""
    from .linear_kernel import fit

    data, start = _joined(texts)
    random = np.random.default_rng(seed)
    order = np.concatenate([random.permutation(len(texts)) for _ in range(params.epochs)])
    weights = np.zeros(2**params.bits + 1)
    fit(data, start, np.array(good, np.float64), order.astype(np.int64), params.rate,
        params.decay, weights)  # fmt: skip
    whole = np.clip(np.rint(weights * _UNIT), -32767, 32767).astype(np.int32)
    return LinearModel(label, whole[:-1].copy(), int(whole[-1]))


def calibration(logits: Sequence[float], good: Sequence[bool]) -> tuple[float, float]:
    """Slope and shift (4 decimals) by which logits become calibrated ones (Platt 1999), both
    classes weighing the same; slope 1 and shift 0 where a class is missing."""
    positives = sum(good)
    if positives in (0, len(good)):
        return 1.0, 0.0
    x = np.array(logits)
    y = np.array(good, np.float64)
    weight = np.where(y > 0, 0.5 / positives, 0.5 / (len(good) - positives))
    slope, shift = 1.0, 0.0
    for _ in range(100):
        chance = 1 / (1 + np.exp(-np.clip(slope * x + shift, -50, 50)))
        error = weight * (chance - y)
        curve = weight * chance * (1 - chance)
        a, b, c = float((curve * x * x).sum()), float((curve * x).sum()), float(curve.sum())
        a, c = a + 1e-6, c + 1e-6  # separable texts would have an infinite slope
        g, h = float((error * x).sum()) + 1e-6 * (slope - 1), float(error.sum()) + 1e-6 * shift
        step = a * c - b * b
        slope, shift = slope - (c * g - b * h) / step, shift - (a * h - b * g) / step
    return round(slope, 4), round(shift, 4)


def calibrated(model: LinearModel, slope: float, shift: float) -> LinearModel:
    """The model with its logits times `slope` plus `shift`."""
    weights = np.clip(np.rint(model.weights * slope), -32767, 32767).astype(np.int32)
    return LinearModel(model.label, weights, round(model.bias * slope + shift * _UNIT))
