"""Rows of a fixed length made of whole documents, as an index beside the shards: no copy.

Best-fit decreasing (Ding et al. 2024, "Fewer truncations improve language modeling", algorithm 1):
a piece that is longer than a row fills rows of its own, and what is left of it is packed; pieces
go, longest first, into the row that they leave least room in. Each shard is packed by itself, so
that an index never needs another file, and packing needs no more memory than a shard's ends.

Rows stand in the order of the first token that each holds, so that the shards' keyed order stays
one to train in. The index has a row per part: ``row``, ``piece`` (its number in ``.ends``),
``start`` (token in the shard), ``length``, ``offset`` (tokens of the piece before it: 0 begins a
document or goes on with one from the shard before, as ``.docs.parquet`` says).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from corpusmill.pipeline.errors import ConfigError

from . import formats

if TYPE_CHECKING:
    import pyarrow as pa

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Packing:
    """The parts of all rows, row by row; arrays of equal length, see the module."""

    length: int
    row: Ints
    piece: Ints
    start: Ints
    size: Ints
    offset: Ints

    @property
    def rows(self) -> int:
        return int(self.row[-1]) + 1 if len(self.row) else 0

    def figures(self) -> dict[str, int]:
        """Rows, tokens, padding (tokens), pieces, pieces that were cut, and the rows that plain
        cutting of the stream would need."""
        tokens = int(self.size.sum())
        pieces, parts = np.unique(self.piece, return_counts=True)
        return {
            "length": self.length, "rows": self.rows, "tokens": tokens,
            "padding": self.rows * self.length - tokens, "pieces": len(pieces),
            "cut": int(np.count_nonzero(parts > 1)), "least_rows": -(-tokens // self.length),
        }  # fmt: skip

    def table(self) -> pa.Table:
        """The index as it is written."""
        import pyarrow as pa

        return pa.table({
            "row": pa.array(self.row, pa.int32()), "piece": pa.array(self.piece, pa.int32()),
            "start": pa.array(self.start, pa.int64()), "length": pa.array(self.size, pa.int32()),
            "offset": pa.array(self.offset, pa.int64()),
        })  # fmt: skip


def pack(ends: npt.NDArray[np.uint64], length: int) -> Packing:
    """Packs the pieces that end at `ends` into rows of `length` tokens. Raises ConfigError unless
    `length` is 2 or more."""
    if length < 2:
        raise ConfigError(f"rows of {length} tokens cannot be packed")
    stops = ends.astype(np.int64)
    starts = np.concatenate([np.zeros(1, np.int64), stops[:-1]])[: len(stops)]
    piece, offset, size = _parts(stops - starts, length)
    rows = _fit(size, length)
    begin = starts[piece] + offset
    first = np.full(int(rows.max()) + 1 if len(rows) else 0, np.iinfo(np.int64).max)
    np.minimum.at(first, rows, begin)
    place = np.empty(len(first), dtype=np.int64)
    place[np.argsort(first, kind="stable")] = np.arange(len(first))
    order = np.lexsort((begin, place[rows]))
    return Packing(
        length, place[rows][order], piece[order], begin[order], size[order], offset[order]
    )


def _parts(lengths: Ints, most: int) -> tuple[Ints, Ints, Ints]:
    """Pieces cut to at most `most` tokens: number of the piece, offset in it, size."""
    count = -(-lengths // most)
    piece = np.repeat(np.arange(len(lengths)), count)
    within = np.arange(len(piece)) - np.repeat(np.cumsum(count) - count, count)
    offset = within * most
    return piece, offset, np.minimum(lengths[piece] - offset, most)


def _fit(sizes: Ints, length: int) -> Ints:
    """The row of each part, by best-fit decreasing; equal sizes in their order.

    `open_rows` has the rows by the room that they have left, `rooms` the same as the bits of a
    number, so that the least room that suffices is its lowest bit from `size` on.
    """
    result = np.zeros(len(sizes), dtype=np.int64)
    open_rows: list[list[int]] = [[] for _ in range(length + 1)]
    rooms = 0
    rows = 0
    order = np.argsort(-sizes, kind="stable")
    for i, size in zip(order.tolist(), sizes[order].tolist(), strict=True):
        fitting = rooms >> size
        if fitting:
            room = size + (fitting & -fitting).bit_length() - 1
            row = open_rows[room].pop()
            if not open_rows[room]:
                rooms ^= 1 << room
            room -= size
        else:
            row, room = rows, length - size
            rows += 1
        result[i] = row
        if room:
            if not open_rows[room]:
                rooms |= 1 << room
            open_rows[room].append(row)
    return result


def write_index(shard: Path, target: Path, length: int) -> dict[str, int]:
    """Packs one shard and writes its index; the figures of `Packing.figures`."""
    import pyarrow.parquet as pq

    _, ends = formats.read_shard(shard)
    packing = pack(ends, length)
    target.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(packing.table(), target, compression="zstd")
    return packing.figures()


def read_rows(shard: Path, index: Path) -> Iterator[tuple[Any, list[int]]]:
    """Every row of an index: its tokens, without padding, and where its parts end in it (the
    borders for attention masks and positions)."""
    import pyarrow.parquet as pq

    tokens, _ = formats.read_shard(shard)
    table = pq.read_table(index, partitioning=None)
    row, start, size = (table.column(n).to_numpy() for n in ("row", "start", "length"))
    borders = np.flatnonzero(np.diff(row)) + 1
    for part in np.split(np.arange(len(row)), borders) if len(row) else []:
        pieces = [tokens[start[i] : start[i] + size[i]] for i in part.tolist()]
        yield np.concatenate(pieces), np.cumsum(size[part]).tolist()
