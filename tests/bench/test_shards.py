from __future__ import annotations

import json

import numpy as np
import pytest

from bench import mixed, shards
from bench.shard_sides import with_ends


def test_stream_has_an_end_behind_each_text() -> None:
    ids, lengths = np.array([7, 8, 9], dtype=np.uint32), np.array([2, 0, 1])
    assert with_ends(ids, lengths).tolist() == [7, 8, 0, 0, 9, 0]
    with pytest.raises(OverflowError):
        with_ends(np.array([70_000], dtype=np.uint32), np.array([1]))


@pytest.mark.slow  # looks through all that is installed
def test_texts_of_three_kinds() -> None:
    found = mixed.by_kind(0.3)
    assert set(found) == {"code", "prose", "other"}
    assert sum(len(t) for t in found["code"]) >= 80_000
    assert min(len(t) for some in found.values() for t in some) >= mixed.FEWEST_CHARACTERS


@pytest.mark.slow
def test_quick(capsys: pytest.CaptureFixture[str]) -> None:
    assert shards.main(["--quick", "--json", "--megabytes", "0.6"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert [row["side"] for row in made["rows"]][:3] == ["ours", "tiktoken", "huggingface"]
    assert all(row["ids equal"] for row in made["rows"])
    assert made["bars"]["times tiktoken"]["bar"] == 4.0
