"""Lines (or paragraphs) that stand in many documents, removed from all of them.

What repeats across the pages of a site is its frame: menus, notices, calls to subscribe. What
repeats across sites is that of the software that made them. An extractor removes much of it by
looking at one page; here the other pages tell.

- CCNet (Wenzek et al. 2020) compares paragraphs by 64 bits of a hash of a normalised form and
  removes what it has met before in a group of shards; Dolma (Soldaini et al. 2024) does so with a
  Bloom filter. There, what goes depends on what a shard holds and on the order of documents.
- Here a line must stand in a number of documents that follows from the site: `host_documents`
  and a share of the site's documents, `host_share`; or in `documents` documents of `hosts`
  different sites. The defaults are our own choice and careful ones: what two pages quote stays.

Lines are compared by a 64-bit hash of their form without white space at the ends, caseless, in
any composition and width (`unicode_data.fold`); two different lines share one with a chance of
n² / 2⁶⁵ among n lines. One with fewer than `min_chars` code points is never removed: ``else:`` and
``1.`` are no frame. A paragraph is a run of lines between blank ones, removed whole or not at all.

Counts are of documents, so that a line that a page repeats counts once; they are of all documents
that reach the step. The outcome depends on nothing else: not on order, tasks or partitions.

What is removed is a function of the verdict: table ``verdicts`` of the phase ``mark`` has, for
each document that loses something, `spans`: starts and ends (code points of the text before) in
turn, with `lines_removed` and `chars_removed`. It is the record of what was cut, and sensitive
where the text is. A line goes with its end; of the blank lines about it one gap is left.

Signals: ``lines_removed`` and ``lines_removed_chars``. Reason: ``only_boilerplate``, where nothing
but white space would be left, with the number of lines.

Memory: `emit` a batch; ``count`` the rows of one partition, or of a part of it
(`corpusmill.stages.dedup.parts`), 32 bytes a line, about 150 when sorted, and 16 bytes for each
host with at least `host_documents` documents; ``mark`` a batch of texts and 24 bytes for each line
removed in the partition. On disk, uncompressed: 32 bytes a line.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from corpusmill.pipeline.context import TaskContext, hash_of_ids
from corpusmill.pipeline.document import Document, Drop, Outcome
from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.stage import AuxPhase, Barrier, Kind
from corpusmill.stages.unicode_data import collapse_space
from corpusmill.stages.words import LineTable, encoded, lines

from .guards import Counts, Shares, add, merged, read_totals, totals_of
from .ids import join_ids, split_ids
from .line_folds import folding
from .parts import Need, parts
from .sets import packed_ids, places

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

_NO_HOST = np.uint64(0)
_ID = ("id_hi", "id_lo")


@dataclass(frozen=True)
class LinesParams:
    """`unit`: what is compared and removed. `min_chars`: shorter ones stay, in code points.

    `host_documents` and `host_share`: how many documents of a host, and what share of them, a
    line must stand in to be that host's frame; 0 turns the rule off. `documents` and `hosts`:
    in how many documents of how many hosts it must stand to be everybody's (a document without
    a host counts as a host of its own); 0 for `documents` turns the rule off.

    Where more than `max_removed_share` of all code points would go, or more than
    `max_source_share` of those of one source, the run stops; 1 lets everything pass.
    """

    unit: Literal["line", "paragraph"] = "line"
    min_chars: int = 15
    host_documents: int = 5
    host_share: float = 0.2
    documents: int = 50
    hosts: int = 10
    max_removed_share: float = 1.0
    max_source_share: float = 1.0

    def __post_init__(self) -> None:
        for name, least in (("min_chars", 1), ("host_documents", 0), ("documents", 0)):
            if getattr(self, name) < least:
                raise ConfigError(f"{name} is {getattr(self, name)}", hint=f"{least} or more")
        if self.hosts < 1:
            raise ConfigError(f"hosts is {self.hosts}", hint="1 or more")
        for name in ("host_share", "max_removed_share", "max_source_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"{name} is {getattr(self, name)}", hint="a share, 0 to 1")
        if self.host_documents == 1 or self.documents == 1:
            raise ConfigError(
                "a line of one document repeats nothing", hint="2 or more, or 0 for no such rule"
            )


class LinesDedup(Barrier):
    """Removes lines that stand in many documents of a host, or on many hosts."""

    name: ClassVar[str] = "dedup.lines"
    version: ClassVar[int] = 3
    kind: ClassVar[Kind] = "barrier"
    edits_text: ClassVar[bool] = True
    Params: ClassVar[type] = LinesParams
    phases: ClassVar[tuple[AuxPhase, ...]] = (
        AuxPhase("hosts", "partitions", "hosts"),
        AuxPhase("count", "partitions", "count"),
        AuxPhase("mark", "partitions", "mark", own_verdicts=True),
        AuxPhase("tally", "one", "tally"),
    )

    def __init__(self, params: LinesParams) -> None:
        super().__init__(params)
        self.params: LinesParams = params
        self.writes = {"lines_removed": "int", "lines_removed_chars": "int"}
        self.reasons = ("only_boilerplate",)

    def setup(self) -> None:
        """Compiles or loads the kernels."""
        self.units([])

    def units(self, texts: Sequence[str]) -> Units:
        """The lines or paragraphs of `texts`."""
        from . import lines_kernel

        table = lines(texts)
        count = len(table.start)
        longest = int(np.diff(table.byte_start).max(initial=0))
        unit, start = np.empty(count, np.int64), np.empty(len(texts) + 1, np.int64)
        hashes, chars = np.empty(count, np.uint64), np.empty(count, np.int64)
        n = lines_kernel.units(
            table.data, table.byte_start, table.doc_start, table.text_start, table.text_end,
            self.params.unit == "paragraph", *folding(longest),
            unit, start, hashes, chars,
        )  # fmt: skip
        return Units(table, unit, start, hashes[:n], chars[:n])

    def hashes(self, texts: Sequence[str]) -> tuple[Any, Any, Any]:
        """Of `units`, the start, hash and chars, without where the lines lie."""
        from . import lines_kernel

        data, byte_start, longest = encoded(texts)
        most = len(data) // 2 + len(texts)  # a unit needs a byte, and one between it and the next
        start = np.empty(len(texts) + 1, np.int64)
        hashes, chars = np.empty(most, np.uint64), np.empty(most, np.int64)
        n = lines_kernel.unit_hashes(
            data, byte_start, self.params.unit == "paragraph", *folding(longest),
            start, hashes, chars,
        )  # fmt: skip
        return start, hashes[:n], chars[:n]

    def emit(self, batch: Sequence[Document]) -> dict[str, tuple[pa.Table, Any]]:
        """Table ``lines``: hash, host, id, each line of a document once, met by hash; table
        ``pages``: host and how many documents of it, met by host; ``totals``, see `totals_of`."""
        import pyarrow as pa

        start, hashes, chars = self.hashes([doc.text for doc in batch])
        doc = np.repeat(np.arange(len(batch)), np.diff(start))
        long = chars >= self.params.min_chars
        doc, hashes = doc[long], hashes[long]
        order = np.lexsort((hashes, doc))
        doc, hashes = doc[order], hashes[order]
        new = np.ones(len(doc), np.bool_)
        new[1:] = (doc[1:] != doc[:-1]) | (hashes[1:] != hashes[:-1])
        doc, hashes = doc[new], hashes[new]
        high, low = split_ids([d.id for d in batch])
        host = np.array([host_hash(d) for d in batch], np.uint64)
        table = pa.table(
            {
                "hash": pa.array(hashes),
                "host": pa.array(host[doc]),
                "id_hi": pa.array(high[doc]),
                "id_lo": pa.array(low[doc]),
            }
        )
        names, counts = np.unique(host, return_counts=True)
        pages = pa.table({"host": pa.array(names), "documents": pa.array(counts.astype(np.int64))})
        return {"lines": (table, hashes), "pages": (pages, names), "totals": totals_of(batch)}

    def hosts(self, ctx: TaskContext) -> None:
        """One partition of hosts: writes ``sizes``, those that have enough documents."""
        import pyarrow as pa

        rows = ctx.read("pages", partition=ctx.index, sort=("host",))
        names, place = np.unique(rows["host"].to_numpy(), return_inverse=True)
        size = np.zeros(len(names), np.int64)
        np.add.at(size, place, rows["documents"].to_numpy())
        enough = (names != _NO_HOST) & (size >= max(self.params.host_documents, 1))
        table = pa.table({"host": pa.array(names[enough]), "documents": pa.array(size[enough])})
        ctx.write("sizes", table, names[enough])
        ctx.note("documents", int(size.sum()))

    def count(self, ctx: TaskContext) -> None:
        """One partition of lines: writes ``frame``, the lines that go, by document."""
        import pyarrow as pa

        counted = dict.fromkeys(("lines", "distinct_lines", "frame_lines"), 0)
        for part in parts(ctx, Need("lines", "hash", 20)):
            lines = part.by_hash("lines", "hash")
            rows = lines.sort_by([(name, "ascending") for name in ("hash", "host", *_ID)])
            goes = self._frame(ctx, rows)
            hashes = rows["hash"].to_numpy()
            table = rows.select([*_ID, "hash"]).filter(pa.array(goes))
            ctx.write("frame", table, table["id_hi"].to_numpy())
            counted["lines"] += len(hashes)
            counted["distinct_lines"] += len(np.unique(hashes))
            counted["frame_lines"] += len(np.unique(table["hash"].to_numpy()))
        for name, count in counted.items():
            ctx.note(name, count)

    def _frame(self, ctx: TaskContext, rows: pa.Table) -> npt.NDArray[np.bool_]:
        """Which rows, sorted by hash and host, are of lines that go."""
        hashes, host = rows["hash"].to_numpy(), rows["host"].to_numpy()
        new_hash = np.ones(len(hashes), np.bool_)
        new_hash[1:] = hashes[1:] != hashes[:-1]
        new_pair = new_hash.copy()
        new_pair[1:] |= host[1:] != host[:-1]
        line, pair = np.cumsum(new_hash) - 1, np.cumsum(new_pair) - 1
        goes = np.zeros(len(hashes), np.bool_)
        if self.params.host_documents:
            need = self._needed(ctx, host[new_pair])
            goes |= (np.bincount(pair) >= need)[pair]
        if self.params.documents:
            sites = np.bincount(line, weights=new_pair | (host == _NO_HOST))
            goes |= ((np.bincount(line) >= self.params.documents) & (sites >= self.params.hosts))[
                line
            ]
        return goes

    def _needed(self, ctx: TaskContext, host: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
        """How many documents of each host a line must stand in; more than there are where the
        host is too small."""
        sizes = ctx.read("sizes", sort=("host",))
        documents = sizes["documents"].to_numpy()
        place, there = places(host, sizes["host"].to_numpy())
        exact = Fraction(str(self.params.host_share))
        # Python's integers: a share of many digits times a count of documents may pass 2⁶³.
        least = [
            max(self.params.host_documents, -(-exact.numerator * n // exact.denominator))
            for n in documents.tolist()
        ]
        need = np.full(len(host), np.iinfo(np.int64).max)
        need[there] = np.array(least, np.int64)[place[there]]
        return need

    def mark(self, ctx: TaskContext) -> None:
        """One partition of documents: writes ``verdicts`` with the spans that go."""
        import pyarrow as pa

        frame = ctx.read("frame", partition=ctx.index)
        ids, frame_hash = packed_ids(frame), frame["hash"].to_numpy()
        order = np.lexsort((frame_hash, ids))
        ids, frame_hash = ids[order], frame_hash[order]
        wanted, first = np.unique(ids, return_index=True)
        stop = np.append(first[1:], len(ids))
        removed: Counts = {}
        for piece in ctx.batches("docs", partition=ctx.index, columns=("id", "text", "source")):
            for batch in piece.to_batches(max_chunksize=256):
                names = batch.column("id").to_pylist()
                place, there = places(join_ids(*split_ids(names)), wanted)
                rows = np.flatnonzero(there)
                texts = batch.column("text").take(pa.array(rows)).to_pylist()
                own = [frame_hash[first[n] : stop[n]] for n in place[rows].tolist()]
                table = self._spans([names[row] for row in rows.tolist()], texts, own)
                sources = batch.column("source").take(pa.array(rows)).to_pylist()
                add(removed, zip(sources, table["chars_removed"].to_pylist(), strict=True))
                ctx.write("verdicts", table, hash_of_ids(table["id"].to_pylist()))
        ctx.write("verdicts", self._spans([], [], []), np.empty(0, np.uint64))
        ctx.note("changed", len(wanted))
        ctx.note("chars_removed", removed)

    def _spans(
        self, names: Sequence[str], texts: Sequence[str], frame: Sequence[npt.NDArray[np.uint64]]
    ) -> pa.Table:
        """What goes of each text: the units whose hash is in its (sorted) `frame`."""
        import pyarrow as pa

        found = self.units(texts)
        spans: list[list[int]] = []
        counts: list[int] = []
        for doc, hashes in enumerate(frame):
            here = slice(int(found.start[doc]), int(found.start[doc + 1]))
            _, goes = places(found.hash[here], hashes)
            goes &= found.chars[here] >= self.params.min_chars
            cut = found.cut(doc, goes)
            counts.append(cut[1])
            spans.append(cut[0])
        return pa.table(
            {
                "id": pa.array(names, pa.string()),
                "spans": pa.array(spans, pa.list_(pa.int64())),
                "lines_removed": pa.array(counts, pa.int64()),
                "chars_removed": pa.array([sum(s[1::2]) - sum(s[::2]) for s in spans], pa.int64()),
            }
        )

    def tally(self, ctx: TaskContext) -> None:
        """Adds up the partitions and stops where too much would go."""
        total: dict[str, int] = {}
        for phase, keys in (
            ("hosts", ("documents",)),
            ("count", ("lines", "distinct_lines", "frame_lines")),
            ("mark", ("changed",)),
        ):
            for key in keys:
                total[key] = sum(int(part[key]) for part in ctx.notes(phase))
                ctx.note(key, total[key])
        lost, chars = (
            merged(ctx.notes("mark"), "chars_removed"),
            read_totals(ctx, "totals", "chars"),
        )
        ctx.note("chars", chars)
        ctx.note("chars_removed", lost)
        given = self.params
        shares = Shares(self.name, given.max_removed_share, given.max_source_share)
        shares.check(lost, chars, "characters are in repeated lines")

    def decide(
        self, batch: Sequence[Document], verdicts: Mapping[str, Mapping[str, Any]]
    ) -> list[Outcome]:
        """Cuts the spans of the verdicts out of the texts."""
        outcomes: list[Outcome] = []
        for doc in batch:
            verdict = verdicts.get(doc.id)
            doc.signals["lines_removed"] = int(verdict["lines_removed"]) if verdict else 0
            doc.signals["lines_removed_chars"] = int(verdict["chars_removed"]) if verdict else 0
            if verdict is not None:
                text = without(doc.text, verdict["spans"])
                if not collapse_space(text):
                    outcomes.append(Drop("only_boilerplate", int(verdict["lines_removed"])))
                    continue
                raw = doc.text.encode("utf-8", "surrogatepass")
                doc.meta.setdefault("text_sha256_raw", hashlib.sha256(raw).hexdigest())
                doc.text = text
            outcomes.append(doc)
        return outcomes


@dataclass(frozen=True, slots=True)
class Units:
    """Lines of a batch of texts, and what of them is compared."""

    lines: LineTable
    unit: npt.NDArray[np.int64]
    """For each line the number of its unit, -1 for blank ones."""
    start: npt.NDArray[np.int64]
    """The units of text n are ``start[n]:start[n + 1]``."""
    hash: npt.NDArray[np.uint64]
    chars: npt.NDArray[np.int64]

    def cut(self, doc: int, goes: npt.NDArray[np.bool_]) -> tuple[list[int], int]:
        """Spans (starts and ends in turn, in code points of text `doc`) and number of the lines
        that go with the units `goes` of the text.

        A run of such lines and of blank ones between them goes from its first line to the next
        line that stays. The blank lines after the run go too where blank lines, or the start of
        the text, stand before it; and where nothing follows, those before it.
        """
        table = self.lines
        first, last = int(table.doc_start[doc]), int(table.doc_start[doc + 1])
        unit = self.unit[first:last]
        blank = unit < 0
        if not goes.any():
            return [], 0
        removed = ~blank & goes[np.where(blank, 0, unit - self.start[doc])]
        base, stop = int(table.byte_start[doc]), int(table.byte_start[doc + 1])
        data = table.data[base:stop]
        before = np.zeros(len(data) + 1, np.int64)  # code points before each byte
        np.cumsum((data & 0xC0) != 0x80, out=before[1:])
        start = np.append(table.start[first:last], len(data))
        spans: list[int] = []
        line = 0
        while line < len(unit):
            if not removed[line]:
                line += 1
                continue
            after = line + 1
            while after < len(unit) and (removed[after] or blank[after]):
                after += 1
            from_ = int(start[line])
            if after == len(unit):  # nothing follows: back to the end of the last line that stays
                kept = line - 1
                while kept >= 0 and blank[kept]:
                    kept -= 1
                from_ = int(table.end[first + kept]) if kept >= 0 else 0
            elif line and not blank[line - 1]:
                while blank[after - 1]:
                    after -= 1
            spans += [int(before[from_]), int(before[start[after]])]
            line = after
        return spans, int(np.count_nonzero(removed))


def without(text: str, spans: Sequence[int]) -> str:
    """`text` without the spans: starts and ends in turn, in order, in code points."""
    kept: list[str] = []
    at = 0
    for start, end in zip(spans[::2], spans[1::2], strict=True):
        kept.append(text[at:start])
        at = end
    kept.append(text[at:])
    return "".join(kept)


def host_hash(doc: Document) -> int:
    """64 bits for the document's host, 0 if it has none."""
    host = str(doc.meta.get("host", ""))
    if not host:
        return 0
    digest = hashlib.blake2b(host.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") or 1


STAGE = LinesDedup
