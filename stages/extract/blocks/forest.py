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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from corpusmill.pipeline.errors import AssetError
from corpusmill.stages import kernel_types as types
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
_ROWS_AT_ONCE = 32
TABLE_SIZE = 2 * _TABLE_HALF + 1
"""Logits from -8 to 8 in steps of 1 / 64; beyond, the ends."""


@dataclass(frozen=True, slots=True)
class Packed:
    """Trees as the kernel reads them: four numbers a node, which are feature, threshold, place of
    the left and of the right child. A leaf is its own child on both sides, and its value stands in
    place of the threshold. `depths` holds the steps from each root to its deepest leaf."""

    nodes: npt.NDArray[np.int32]
    roots: npt.NDArray[np.int32]
    depths: npt.NDArray[np.int64]


@dataclass(frozen=True)
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

    @cached_property
    def packed(self) -> Packed:
        """The same trees as the kernel reads them."""
        inner, n_leaves = len(self.feature), len(self.leaves)

        def place(child: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
            at = child.astype(np.int64)
            return np.where(at >= 0, at, inner + ~at)

        nodes = np.zeros((inner + n_leaves, 4), np.int32)
        nodes[:inner, 0], nodes[:inner, 1] = self.feature, self.threshold
        nodes[:inner, 2], nodes[:inner, 3] = place(self.left), place(self.right)
        nodes[inner:, 1] = self.leaves
        nodes[inner:, 2] = nodes[inner:, 3] = np.arange(inner, inner + n_leaves)
        roots = place(self.roots)
        depths = np.zeros(len(roots), np.int64)
        here, tree, steps = roots, np.arange(len(roots)), 0
        while steps < inner:
            going = here < inner
            here, tree, steps = here[going], tree[going], steps + 1
            depths[tree] = steps
            here, tree = nodes[here, 2:].astype(np.int64).ravel(), np.repeat(tree, 2)
            if not len(here):
                break
        nodes[:, 2:] *= 4
        return Packed(nodes.ravel(), (4 * roots).astype(np.int32), depths)


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


_place: Any = np.uint64  # indices without a sign need no look for negative ones


_ones, _twos = _place(1), _place(2)


@kernel(
    types.uint64(array(types.int32), array(types.int32), types.uint64, types.uint64), inline=True
)  # fmt: skip
def _child(nodes, rows, node, row):  # type: ignore[no-untyped-def]
    """Where the row that begins at `row` goes on from `node`."""
    right = rows[row + _place(nodes[node])] > nodes[node + _ones]
    return _place(nodes[node + _twos + _place(right)])


@kernel(
    types.void(
        array(types.int32), types.int64, array(types.int32), array(types.int32),
        array(types.int64), out(types.int64),
    )
)  # fmt: skip
def _sum(rows, width, nodes, roots, depths, sums):  # type: ignore[no-untyped-def]
    # Eight rows go down a tree together, each by its own choice of child and not by a branch, to
    # the tree's full depth: nothing for the processor to guess wrong, and always one to go on with.
    for start in range(0, sums.shape[0], _ROWS_AT_ONCE):
        end = min(start + _ROWS_AT_ONCE, sums.shape[0])
        for t in range(roots.shape[0]):
            r = start
            while r + 8 <= end:
                a = b = c = d = e = f = g = h = _place(roots[t])
                a0, b0 = _place(r * width), _place((r + 1) * width)
                c0, d0 = _place((r + 2) * width), _place((r + 3) * width)
                e0, f0 = _place((r + 4) * width), _place((r + 5) * width)
                g0, h0 = _place((r + 6) * width), _place((r + 7) * width)
                for _ in range(depths[t]):
                    a, b = _child(nodes, rows, a, a0), _child(nodes, rows, b, b0)
                    c, d = _child(nodes, rows, c, c0), _child(nodes, rows, d, d0)
                    e, f = _child(nodes, rows, e, e0), _child(nodes, rows, f, f0)
                    g, h = _child(nodes, rows, g, g0), _child(nodes, rows, h, h0)
                sums[r] += nodes[a + _ones]
                sums[r + 1] += nodes[b + _ones]
                sums[r + 2] += nodes[c + _ones]
                sums[r + 3] += nodes[d + _ones]
                sums[r + 4] += nodes[e + _ones]
                sums[r + 5] += nodes[f + _ones]
                sums[r + 6] += nodes[g + _ones]
                sums[r + 7] += nodes[h + _ones]
                r += 8
            while r < end:
                a = _place(roots[t])
                for _ in range(depths[t]):
                    a = _child(nodes, rows, a, _place(r * width))
                sums[r] += nodes[a + _ones]
                r += 1


def raw_scores(rows: npt.NDArray[np.int32], forest: Forest) -> npt.NDArray[np.int64]:
    """The sum of leaves for each row, in 2**-16ths of a logit."""
    sums = np.zeros(len(rows), np.int64)
    packed = forest.packed
    flat = np.ascontiguousarray(rows).reshape(-1)
    _sum(flat, rows.shape[1], packed.nodes, packed.roots, packed.depths, sums)
    return sums


def raw_each(row: npt.NDArray[np.int32], forests: Sequence[Forest]) -> list[int]:
    """The sum of leaves of one row (1 by n) in each of `forests`, as `raw_scores` gives it."""
    flat = np.ascontiguousarray(row).reshape(-1)
    sums = np.zeros(len(forests), np.int64)
    for k, forest in enumerate(forests):
        packed = forest.packed
        _sum(flat, len(flat), packed.nodes, packed.roots, packed.depths, sums[k : k + 1])
    return sums.tolist()


def scores(rows: npt.NDArray[np.int32], weights: Weights, name: str) -> npt.NDArray[np.int64]:
    """For each row a number from 0 to `SCORE_ONE`: the share of the block that is wanted."""
    step = (raw_scores(rows, weights.forests[name]) + _TABLE_STEP // 2) // _TABLE_STEP
    return weights.logistic[np.clip(step + _TABLE_HALF, 0, TABLE_SIZE - 1)]
