"""An n-gram model of text pieces in one file, read without a library.

Scores are whole numbers of `UNIT` parts of a bit, so that sums are exact and equal on any machine.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from corpusmill.pipeline.errors import AssetError

from .ngram_counts import Level, estimate

if TYPE_CHECKING:
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]

MAGIC = b"corpusmill n-gram model 1\n"
UNIT = 1024
"""Parts of a bit. A score lies in 16 bits: no event is held for less likely than 2 ** -32."""


@dataclass(frozen=True, slots=True)
class NgramModel:
    """A trie of n-grams, shorter ones first (see `ngram_kernel.sums`); `score` and `backoff` are
    base-2 logarithms in units of 1 / `UNIT`. `head` says what it was trained on and how its texts
    are cut into pieces; `extra` holds what that takes (a sentencepiece model, say)."""

    order: int
    last: npt.NDArray[np.int32]
    child: npt.NDArray[np.int64]
    score: npt.NDArray[np.int16]
    backoff: npt.NDArray[np.int16]
    head: dict[str, Any]
    extra: bytes = b""

    def bits(self, sequences: Sequence[npt.NDArray[np.int32]]) -> list[int]:
        """Bits that each sequence costs after its first piece, times `UNIT`; of whole numbers."""
        from .ngram_kernel import sums

        start = np.zeros(len(sequences) + 1, np.int64)
        np.cumsum([len(s) for s in sequences], out=start[1:])
        pieces = np.concatenate([np.zeros(0, np.int32), *sequences]).astype(np.int32)
        vocabulary = int(self.head["vocabulary"])
        if len(pieces) and not 0 <= int(pieces.min()) <= int(pieces.max()) < vocabulary:
            raise ValueError(f"a piece is outside the model's {vocabulary}")
        result = np.zeros(len(sequences), np.int64)
        sums(pieces, start, self.last, self.child, self.score, self.backoff, self.order, result)
        return [-int(total) for total in result]

    def to_bytes(self) -> bytes:
        """The file of the model."""
        parts = [
            self.last.astype("<u2").tobytes(), np.diff(self.child).astype("<u4").tobytes(),
            self.score.astype("<i2").tobytes(), self.backoff.astype("<i2").tobytes(), self.extra,
        ]  # fmt: skip
        body = b"".join(parts)
        head = self.head | {
            "order": self.order, "nodes": len(self.last), "extra": len(self.extra),
            "first_child": int(self.child[0]),
            "body_sha256": hashlib.sha256(body).hexdigest(),
        }  # fmt: skip
        return b"".join((MAGIC, json.dumps(head, sort_keys=True).encode(), b"\n", body))


def fit_ngrams(
    sequences: Sequence[Ints], vocabulary: int, order: int = 5, prune: int = 0,
    head: dict[str, Any] | None = None, extra: bytes = b"",
) -> NgramModel:  # fmt: skip
    """A model of `sequences`; see `ngram_counts.estimate`. `vocabulary` is at most 65,536."""
    if vocabulary > 1 << 16:
        raise ValueError(f"{vocabulary} pieces do not fit 16 bits")
    levels = estimate(sequences, vocabulary, order, prune)
    return _packed(levels, dict(head or {}) | {"vocabulary": vocabulary}, extra)


def _packed(levels: list[Level], head: dict[str, Any], extra: bytes) -> NgramModel:
    sizes = [len(level.last) for level in levels]
    first = np.cumsum([0, *sizes])
    child = [
        first[n + 1] + np.searchsorted(levels[n + 1].context, np.arange(size))
        if n + 1 < len(levels) else np.full(size, first[-1])
        for n, size in enumerate(sizes)
    ]  # fmt: skip
    return NgramModel(
        len(levels),
        np.concatenate([level.last for level in levels]).astype(np.int32),
        np.concatenate([*child, first[-1:]]).astype(np.int64),
        np.concatenate([_units(level.probability) for level in levels]),
        np.concatenate([_units(level.backoff) for level in levels]),
        head,
        extra,
    )


def _units(values: npt.NDArray[np.float64]) -> npt.NDArray[np.int16]:
    logs = np.log2(np.maximum(values, 2.0**-40)) * UNIT
    whole: npt.NDArray[np.int16] = np.clip(np.rint(logs), -32768, 0).astype(np.int16)
    return whole


def check_ngrams(path: str | Path) -> None:
    """Raises AssetError where a file is missing or no n-gram model of ours."""
    name = Path(path).name
    try:
        with open(path, "rb") as file:
            start = file.read(len(MAGIC))
    except OSError as error:
        raise AssetError(f"model {name} cannot be read: {error.strerror}") from error
    if start != MAGIC:
        raise AssetError(
            f"model {name} is no n-gram model of ours: it starts with {start[:12]!r}",
            hint="train one with `corpusmill train perplexity`",
        )


def load_ngrams(path: str | Path) -> NgramModel:
    """The model in a file. Raises AssetError where it is missing, damaged, or no such model."""
    name = Path(path).name
    check_ngrams(path)
    raw = Path(path).read_bytes()
    try:
        end = raw.index(b"\n", len(MAGIC))
        head = json.loads(raw[len(MAGIC) : end])
        body = raw[end + 1 :]
        if hashlib.sha256(body).hexdigest() != head.pop("body_sha256"):
            raise ValueError("its digest is another")
        order, nodes, extra, first = (
            int(head.pop(key)) for key in ("order", "nodes", "extra", "first_child")
        )
        sizes = (2 * nodes, 4 * nodes, 2 * nodes, 2 * nodes, extra)
        if sum(sizes) != len(body):
            raise ValueError(f"{len(body)} bytes, its head says {sum(sizes)}")
        ends = np.cumsum((0, *sizes)).tolist()
        last, steps, score, backoff, rest = (body[a:b] for a, b in pairwise(ends))
    except (ValueError, KeyError, TypeError) as error:
        raise AssetError(f"model {name} is damaged: {error}", hint="copy the file again") from error
    child = np.concatenate([[first], first + np.cumsum(np.frombuffer(steps, "<u4"))])
    return NgramModel(
        order,
        np.frombuffer(last, "<u2").astype(np.int32),
        child.astype(np.int64),
        np.frombuffer(score, "<i2").astype(np.int16),
        np.frombuffer(backoff, "<i2").astype(np.int16),
        head,
        rest,
    )
