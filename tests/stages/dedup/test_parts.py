"""A budget of memory: parts of a partition hold all of it, and what is found is the same."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from corpusmill.pipeline.context import MemoryContext, partition_of
from corpusmill.stages.dedup import candidates, exact, families, lines, minhash, parts
from corpusmill.stages.dedup.parts import FIXED, Need


@pytest.mark.parametrize(
    ("memory", "count"),
    [(0, 1), (FIXED + 96_000, 1), (FIXED + 95_999, 2), (FIXED + 12_000, 8), (FIXED + 11_999, 16)],
)
def test_parts_are_as_many_as_the_budget_asks_for(tmp_path: Path, memory: int, count: int) -> None:
    ctx = MemoryContext(tmp_path, partitions=4, memory_bytes=memory)
    ctx.index = 2
    hashes = np.random.default_rng(1).integers(0, 1 << 64, 4 * 2000, np.uint64, endpoint=False)
    own = hashes[partition_of(hashes, 4) == 2][:1500]
    others = hashes[partition_of(hashes, 4) != 2]
    for some in (own[:700], others, own[700:]):
        ctx.write("rows", pa.table({"h": some}), some)
    made = list(parts.parts(ctx, Need("rows", "h", 8)))
    assert [(part.number, part.count) for part in made] == [(n, count) for n in range(count)]
    read = [part.by_hash("rows", "h")["h"].to_pylist() for part in made]
    assert sorted(h for rows in read for h in rows) == sorted(own.tolist())
    shift = 64 - 2 - (count.bit_length() - 1)
    assert all(h >> shift == 2 * count + n for n, rows in enumerate(read) for h in rows)
    assert max(map(len, read)) < 1.5 * 1500 / count


def test_a_budget_chooses_the_allocator_that_gives_back(tmp_path: Path) -> None:
    used = pa.default_memory_pool()
    for memory in (0, FIXED):
        ctx = MemoryContext(tmp_path, memory_bytes=memory)
        ctx.write("rows", pa.table({"h": np.arange(9, dtype=np.uint64)}))
        try:
            list(parts.parts(ctx, Need("rows", "h", 8)))
            found = pa.default_memory_pool().backend_name
        finally:
            pa.set_memory_pool(used)
        assert found == ("jemalloc" if memory else used.backend_name)


def pages(make: Any) -> list[Any]:
    r = random.Random(8)
    texts = []
    for n in range(90):
        words = [f"{r.choice('abé')}{r.randrange(10**6)}" for _ in range(60)]
        for copy in range(r.randrange(1, 4)):
            frame = f"A line of the frame number {n % 7}\n" if copy else ""
            texts.append(frame + " ".join([*words[: 60 - copy], "end"]))
    texts += texts[:40]
    return [make(n, text, host=f"h{n % 5}") for n, text in enumerate(texts)]


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("partitions", [1, 4])
@pytest.mark.parametrize(
    ("stage", "memory"),
    [
        (exact.STAGE(exact.ExactParams(large_group=2)), 10_000),
        (lines.STAGE(lines.LinesParams(documents=20, hosts=3)), 4000),
        (minhash.STAGE(minhash.MinhashParams(large_cluster=3)), 30_000),
    ],
    ids=["exact", "lines", "minhash"],
)
def test_a_budget_changes_nothing(
    make: Any, run: Any, monkeypatch: Any, stage: Any, memory: int, partitions: int, mapped: bool
) -> None:
    want, _, free = run(stage, pages(make), partitions=partitions)
    assert len(want) > 40
    seen: list[int] = []
    made = parts.parts

    def spied(*given: Any) -> Any:
        found = list(made(*given))
        seen.append(len(found))
        return iter(found)

    for module in (exact, lines, minhash, candidates, families):
        monkeypatch.setattr(module, "parts", spied)
    if mapped:
        monkeypatch.setattr(families, "FIXED", 1 << 40)
    got, _, ctx = run(stage, pages(make), partitions=partitions, memory_bytes=FIXED + memory)
    assert got == want
    assert max(seen) >= 4
    assert ctx.notes("tally") == free.notes("tally")
