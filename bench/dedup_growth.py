"""What the steps after the band keys cost as the corpus grows, at the same memory budget.

Tables of made-up documents (`bench.dedup_made`) are written to Parquet files. Partitions are as
many as keep one partition's band rows within the budget. The phases ``bucket``, ``verify`` and
``split`` are timed on some partitions (`TIMED`), the phase ``link``,
one task, on all pairs. Memory is the peak of a phase over what the process held before it.

    python -m bench.dedup_growth SIZE ROWS [MEMORY]    (one size, as JSON)
"""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from corpusmill.pipeline.peak import own_peak_bytes, start_again

from .dedup_made import BANDS, FileContext, write_bands, write_edges, write_families, write_sets
from .harness import ROOT, Bar, BenchError

ROWS, QUICK_ROWS = 1_000_000, 250_000
"""Band rows of a partition at most: what the memory of a task hangs on."""
SIZES = (100_000, 500_000, 1_000_000, 2_000_000, 5_000_000)
QUICK_SIZES = (50_000, 200_000)
BUDGET, BUDGET_SIZES, QUICK_BUDGET_SIZES = 128 << 20, (200_000, 500_000), (50_000, 100_000)
"""Bytes of memory for a task, and documents that it holds them with."""
FROM = 1_000_000
"""The size that the largest is compared with, where it was measured; else the smallest."""
TIMED = 4
"""Partitions, from the first to the last: a pair lies where its larger id does, so the last have
more."""
PIECE = 16 << 20
"""Memory for the piece of its input that a task is at."""
IN_PARTITIONS = ("bucket", "verify", "split")
_PHASES = (*IN_PARTITIONS, "link")
GROWTH_COLUMNS = ("what", "partitions", *_PHASES, *(f"{name}, MB" for name in _PHASES))


def growth(
    sizes: Sequence[int], most_rows: int = ROWS
) -> tuple[list[dict[str, Any]], dict[str, Bar]]:
    """A row a size; how CPU time a document and memory of a task grow, and the most memory that
    the one task needs a document."""
    rows = []
    for size in sizes:
        found = in_process(size, most_rows)
        rows.append({"what": f"microseconds a document after the keys, {size}", **found})
    last = rows[-1]
    base = next((row for row in rows if row["documents"] == FROM), rows[0])
    held = [max(row[f"{phase}, MB"] for phase in IN_PARTITIONS) for row in (base, last)]
    link = max((1e6 * row["link, MB"] - PIECE) / row["documents"] for row in rows)
    return rows, {
        f"CPU time a document, {last['documents']} to {base['documents']}": Bar(
            round(last["value"] / base["value"], 3), 1.3, at_most=True
        ),
        f"memory of a partition's task, {last['documents']} to {base['documents']}": Bar(
            round(held[1] / held[0], 3), 1.3, at_most=True
        ),
        "bytes of memory a document over 16 MiB, link": Bar(round(link, 2), 8, at_most=True),
        "bytes a document of band rows": Bar(round(last["bytes a text"], 1), 230, at_most=True),
    }  # fmt: skip


def within_budget(sizes: Sequence[int]) -> tuple[list[dict[str, Any]], dict[str, Bar]]:
    """A row a size, all in one partition, with a budget of `BUDGET`; the most that a task of a
    partition held over it, in bytes."""
    rows = []
    for size in sizes:
        found = in_process(size, BANDS * size, BUDGET)
        rows.append({"what": f"microseconds a document, with a budget, {size}", **found})
    held = max(1e6 * row[f"{phase}, MB"] for row in rows for phase in IN_PARTITIONS)
    return rows, {
        f"MB over the budget of {BUDGET >> 20} MiB": Bar(
            round((held - BUDGET) / 1e6, 1), 8, at_most=True
        )
    }


def in_process(size: int, most_rows: int, memory_bytes: int = 0) -> dict[str, Any]:
    """`timed` in a process of its own, so that each begins with the same memory."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.dedup_growth", *map(str, (size, most_rows, memory_bytes))],
        stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def timed(size: int, most_rows: int, memory_bytes: int = 0) -> dict[str, Any]:
    """CPU microseconds a document of each phase for `size` documents, and the memory that a task
    takes; with a budget of `memory_bytes` for a task."""
    from corpusmill.stages.dedup.minhash import STAGE, MinhashParams

    partitions = 1
    while BANDS * size > partitions * most_rows:
        partitions *= 2
    stage = STAGE(MinhashParams())
    stage.setup()
    chosen = np.rint(np.linspace(0, partitions - 1, min(TIMED, partitions))).astype(np.int64)
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        at = {n: FileContext(Path(scratch) / n, partitions, memory_bytes) for n in _PHASES}
        rows = write_bands(at["bucket"], size, chosen)
        bytes_a_row = at["bucket"].bytes / rows.sum()
        pairs = write_sets(at["verify"], size, chosen)
        write_families(at["split"], size, chosen)
        write_edges(at["link"], size)
        spent = dict.fromkeys(at, 0.0)
        held = dict.fromkeys(at, 0)
        for name in IN_PARTITIONS:
            at[name].phase = name
            for partition in chosen.tolist():
                at[name].index = partition
                seconds, peak = measured(getattr(stage, name), at[name])
                spent[name] += seconds * partitions / len(chosen)
                held[name] = max(held[name], peak)
        verified = sum(note["verified_pairs"] for note in at["verify"].notes("verify"))
        if verified != pairs:
            raise BenchError(f"{verified} of {pairs} pairs were verified")
        spent["link"], held["link"] = measured(stage.link, at["link"])
    return {
        "value": 1e6 * sum(spent.values()) / size, "documents": size, "partitions": partitions,
        "rows of a partition": int(rows.max()), "bytes a text": BANDS * bytes_a_row,
        **{name: 1e6 * seconds / size for name, seconds in spent.items()},
        **{f"{name}, MB": peak / 1e6 for name, peak in held.items()},
    }  # fmt: skip


def measured(phase: Callable[[FileContext], None], ctx: FileContext) -> tuple[float, int]:
    """CPU seconds of a task, and the most memory of its own above that of before, in bytes."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()
    ctypes.CDLL(None).malloc_trim(0)  # else the work might be done in what is free already
    start_again()  # the peak is what is held now
    before = own_peak_bytes() or 0
    started = time.process_time()
    phase(ctx)
    return time.process_time() - started, (own_peak_bytes() or 0) - before


if __name__ == "__main__":
    print(json.dumps(timed(*map(int, sys.argv[1:]))))
