"""From candidate pairs to verified ones: phases ``sets`` and ``verify`` of `dedup.minhash`.

Up to here a document is known by the leading 64 bits of its id, which is what a band row has room
for. Two documents of a corpus may have the same ones (of a billion, one such pair with a chance
of 3 %); a pair then stands for all pairs of documents that it can mean, and their sets decide.

From here on candidates have numbers: those of one partition are counted in order of id, and
what the partitions before it have is added. So numbers sort as ids do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from corpusmill.pipeline.context import TaskContext, partition_of
from corpusmill.pipeline.errors import StageError

from .bands import unique_rows
from .ids import join_ids, split_ids
from .keeping import Keep, columns_for, rank_array
from .parts import Need, Part, parts
from .picked import picked
from .sets import MOST, Sets, at_least, column_sets, meetings, places

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa


_NEEDS = (Need("pairs", "b", 12), Need("sent", "set", 6), Need("sets", "set", 6))
"""What `write_edges` holds."""


def write_pairs(
    ctx: TaskContext, left: npt.NDArray[np.uint64], right: npt.NDArray[np.uint64]
) -> None:
    """Writes ``pairs`` (a, b), by b; and ``asks``: which partitions need the set of a, by a."""
    import pyarrow as pa

    ctx.write("pairs", pa.table({"a": left, "b": right}), right)
    to = partition_of(right, ctx.partitions).astype(np.uint64)
    asking, to = unique_rows([left, to])
    ctx.write("asks", pa.table({"a": asking, "to": to}), asking)


def write_sets(
    ctx: TaskContext, sets_of: Callable[[list[str]], Sets], keep: Keep, signal: str
) -> None:
    """One partition of documents: makes the sets of those in pairs. Writes ``sets``, by id,
    and ``sent``, copies for the partitions that ask. Raises StageError for a document that is in
    a pair and not among the documents."""
    import pyarrow as pa

    asks = ctx.read("asks", partition=ctx.index)
    asking, to = unique_rows([asks["a"].to_numpy(), asks["to"].to_numpy()])
    pairs = ctx.read("pairs", partition=ctx.index, columns=("b",))
    ids = _with_prefix(ctx, np.unique(np.concatenate([pairs["b"].to_numpy(), asking])))
    needed = ("host", "source", *columns_for(keep, signal))
    for some in picked(ctx, ids, needed):
        high, low = split_ids(some.ids)
        lengths = [len(text) for text in some.texts]
        table = pa.table(
            {
                "id_hi": high,
                "id_lo": low,
                "number": np.array(some.rows, np.uint64),
                "rank": rank_array(keep, signal, lengths, some.columns),
                "host": pa.array(some.columns["host"], pa.string()),
                "source": pa.array(some.columns["source"], pa.string()),
                "set": sets_of(some.texts).column(),
            }
        )
        ctx.write("sets", table, high)
        row, ask = meetings(high, asking)
        sent = table.select(["id_hi", "number", "set"]).take(pa.array(row))
        ctx.write("sent", sent, _hash_for(to[ask], ctx.partitions))
    ctx.note("candidates", len(ids))


def _with_prefix(ctx: TaskContext, wanted: npt.NDArray[np.uint64]) -> npt.NDArray[Any]:
    """The sorted ids of the partition's documents whose leading half is among `wanted`."""
    found = [np.empty(0, "S16")]
    for piece in ctx.batches("docs", partition=ctx.index, columns=("id",)):
        high, low = split_ids(piece["id"].to_pylist())
        row, _ = meetings(high, wanted)
        found.append(join_ids(high[row], low[row]))
    ids = np.sort(np.concatenate(found))
    lost = np.setdiff1d(wanted, leading(ids))
    if len(lost):
        raise StageError(
            f"dedup.minhash: of {len(wanted)} documents in pairs {len(lost)} are not among the "
            f"documents; the first id begins with {int(lost[0]):016x}"
        )
    return ids


