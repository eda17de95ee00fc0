"""Near-duplicates: MinHash over word 5-grams, banded, with every candidate pair verified.

Shingles are runs of `ngram` words as `corpusmill.stages.words` sees them: caseless, in any
composition, without punctuation, numbers as they stand. In scripts written without spaces a word
is a pair of characters, so that 5 of them span 6 characters. A text of fewer words is one
shingle; one without words is never a near-duplicate.

- Broder, On the resemblance and containment of documents (1997): the share of equal minima
  estimates the Jaccard similarity of the shingle sets.
- The defaults, 14 bands of 8 minima over 5-grams, are those of FineWeb (Penedo et al. 2024,
  section 3.4 and appendix E.1): a pair of similarity s meets in a band with chance
  1 - (1 - s⁸)¹⁴: .21 at .6, .56 at .7, .77 at .75, .92 at .8, .99 at .85.

What others stop at is where candidates begin here. Two documents that share a band are only
**candidates**. A pair counts if the share of equal minima, of all 112, is at least `min_jaccard`;
the estimate has a standard error of sqrt(s (1 - s) / 112): .043 at .7, .028 at .9. (Minima are
compared by 16 of their bits, as in Li and König, b-Bit Minwise Hashing, 2010; two different ones
agree once in 65,536.) Pairs that count are joined to components, and a component is cut into
clusters round their survivors so that chains do not remove what resembles nothing that stays:
the best member, by `keep`, takes all whose similarity to it is at least `floor`; the best of the
rest does the same, until none is left. Every removed document thus resembles one that is kept.

Within a bucket each member, in order of id, is paired with the first and with the one before it.
All is a function of the set of documents and of the parameters, not of tasks or partitions.

Signals of the kept: ``cluster``, the smallest id of its cluster (its own where it is alone);
``cluster_size``, members before removal; ``family``, the smallest id of its component, for
splits that must not have relatives on both sides.

Memory: `emit` holds a batch's word tables; ``bucket`` the band rows of one partition, 24 bytes
each, about 100 when sorted (14 rows a document); ``cluster`` 16 + 16 + 224 bytes for each
document that is in a candidate pair and 8 to 24 for each distinct pair. On disk: 336 bytes a
document in ``bands``, 248 in ``sketches``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from corpusmill.pipeline.context import TaskContext, hash_of_ids
from corpusmill.pipeline.document import Document, Drop, Outcome
from corpusmill.pipeline.errors import ConfigError, StageError
from corpusmill.pipeline.stage import AuxPhase, Barrier, Kind
from corpusmill.stages.words import tokenise

from .ids import hex_ids, join_ids, split_ids

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

_PAIR_COLUMNS = ("a_hi", "a_lo", "b_hi", "b_lo")


@dataclass(frozen=True)
class MinhashParams:
    """`bands` x `rows` minima over runs of `ngram` words; `seed` chooses the permutations.

    `min_jaccard` and `floor`: see the module. `keep`: the member with the smallest id, or the
    longest text in code points (ties to the smallest id). Where more than `max_removed_share`
    of the documents that have words would go, the run stops; 1 lets everything pass.
    """

    bands: int = 14
    rows: int = 8
    ngram: int = 5
    seed: int = 1
    min_jaccard: float = 0.7
    floor: float = 0.7
    keep: Literal["smallest_id", "longest"] = "smallest_id"
    max_removed_share: float = 1.0

    def __post_init__(self) -> None:
        for name, most in (("bands", 1000), ("rows", 1000), ("ngram", 1000)):
            value = getattr(self, name)
            if not 1 <= value <= most:
                raise ConfigError(f"{name} is {value}", hint=f"1 to {most}")
        for name in ("min_jaccard", "floor", "max_removed_share"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise ConfigError(f"{name} is {value}", hint="a share, 0 to 1")


class MinhashDedup(Barrier):
    """Keeps one document of each cluster of near-duplicates."""

    name: ClassVar[str] = "dedup.minhash"
    version: ClassVar[int] = 1
    kind: ClassVar[Kind] = "barrier"
    Params: ClassVar[type] = MinhashParams
    phases: ClassVar[tuple[AuxPhase, ...]] = (
        AuxPhase("bucket", "partitions", "bucket"),
        AuxPhase("cluster", "one", "cluster"),
    )

    def __init__(self, params: MinhashParams) -> None:
        super().__init__(params)
        self.params: MinhashParams = params
        self.writes = {"cluster": "str", "cluster_size": "int", "family": "str"}
        self.reasons = ("near_duplicate",)

    def setup(self) -> None:
        """Compiles or loads the kernels and draws the permutations."""
        from . import minhash_kernel

        tokenise([])  # its kernels too are loaded here
        self._kernel = minhash_kernel
        self._factors, self._terms = permutations(
            self.params.bands * self.params.rows, self.params.seed
        )

    def sketches(
        self, texts: Sequence[str]
    ) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.uint64], npt.NDArray[np.uint16]]:
        """Which of `texts` have words; band keys, shape (texts, bands); and 16 bits of each
        minimum, shape (texts, bands * rows). Rows of texts without words are zero."""
        table = tokenise(texts)
        width = len(self._factors)
        mins = np.zeros((len(texts), width), np.uint64)
        keys = np.zeros((len(texts), self.params.bands), np.uint64)
        bits = np.zeros((len(texts), width), np.uint16)
        self._kernel.sketch(
            table.hash, table.doc_start, self.params.ngram, self._factors, self._terms,
            self.params.rows, mins, keys, bits,
        )  # fmt: skip
        return np.diff(table.doc_start) > 0, keys, bits

    def emit(self, batch: Sequence[Document]) -> dict[str, tuple[pa.Table, Any]]:
        """Table ``bands`` (key, id), met by key; table ``sketches`` (id, length, minima)."""
        import pyarrow as pa

        has_words, keys, bits = self.sketches([doc.text for doc in batch])
        taking = [doc for doc, has in zip(batch, has_words, strict=True) if has]
        high, low = split_ids([doc.id for doc in taking])
        flat = keys[has_words].reshape(-1)
        bands = pa.table(
            {
                "key": pa.array(flat),
                "id_hi": pa.array(np.repeat(high, self.params.bands)),
                "id_lo": pa.array(np.repeat(low, self.params.bands)),
            }
        )
        raw = bits[has_words].astype("<u2").tobytes()
        width = 2 * bits.shape[1]
        sketches = pa.table(
            {
                "id_hi": pa.array(high),
                "id_lo": pa.array(low),
                "length": pa.array([len(doc.text) for doc in taking], pa.int64()),
                "minima": pa.array(
                    [raw[at : at + width] for at in range(0, len(raw), width)], pa.binary()
                ),
            }
        )
        return {"bands": (bands, flat), "sketches": (sketches, high)}

    def bucket(self, ctx: TaskContext) -> None:
        """One partition of band keys: writes ``pairs`` of candidates, smaller id first."""
        import pyarrow as pa

        rows = ctx.read("bands", partition=ctx.index, sort=("key", "id_hi", "id_lo"))
        key = rows["key"].to_numpy()
        high, low = rows["id_hi"].to_numpy(), rows["id_lo"].to_numpy()
        starts = np.ones(len(key), np.bool_)
        starts[1:] = key[1:] != key[:-1]
        first = np.flatnonzero(starts)[np.cumsum(starts) - 1]  # each row's bucket's first row
        right = np.flatnonzero(~starts)
        chained = right[right - 1 != first[right]]  # the second of a bucket is paired once
        left = np.concatenate((first[right], chained - 1))
        right = np.concatenate((right, chained))
        columns = [high[left], low[left], high[right], low[right]]
        order = np.lexsort(columns)
        columns = [column[order] for column in columns]
        new = np.ones(len(order), np.bool_)
        new[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
        columns = [column[new] for column in columns]
        table = pa.table(
            {name: pa.array(column) for name, column in zip(_PAIR_COLUMNS, columns, strict=True)}
        )
        ctx.write("pairs", table, columns[0])

    def cluster(self, ctx: TaskContext) -> None:
        """All pairs: verifies them and writes ``verdicts`` for members of components."""
        ids, left, right = self._pairs(ctx)
        bits, lengths, documents = self._fetch(ctx, ids)
        width = bits.shape[1]
        shared = np.zeros(len(left), np.int32)
        self._kernel.matches(bits, left, right, shared)
        good = shared >= _at_least(self.params.min_jaccard, width)
        family = np.arange(len(ids))
        self._kernel.components(left[good], right[good], family)
        related = np.bincount(family, minlength=len(ids))[family] > 1
        members = np.flatnonzero(related)
        preference = -lengths if self.params.keep == "longest" else np.zeros(len(ids), np.int64)
        members = members[np.lexsort((members, preference[members], family[members]))]
        start = np.append(np.flatnonzero(np.diff(family[members], prepend=-1)), len(members))
        survivor = np.full(len(ids), -1, np.int64)
        similar = np.zeros(len(ids), np.int32)
        floor = _at_least(self.params.floor, width)
        self._kernel.split(bits, members, start, floor, survivor, similar)
        members.sort()
        removed = int(np.count_nonzero(survivor[members] != members))
        self._guard(removed, documents)
        ctx.note("candidate_pairs", len(left))
        ctx.note("verified_pairs", int(np.count_nonzero(good)))
        ctx.note("families", len(start) - 1)
        ctx.note("removed", removed)
        ctx.balance(
            "documents of families = survivors + removed",
            total=len(members),
            parts={"survivors": len(np.unique(survivor[members])), "removed": removed},
        )
        self._verdicts(ctx, ids, members, family, survivor, similar, width)

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

    def _pairs(
        self, ctx: TaskContext
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The ids in candidate pairs, sorted, and the distinct pairs as numbers of ids."""
        ids = _distinct(
            "S16",
            (
                _packed(piece, f"{side}_hi", f"{side}_lo")
                for piece in ctx.batches("pairs")
                for side in ("a", "b")
            ),
        )
        packed = _distinct(
            "u8",
            (
                np.searchsorted(ids, _packed(piece, "a_hi", "a_lo")).astype(np.uint64)
                << np.uint64(32)
                | np.searchsorted(ids, _packed(piece, "b_hi", "b_lo")).astype(np.uint64)
                for piece in ctx.batches("pairs")
            ),
        )
        left = (packed >> np.uint64(32)).astype(np.int64)
        return ids, left, (packed & np.uint64(0xFFFFFFFF)).astype(np.int64)

    def _fetch(
        self, ctx: TaskContext, ids: npt.NDArray[Any]
    ) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.int64], int]:
        """Minima and text lengths of `ids`, and the number of documents that have words."""
        width = self.params.bands * self.params.rows
        bits = np.zeros((len(ids), width), np.uint16)
        lengths = np.full(len(ids), -1, np.int64)
        documents = 0
        for piece in ctx.batches("sketches"):
            documents += piece.num_rows
            if len(ids) == 0 or piece.num_rows == 0:
                continue
            packed = _packed(piece, "id_hi", "id_lo")
            place = np.minimum(np.searchsorted(ids, packed), len(ids) - 1)
            wanted = np.flatnonzero(ids[place] == packed)
            if len(wanted) == 0:
                continue
            raw = b"".join(piece["minima"].take(wanted).to_pylist())
            bits[place[wanted]] = np.frombuffer(raw, "<u2").reshape(-1, width)
            lengths[place[wanted]] = piece["length"].to_numpy()[wanted]
        if (lengths < 0).any():
            lost = hex_ids(ids[lengths < 0][:1])[0]
            raise StageError(f"{self.name}: document {lost} is in a pair but has no sketch")
        return bits, lengths, documents

    def _guard(self, removed: int, documents: int) -> None:
        if removed > Fraction(str(self.params.max_removed_share)) * documents:
            raise StageError(
                f"{self.name}: {removed} of {documents} documents are near-duplicates, more than "
                f"max_removed_share = {self.params.max_removed_share}",
                hint="look at the largest clusters; raise max_removed_share if they are right",
            )

    def _verdicts(
        self, ctx: TaskContext, ids: npt.NDArray[Any], members: npt.NDArray[np.int64],
        family: npt.NDArray[np.int64], survivor: npt.NDArray[np.int64],
        similar: npt.NDArray[np.int32], width: int,
    ) -> None:  # fmt: skip
        import pyarrow as pa

        smallest = np.full(len(ids), len(ids), np.int64)
        np.minimum.at(smallest, survivor[members], members)
        size = np.bincount(survivor[members], minlength=len(ids)).astype(np.int64)
        names = hex_ids(ids[members])
        table = pa.table(
            {
                "id": pa.array(names, pa.string()),
                "survivor": pa.array(hex_ids(ids[survivor[members]]), pa.string()),
                "cluster": pa.array(hex_ids(ids[smallest[survivor[members]]]), pa.string()),
                "cluster_size": pa.array(size[survivor[members]], pa.int64()),
                "family": pa.array(hex_ids(ids[family[members]]), pa.string()),
                "similarity": pa.array(
                    [round(n / width, 6) for n in similar[members].tolist()], pa.float64()
                ),
            }
        )
        ctx.write("verdicts", table, hash_of_ids(names))


