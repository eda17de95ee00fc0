"""What the steps after the band keys cost as the corpus grows, at the same memory budget.

Band rows of made-up documents are written to Parquet files as `dedup.minhash` writes them: 40 % of
the documents are in clusters of two to five, whose members share a band with a chance of a half.
Partitions are as many as keep one partition's rows within the budget. The phase ``bucket`` is
timed on some partitions (all are alike, being chosen by hash), the phase ``link``, one task, on
all pairs. Memory is the peak of the phase over what the process held before it.
"""

from __future__ import annotations

import ctypes
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from corpusmill.pipeline.context import MemoryContext, partition_of
from corpusmill.pipeline.tables import Groups, TableWriter, read_groups

from .harness import ROOT, Bar

BANDS = 14
ROWS = 1_000_000
"""Band rows of a partition at most: what the memory of a task of ``bucket`` hangs on."""
SIZES = (1_000_000, 2_000_000, 5_000_000)
QUICK_SIZES = (50_000, 250_000)
TIMED = 3
PIECE = 16 << 20
"""Memory for the piece of its input that a task is at."""
CHUNK = 500_000
"""Documents of one upstream task."""


def growth(quick: bool) -> tuple[list[dict[str, Any]], dict[str, Bar]]:
    """A row a size; the ratio of CPU time a document, largest to smallest, and the most memory a
    band row and a document."""
    rows = []
    for size in QUICK_SIZES if quick else SIZES:
        found = in_process(size, ROWS // 20 if quick else ROWS)
        rows.append({"what": f"microseconds a document after the keys, {size}", **found})
    cost = [row["value"] for row in rows]
    return rows, {
        "CPU time a document, largest to smallest": Bar(
            round(cost[-1] / cost[0], 3), 1.3, at_most=True
        ),
        "bytes of memory a band row over 16 MiB, bucket": Bar(
            round(max((r["bucket_bytes"] - PIECE) / r["rows of a partition"] for r in rows), 1),
            100, at_most=True,
        ),
        "bytes of memory a document over 16 MiB, link": Bar(
            round(max((r["link_bytes"] - PIECE) / r["documents"] for r in rows), 2),
            8, at_most=True,
        ),
        "bytes a document of band rows": Bar(round(rows[-1]["bytes a text"], 1), 230, at_most=True),
    }  # fmt: skip


def in_process(size: int, most_rows: int) -> dict[str, Any]:
    """`timed` in a process of its own, so that each begins with the same memory."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.dedup_growth", str(size), str(most_rows)],
        stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout)
    return found


class FileContext(MemoryContext):
    """A `MemoryContext` whose tables lie in Parquet files, as in a run folder: `flush` ends an
    upstream task."""

    def __init__(self, scratch: Path, partitions: int) -> None:
        super().__init__(scratch, partitions=partitions)
        self.bytes = 0
        self._writers: dict[str, TableWriter] = {}
        self._written: dict[str, list[tuple[Path, list[Groups]]]] = {}

    def write(self, table: str, data: Any, hashes: Any = None) -> None:
        writer = self._writers.setdefault(table, TableWriter())
        writer.add(data, None if hashes is None else partition_of(hashes, self.partitions))

    def flush(self) -> None:
        """Writes what was collected to a file a table."""
        for table, writer in self._writers.items():
            written = self._written.setdefault(table, [])
            path = self.scratch / f"{table}-{len(written)}.parquet"
            written.append((path, writer.write(path)))
            self.bytes += path.stat().st_size
        self._writers = {}

    def batches(
        self, table: str, *, partition: int | None = None, columns: Sequence[str] | None = None
    ) -> Iterator[Any]:
        for path, groups in self._written[table]:
            held = [g for g in groups if partition in (None, g.partition)]
            first = held[0].first if held else 0
            yield read_groups(path, first, sum(g.count for g in held), columns)


def timed(size: int, most_rows: int) -> dict[str, Any]:
    """CPU microseconds a document of ``bucket`` and ``link`` for `size` documents, and the memory
    that they take."""
    from corpusmill.stages.dedup.minhash import STAGE, MinhashParams

    partitions = 1
    while BANDS * size > partitions * most_rows:
        partitions *= 2
    stage = STAGE(MinhashParams())
    stage.setup()
    chosen = np.linspace(0, partitions - 1, min(TIMED, partitions)).astype(np.int64)
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        ctx = FileContext(Path(scratch), partitions)
        rows = write_bands(ctx, size, chosen)
        bytes_a_row = ctx.bytes / rows.sum()
        spent, held = 0.0, 0
        for p in chosen.tolist():
            ctx.index = p
            seconds, peak = measured(lambda: stage.bucket(ctx))
            spent, held = spent + seconds, max(held, peak)
        bucket = spent / len(chosen) * partitions
        pairs = write_edges(ctx, size)
        link, link_bytes = measured(lambda: stage.link(ctx))
    return {
        "value": 1e6 * (bucket + link) / size, "documents": size,
        "bucket": 1e6 * bucket / size, "link": 1e6 * link / size, "partitions": partitions,
        "rows of a partition": int(rows.max()), "pairs": pairs, "bytes a text": BANDS * bytes_a_row,
        "bucket_bytes": held, "link_bytes": link_bytes,
    }  # fmt: skip


def measured(work: Callable[[], None]) -> tuple[float, int]:
    """CPU seconds, and the highest resident memory above that of before, in bytes."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()
    ctypes.CDLL(None).malloc_trim(0)  # else the work might be done in what is free already
    Path("/proc/self/clear_refs").write_text("5")  # the peak is what is held now
    before = _memory("VmRSS")
    started = time.process_time()
    work()
    return time.process_time() - started, _memory("VmHWM") - before


def _memory(name: str) -> int:
    found = re.search(rf"{name}:\s*(\d+) kB", Path("/proc/self/status").read_text())
    return 1024 * int(found[1]) if found else 0


def write_bands(ctx: FileContext, size: int, chosen: Any) -> Any:
    """Writes the band rows of the partitions `chosen`; how many each has."""
    import pyarrow as pa

    rows = np.zeros(ctx.partitions, np.int64)
    for at in range(0, size, CHUNK):
        own = np.arange(at, min(at + CHUNK, size), dtype=np.uint64)
        root, name = clusters(own), mixed(own, 1)
        keys = []
        for band in range(BANDS):
            met = np.where(mixed(own, 100 + band) & np.uint64(1) == 0, root, own)
            keys.append(mixed(met + np.uint64(1 << 40), 200 + band))
        key = np.stack(keys, axis=1).reshape(-1)  # the rows of a document together, as of `emit`
        part = partition_of(key, ctx.partitions)
        mine = np.flatnonzero(np.isin(part, chosen))
        rows += np.bincount(part[mine], minlength=ctx.partitions)
        table = pa.table({"key": key[mine], "id": np.repeat(name, BANDS)[mine]})
        ctx.write("bands", table, key[mine])
        ctx.flush()
    return rows


def write_edges(ctx: FileContext, size: int) -> int:
    """Writes a verified pair for each member of a cluster that is not its first, all documents
    being candidates; how many pairs there are."""
    import pyarrow as pa

    pairs = 0
    for at in range(0, size, CHUNK):
        own = np.arange(at, min(at + CHUNK, size), dtype=np.uint64)
        root = clusters(own)
        later = root != own
        table = pa.table({"a": root[later], "b": own[later]})
        ctx.write("edges", table, mixed(own[later], 3))
        ctx.flush()
        pairs += table.num_rows
    ctx.phase, ctx.index = "sets", 0
    ctx.note("candidates", size)
    return pairs


def clusters(own: Any) -> Any:
    """For each document the first of its cluster: itself, or for two fifths one of up to four
    before it."""
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


if __name__ == "__main__":
    print(json.dumps(timed(int(sys.argv[1]), int(sys.argv[2]))))
