"""`bench.dedup` without its peer: planted pairs are what they claim, and the figures follow."""

from __future__ import annotations

import json
import random
import sys
from itertools import islice
from pathlib import Path

import pytest

from bench import dedup, dedup_sides


def test_planted_pairs_have_their_similarity() -> None:
    r = random.Random(1)
    for level in dedup.LEVELS:
        one, other = dedup.planted(r, level)
        assert abs(dedup.similarity(one, other) - level) < 0.005
        assert len(one) == len(other) == 204
    assert round(dedup.theory(0.8), 3) == 0.924  # as datatrove's documentation says


@pytest.mark.slow
def test_recall_and_precision() -> None:
    rows, bar = dedup.recall(500)
    assert [row["value"] for row in rows[-2:]] == [1.0, 1.0]
    assert -0.05 < bar.value <= 0
    rows, bar = dedup.precision(40)
    assert bar.value == 1.0
    assert rows[2]["value"] < rows[1]["value"] < 1.0
    assert rows[0]["pairs"] < rows[2]["pairs"] <= 11 * 40


def test_texts_of_the_sample() -> None:
    found = list(islice(dedup.texts(None), 600))
    assert len(set(found)) > 400
    assert all(len(text) > 200 for text in found)


@pytest.mark.parametrize("side", ["corpusmill", "datasketch"])
def test_sides(side: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    r = random.Random(2)
    source = tmp_path / "texts"
    source.write_text("".join(json.dumps({"text": " ".join(dedup.words(r, 40))}) + "\n"
                              for _ in range(30)))  # fmt: skip
    monkeypatch.setattr(sys, "argv", ["dedup_sides", side, str(source), str(tmp_path)])
    assert dedup_sides.main() == 0
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["documents"] == 30
    assert result["cpu_seconds"] > 0
    assert (result["bytes"] > 30 * 14 * 8) == (side == "corpusmill")
