"""How taken documents become a domain's stream, and the stream shards: see `shards`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from corpusmill.pipeline.errors import IntegrityError

from . import formats
from .encode import Encoder

if TYPE_CHECKING:
    import pyarrow as pa

    from corpusmill.pipeline.context import TaskContext

PROVENANCE = ("url", "source", "licence")
"""Columns that go with a document into the rows of its shards, where they occur."""


def token_table(
    names: Sequence[str],
    domains: Sequence[str | None],
    ids: formats.Tokens,
    lengths: npt.NDArray[np.int64],
    provenance: Mapping[str, Any],
) -> pa.Table:
    """Rows of table ``tokens``: `ids`, of the stream's type, holds the documents' ids one after the
    other. `n_tokens` counts the end-of-text that `tokens` does not hold yet."""
    import pyarrow as pa

    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths * ids.itemsize, out=offsets[1:])
    tokens = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(lengths),
        [None, pa.py_buffer(offsets), pa.py_buffer(ids.tobytes())],
    )  # fmt: skip
    columns = {
        "id": pa.array(names, pa.string()),
        "domain": pa.array(domains, pa.string()),
        "n_tokens": pa.array(lengths + 1, pa.int64()),
        "tokens": tokens,
    }
    for name in PROVENANCE:
        given = provenance.get(name)
        columns[name] = (
            pa.nulls(len(names), pa.string()) if given is None else given.cast(pa.string())
        )  # fmt: skip
    return pa.table(columns)


def empty_tokens() -> pa.Table:
    """Table ``tokens`` without rows."""
    return token_table([], [], np.zeros(0, "<u2"), np.zeros(0, np.int64), {})


def placed_table(
    rows: pa.Table, stream: str, copy: int, place_keys: Sequence[str],
    take: npt.NDArray[np.int64],
) -> pa.Table:  # fmt: skip
    """Rows of table ``placed``: copy number `copy` of the documents `rows` of table
    ``tokens``, of which `stream` takes `take` tokens (end-of-text included)."""
    import pyarrow as pa

    columns = {
        "stream": pa.array([stream] * rows.num_rows, pa.string()),
        "place_key": pa.array(place_keys, pa.string()),
        "copy": pa.array(np.full(rows.num_rows, copy), pa.int32()),
        "take": pa.array(take, pa.int64()),
    }
    for name, values in columns.items():
        rows = rows.append_column(name, values)
    return rows


class Stream:
    """One stream as one task writes it: the shards whose first token lies in the task's part
    ``[begin, end)`` of the stream's `total` tokens. Fed with rows of ``placed`` from `begin` on
    until `done`."""

    def __init__(
        self,
        ctx: TaskContext,
        name: str,
        domain: str,
        encoder: Encoder,
        *,
        size: int,
        begin: int,
        end: int,
        total: int,
    ) -> None:
        self.name = name
        self.domain = domain
        self.summaries: list[dict[str, Any]] = []
        self._ctx = ctx
        self._eos = encoder.eos_id
        self._dtype = formats.dtype_for(encoder.max_id)
        self._size, self._total = size, total
        first, past = -(-begin // size), -(-end // size)
        self._start, self._stop = first * size, min(past * size, total)
        self._at = begin
        self._written = self._start
        self._writer: formats.ShardWriter | None = None

    @property
    def done(self) -> bool:
        return self._written >= self._stop

    def feed(self, table: pa.Table) -> None:
        """The next rows of the stream, in order."""
        take = table.column("take").to_numpy()
        ends = self._at + np.cumsum(take)
        starts = ends - take
        self._at = int(ends[-1])
        i = int(np.searchsorted(ends, self._start, side="right"))
        j = int(np.searchsorted(starts, self._stop, side="left"))
        if i >= j:
            return
        flat = flatten(table.slice(i, j - i), take[i:j], self._eos)
        base = int(starts[i])
        at, stop = max(base, self._start), min(int(ends[j - 1]), self._stop)
        while at < stop:
            number = at // self._size
            border = min((number + 1) * self._size, self._total)
            end = min(stop, border)
            a = int(np.searchsorted(ends, at, side="right"))
            b = int(np.searchsorted(starts, end, side="left"))
            pieces = piece_table(
                table.slice(a, b - a), starts[a:b], ends[a:b],
                begin=at, end=end, shard=number * self._size,
            )  # fmt: skip
            self._add(number, flat[at - base : end - base], pieces, last=end == border)
            at = self._written = end

    def _add(
        self, number: int, tokens: npt.NDArray[np.uint32], pieces: pa.Table, last: bool
    ) -> None:
        name = f"shards/{self.name}/{self.domain}-{number:05d}"
        if self._writer is None:
            files = {s: self._ctx.new_file(name + s) for s in formats.SUFFIXES}
            self._writer = formats.ShardWriter(files, self._dtype)
        self._writer.add(tokens, pieces)
        if last:
            row = {"name": name, "stream": self.name, "domain": self.domain, "number": number}
            self.summaries.append(row | self._writer.close())
            self._writer = None


def piece_table(
    rows: pa.Table,
    starts: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    *,
    begin: int,
    end: int,
    shard: int,
) -> pa.Table:
    """The rows of ``.docs.parquet`` for documents that lie at `starts` … `ends` in the domain's
    stream, as far as they lie within `begin` … `end`, in the shard that begins at `shard`."""
    import pyarrow as pa

    first = np.maximum(starts, begin)
    columns = {
        "start": pa.array(first - shard, pa.int64()),
        "end": pa.array(np.minimum(ends, end) - shard, pa.int64()),
        "id": rows.column("id"),
        "copy": rows.column("copy"),
        "doc_offset": pa.array(first - starts, pa.int64()),
        "doc_tokens": pa.array(ends - starts, pa.int64()),
        "cut": pa.array(ends - starts < rows.column("n_tokens").to_numpy(), pa.bool_()),
    }
    columns |= {name: rows.column(name) for name in PROVENANCE}
    return pa.table(columns)


def flatten(rows: pa.Table, take: npt.NDArray[np.int64], eos: int) -> npt.NDArray[np.uint32]:
    """The documents' tokens one after the other, `take` of each with end-of-text as the last."""
    words, offsets = _words(rows)
    result = np.empty(int(take.sum()), dtype=np.uint32)
    at = 0
    for begin, stop, count in zip(
        offsets.tolist(), offsets[1:].tolist(), take.tolist(), strict=False
    ):
        if not 1 <= count <= stop - begin + 1:
            raise IntegrityError(f"{count} tokens to take of a document with {stop - begin + 1}")
        result[at : at + count - 1] = words[begin : begin + count - 1]
        result[at + count - 1] = eos
        at += count
    return result


def _words(rows: pa.Table) -> tuple[formats.Tokens, npt.NDArray[np.int64]]:
    """The ids of table ``tokens`` in one array, and where each document's begin and end in it.
    Their type shows in the cells' sizes: what has been encoded as four bytes an id stays good."""
    import pyarrow as pa

    column = rows.column("tokens").cast(pa.large_binary()).combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks)
    _, offset_buffer, data = column.buffers()
    offsets = np.frombuffer(offset_buffer, dtype=np.int64)[column.offset :][: len(column) + 1]
    sizes, ids = np.diff(offsets), rows.column("n_tokens").to_numpy() - 1
    raw = b"" if data is None else data
    if np.array_equal(sizes, 2 * ids):
        return np.frombuffer(raw, dtype=np.uint16), offsets // 2
    if np.array_equal(sizes, 4 * ids):
        return np.frombuffer(raw, dtype=np.uint32), offsets // 4
    raise IntegrityError("the encoded documents do not have as many tokens as is said")
