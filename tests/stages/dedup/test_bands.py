"""Band keys, and which documents of a bucket are compared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from corpusmill.pipeline.errors import StageError
from corpusmill.stages.dedup.bands import Sketches, pair_up, permutations
from corpusmill.stages.dedup.minhash import STAGE, MinhashParams


def band_rows(bucket: Any, first: Any, second: Any) -> Any:
    """Band rows with these keys and sides, packed."""
    keys = np.asarray(bucket, np.uint64)[:, None] << np.uint64(16)
    sides = np.stack([np.asarray(first), np.asarray(second)], 1).astype(np.uint8)
    has, none = np.ones(len(keys), np.bool_), np.zeros((len(keys), 0), np.uint64)
    return Sketches(has, none, keys, sides[:, None, :]).packed().reshape(-1)


def test_a_stranger_that_comes_first_costs_no_recall() -> None:
    """One bucket of two kinds of pages, first and every second one of the other kind, told apart
    by one side or by the other."""
    kind = np.arange(40) % 2
    for sides in ([np.where(kind, 7, 9), np.arange(40)], [np.arange(40), np.where(kind, 7, 9)]):
        left, right = pair_up(band_rows(np.zeros(40), *sides), np.arange(40, dtype=np.uint64))
        assert (left < right).all()
        # A star and a chain; the chain of each kind, and the star of that which is not first.
        assert len(left) == 39 + 38 + 18 + 18 + 19
        same = kind[left] == kind[right]
        for own in (0, 1):
            members = np.flatnonzero(kind == own)
            assert {int(n) for n in right[same] if kind[n] == own} == set(members[1:].tolist())


def test_pairs_of_small_buckets() -> None:
    ids = np.array([9, 4, 7, 1, 3, 8], np.uint64)
    none = np.zeros(6)
    rows = band_rows([5, 5, 5, 2, 6, 2], none, none)
    a, b = pair_up(rows, ids)  # of three members every pair; other sides make no other buckets
    assert list(zip(a.tolist(), b.tolist(), strict=True)) == [(1, 8), (4, 7), (4, 9), (7, 9)]
    same = pair_up(band_rows([5, 5, 5, 2, 6, 2], np.arange(6), np.arange(6) + 9), ids)
    assert [c.tolist() for c in same] == [a.tolist(), b.tolist()]
    # Of four members the second and the last are paired where a side tells that they are alike.
    four = np.arange(4, dtype=np.uint64)
    for side in ([0, 1, 2, 1], [0, 1, 2, 3]):
        left, right = pair_up(band_rows([5] * 4, np.arange(4), side), four)
        found = set(zip(left.tolist(), right.tolist(), strict=True))
        more = {(1, 3)} if side[1] == side[3] else set()
        assert found == {(0, 1), (0, 2), (0, 3), (1, 2), (2, 3)} | more
    assert [len(c) for c in pair_up(band_rows(np.arange(6), none, none), ids)] == [0, 0]
    assert [len(c) for c in pair_up(rows[:0], ids[:0])] == [0, 0]
    assert [c.tolist() for c in pair_up(band_rows([3, 3], [0, 0], [0, 0]), ids[[1, 1]])] == [
        [4], [4],
    ]  # fmt: skip


def test_packed_keys_hold_the_sides() -> None:
    keys = np.array([[0xFEDCBA9876543210]], np.uint64)
    sides = np.array([[[0xAB, 0xCD]]], np.uint8)
    made = Sketches(np.ones(1, np.bool_), keys, keys, sides)
    assert made.packed().tolist() == [[0xFEDCBA987654ABCD]]


def test_permutations_are_drawn_from_the_seed() -> None:
    factors, terms = permutations(200, 1)
    assert (factors % np.uint64(2) == 1).all()
    assert len(np.unique(factors)) == len(np.unique(terms)) == 200
    assert not np.intersect1d(factors, permutations(200, 2)[0]).size
    assert (permutations(10, 1)[0] == factors[:10]).all()


def test_sketches_of_a_column_are_those_of_its_texts() -> None:
    import pyarrow as pa

    stage = STAGE(MinhashParams(bands=3, rows=3))  # 9 permutations: not a multiple of four
    stage.setup()
    texts = ["one two three four five six", "", "Ünïcödé ガガ 東京都に住む", "x " * 40] * 100
    column = pa.array(["first", *texts, None], pa.string())
    made = stage.sketches([*texts, ""])
    for kind in (pa.string(), pa.large_string()):
        again = stage.sketches.column(column.cast(kind)[1:])
        for name in ("has_words", "minima", "keys", "sides"):
            assert (getattr(again, name) == getattr(made, name)).all()
    bad = pa.Array.from_buffers(
        pa.large_string(), 1, [None, pa.py_buffer(np.array([0, 2])), pa.py_buffer(b"a\xff")]
    )
    with pytest.raises(pa.ArrowInvalid):
        stage.sketches.column(bad)


def test_a_text_that_is_too_long_for_its_counts_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow as pa

    from corpusmill.stages import words

    stage = STAGE(MinhashParams())
    stage.setup()
    monkeypatch.setattr(words, "_MAX_BYTES", 10)
    for long_ in (pa.array(["short", "ten bytes…"]), pa.array(["x" * 11])):
        with pytest.raises(StageError, match=r"a text of 1[12] bytes"):
            stage.sketches.column(long_)
    assert stage.sketches.column(pa.array(["ten bytes."] * 3)).has_words.all()
