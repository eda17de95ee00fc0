"""What the steps after the band keys cost as the corpus grows, at the same memory budget.

Band rows of made-up documents are written as `dedup.minhash` writes them: 40 % of the documents are
in clusters of two to five, whose members share a band with a chance of a half. Partitions are as
many as keep one partition's rows within the budget. The phase ``bucket`` is timed on some
partitions (all are alike, being chosen by hash), the phase ``link``, one task, on all pairs.
"""

from __future__ import annotations

import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from .harness import Bar

BANDS = 14
ROWS = 1_000_000
"""Band rows of a partition at most: about 120 MB when sorted."""
SIZES = (1_000_000, 2_000_000, 5_000_000)
QUICK_SIZES = (50_000, 250_000)
TIMED = 3


def growth(quick: bool) -> tuple[list[dict[str, Any]], dict[str, Bar]]:
    """A row a size and the ratio of CPU time a document, largest to smallest."""
    rows = []
    cost = []
    for size in QUICK_SIZES if quick else SIZES:
        found = timed(size, ROWS // 20 if quick else ROWS)
        cost.append(found["value"])
        rows.append({"what": f"microseconds a document after the keys, {size}", **found})
    return rows, {
        "CPU time a document, largest to smallest": Bar(
            round(cost[-1] / cost[0], 3), 1.3, at_most=True
        )
    }


def timed(size: int, most_rows: int) -> dict[str, Any]:
    """CPU microseconds a document of ``bucket`` and ``link`` for `size` documents."""
    import pyarrow as pa

    from corpusmill.pipeline.context import MemoryContext
    from corpusmill.stages.dedup.minhash import STAGE, MinhashParams

    partitions = 1
    while BANDS * size > partitions * most_rows:
        partitions *= 2
    root = clusters(size)
    own = np.arange(size, dtype=np.uint64)
    high, low = mixed(own, 1), mixed(own, 2)
    stage = STAGE(MinhashParams())
    stage.setup()
    chosen = np.linspace(0, partitions - 1, min(TIMED, partitions)).astype(int)
    parts: dict[int, list[Any]] = {int(p): [] for p in chosen}
    bits = partitions.bit_length() - 1
    for band in range(BANDS):
        shares = mixed(own, 100 + band) & np.uint64(1) == 0
        key = mixed(np.where(shares, root, own) + np.uint64(1 << 40), 200 + band)
        part = key >> np.uint64(64 - bits) if bits else np.zeros(size, np.uint64)
        for p, pieces in parts.items():
            rows = np.flatnonzero(part == p)
            side = (mixed(np.where(shares, root, own)[rows], 300 + band)).astype(np.uint16)
            pieces.append((key[rows], side, side ^ np.uint16(1), high[rows], low[rows]))
    spent = 0.0
    held = 0
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        for p, pieces in parts.items():
            ctx = MemoryContext(Path(scratch), partitions=partitions)
            ctx.index = p
            names = ("key", "side_1", "side_2", "id_hi", "id_lo")
            table = pa.table(
                {n: np.concatenate([piece[k] for piece in pieces]) for k, n in enumerate(names)}
            )
            ctx.write("bands", table, table["key"].to_numpy())
            held = max(held, table.num_rows)
            started = time.process_time()
            stage.bucket(ctx)
            spent += time.process_time() - started
        bucket = spent / len(parts) * partitions
        ctx = MemoryContext(Path(scratch), partitions=partitions)
        a = np.flatnonzero(root != own)
        b = root[a].astype(np.int64)
        swap = high[a] > high[b]
        a, b = np.where(swap, b, a), np.where(swap, a, b)
        edges = pa.table({"a_hi": high[a], "a_lo": low[a], "b_hi": high[b], "b_lo": low[b]})
        ctx.write("edges", edges, high[a])
        started = time.process_time()
        stage.link(ctx)
        link = time.process_time() - started
    return {
        "value": 1e6 * (bucket + link) / size,
        "bucket": 1e6 * bucket / size, "link": 1e6 * link / size, "partitions": partitions,
        "rows of a partition": held, "pairs": edges.num_rows,
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }  # fmt: skip


def clusters(size: int) -> Any:
    """For each document the first of its cluster: itself, or for two fifths one of up to four
    before it."""
    own = np.arange(size, dtype=np.uint64)
    block, within = own // np.uint64(10), own % np.uint64(10)
    count = np.uint64(2) + mixed(block, 7) % np.uint64(4)  # members of the block's one cluster
    return np.where(within < count, block * np.uint64(10), own)


def mixed(values: Any, salt: int) -> Any:
    """A 64-bit hash of each value (SplitMix64)."""
    with np.errstate(over="ignore"):
        x = values.astype(np.uint64) + np.uint64(salt * 0x9E3779B97F4A7C15 & (1 << 64) - 1)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))
