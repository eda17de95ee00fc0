"""Trees in integers, and their file."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from corpusmill.pipeline.errors import AssetError
from corpusmill.stages.extract.blocks.forest import (
    LEAF_SCALE,
    TABLE_SIZE,
    Forest,
    Weights,
    decode,
    encode,
    raw_each,
    raw_scores,
    scores,
)


def forest() -> Forest:
    """Tree 1: x0 <= 5 ? 2 : (x1 <= -1 ? -1 : 0.5). Tree 2: the leaf 0.25."""
    return Forest(
        np.array([0, ~3], np.int32),
        np.array([0, 1], np.int16),
        np.array([5, -1], np.int32),
        np.array([~0, ~1], np.int32),
        np.array([1, ~2], np.int32),
        np.array([2 * LEAF_SCALE, -LEAF_SCALE, LEAF_SCALE // 2, LEAF_SCALE // 4], np.int32),
    )


def table() -> npt.NDArray[np.int64]:
    x = (np.arange(TABLE_SIZE) - TABLE_SIZE // 2) / 64
    return np.floor(1000 / (1 + np.exp(-x)) + 0.5).astype(np.int64)


ROWS = np.array([[5, 9], [6, -1], [6, 0]], np.int32)


def test_sums_and_scores() -> None:
    sums = raw_scores(ROWS, forest())
    assert (sums / LEAF_SCALE).tolist() == [2.25, -0.75, 0.75]
    weights = Weights({"main": forest()}, table(), {})
    expected = [round(1000 / (1 + np.exp(-x))) for x in (2.25, -0.75, 0.75)]
    assert scores(ROWS, weights, "main").tolist() == expected


def test_one_row_in_several_forests() -> None:
    other = forest()
    other.leaves[3] = 7
    sums = raw_each(ROWS[1:2], [forest(), other])
    assert sums == [LEAF_SCALE // 4 - LEAF_SCALE, 7 - LEAF_SCALE]


def test_far_sums_take_the_ends() -> None:
    none = np.zeros(0, np.int32)
    big = Forest(
        np.array([~0], np.int32), np.zeros(0, np.int16), none, none, none,
        np.array([30 * LEAF_SCALE], np.int32),
    )  # fmt: skip
    assert scores(ROWS, Weights({"main": big}, table(), {}), "main").tolist() == [1000] * 3


def test_file_round_trip() -> None:
    data = encode({"main": forest(), "b": forest()}, table(), {"features": ["x", "y"]})
    assert data == encode({"b": forest(), "main": forest()}, table(), {"features": ["x", "y"]})
    read = decode(data, "memory")
    assert read.header["features"] == ["x", "y"]
    assert sorted(read.forests) == ["b", "main"]
    for key in ("roots", "feature", "threshold", "left", "right", "leaves"):
        assert getattr(read.forests["main"], key).tolist() == getattr(forest(), key).tolist()
    assert read.logistic.tolist() == table().tolist()


@pytest.mark.parametrize("damage", [b"", b"junk", "cut", "schema"])
def test_damaged_files_are_refused(damage: bytes | str) -> None:
    import zlib

    data = encode({"main": forest()}, table(), {})
    if damage == "cut":
        data = zlib.compress(zlib.decompress(data)[:-1])
    elif damage == "schema":
        data = zlib.compress(zlib.decompress(data).replace(b"corpusmill/blocks/", b"else/blocks/"))
    else:
        assert isinstance(damage, bytes)
        data = damage
    with pytest.raises(AssetError, match=r"w\.bin: no block weights"):
        decode(data, "w.bin")


def grown(rng: np.random.Generator, width: int) -> Forest:
    """Thirty trees of random shape, some of them a single leaf."""
    roots: list[int] = []
    nodes: list[list[int]] = []
    leaves: list[int] = []

    def add(depth: int) -> int:
        if depth == 0 or rng.random() < 0.3:
            leaves.append(int(rng.integers(-9000, 9000)))
            return ~(len(leaves) - 1)
        at = len(nodes)
        nodes.append([int(rng.integers(width)), int(rng.integers(-5, 5)), 0, 0])
        nodes[at][2:] = [add(depth - 1), add(depth - 1)]
        return at

    for _ in range(30):
        roots.append(add(6))
    feature, threshold, left, right = np.array(nodes, np.int32).T
    return Forest(
        np.array(roots, np.int32), feature.astype(np.int16), threshold.copy(), left.copy(),
        right.copy(), np.array(leaves, np.int32),
    )  # fmt: skip


def by_walking(row: list[int], trees: Forest) -> int:
    total = 0
    for root in trees.roots.tolist():
        node = root
        while node >= 0:
            low = row[trees.feature[node]] <= trees.threshold[node]
            node = int(trees.left[node] if low else trees.right[node])
        total += int(trees.leaves[~node])
    return total


@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 31, 32, 33, 70])
def test_rows_together_are_as_rows_one_by_one(n: int) -> None:
    rng = np.random.default_rng(n)
    trees = grown(rng, 7)
    rows = rng.integers(-8, 8, (n, 7)).astype(np.int32)
    assert raw_scores(rows, trees).tolist() == [by_walking(r, trees) for r in rows.tolist()]
    assert raw_scores(rows[::2], trees).tolist() == [
        by_walking(r, trees) for r in rows[::2].tolist()
    ]


def test_the_mean_of_forests() -> None:
    from corpusmill.stages.extract.blocks.train import mean_of

    one = forest()
    other = Forest(one.roots[:1], one.feature, one.threshold + 1, one.left, one.right, one.leaves)
    both = mean_of([one, other, one])
    assert len(both) == 5
    sums = 2 * raw_scores(ROWS, one) + raw_scores(ROWS, other)
    assert np.abs(3 * raw_scores(ROWS, both) - sums).max() <= 5 * 3 // 2
    assert mean_of([one]).leaves.tolist() == one.leaves.tolist()
