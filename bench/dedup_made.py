"""Tables of made-up documents, as the phases of `dedup.minhash` write them, in Parquet files.

40 % of the documents are in clusters of two to five, whose members share a band with a chance of a
half, and all shingles. Only rows of the partitions that are to be timed are written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from corpusmill.pipeline.context import MemoryContext, partition_of
from corpusmill.pipeline.tables import Groups, TableWriter, each_piece

BANDS = 14
SHINGLES = 350
"""Distinct shingles of a document: a text of 2,200 characters."""
CHUNK = 500_000
"""Documents of one upstream task."""


class FileContext(MemoryContext):
    """A `MemoryContext` whose tables lie in Parquet files, as in a run folder: `flush` ends an
    upstream task."""

    def __init__(self, scratch: Path, partitions: int, memory_bytes: int = 0) -> None:
        super().__init__(scratch, partitions=partitions, memory_bytes=memory_bytes)
        scratch.mkdir(exist_ok=True)
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
            yield from each_piece(path, first, sum(g.count for g in held), columns)


def write_bands(ctx: FileContext, size: int, chosen: Any) -> Any:
    """Writes the band rows of the partitions `chosen`; how many each has."""
    import pyarrow as pa

    rows = np.zeros(ctx.partitions, np.int64)
    for own in chunks(size):
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
    for own in chunks(size):
        root = clusters(own)
        later = root != own
        table = pa.table({"a": root[later], "b": own[later]})
        ctx.write("edges", table, mixed(own[later], 3))
        ctx.flush()
        pairs += table.num_rows
    ctx.phase, ctx.index = "sets", 0
    ctx.note("candidates", size)
    return pairs


def write_sets(ctx: FileContext, size: int, chosen: Any) -> int:
    """Writes for the partitions `chosen` what ``verify`` reads: a pair of each member of a cluster
    with its first, and the sets of both; how many pairs there are."""
    import pyarrow as pa

    bits = ctx.partitions.bit_length() - 1
    pairs = 0

    def number(ids: Any) -> Any:  # in the order of ids, as that of a partition's candidates
        return (ids << np.uint64(bits)) >> np.uint64(24)

    def written(table: str, ids: Any, root: Any, hashes: Any) -> None:
        columns = {"id_hi": ids, "id_lo": mixed(ids, 2), "number": number(ids), "set": sets(root)}
        ctx.write(table, pa.table(columns), hashes)

    for own in chunks(size):
        root = clusters(own)
        name, first = mixed(own, 1), mixed(root, 1)
        a, b = np.minimum(name, first), np.maximum(name, first)
        mine = np.flatnonzero((root != own) & np.isin(partition_of(b, ctx.partitions), chosen))
        a, b, root = a[mine], b[mine], root[mine]
        pairs += len(mine)
        ctx.write("pairs", pa.table({"a": a, "b": b}), b)
        high, at = np.unique(b, return_index=True)
        written("sets", high, root[at], high)
        (asked, to), at = np.unique(
            np.stack((a, partition_of(b, ctx.partitions).astype(np.uint64))),
            axis=1, return_index=True,
        )  # fmt: skip
        written("sent", asked, root[at], to << np.uint64(64 - bits) if bits else to)
        ctx.flush()
    ctx.phase = "sets"
    for partition in range(ctx.partitions):
        ctx.index = partition
        ctx.note("candidates", 1 << 40)
    return pairs


def write_families(ctx: FileContext, size: int, chosen: Any) -> int:
    """Writes for the partitions `chosen` what ``split`` reads: the members of each cluster with
    their sets, and a pair of each with the first; how many members there are."""
    import pyarrow as pa

    members = 0
    for own in chunks(size):
        root = clusters(own)
        mine = np.isin(partition_of(mixed(root, 4), ctx.partitions), chosen)
        later = mine & (root != own)
        held = np.flatnonzero(mine & np.isin(own, root[root != own]) | later)
        members += len(held)
        columns = {
            "id_hi": own[held], "id_lo": mixed(own[held], 2),
            "rank": np.zeros(len(held), np.int64), "host": pa.array(["h"] * len(held)),
            "source": pa.array(["s"] * len(held)), "set": sets(root[held]),
            "number": own[held], "family": root[held],
        }  # fmt: skip
        ctx.write("gathered", pa.table(columns), mixed(root[held], 4))
        ties = pa.table({"a": root[later], "b": own[later]})
        ctx.write("ties", ties, mixed(root[later], 4))
        ctx.flush()
    return members


def sets(root: Any) -> Any:
    """The column of sets of documents whose clusters begin with `root`."""
    from corpusmill.stages.dedup.sets import Sets

    at = np.arange(SHINGLES, dtype=np.uint64)
    values = np.sort(mixed(root[:, None] * np.uint64(SHINGLES) + at, 5) >> np.uint64(32), axis=1)
    start = np.arange(len(root), dtype=np.int64) * SHINGLES
    return Sets(values.astype(np.uint32).reshape(-1), start, start + SHINGLES).column()


def chunks(size: int) -> Iterator[Any]:
    """The numbers of `size` documents, a task's after the other."""
    for at in range(0, size, CHUNK):
        yield np.arange(at, min(at + CHUNK, size), dtype=np.uint64)


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
