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
from .parts import FIXED, Need, Part, parts
from .sets import MOST, Sets, at_least, column_sets, packed_ids, places

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

_FILE = "families"
"""For each candidate, by number, the smallest number of its family, or -1: 8 bytes each."""
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_NEEDS = (Need("gathered", "set", 6), Need("ties", "a", 10))
"""What `split` holds."""


def link(ctx: TaskContext, kernel: Any) -> None:
    """All verified pairs, piece by piece: writes the families as a file, which is mapped where
    the budget has no room for it."""
    count, path = int(first_numbers(ctx)[-1]), ctx.new_file(_FILE)
    if not ctx.memory_bytes or 8 * count + FIXED <= ctx.memory_bytes:
        family = np.empty(count, np.int64)
        _join(ctx, kernel, family)
        family.astype("<i8", copy=False).tofile(path)
    else:
        mapped = np.memmap(path, "<i8", "w+", shape=(count,))
        _join(ctx, kernel, np.asarray(mapped))
        mapped.flush()


def _join(ctx: TaskContext, kernel: Any, family: npt.NDArray[np.int64]) -> None:
    family.fill(-1)
    for piece in ctx.batches("edges"):
        kernel.join(piece["a"].to_numpy(), piece["b"].to_numpy(), family)
    kernel.settle(family)


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
    counted = dict.fromkeys(("families", "members", "survivors", "removed"), 0)
    lost: Counts = {}
    large: list[tuple[str, int, str | None, list[str]]] = []
    for part in parts(ctx, *_NEEDS):
        found = _clusters(part, stars, at_least(floor))
        table = found.verdicts()
        ctx.write("verdicts", table, hash_of_ids(table["id"].to_pylist()))
        gone = found.gone()
        counted["families"] += len(np.unique(found.members.family))
        counted["members"] += len(found.size)
        counted["survivors"] += len(found.size) - len(gone)
        counted["removed"] += len(gone)
        add(lost, ((found.members.sources[n], 1) for n in gone.tolist()))
        large += found.large(large_cluster)
    for name, count in counted.items():
        ctx.note(name, count)
    ctx.note("removed_of", lost)
    ctx.note("large_clusters", largest(large))


@dataclass(frozen=True, slots=True)
class _Clusters:
    """Members of families, and for each the place of the one that stays, the sizes of what their
    sets have in common and in all, the smallest id of its cluster and the cluster's size."""

    members: _Members
    survivor: npt.NDArray[np.int64]
    shared: npt.NDArray[np.int64]
    either: npt.NDArray[np.int64]
    name: list[str]
    size: npt.NDArray[np.int64]

    def gone(self) -> npt.NDArray[np.int64]:
        """The places of those that do not stay."""
        return np.flatnonzero(self.survivor != np.arange(len(self.survivor)))

    def verdicts(self) -> pa.Table:
        """The table of that name."""
        import pyarrow as pa

        ids, members = self.members.ids, self.members
        return pa.table(
            {
                "id": pa.array(hex_ids(ids), pa.string()),
                "survivor": pa.array(hex_ids(ids[self.survivor]), pa.string()),
                "cluster": pa.array(self.name, pa.string()),
                "cluster_size": pa.array(self.size[self.survivor], pa.int64()),
                "family": pa.array(hex_ids(ids[members.places(members.family)]), pa.string()),
                "similarity": pa.array(_shares(self.shared, self.either), pa.float64()),
            }
        ).sort_by("id")

    def large(self, least: int) -> list[tuple[str, int, str | None, list[str]]]:
        """Clusters of `least` members or more: name, size, host of the one that stays, and ids of
        some that go."""
        gone = self.gone()
        found = []
        for n in np.flatnonzero(self.size >= least).tolist():  # 0 for those that do not stay
            some = hex_ids(np.sort(self.members.ids[gone[self.survivor[gone] == n]])[:SAMPLES])
            found.append((self.name[n], int(self.size[n]), self.members.hosts[n], some))
        return found


def _clusters(part: Part, stars: Callable[..., None], needed: npt.NDArray[np.int64]) -> _Clusters:
    """The clusters of the families in a part of a partition."""
    gathered = part.read(
        "gathered", lambda piece: part.has(_by_family(piece["family"].to_numpy().astype(np.int64)))
    )
    members = _members(gathered)
    numbers = members.number[members.by_number]
    ties = part.read(
        "ties", lambda piece: places(piece["a"].to_numpy().astype(np.int64), numbers)[1]
    )
    left, right = (members.places(ties[side].to_numpy().astype(np.int64)) for side in ("a", "b"))
    survivor, shared, either = _stars(stars, members.sets, left, right, needed)
    count = len(members.ids)
    smallest = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(smallest, survivor, members.number)
    name = hex_ids(members.ids[members.places(smallest[survivor])])
    size = np.bincount(survivor, minlength=count).astype(np.int64)
    return _Clusters(members, survivor, shared, either, name, size)


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
