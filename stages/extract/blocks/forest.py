"""Gradient-boosted trees in integers: the weights file, and the compiled pass that scores rows.

A tree compares a feature (an integer) with a threshold (an integer) and adds a leaf value, in
2**-16ths of a logit, to the sum; the sum's logistic comes from a table in the file, in
thousandths. So a score is exact on every machine. Importing this module compiles (or loads) the
kernel.

The file (see `encode` and `decode`) is a zlib stream of a JSON header line and the arrays of each
forest; its digest is in `WEIGHTS_SHA256` beside the loader in `model`.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import types

from corpusmill.pipeline.errors import AssetError
from corpusmill.stages.compiled import array, kernel, out

if TYPE_CHECKING:
    import numpy.typing as npt

SCHEMA = "corpusmill/blocks/1"
LEAF_SCALE = 1 << 16
"""Leaf values are in units of 1 / 65,536 logit."""
SCORE_ONE = 1000
"""The score that means certainty."""
_TABLE_STEP = 1 << 10
_TABLE_HALF = 512
TABLE_SIZE = 2 * _TABLE_HALF + 1
"""Logits from -8 to 8 in steps of 1 / 64; beyond, the ends."""


@dataclass(frozen=True, slots=True)
class Forest:
    """Trees as flat arrays: `roots` into the node arrays. A child that is negative is the leaf
    ``~child``."""

    roots: npt.NDArray[np.int32]
    feature: npt.NDArray[np.int16]
    threshold: npt.NDArray[np.int32]
    left: npt.NDArray[np.int32]
    right: npt.NDArray[np.int32]
    leaves: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.roots)


_ARRAYS = (
    ("roots", "<i4"), ("feature", "<i2"), ("threshold", "<i4"), ("left", "<i4"), ("right", "<i4"),
    ("leaves", "<i4"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Weights:
    """All forests of the weights file by name, the logistic table, and the header."""

    forests: dict[str, Forest]
    logistic: npt.NDArray[np.int64]
    header: dict[str, Any]


def encode(
    forests: Mapping[str, Forest], logistic: npt.NDArray[np.int64], header: Mapping[str, Any]
) -> bytes:
    """The bytes of a weights file. `header` holds ``features``, the names of the columns."""
    sizes = {
        name: {key: len(getattr(forest, key)) for key, _ in _ARRAYS}
        for name, forest in sorted(forests.items())
    }
    head = {**header, "schema": SCHEMA, "sizes": sizes, "logistic": [int(v) for v in logistic]}
    body = [json.dumps(head, sort_keys=True).encode() + b"\n"]
    for _, forest in sorted(forests.items()):
        body.extend(getattr(forest, key).astype(kind).tobytes() for key, kind in _ARRAYS)
    return zlib.compress(b"".join(body), 9)


def decode(data: bytes, where: str) -> Weights:
    """The weights in `data`. Raises AssetError naming `where` for anything but a whole file."""
    try:
        head, _, body = zlib.decompress(data).partition(b"\n")
        header = json.loads(head)
        if header["schema"] != SCHEMA:
            raise ValueError(f"schema {header['schema']!r}, want {SCHEMA!r}")
        logistic = np.array(header.pop("logistic"), np.int64)
        forests = {}
        at = 0
        for name, sizes in sorted(header["sizes"].items()):
            arrays = {}
            for key, kind in _ARRAYS:
                arrays[key] = np.frombuffer(body, kind, sizes[key], at).copy()
                at += arrays[key].nbytes
            forests[name] = Forest(**arrays)
        if at != len(body) or len(logistic) != TABLE_SIZE:
            raise ValueError("wrong length")
    except (zlib.error, ValueError, KeyError, TypeError) as exc:
        raise AssetError(f"{where}: no block weights: {exc}", hint="reinstall corpusmill") from exc
    return Weights(forests, logistic, header)


@kernel(
    types.void(
        array(types.int32, dims=2), array(types.int32), array(types.int16), array(types.int32),
        array(types.int32), array(types.int32), array(types.int32), out(types.int64),
    )
)  # fmt: skip
def _sum(rows, roots, feature, threshold, left, right, leaves, sums):  # type: ignore[no-untyped-def]
    for r in range(rows.shape[0]):
        total = 0
        row = rows[r]
        for t in range(roots.shape[0]):
            node = roots[t]
            while node >= 0:
                node = left[node] if row[feature[node]] <= threshold[node] else right[node]
            total += leaves[~node]
        sums[r] = total


def raw_scores(rows: npt.NDArray[np.int32], forest: Forest) -> npt.NDArray[np.int64]:
    """The sum of leaves for each row, in 2**-16ths of a logit."""
    sums = np.zeros(len(rows), np.int64)
    _sum(
        rows, forest.roots, forest.feature, forest.threshold, forest.left, forest.right,
        forest.leaves, sums,
    )  # fmt: skip
    return sums


def scores(rows: npt.NDArray[np.int32], weights: Weights, name: str) -> npt.NDArray[np.int64]:
    """For each row a number from 0 to `SCORE_ONE`: the share of the block that is wanted."""
    step = (raw_scores(rows, weights.forests[name]) + _TABLE_STEP // 2) // _TABLE_STEP
    return weights.logistic[np.clip(step + _TABLE_HALF, 0, TABLE_SIZE - 1)]