def permutations(count: int, seed: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """`count` maps x -> a x + b modulo 2⁶⁴, a odd, drawn from `seed` by a keyed hash."""
    raw = b"".join(
        hashlib.blake2b(b"%d %d" % (seed, n), digest_size=16, person=b"corpusmill-mh").digest()
        for n in range(count)
    )
    drawn = np.frombuffer(raw, "<u8").reshape(count, 2)
    return drawn[:, 0].astype(np.uint64) | np.uint64(1), drawn[:, 1].astype(np.uint64)


def _at_least(share: float, of: int) -> int:
    """The smallest count that is at least `share` of `of`, worked out in exact fractions."""
    need = Fraction(str(share)) * of
    return -(-need.numerator // need.denominator)


def _distinct(kind: str, pieces: Iterable[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """The sorted distinct values of all `pieces`, holding about twice as many at a time."""
    kept = np.empty(0, kind)
    waiting: list[npt.NDArray[Any]] = []
    for piece in pieces:
        waiting.append(piece)
        if sum(map(len, waiting)) > len(kept) + (1 << 20):
            kept, waiting = np.unique(np.concatenate([kept, *waiting])), []
    return np.unique(np.concatenate([kept, *waiting]))


def _packed(table: pa.Table, high: str, low: str) -> npt.NDArray[Any]:
    return join_ids(table[high].to_numpy(), table[low].to_numpy())


STAGE = MinhashDedup
