"""From verified pairs to families and clusters: phases ``link``, ``gather``, ``split`` of
`dedup.minhash`.

A family is a component of the graph of verified pairs. The one task that sees all pairs holds an
integer of 8 bytes for each candidate, and nothing of their ids or sets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from corpusmill.pipeline.context import TaskContext, hash_of_ids

from .candidates import first_numbers
from .guards import SAMPLES, Counts, add, largest
from .ids import hex_ids
from .keeping import preference
from .sets import MOST, Sets, at_least, column_sets, packed_ids

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

_FILE = "families"
"""For each candidate, by number, the smallest number of its family, or -1: 8 bytes each."""
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


def link(ctx: TaskContext, kernel: Any) -> None:
    """All verified pairs, piece by piece: writes the families as a file."""
    family = np.full(first_numbers(ctx)[-1], -1, np.int64)
    for piece in ctx.batches("edges"):
        kernel.join(piece["a"].to_numpy(), piece["b"].to_numpy(), family)
    kernel.settle(family)
    family.astype("<i8", copy=False).tofile(ctx.new_file(_FILE))


def _families(path: Path, first: int, stop: int) -> npt.NDArray[np.int64]:
    """The families of the candidates `first` to `stop`."""
    return np.fromfile(path, "<i8", stop - first, offset=8 * first).astype(np.int64)


def _by_family(family: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """Hashes of families (a product by an odd number: its upper bits spread well)."""
    return family.astype(np.uint64) * _SPREAD


def gather(ctx: TaskContext) -> None:
    """One partition of documents: writes ``gathered``, the sets of family members, and ``ties``,
    the verified pairs again; both by family."""
    import pyarrow as pa

    first, stop = first_numbers(ctx)[ctx.index : ctx.index + 2].tolist()
    families = _families(ctx.files()[_FILE], first, stop)
    for piece in ctx.batches("sets", partition=ctx.index):
        number = piece["number"].to_numpy().astype(np.int64)
        rows = np.flatnonzero(families[number] >= 0)
        family = families[number[rows]]
        table = piece.drop_columns(["number"]).take(pa.array(rows))
        table = table.append_column("number", pa.array((number[rows] + first).astype(np.uint64)))
        table = table.append_column("family", pa.array(family.astype(np.uint64)))
        ctx.write("gathered", table, _by_family(family))
    for piece in ctx.batches("edges", partition=ctx.index):
        own = piece["b"].to_numpy().astype(np.int64) - first
        ctx.write("ties", piece, _by_family(families[own]))


@dataclass(frozen=True, slots=True)
class _Members:
    """The members of some families: those of a family together, the best to keep first."""

    ids: npt.NDArray[Any]
    number: npt.NDArray[np.int64]
    family: npt.NDArray[np.int64]
    hosts: list[str | None]
    sources: list[str]
    sets: Sets
    by_number: npt.NDArray[np.int64]
    """Places of the members in order of number, which is that of ids."""

    def places(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Where the members with these numbers stand."""
        return self.by_number[np.searchsorted(self.number[self.by_number], numbers)]


def _members(held: pa.Table) -> _Members:
    import pyarrow as pa

    number, family = (held[n].to_numpy().astype(np.int64) for n in ("number", "family"))
    best_first = np.lexsort((number, preference(held["rank"]), family))
    taken = pa.array(best_first)
    number = number[best_first]
    return _Members(
        packed_ids(held)[best_first], number, family[best_first],
        held["host"].take(taken).to_pylist(), held["source"].take(taken).to_pylist(),
        column_sets(held["set"]).take(best_first), np.argsort(number),
    )  # fmt: skip


def split(ctx: TaskContext, stars: Callable[..., None], floor: float, large_cluster: int) -> None:
    """One partition of families: writes ``verdicts`` for their members, and notes what went and
    which clusters are large. `stars` is the kernel of that name."""
    import pyarrow as pa

    members = _members(ctx.read("gathered", partition=ctx.index))
    ids, count = members.ids, len(members.ids)
    ties = ctx.read("ties", partition=ctx.index)
    left, right = (members.places(ties[side].to_numpy().astype(np.int64)) for side in ("a", "b"))
    survivor, shared, either = _stars(stars, members.sets, left, right, at_least(floor))
    smallest = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(smallest, survivor, members.number)
    cluster = hex_ids(ids[members.places(smallest[survivor])])
    size = np.bincount(survivor, minlength=count).astype(np.int64)
    table = pa.table(
        {
            "id": pa.array(hex_ids(ids), pa.string()),
            "survivor": pa.array(hex_ids(ids[survivor]), pa.string()),
            "cluster": pa.array(cluster, pa.string()),
            "cluster_size": pa.array(size[survivor], pa.int64()),
            "family": pa.array(hex_ids(ids[members.places(members.family)]), pa.string()),
            "similarity": pa.array(_shares(shared, either), pa.float64()),
        }
    ).sort_by("id")
    ctx.write("verdicts", table, hash_of_ids(table["id"].to_pylist()))
    stays = survivor == np.arange(count)
    gone = np.flatnonzero(~stays)
    lost: Counts = {}
    add(lost, ((members.sources[n], 1) for n in gone.tolist()))
    large = []
    for n in np.flatnonzero(stays & (size >= large_cluster)).tolist():
        some = hex_ids(np.sort(ids[gone[survivor[gone] == n]])[:SAMPLES])
        large.append((cluster[n], int(size[n]), members.hosts[n], some))
    ctx.note("families", len(np.unique(members.family)))
    ctx.note("members", count)
    ctx.note("survivors", count - len(gone))
    ctx.note("removed", len(gone))
    ctx.note("removed_of", lost)
    ctx.note("large_clusters", largest(large))


def _shares(shared: npt.NDArray[np.int64], either: npt.NDArray[np.int64]) -> Sequence[float]:
    return [round(a / b, 6) for a, b in zip(shared.tolist(), either.tolist(), strict=True)]


def _stars(
    stars: Callable[..., None], sets: Sets, left: npt.NDArray[np.int64],
    right: npt.NDArray[np.int64], need: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:  # fmt: skip
    """The survivor of each row, best rows first, and the sizes of their sets' overlap and
    union."""
    count = len(sets.start)
    from_, near = np.concatenate((left, right)), np.concatenate((right, left))
    near = near[np.argsort(from_, kind="stable")]
    near_start = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(from_, minlength=count), out=near_start[1:])
    survivor, tried = np.full((2, count), -1, np.int64)
    shared, either, queue = np.zeros((3, count), np.int64)
    stars(
        sets.values, sets.start, sets.stop, near_start, near, MOST, need,
        tried, queue, survivor, shared, either,
    )  # fmt: skip
    return survivor, shared, either
