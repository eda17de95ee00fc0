"""Exact duplicates: of each group of documents with one key, one is kept.

The key is the text (``by: content``) or the address (``by: url``); to remove both kinds use the
stage twice. The key is a 128-bit hash (BLAKE2b), so two different texts share one with a chance
of about n² / 2¹²⁹ among n documents.

Which of a group is kept is a function of the group alone: by default the smallest id. Documents
without a URL are no duplicates of each other under ``by: url``, nor are empty texts under
``by: content``.

Memory: `emit` holds a batch; the phase ``group`` holds the keys of one partition, about 400 bytes
a document, or of a part of it (`corpusmill.stages.dedup.parts`); the verdict table has a row only
for members of groups of two or more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from corpusmill.pipeline.context import TaskContext, hash_of_ids
from corpusmill.pipeline.document import Document, Drop, Outcome
from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.stage import AuxPhase, Barrier, Kind
from corpusmill.stages.unicode_data import collapse_space, fold

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
from .keeping import Keep, check_keep, columns_for, preference, rank_array
from .parts import Need, parts
from .urls import canonical_url

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa


@dataclass(frozen=True)
class ExactParams:
    """`normalise` is what texts may differ in and still be duplicates: nothing; white space
    (runs count as one blank, none at the ends); or white space, case, composition and width
    (`unicode_data.fold`). It does not touch URLs, which are compared by `canonical_url`.

    `keep` is the member of a group that stays, see `keeping.Keep`; `signal` what ``highest``
    looks at. `empty` says what becomes of documents whose text is empty after
    normalisation, under ``by: content``: they stay, or are dropped as ``empty_text``.

    Where more than `max_removed_share` of the documents that have a key would go, or more than
    `max_source_share` of those of one source, the run stops; 1 lets everything pass. Groups of
    `large_group` members or more are named, with the host of the kept one and the ids of three
    others, in the notes of the last phase.
    """

    by: Literal["content", "url"] = "content"
    normalise: Literal["none", "whitespace", "fold"] = "whitespace"
    keep: Keep = "smallest_id"
    signal: str = ""
    empty: Literal["keep", "drop"] = "keep"
    max_removed_share: float = 1.0
    max_source_share: float = 1.0
    large_group: int = 1000

    def __post_init__(self) -> None:
        check_keep(self.keep, self.signal)
        for name in ("max_removed_share", "max_source_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"{name} is {getattr(self, name)}", hint="a share, 0 to 1")
        if self.large_group < 2:
            raise ConfigError(f"large_group is {self.large_group}", hint="2 or more")


class ExactDedup(Barrier):
    """Keeps one document of each group with the same text, or the same URL."""

    name: ClassVar[str] = "dedup.exact"
    version: ClassVar[int] = 4
    kind: ClassVar[Kind] = "barrier"
    Params: ClassVar[type] = ExactParams
    phases: ClassVar[tuple[AuxPhase, ...]] = (
        AuxPhase("group", "partitions", "group"),
        AuxPhase("tally", "one", "tally"),
    )

    def __init__(self, params: ExactParams) -> None:
        super().__init__(params)
        self.params: ExactParams = params
        self.by_url = params.by == "url"
        self.copies = "url_copies" if self.by_url else "exact_copies"
        self.reason = "duplicate_url" if self.by_url else "duplicate_content"
        self.reads = (params.signal,) if params.signal else ()
        self.writes = {self.copies: "int"}
        drops_empty = params.empty == "drop" and not self.by_url
        self.reasons = (self.reason, "empty_text") if drops_empty else (self.reason,)

    def emit(self, batch: Sequence[Document]) -> dict[str, tuple[pa.Table, Any]]:
        """Table ``keys``: the key's two halves, id, what it is ranked by, source, host. Table
        ``totals``, see `totals_of`."""
        import pyarrow as pa

        taking = [(doc, key) for doc in batch if (key := self._key(doc))]
        raw = np.frombuffer(b"".join(_digest(key) for _, key in taking), "<u8").reshape(-1, 2)
        high, low = raw[:, 0].astype(np.uint64), raw[:, 1].astype(np.uint64)
        table = pa.table(
            {
                "key_hi": pa.array(high),
                "key_lo": pa.array(low),
                "id": pa.array([doc.id for doc, _ in taking], pa.string()),
                "rank": self._rank([doc for doc, _ in taking]),
                "source": pa.array([doc.source for doc, _ in taking], pa.string()),
                "host": pa.array([doc.meta.get("host") for doc, _ in taking], pa.string()),
            }
        )
        return {"keys": (table, high), "totals": totals_of(doc for doc, _ in taking)}

    def group(self, ctx: TaskContext) -> None:
        """One partition of keys: writes ``verdicts`` for the members of groups of two or more."""
        counted = dict.fromkeys(("documents", "groups", "removed"), 0)
        lost: Counts = {}
        large: list[Any] = []
        for part in parts(ctx, Need("keys", "id", 12)):
            keys = part.by_hash("keys", "key_hi")
            found = _Groups.of(
                keys.sort_by([(name, "ascending") for name in ("key_hi", "key_lo", "id")])
            )
            verdicts = found.verdicts()
            ctx.write("verdicts", verdicts, hash_of_ids(verdicts["id"].to_pylist()))
            goes = found.goes()
            counted["documents"] += len(goes)
            counted["groups"] += int(np.count_nonzero(found.size > 1))
            counted["removed"] += len(goes.nonzero()[0])
            add(lost, ((name, 1) for name in found.column("source", goes)))
            large += found.large(self.params.large_group)
        for name, count in counted.items():
            ctx.note(name, count)
        ctx.note("removed_of", lost)
        ctx.note("large_groups", largest(large))

    def tally(self, ctx: TaskContext) -> None:
        """Adds up the partitions and stops where too much would go."""
        parts = ctx.notes("group")
        total = {
            name: sum(int(part[name]) for part in parts)
            for name in ("documents", "groups", "removed")
        }
        for name, value in total.items():
            ctx.note(name, value)
        ctx.note("large_groups", merge_largest(parts, "large_groups"))
        given = self.params
        Shares(self.name, given.max_removed_share, given.max_source_share).check(
            merged(parts, "removed_of"), read_totals(ctx, "totals"),
            f"documents have {'an address' if self.by_url else 'a text'} that another one has",
        )  # fmt: skip

    def decide(
        self, batch: Sequence[Document], verdicts: Mapping[str, Mapping[str, Any]]
    ) -> list[Outcome]:
        """Kept documents get ``exact_copies`` or ``url_copies`` (themselves counted)."""
        drops_empty = "empty_text" in self.reasons
        outcomes: list[Outcome] = []
        for doc in batch:
            verdict = verdicts.get(doc.id)
            if verdict is not None and verdict["survivor"] != doc.id:
                outcomes.append(Drop(self.reason, str(verdict["survivor"])))
            elif drops_empty and verdict is None and not self._key(doc):
                outcomes.append(Drop("empty_text", 0))
            else:
                doc.signals[self.copies] = int(verdict["cluster_size"]) if verdict else 1
                outcomes.append(doc)
        return outcomes

    def _key(self, doc: Document) -> str:
        if self.by_url:
            return canonical_url(doc.url)
        if self.params.normalise == "none":
            return doc.text
        # Folding first: it makes blanks out of some spacing accents.
        return collapse_space(fold(doc.text) if self.params.normalise == "fold" else doc.text)

    def _rank(self, docs: Sequence[Document]) -> pa.Array:
        keep, signal = self.params.keep, self.params.signal
        held = {
            name: [doc.meta.get(name, doc.signals.get(name)) for doc in docs]
            for name in columns_for(keep, signal)
        }
        return rank_array(keep, signal, [len(doc.text) for doc in docs], held)


@dataclass(frozen=True, slots=True)
class _Groups:
    """Rows with equal keys, groups one after the other; and for each group where it begins, the row
    to keep, and how many rows it has."""

    keys: pa.Table
    group: npt.NDArray[np.int64]
    start: npt.NDArray[np.int64]
    best: npt.NDArray[np.int64]
    size: npt.NDArray[np.int64]

    @classmethod
    def of(cls, keys: pa.Table) -> _Groups:
        """The groups of rows that are sorted by key and id."""
        high, low = keys["key_hi"].to_numpy(), keys["key_lo"].to_numpy()
        rows = keys.num_rows
        first = np.ones(rows, np.bool_)
        first[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
        group = np.cumsum(first) - 1
        order = np.lexsort((np.arange(rows), preference(keys["rank"]), group))
        start = np.flatnonzero(first)
        best = order[start]  # groups are contiguous, so this is each one's first
        return cls(keys, group, start, best, np.bincount(group, minlength=len(best)))

    def column(self, name: str, rows: npt.NDArray[Any]) -> list[Any]:
        """A column of some rows, given by a mask or by their places."""
        import pyarrow as pa

        places = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        found: list[Any] = self.keys[name].take(pa.array(places, pa.int64())).to_pylist()
        return found

    def goes(self) -> npt.NDArray[np.bool_]:
        """Which rows do not stay."""
        goes = np.ones(len(self.group), np.bool_)
        goes[self.best] = False
        return goes

    def verdicts(self) -> pa.Table:
        """The table of that name."""
        import pyarrow as pa

        size = self.size[self.group]
        member = size > 1
        return pa.table(
            {
                "id": pa.array(self.column("id", member), pa.string()),
                "survivor": pa.array(self.column("id", self.best[self.group][member]), pa.string()),
                "cluster_size": pa.array(size[member], pa.int64()),
            }
        )

    def large(self, least: int) -> list[tuple[str, int, str | None, list[str]]]:
        """Groups of `least` rows or more: id of the one that stays, size, its host, and ids of some
        that go."""
        big = np.flatnonzero(self.size >= least)
        kept, hosts = (self.column(name, self.best[big]) for name in ("id", "host"))
        found = []
        for place, name, host in zip(big.tolist(), kept, hosts, strict=True):
            size = int(self.size[place])
            rows = self.start[place] + np.arange(min(size, SAMPLES + 1))
            others = self.column("id", rows[rows != self.best[place]])
            found.append((name, size, host, others[:SAMPLES]))
        return found


def _digest(key: str) -> bytes:
    return hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).digest()


STAGE = ExactDedup
