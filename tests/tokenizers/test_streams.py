"""Encoded documents as cells of a table, and back as a stream."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from corpusmill.pipeline.errors import IntegrityError
from corpusmill.tokenizers.streams import flatten, token_table

IDS = [5, 6, 7, 300, 9]
LENGTHS = np.array([3, 0, 2])


def rows(dtype: str) -> pa.Table:
    return token_table(["a", "b", "c"], ["x"] * 3, np.array(IDS, dtype=dtype), LENGTHS, {})


@pytest.mark.parametrize(("dtype", "width"), [("<u2", 2), ("<u4", 4)])
def test_cells_of_either_width_give_the_same_stream(dtype: str, width: int) -> None:
    table = rows(dtype)
    assert [len(c) for c in table.column("tokens").to_pylist()] == [3 * width, 0, 2 * width]
    assert table.column("n_tokens").to_pylist() == [4, 1, 3]
    assert flatten(table, np.array([4, 1, 3]), 0).tolist() == [5, 6, 7, 0, 0, 300, 9, 0]
    cut = flatten(table.slice(1), np.array([1, 2]), 0)  # of the last document its first token
    assert cut.tolist() == [0, 300, 0]


def test_cells_that_are_too_short_are_found() -> None:
    table = rows("<u2")
    cells = [c[:-2] if c else c for c in table.column("tokens").to_pylist()]
    short = table.set_column(3, "tokens", pa.array(cells, pa.large_binary()))
    with pytest.raises(IntegrityError, match="as many tokens as is said"):
        flatten(short, np.array([3, 1, 2]), 0)
    with pytest.raises(IntegrityError, match="5 tokens to take of a document with 4"):
        flatten(table, np.array([5, 1, 3]), 0)
