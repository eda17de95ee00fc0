"""Near-duplicates: MinHash over word 5-grams, banded, every candidate pair verified on its sets.

Shingles are runs of `ngram` words as `corpusmill.stages.words` sees them: caseless, in any
composition, without punctuation, numbers as they stand. In scripts written without spaces a word
is a pair of characters, so that 5 of them span 6 characters. A text of fewer words is one
shingle; one without words is never a near-duplicate.

- Broder, On the resemblance and containment of documents (1997): two sets have the same minimum
  under a random permutation with a chance that is their Jaccard similarity.
- The defaults, 14 bands of 8 minima over 5-grams, are those of FineWeb (Penedo et al. 2024,
  section 3.4 and appendix E.1): a pair of similarity s meets in a band with chance
  1 - (1 - s⁸)¹⁴: .21 at .6, .56 at .7, .77 at .75, .92 at .8, .99 at .85.

What others stop at is where candidates begin here. Two documents that share a band are only
**candidates**. The shingle sets of candidates are made from their texts, and a pair counts if the
Jaccard similarity of the sets (exact up to 4,096 distinct shingles, see
`corpusmill.stages.dedup.sets`) is at least `min_jaccard`. Pairs that count are joined to
families, and a family is cut into clusters round their survivors so that chains do not remove
what resembles nothing that stays: the best member, by `keep`, takes those whose similarity to it
is at least `floor` and that it reaches over pairs of members that it took; the best of the rest
does the same, until none is left. Every removed document thus resembles one that is kept.

Within a bucket each member, in order of id, is paired with the first and with the one before it.
Where a bucket has four members or more it is cut twice again, by 16 bits of one minimum of
another band each time, and the members of a piece are paired in the same way: what shares a
bucket with a stranger that happens to be first finds its kin there.

All is a function of the set of documents and of the parameters, not of tasks or partitions.

Signals of the kept: ``cluster``, the smallest id of its cluster (its own where it is alone);
``cluster_size``, members before removal; ``family``, the smallest id of its component, for
splits that must not have relatives on both sides.

Phases and what they hold in memory: ``bucket`` the band rows of one partition, 28 bytes each,
about 120 when sorted (14 rows a document); ``sets`` a batch of texts and the sets of one
partition's candidates, 4 bytes a distinct shingle, at most 16 kB; ``verify`` two such lots and 48
bytes a pair; ``link`` (one task) 24 bytes for each document that has a verified pair; ``split``
the sets of the families of one partition. On disk, uncompressed: 392 bytes a document, and for
candidates their sets up to three times and 32 bytes a pair.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from corpusmill.pipeline.context import TaskContext, hash_of_ids, partition_of
from corpusmill.pipeline.document import Document, Drop, Outcome
from corpusmill.pipeline.errors import ConfigError, StageError
from corpusmill.pipeline.stage import AuxPhase, Barrier, Kind

from .bands import Sketcher, pair_up, unique_rows
from .guards import (
    SAMPLES,
    Counts,
    Shares,
    add,
    largest,
    merge_largest,
    merged,
    read_totals,
    totals_of,
)
from .ids import hex_ids, join_ids, split_ids
from .keeping import Keep, check_keep, columns_for, preference, rank_array
from .picked import picked
from .sets import (
    MOST,
    Sets,
    at_least,
    column_sets,
    distinct_ids,
    numbered,
    packed_ids,
    places,
    sets_of,
)

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

_PAIR = ("a_hi", "a_lo", "b_hi", "b_lo")


@dataclass(frozen=True)
class MinhashParams:
    """`bands` x `rows` minima over runs of `ngram` words; `seed` chooses the permutations. With
    `collapse_numbers` words of digits count as one word, as datatrove has it.

    `min_jaccard` and `floor`: see the module. `keep` is the member that stays, see
    `keeping.Keep`; `signal` what ``highest`` looks at. Where more than `max_removed_share` of the
    documents that have words would go, or more than `max_source_share` of those of one source,
    the run stops; 1 lets everything pass. Clusters of `large_cluster` members or more are named,
    with the host of the kept one and the ids of three others, in the notes of the last phase.
    """

    bands: int = 14
    rows: int = 8
    ngram: int = 5
    seed: int = 1
    collapse_numbers: bool = False
    min_jaccard: float = 0.7
    floor: float = 0.7
    keep: Keep = "smallest_id"
    signal: str = ""
    max_removed_share: float = 1.0
    max_source_share: float = 1.0
    large_cluster: int = 1000

    def __post_init__(self) -> None:
        for name, most in (("bands", 1000), ("rows", 1000), ("ngram", 1000)):
            value = getattr(self, name)
            if not 1 <= value <= most:
                raise ConfigError(f"{name} is {value}", hint=f"1 to {most}")
        check_keep(self.keep, self.signal)
        for name in ("min_jaccard", "floor", "max_removed_share", "max_source_share"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise ConfigError(f"{name} is {value}", hint="a share, 0 to 1")
        if self.large_cluster < 2:
            raise ConfigError(f"large_cluster is {self.large_cluster}", hint="2 or more")


class MinhashDedup(Barrier):
    """Keeps one document of each cluster of near-duplicates."""

    name: ClassVar[str] = "dedup.minhash"
    version: ClassVar[int] = 3
    kind: ClassVar[Kind] = "barrier"
    Params: ClassVar[type] = MinhashParams
    phases: ClassVar[tuple[AuxPhase, ...]] = (
        AuxPhase("bucket", "partitions", "bucket"),
        AuxPhase("sets", "partitions", "sets"),
        AuxPhase("verify", "partitions", "verify"),
        AuxPhase("link", "one", "link"),
        AuxPhase("gather", "partitions", "gather"),
        AuxPhase("split", "partitions", "split"),
        AuxPhase("tally", "one", "tally"),
    )

    def __init__(self, params: MinhashParams) -> None:
        super().__init__(params)
        self.params: MinhashParams = params
        self.reads = (params.signal,) if params.signal else ()
        self.writes = {"cluster": "str", "cluster_size": "int", "family": "str"}
        self.reasons = ("near_duplicate",)

    def setup(self) -> None:
        """Compiles or loads the kernels and draws the permutations."""
        from . import minhash_kernel

        self._kernel = minhash_kernel
        given = self.params
        self.sketches = Sketcher(
            given.bands, given.rows, given.ngram, given.seed,
            collapse_numbers=given.collapse_numbers,
        )  # fmt: skip
        self.sketches([])  # the kernels of the words are loaded here too

    def emit(self, batch: Sequence[Document]) -> dict[str, tuple[pa.Table, Any]]:
        """Table ``bands``: key, two sides, id; met by key. Table ``totals``, see `totals_of`."""
        import pyarrow as pa

        made = self.sketches([doc.text for doc in batch])
        has = made.has_words
        worded = [doc for doc, taken in zip(batch, has, strict=True) if taken]
        high, low = split_ids([doc.id for doc in worded])
        keys = made.keys[has].reshape(-1)
        sides = made.sides[has].reshape(-1, 2)
        bands = pa.table(
            {
                "key": pa.array(keys),
                "side_1": pa.array(np.ascontiguousarray(sides[:, 0])),
                "side_2": pa.array(np.ascontiguousarray(sides[:, 1])),
                "id_hi": pa.array(np.repeat(high, self.params.bands)),
                "id_lo": pa.array(np.repeat(low, self.params.bands)),
            }
        )
        return {"bands": (bands, keys), "totals": totals_of(worded)}

    def bucket(self, ctx: TaskContext) -> None:
        """One partition of band keys: writes ``pairs`` of candidates, smaller id first, by the
        larger; and ``asks``, which partitions need the set of a smaller one, by the smaller."""
        import pyarrow as pa

        rows = ctx.read("bands", partition=ctx.index, sort=("key", "id_hi", "id_lo"))
        key = rows["key"].to_numpy()
        left, right = pair_up(key, [rows["side_1"].to_numpy(), rows["side_2"].to_numpy()])
        high, low = rows["id_hi"].to_numpy(), rows["id_lo"].to_numpy()
        columns = unique_rows([high[left], low[left], high[right], low[right]])
        table = pa.table({name: pa.array(c) for name, c in zip(_PAIR, columns, strict=True)})
        ctx.write("pairs", table, columns[2])
        to = partition_of(columns[2], ctx.partitions).astype(np.uint64)
        asks = unique_rows([columns[0], columns[1], to])
        ctx.write("asks", pa.table({"a_hi": asks[0], "a_lo": asks[1], "to": asks[2]}), asks[0])
        ctx.note("rows", len(key))

    def sets(self, ctx: TaskContext) -> None:
        """One partition of documents: makes the sets of those in pairs. Writes ``sets``, by id,
        and ``sent``, copies for the partitions that ask."""
        import pyarrow as pa

        pairs = ctx.read("pairs", partition=ctx.index, columns=("b_hi", "b_lo"))
        asks = ctx.read("asks", partition=ctx.index)
        asking, to = packed_ids(asks, "a_hi", "a_lo"), asks["to"].to_numpy()
        ordered = np.lexsort((to, asking))
        asking, to = asking[ordered], to[ordered]
        new = np.ones(len(asking), np.bool_)
        new[1:] = (asking[1:] != asking[:-1]) | (to[1:] != to[:-1])
        asking, to = asking[new], to[new]
        wanted = np.unique(np.concatenate([packed_ids(pairs, "b_hi", "b_lo"), asking]))
        found = 0
        keep, signal = self.params.keep, self.params.signal
        needed = ("host", "source", *columns_for(keep, signal))
        for some in picked(ctx, wanted, needed):
            high, low = split_ids(some.ids)
            lengths = [len(text) for text in some.texts]
            table = pa.table(
                {
                    "id_hi": pa.array(high),
                    "id_lo": pa.array(low),
                    "rank": rank_array(keep, signal, lengths, some.columns),
                    "host": pa.array(some.columns["host"], pa.string()),
                    "source": pa.array(some.columns["source"], pa.string()),
                    "set": self._sets(some.texts).column(),
                }
            )
            ctx.write("sets", table, high)
            ids = join_ids(high, low)
            order = np.argsort(ids)
            place, there = places(asking, ids[order])
            chosen = pa.array(order[place[there]])
            sent = table.select(["id_hi", "id_lo", "set"]).take(chosen)
            ctx.write("sent", sent, _hash_for(to[there], ctx.partitions))
            found += len(some.ids)
        if found != len(wanted):
            raise StageError(
                f"{self.name}: of {len(wanted)} documents in pairs {found} are among the documents"
            )

    def _sets(self, texts: Sequence[str]) -> Sets:
        given = self.params
        return sets_of(texts, given.ngram, collapse_numbers=given.collapse_numbers)

    def verify(self, ctx: TaskContext) -> None:
        """One partition of pairs: writes ``edges``, the pairs whose sets are similar enough."""
        import pyarrow as pa

        pairs = ctx.read("pairs", partition=ctx.index)
        columns = unique_rows([pairs[name].to_numpy() for name in _PAIR])
        one, left = self._held(ctx, "sent", join_ids(*columns[:2]))
        other, right = self._held(ctx, "sets", join_ids(*columns[2:]))
        shared, either = np.zeros((2, len(left)), np.int64)
        self._kernel.overlaps(
            one.values, one.start, one.stop, left, other.values, other.start, other.stop, right,
            MOST, shared, either,
        )  # fmt: skip
        good = shared >= at_least(self.params.min_jaccard)[either]
        edges = {name: pa.array(c[good]) for name, c in zip(_PAIR, columns, strict=True)}
        ctx.write("edges", pa.table(edges), columns[0][good])
        ctx.note("candidate_pairs", len(good))
        ctx.note("verified_pairs", int(np.count_nonzero(good)))

    def link(self, ctx: TaskContext) -> None:
        """All verified pairs: writes ``members`` (id, family), by id, and ``ties`` (the pairs
        again), by family."""
        import pyarrow as pa

        ids = distinct_ids(
            packed_ids(piece, f"{side}_hi", f"{side}_lo")
            for piece in ctx.batches("edges")
            for side in ("a", "b")
        )
        family = np.arange(len(ids))
        for piece in ctx.batches("edges"):
            self._kernel.join(*numbered(piece, ids), family)
        self._kernel.settle(family)
        raw = ids.view(">u8").reshape(-1, 2).astype(np.uint64)
        for at in range(0, max(len(ids), 1), 1 << 20):
            rows = slice(at, at + (1 << 20))
            own, root = raw[rows], raw[family[rows]]
            table = pa.table(
                {
                    "id_hi": pa.array(own[:, 0].copy()),
                    "id_lo": pa.array(own[:, 1].copy()),
                    "family_hi": pa.array(root[:, 0].copy()),
                    "family_lo": pa.array(root[:, 1].copy()),
                }
            )
            ctx.write("members", table, own[:, 0])
        for piece in ctx.batches("edges"):
            left, _ = numbered(piece, ids)
            ctx.write("ties", piece, raw[family[left], 1])

    def gather(self, ctx: TaskContext) -> None:
        """One partition of documents: writes ``gathered``, the sets of family members, by the
        lower half of the family's id (its upper half is small: it is the smallest)."""
        import pyarrow as pa

        members = ctx.read("members", partition=ctx.index, sort=("id_hi", "id_lo"))
        held = ctx.read("sets", partition=ctx.index, sort=("id_hi", "id_lo"))
        place, there = places(packed_ids(members), packed_ids(held))
        if not there.all():
            raise StageError(f"{self.name}: {np.count_nonzero(~there)} members have no set")
        table = held.take(pa.array(place))
        for name in ("family_hi", "family_lo"):
            table = table.append_column(name, members[name])
        ctx.write("gathered", table, members["family_lo"].to_numpy())

    def split(self, ctx: TaskContext) -> None:
        """One partition of families: writes ``verdicts`` for their members."""
        import pyarrow as pa

        held = ctx.read("gathered", partition=ctx.index)
        ids, family = packed_ids(held), packed_ids(held, "family_hi", "family_lo")
        best_first = np.lexsort((ids, preference(held["rank"]), family))
        ids, family = ids[best_first], family[best_first]
        hosts = held["host"].take(pa.array(best_first)).to_pylist()
        sources = held["source"].take(pa.array(best_first))
        sets = column_sets(held["set"]).take(best_first)
        order = np.argsort(ids)  # places of the rows in order of id
        ties = ctx.read("ties", partition=ctx.index)
        left, right = (order[n] for n in numbered(ties, ids[order]))
        survivor, shared, either = self._stars(sets, left, right)
        rank = np.empty(len(ids), np.int64)
        rank[order] = np.arange(len(ids))
        smallest = np.full(len(ids), len(ids), np.int64)
        np.minimum.at(smallest, survivor, rank)
        size = np.bincount(survivor, minlength=len(ids)).astype(np.int64)
        names = hex_ids(ids)
        cluster = hex_ids(ids[order[smallest[survivor]]]) if len(ids) else []
        table = pa.table(
            {
                "id": pa.array(names, pa.string()),
                "survivor": pa.array(hex_ids(ids[survivor]), pa.string()),
                "cluster": pa.array(cluster, pa.string()),
                "cluster_size": pa.array(size[survivor], pa.int64()),
                "family": pa.array(hex_ids(family), pa.string()),
                "similarity": pa.array(
                    [
                        round(a / b, 6)
                        for a, b in zip(shared.tolist(), either.tolist(), strict=True)
                    ],
                    pa.float64(),
                ),
            }
        ).sort_by("id")
        ctx.write("verdicts", table, hash_of_ids(table["id"].to_pylist()))
        kept = np.flatnonzero(survivor == np.arange(len(ids)))
        ctx.note("families", len(np.unique(family)))
        ctx.note("members", len(ids))
        ctx.note("survivors", len(kept))
        ctx.note("removed", len(ids) - len(kept))
        gone = np.flatnonzero(survivor != np.arange(len(ids)))
        lost: Counts = {}
        add(lost, ((source, 1) for source in sources.take(pa.array(gone)).to_pylist()))
        ctx.note("removed_of", lost)
        large = []
        for n in kept[size[kept] >= self.params.large_cluster].tolist():
            some = hex_ids(np.sort(ids[gone[survivor[gone] == n]])[:SAMPLES])
            large.append((cluster[n], int(size[n]), hosts[n], some))
        ctx.note("large_clusters", largest(large))

    def tally(self, ctx: TaskContext) -> None:
        """Adds up the partitions, states the equation, and stops where too much would go."""
        parts = ctx.notes("split")
        total = {
            name: sum(int(part[name]) for part in parts)
            for name in ("families", "members", "survivors", "removed")
        }
        documents = sum(int(part["rows"]) for part in ctx.notes("bucket")) // self.params.bands
        for name in ("candidate_pairs", "verified_pairs"):
            ctx.note(name, sum(int(part[name]) for part in ctx.notes("verify")))
        ctx.note("documents", documents)
        ctx.note("families", total["families"])
        ctx.note("removed", total["removed"])
        ctx.note("large_clusters", merge_largest(parts, "large_clusters"))
        ctx.balance(
            "documents of families = survivors + removed",
            total=total["members"],
            parts={"survivors": total["survivors"], "removed": total["removed"]},
        )
        given = self.params
        shares = Shares(self.name, given.max_removed_share, given.max_source_share)
        shares.check(
            merged(parts, "removed_of"), read_totals(ctx, "totals"), "documents are near-duplicates"
        )

    def decide(
        self, batch: Sequence[Document], verdicts: Mapping[str, Mapping[str, Any]]
    ) -> list[Outcome]:
        """Drops ``near_duplicate`` (the survivor's id is the value); signals for the kept."""
        outcomes: list[Outcome] = []
        for doc in batch:
            verdict = verdicts.get(doc.id)
            if verdict is not None and verdict["survivor"] != doc.id:
                outcomes.append(Drop("near_duplicate", str(verdict["survivor"])))
                continue
            doc.signals["cluster"] = str(verdict["cluster"]) if verdict else doc.id
            doc.signals["cluster_size"] = int(verdict["cluster_size"]) if verdict else 1
            doc.signals["family"] = str(verdict["family"]) if verdict else doc.id
            outcomes.append(doc)
        return outcomes

    def _held(
        self, ctx: TaskContext, table: str, ids: npt.NDArray[Any]
    ) -> tuple[Sets, npt.NDArray[np.int64]]:
        """The sets of this partition of a table, and which one belongs to each of `ids`."""
        held = ctx.read(table, partition=ctx.index, columns=("id_hi", "id_lo", "set"))
        own = packed_ids(held)
        order = np.argsort(own)
        place, there = places(ids, own[order])
        if not there.all():
            lost = hex_ids(ids[~there][:1])[0]
            raise StageError(f"{self.name}: document {lost} is in a pair but has no set")
        return column_sets(held["set"]), order[place]

    def _stars(
        self, sets: Sets, left: npt.NDArray[np.int64], right: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The survivor of each row, best rows first, and the sizes of their sets' overlap and
        union."""
        count = len(sets.start)
        from_, near = np.concatenate((left, right)), np.concatenate((right, left))
        near = near[np.argsort(from_, kind="stable")]
        near_start = np.zeros(count + 1, np.int64)
        np.cumsum(np.bincount(from_, minlength=count), out=near_start[1:])
        survivor, tried = np.full((2, count), -1, np.int64)
        shared, either, queue = np.zeros((3, count), np.int64)
        self._kernel.stars(
            sets.values, sets.start, sets.stop, near_start, near, MOST,
            at_least(self.params.floor), tried, queue, survivor, shared, either,
        )  # fmt: skip
        return survivor, shared, either


def _hash_for(to: npt.NDArray[np.uint64], partitions: int) -> npt.NDArray[np.uint64]:
    """Hashes that fall into the partitions `to`."""
    bits = partitions.bit_length() - 1
    return to << np.uint64(64 - bits) if bits else np.zeros(len(to), np.uint64)


STAGE = MinhashDedup
