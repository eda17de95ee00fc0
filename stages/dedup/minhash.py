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
Where a bucket has four members or more it is cut twice again, by 8 bits of one minimum of
another band each time, and the members of a piece are paired in the same way: what shares a
bucket with a stranger that happens to be first finds its kin there.

All is a function of the set of documents and of the parameters, not of tasks or partitions.

Signals of the kept: ``cluster``, the smallest id of its cluster (its own where it is alone);
``cluster_size``, members before removal; ``family``, the smallest id of its component, for
splits that must not have relatives on both sides.

Phases and what they hold in memory: ``bucket`` the band rows of one partition, 16 bytes each,
about 100 when sorted (14 rows a document); ``sets`` a batch of texts and the sets of one
partition's candidates, 4 bytes a distinct shingle, at most 16 kB; ``verify`` two such lots and 48
bytes a pair; ``link`` (one task) 8 bytes a candidate; ``split`` the sets of the families of one
partition. On disk, uncompressed: 224 bytes a document, and for candidates their sets up to three
times, 8 bytes each, and 16 bytes a pair.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from corpusmill.pipeline.context import TaskContext, hash_of_ids
from corpusmill.pipeline.document import Document, Drop, Outcome
from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.stage import AuxPhase, Barrier, Kind

from .bands import Sketcher, pair_up
from .candidates import write_edges, write_pairs, write_sets
from .families import gather, link, split
from .guards import Shares, merge_largest, merged, read_totals, totals_of
from .keeping import Keep, check_keep
from .parts import Need, parts
from .sets import Sets, sets_of

if TYPE_CHECKING:
    import pyarrow as pa


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
    version: ClassVar[int] = 4
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
        """Table ``bands``: key with its sides (`Sketches.packed`), and the leading half of the
        id; met by key. Table ``totals``, see `totals_of`."""
        import pyarrow as pa

        made = self.sketches([doc.text for doc in batch])
        has = made.has_words
        worded = [doc for doc, taken in zip(batch, has, strict=True) if taken]
        keys = made.packed()[has].reshape(-1)
        ids = np.repeat(hash_of_ids([doc.id for doc in worded]), self.params.bands)
        return {
            "bands": (pa.table({"key": keys, "id": ids}), keys),
            "totals": totals_of(worded),
        }

    def bucket(self, ctx: TaskContext) -> None:
        """One partition of band keys: writes ``pairs`` and ``asks``, see `write_pairs`."""
        count = 0
        for part in parts(ctx, Need("bands", "key", 13)):
            rows = part.by_hash("bands", "key")
            write_pairs(ctx, *pair_up(rows["key"].to_numpy(), rows["id"].to_numpy()))
            count += len(rows)
        ctx.note("rows", count)

    def sets(self, ctx: TaskContext) -> None:
        """One partition of documents: the sets of candidates, see `write_sets`."""
        given = self.params

        def make(texts: list[str]) -> Sets:
            return sets_of(texts, given.ngram, collapse_numbers=given.collapse_numbers)

        write_sets(ctx, make, given.keep, given.signal)

    def verify(self, ctx: TaskContext) -> None:
        """One partition of pairs: those that count, see `write_edges`."""
        write_edges(ctx, self._kernel.overlaps, self.params.min_jaccard)

    def link(self, ctx: TaskContext) -> None:
        """All verified pairs: their families."""
        link(ctx, self._kernel)

    def gather(self, ctx: TaskContext) -> None:
        """One partition of documents: the sets of family members, to their families."""
        gather(ctx)

    def split(self, ctx: TaskContext) -> None:
        """One partition of families: ``verdicts`` for their members."""
        split(ctx, self._kernel.stars, self.params.floor, self.params.large_cluster)

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


STAGE = MinhashDedup
