"""`bench.dedup` without its peer: planted pairs are what they claim, and the figures follow."""

from __future__ import annotations

import json
import random
import sys
import unicodedata
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from bench import dedup, dedup_sides
from bench import dedup_growth as growth
from bench import dedup_made as made
from bench import dedup_truth as truth
from corpusmill.stages.unicode_data import fold


def test_planted_pairs_have_their_similarity() -> None:
    for level in (*truth.LEVELS, 0.0):
        forms = []
        for left, right in truth.planted(np.random.default_rng(1), level, 3):
            one, other = (fold(text).split() for text in (left, right))
            assert round(truth.similarity(one, other), 9) == round(truth.true_jaccard(level), 9)
            assert abs(truth.true_jaccard(level) - level) < 0.005
            assert len(one) == len(other) == truth.WORDS
            forms.append((right.isupper(), unicodedata.is_normalized("NFC", right)))
        assert forms == [(False, True), (True, True), (False, False)]
    assert round(truth.theory(0.8), 3) == 0.924  # as datatrove's documentation says


@pytest.mark.slow
def test_recall_and_precision() -> None:
    rows, bars = truth.recall(400, 1)
    assert [row["value"] for row in rows[-2:]] == [1.0, 1.0]
    assert all(bar.plain()["holds"] for bar in bars.values())
    rows, bars = truth.kept(40)
    ours, estimate, unchecked = rows[:3]
    assert ours["value"] == 1.0
    assert unchecked["value"] < estimate["value"] < 1.0
    assert ours["pairs"] < unchecked["pairs"] < 19 * 40
    assert min(bar.value for name, bar in bars.items() if name.startswith("smallest")) > 0.69


def test_growth_counts_what_it_made() -> None:
    found = growth.timed(20_000, 100_000)
    assert found["partitions"] == 4
    assert 60_000 < found["rows of a partition"] < 80_000
    assert found["value"] == pytest.approx(
        sum(found[name] for name in ("bucket", "verify", "split", "link"))
    )


@pytest.mark.slow
def test_a_task_keeps_to_its_budget_at_two_sizes() -> None:
    rows, bars = growth.within_budget((60_000, 150_000))
    assert [row["rows of a partition"] for row in rows] == [840_000, 2_100_000]
    (over,) = bars.values()
    assert over.value <= 0
    free = growth.in_process(150_000, 2_100_000)
    assert min(free[f"{phase}, MB"] for phase in ("verify", "split")) > 1.3 * growth.BUDGET / 1e6


def test_made_up_tables(tmp_path: Path) -> None:
    own = np.arange(20_000, dtype=np.uint64)
    later = int((made.clusters(own) != own).sum())
    assert 0.2 < later / 20_000 < 0.3
    ctx = made.FileContext(tmp_path, 4)
    assert made.write_edges(ctx, 20_000) == ctx.read("edges").num_rows == later
    assert made.write_sets(ctx, 20_000, np.arange(4)) == later
    sets, sent = (ctx.read(table)["set"].to_pylist() for table in ("sets", "sent"))
    assert len(sets) <= later
    assert len(set(sets)) == len(set(sent)) == 2_000  # one set a cluster
    assert len(sets[0]) == 4 * made.SHINGLES
    some = made.write_families(ctx, 20_000, np.array([2]))
    assert some == ctx.read("gathered", partition=2).num_rows == ctx.read("gathered").num_rows
    assert ctx.read("ties").num_rows == some - len(set(ctx.read("gathered")["family"].to_pylist()))


@pytest.mark.slow
def test_memory_of_the_steps_after_the_keys() -> None:
    """A task holds its partition's band rows, sorted; the one that sees all pairs 8 bytes a
    candidate. The rest is room for a piece of its input."""
    for _ in range(3):  # what the allocator keeps varies by some MB: the least counts
        found = growth.in_process(1_000_000, 1_000_000)
        if found["link, MB"] < 8 + growth.PIECE / 1e6:
            break
    assert 8 < found["link, MB"] < 8 + growth.PIECE / 1e6
    assert 1e6 * found["bucket, MB"] < 100 * found["rows of a partition"] + growth.PIECE
    assert found["bytes a text"] < 230


def test_texts_of_the_sample() -> None:
    found = list(islice(dedup.texts(None), 600))
    assert len(set(found)) > 400
    assert all(len(text) > 200 for text in found)


@pytest.mark.parametrize("side", ["corpusmill", "parquet", "datasketch", "lines"])
def test_sides(side: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    r = random.Random(2)
    source = tmp_path / "texts"
    source.write_text("".join(json.dumps({"text": " ".join(f"w{r.randrange(10**9)}" for _ in range(40))}) + "\n"
                              for _ in range(30)))  # fmt: skip
    monkeypatch.setattr(sys, "argv", ["dedup_sides", side, str(source), str(tmp_path)])
    assert dedup_sides.main() == 0
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["documents"] == 30
    assert result["cpu_seconds"] > 0
    assert (result["bytes"] > 30 * 14 * 8) == (side == "corpusmill")


def test_what_is_kept_does_not_hang_on_partitions() -> None:
    rows, bars = truth.sameness(6)
    assert len({row["value"] for row in rows}) == 1
    assert 10 < rows[0]["value"] < 60
    assert [bar.plain()["holds"] for bar in bars.values()] == [True]


def test_the_size_of_the_index() -> None:
    rows, bars = truth.index_size(2)
    assert {row["what"].split()[-1]: row["bytes a text"] for row in rows} == {
        "ids": 16, "content": 16, "content_row": 4, "keys": 112, "key_row": 56, "minima": 224,
    }  # fmt: skip
    assert [bar.value for bar in bars.values()] == [184, 224]


def test_texts_are_written_and_counted(tmp_path: Path) -> None:
    found = dedup.written(tmp_path / "t", ["é" * 3, "ab"])
    assert (found.count, found.chars) == (2, 5)
    lines = found.path.read_text("utf-8").splitlines()
    assert [json.loads(line)["text"] for line in lines] == ["ééé", "ab"]