def leading(ids: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """The leading halves of packed ids."""
    return ids.view(">u8")[::2].astype(np.uint64)


def first_numbers(ctx: TaskContext) -> npt.NDArray[np.int64]:
    """The number of each partition's first candidate; at the end how many there are in all."""
    counts = [int(note["candidates"]) for note in ctx.notes("sets")]
    return np.cumsum([0, *counts])


@dataclass(frozen=True, slots=True)
class _Held:
    """Candidates and their sets, in order of number."""

    prefix: npt.NDArray[np.uint64]
    number: npt.NDArray[np.int64]
    sets: Sets


def _held(
    part: Part, table: str, wanted: npt.NDArray[np.uint64], first: npt.NDArray[np.int64]
) -> _Held:
    """The rows of a table whose ids begin with one of the sorted `wanted`."""
    read = part.read(
        table, lambda piece: places(piece["id_hi"].to_numpy(), wanted)[1],
        ("id_hi", "number", "set"),
    )  # fmt: skip
    prefix = read["id_hi"].to_numpy()
    number = read["number"].to_numpy().astype(np.int64)
    number += first[partition_of(prefix, part.ctx.partitions)]
    order = np.argsort(number)
    return _Held(prefix[order], number[order], column_sets(read["set"]).take(order))


def write_edges(ctx: TaskContext, overlaps: Callable[..., None], min_jaccard: float) -> None:
    """One partition of pairs: writes ``edges``, the numbers of those whose sets are similar
    enough, the smaller first, by the larger. `overlaps` is the kernel of that name."""
    first, needed = first_numbers(ctx), at_least(min_jaccard)
    candidates = verified = 0
    for part in parts(ctx, *_NEEDS):
        pairs, found = _edges(part, first, overlaps, needed)
        ctx.write("edges", *found)
        candidates += pairs
        verified += len(found[1])
    ctx.note("candidate_pairs", candidates)
    ctx.note("verified_pairs", verified)


def _edges(
    part: Part, first: npt.NDArray[np.int64], overlaps: Callable[..., None],
    needed: npt.NDArray[np.int64],
) -> tuple[int, tuple[pa.Table, npt.NDArray[np.uint64]]]:  # fmt: skip
    """How many pairs a part has, and of those that count the numbers, with what chooses their
    partitions."""
    pairs = part.by_hash("pairs", "b")
    a, b = unique_rows([pairs["a"].to_numpy(), pairs["b"].to_numpy()])
    one, other = _held(part, "sent", np.unique(a), first), _held(part, "sets", np.unique(b), first)
    pair, left = meetings(a, one.prefix)
    again, right = meetings(b[pair], other.prefix)
    lost = np.setdiff1d(np.arange(len(a)), pair[again])
    if len(lost):
        raise StageError(
            f"dedup.minhash: {len(lost)} pairs have no sets; the ids of the first begin with "
            f"{int(a[lost[0]]):016x} and {int(b[lost[0]]):016x}"
        )
    left = left[again]
    apart = one.number[left] < other.number[right]  # of equal leading halves each pair once
    left, right = left[apart], right[apart]
    shared, either = np.zeros((2, len(left)), np.int64)
    overlaps(
        one.sets.values, one.sets.start, one.sets.stop, left,
        other.sets.values, other.sets.start, other.sets.stop, right, MOST, shared, either,
    )  # fmt: skip
    good = shared >= needed[either]
    left, right = left[good], right[good]
    return len(good), (_numbers(one.number[left], other.number[right]), other.prefix[right])


def _numbers(left: npt.NDArray[np.int64], right: npt.NDArray[np.int64]) -> pa.Table:
    import pyarrow as pa

    return pa.table({"a": left.astype(np.uint64), "b": right.astype(np.uint64)})


def _hash_for(to: npt.NDArray[np.uint64], partitions: int) -> npt.NDArray[np.uint64]:
    """Hashes that fall into the partitions `to`."""
    bits = partitions.bit_length() - 1
    return to << np.uint64(64 - bits) if bits else np.zeros(len(to), np.uint64)
