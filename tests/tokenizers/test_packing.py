from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.pipeline.errors import ConfigError
from corpusmill.tokenizers import formats
from corpusmill.tokenizers.packing import pack, read_rows, write_index


def naive_fit(sizes: list[int], length: int) -> int:
    """Rows of best-fit decreasing, done by looking at every open row."""
    rooms: list[int] = []
    for size in sorted(sizes, reverse=True):
        fitting = [r for r in rooms if r >= size]
        if fitting:
            rooms[rooms.index(min(fitting))] -= size
        else:
            rooms.append(length - size)
    return len(rooms)


@settings(derandomize=True, deadline=None, max_examples=50)
@given(st.lists(st.integers(1, 70), max_size=60), st.integers(2, 24))
def test_every_token_once_and_no_row_too_long(lengths: list[int], length: int) -> None:
    ends = np.cumsum(np.array(lengths, dtype=np.int64)).astype(np.uint64)
    packing = pack(ends, length)
    held = sorted(
        t
        for s, n in zip(packing.start.tolist(), packing.size.tolist(), strict=True)
        for t in range(s, s + n)
    )
    assert held == list(range(sum(lengths)))
    used = np.bincount(packing.row, weights=packing.size, minlength=packing.rows)
    assert used.tolist() == [] or max(used.tolist()) <= length
    assert min(used.tolist(), default=1) > 0
    starts = [0, *np.cumsum(lengths).tolist()]
    figures = packing.figures()
    for piece in range(len(lengths)):
        mine = np.flatnonzero(packing.piece == piece)
        assert len(mine) == -(-lengths[piece] // length)  # only what is longer is cut, least often
        for i in mine.tolist():
            assert packing.start[i] == starts[piece] + packing.offset[i]
    assert figures["cut"] == sum(n > length for n in lengths)
    assert figures["padding"] == figures["rows"] * length - sum(lengths)
    parts = [n for whole in lengths for n in [length] * (whole // length) + [whole % length] if n]
    assert packing.rows == naive_fit(parts, length) >= figures["least_rows"]
    firsts = [int(packing.start[packing.row == r].min()) for r in range(packing.rows)]
    assert firsts == sorted(firsts)


def test_by_hand() -> None:
    """Pieces of 5, 3, 12 and 2 tokens in rows of 8: 12 is 8 and 4; 5 and 3 fit, 4 and 2 too."""
    packing = pack(np.array([5, 8, 20, 22], dtype=np.uint64), 8)
    rows = zip(
        packing.row.tolist(),
        packing.piece.tolist(),
        packing.start.tolist(),
        packing.size.tolist(),
        packing.offset.tolist(),
        strict=True,
    )
    assert list(rows) == [
        (0, 0, 0, 5, 0),
        (0, 1, 5, 3, 0),
        (1, 2, 8, 8, 0),
        (2, 2, 16, 4, 8),
        (2, 3, 20, 2, 0),
    ]
    assert packing.figures() == {
        "length": 8, "rows": 3, "tokens": 22, "padding": 2, "pieces": 4, "cut": 1, "least_rows": 3,
    }  # fmt: skip
    # of two rows with the same room the one opened last
    assert pack(np.array([6, 12, 14, 16], dtype=np.uint64), 8).piece.tolist() == [0, 3, 1, 2]
    with pytest.raises(ConfigError):
        pack(np.array([5], dtype=np.uint64), 1)


def test_index_of_a_shard(tmp_path: Path) -> None:
    lengths = [1 + (i * 37) % 90 for i in range(200)]
    ends = np.cumsum(lengths)
    tokens = np.arange(ends[-1], dtype=np.uint32) % 5000
    files = {s: tmp_path / f"x-00000{s}" for s in formats.SUFFIXES}
    writer = formats.ShardWriter(files, np.dtype("<u2"))
    n = len(lengths)
    columns = {
        "start": ends - lengths,
        "end": ends,
        "doc_offset": np.zeros(n, np.int64),
        "doc_tokens": lengths,
    }
    writer.add(tokens, pa.table({k: pa.array(v) for k, v in columns.items()}))
    writer.close()
    figures = write_index(files[".bin"], tmp_path / "i/x.parquet", 64)
    first = (tmp_path / "i/x.parquet").read_bytes()
    assert write_index(files[".bin"], tmp_path / "i/x.parquet", 64) == figures
    assert (tmp_path / "i/x.parquet").read_bytes() == first
    rows = list(read_rows(files[".bin"], tmp_path / "i/x.parquet"))
    assert len(rows) == figures["rows"]
    assert max(len(t) for t, _ in rows) <= 64
    assert all(borders[-1] == len(t) for t, borders in rows)
    assert sorted(t for r, _ in rows for t in r.tolist()) == sorted(tokens.tolist())
    assert figures["padding"] < 0.02 * figures["tokens"]
