"""Repeated spans: runs of at least `length` words or bytes that stand elsewhere too, cut out.

Lee et al. (Deduplicating training data makes language models better, 2022) remove every copy of
runs of 50 tokens, found by a suffix array of the whole corpus. Here the repeated runs of that
length, *windows*, are found, and a span goes if windows that go cover it:

- ``keep: first``: a window goes if it equals an earlier one (in order of document id, then of
  place) that has no unit in common with it. So each word that goes has a copy that stays, in the
  same surroundings. ``keep: none``: all that have a copy go, the first ones too.
- Equal words are those of `corpusmill.stages.words`: case, composition, punctuation and white
  space do not count. Bytes are equal or not.
- A window lies within one document. A cut keeps characters whole; a span of words goes with the
  punctuation at its ends and the white space on one side of it.

How they are found, in four passes over partitions. (1) Each window has an anchor: the smallest
hash of its runs of half the length (winnowing: Schleimer et al. 2003). Equal windows have equal
anchors, and a text has about one anchor in a quarter of the length, so few rows are written.
(2) Anchors that come twice are told to their documents. (3) These write their windows with such an
anchor, each with two independent hashes, 125 bits together (``method: hash``), or the pieces of
text themselves (``method: exact``). (4) Equal windows meet, and the documents cut what is theirs.

``exact`` compares the units themselves by prefix doubling, which needs the pieces of one shard in
one task's memory, about 50 bytes a unit. `shards` is how many there are, by id; copies in
different shards are not found, so `shards` changes what is removed, as tasks and partitions do not.
With one shard both methods remove the same, but for colliding hashes: two windows of 10¹² differing
ones collide with a chance of 10⁻¹³.

Signals: ``repeats_removed`` (spans) and ``repeats_removed_chars``. Reason: ``only_repeats`` where
nothing but white space would be left; the value is the id of the document that has most of it.
Table ``verdicts`` of the phase ``mark`` is the record of what was cut: `spans` in code points of
the text before, `chars_removed`, and `copy_of`, the document that has most of it.

Memory: the rows of one partition. On disk, uncompressed: 24 bytes an anchor (with the defaults
about 2 bytes a word), and for each window with a repeated anchor 32 bytes, 48 if it goes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from corpusmill.pipeline.context import TaskContext, hash_of_ids
from corpusmill.pipeline.document import Document, Drop, Outcome
from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.stage import AuxPhase, Barrier, Kind
from corpusmill.stages.unicode_data import collapse_space

from .guards import Counts, Shares, add, merged, read_totals, totals_of
from .ids import hex_ids, join_ids, split_ids
from .lines import without
from .picked import Picked, picked
from .repeats import Units, begins, by_document, classes, repeated, spans_of, units_of
from .sets import packed_ids, places

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

_WINDOW = ("key", "check", "id_hi", "id_lo")
_CUT = ("id_hi", "id_lo", "key", "check", "of_hi", "of_lo")
_EXACT_CUT = ("id_hi", "id_lo", "place", "of_hi", "of_lo")

Cut = tuple[Any, Any]
"""Places of windows of one document, in order, and for each the id of another that has it."""


@dataclass(frozen=True)
class SubstringsParams:
    """`unit` and `length`: how long a span must be; 50 words, Lee et al. have 50 tokens, Dolma 3
    (2025) 500 bytes. `keep`, `method` and `shards`: see the module.

    Where more than `max_removed_share` of all code points would go, or more than
    `max_source_share` of those of one source, the run stops; 1 lets everything pass.
    """

    unit: Literal["words", "bytes"] = "words"
    length: int = 50
    keep: Literal["first", "none"] = "first"
    method: Literal["hash", "exact"] = "hash"
    shards: int = 1
    max_removed_share: float = 1.0
    max_source_share: float = 1.0

    def __post_init__(self) -> None:
        if not 2 <= self.length <= 100_000:
            raise ConfigError(f"length is {self.length}", hint="2 to 100000")
        if self.shards < 1 or self.shards & (self.shards - 1) or self.shards > 65_536:
            raise ConfigError(f"shards is {self.shards}", hint="a power of two up to 65536")
        if self.shards > 1 and self.method != "exact":
            raise ConfigError(
                f"shards is {self.shards}", hint="method: hash finds copies anywhere; leave it out"
            )
        for name in ("max_removed_share", "max_source_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"{name} is {getattr(self, name)}", hint="a share, 0 to 1")


class SubstringsDedup(Barrier):
    """Removes spans that stand elsewhere too."""

    name: ClassVar[str] = "dedup.substrings"
    version: ClassVar[int] = 1
    kind: ClassVar[Kind] = "barrier"
    edits_text: ClassVar[bool] = True
    Params: ClassVar[type] = SubstringsParams
    phases: ClassVar[tuple[AuxPhase, ...]] = (
        AuxPhase("meet", "partitions", "meet"),
        AuxPhase("windows", "partitions", "windows"),
        AuxPhase("group", "partitions", "group"),
        AuxPhase("mark", "partitions", "mark", own_verdicts=True),
        AuxPhase("tally", "one", "tally"),
    )

    def __init__(self, params: SubstringsParams) -> None:
        super().__init__(params)
        self.params: SubstringsParams = params
        self.writes = {"repeats_removed": "int", "repeats_removed_chars": "int"}
        self.reasons = ("only_repeats",)
        self._small = (params.length + 1) // 2

    def setup(self) -> None:
        """Compiles or loads the kernels."""
        from . import substrings_kernel

        self._kernel = substrings_kernel
        self._units([])

    def _units(self, texts: Sequence[str]) -> Units:
        return units_of(texts, self.params.unit)

    def _anchors(
        self, units: Units, wanted: Sequence[npt.NDArray[np.uint64]] | None = None
    ) -> tuple[Any, Any, Any]:
        """Text and key of each anchor; and where windows begin whose anchor is `wanted`, a sorted
        array for each text."""
        sizes = np.diff(units.start)
        # A place is chosen once, and there are as many as small runs.
        most = int(np.maximum(sizes - self._small + 1, 0).sum())
        doc, key = np.empty(most, np.int64), np.empty(most, np.uint64)
        found = np.zeros(0 if wanted is None else len(units.values), np.uint8)
        bounds = np.zeros(len(sizes) + 1, np.int64)
        flat = np.empty(0, np.uint64)
        if wanted:
            np.cumsum([len(w) for w in wanted], out=bounds[1:])
            flat = np.concatenate(wanted)
        count = self._kernel.anchors(
            units.values, units.start, self.params.length, self._small, flat, bounds,
            np.empty(int(sizes.max(initial=0)), np.uint64), doc, key, found,
        )  # fmt: skip
        return doc[:count], key[:count], found

    def emit(self, batch: Sequence[Document]) -> dict[str, tuple[pa.Table, Any]]:
        """Table ``anchors``: key, id; met by key. Table ``totals``, see `totals_of`."""
        import pyarrow as pa

        doc, key, _ = self._anchors(self._units([d.text for d in batch]))
        high, low = split_ids([d.id for d in batch])
        table = pa.table({"key": key, "id_hi": high[doc], "id_lo": low[doc]})
        return {"anchors": (table, key), "totals": totals_of(batch)}

    def meet(self, ctx: TaskContext) -> None:
        """One partition of anchors: writes ``hits``, those that come twice, by document."""
        import pyarrow as pa

        rows = ctx.read("anchors", partition=ctx.index, sort=("key", "id_hi", "id_lo"))
        key, high, low = (rows[name].to_numpy() for name in ("key", "id_hi", "id_lo"))
        same = key[1:] == key[:-1]
        again = np.zeros(len(key), np.bool_)
        again[1:] |= same
        again[:-1] |= same
        once = np.ones(len(key), np.bool_)  # a document is told of a key once
        once[1:] = ~same | (high[1:] != high[:-1]) | (low[1:] != low[:-1])
        keep = again & once
        table = pa.table({"id_hi": high[keep], "id_lo": low[keep], "key": key[keep]})
        ctx.write("hits", table, high[keep])
        ctx.note("anchors", len(key))

    def windows(self, ctx: TaskContext) -> None:
        """One partition of documents: writes the windows with a repeated anchor; ``windows`` by
        their hash, those of a document once, or ``regions``, the pieces of text that they make
        up, by shard."""
        exact = self.params.method == "exact"
        hits = ctx.read("hits", partition=ctx.index, sort=("id_hi", "id_lo", "key"))
        key = hits["key"].to_numpy()
        wanted, first, stop = by_document(packed_ids(hits))
        count = 0
        for some in picked(ctx, wanted):
            units = self._units(some.texts)
            found = self._anchors(units, [key[first[n] : stop[n]] for n in some.rows])[2]
            high, low = split_ids(some.ids)
            count += int(np.count_nonzero(found))
            if exact:
                self._write_regions(ctx, units, found, high, low)
            else:
                self._write_windows(ctx, units, found, high, low)
        ctx.note("windows", count)

    def _windows(self, units: Units, found: Any) -> tuple[Any, Any, Any, Any]:
        """Text, place, and two hashes of the windows that begin where `found` is 1."""
        count = int(np.count_nonzero(found))
        doc, place = np.empty((2, count), np.int64)
        key, check = np.empty((2, count), np.uint64)
        self._kernel.windows(
            units.values, units.start, self.params.length, found, doc, place, key, check
        )
        return doc, place, key, check

    def _write_windows(
        self, ctx: TaskContext, units: Units, found: Any, high: Any, low: Any
    ) -> None:
        import pyarrow as pa

        doc, _, key, check = self._windows(units, found)
        order = np.lexsort((check, key, doc))
        doc, key, check = doc[order], key[order], check[order]
        once = begins(doc, key, check)  # what a text repeats itself needs no other document
        columns = (key[once], check[once], high[doc[once]], low[doc[once]])
        ctx.write("windows", pa.table(dict(zip(_WINDOW, columns, strict=True))), columns[0])

    def _write_regions(
        self, ctx: TaskContext, units: Units, found: Any, high: Any, low: Any
    ) -> None:
        import pyarrow as pa

        words = self.params.unit == "words"
        held: dict[str, list[Any]] = {"id_hi": [], "id_lo": [], "place": [], "data": []}
        for n in range(len(high)):
            first, last = int(units.start[n]), int(units.start[n + 1])
            at = np.flatnonzero(found[first:last])
            breaks = np.flatnonzero(np.diff(at) > 1)
            for a, b in zip(
                at[np.append(0, breaks + 1)] if len(at) else at,
                at[np.append(breaks, len(at) - 1)] if len(at) else at, strict=True,
            ):  # fmt: skip
                piece = slice(first + int(a), first + int(b) + self.params.length)
                raw = units.values[piece].astype("<u8") if words else units.data[piece]
                held["id_hi"].append(high[n])
                held["id_lo"].append(low[n])
                held["place"].append(int(a))
                held["data"].append(raw.tobytes())
        table = pa.table(
            {
                "id_hi": pa.array(held["id_hi"], pa.uint64()),
                "id_lo": pa.array(held["id_lo"], pa.uint64()),
                "place": pa.array(held["place"], pa.int64()),
                "data": pa.array(held["data"], pa.large_binary()),
            }
        )
        ctx.write("regions", table, self._shard(table["id_hi"].to_numpy()))

    def _shard(self, high: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        """The leading bits of ids that choose the shard, the others 0."""
        bits = self.params.shards.bit_length() - 1
        return high & ~np.uint64((1 << (64 - bits)) - 1) if bits else np.zeros_like(high)

    def group(self, ctx: TaskContext) -> None:
        """One partition of windows: writes those that go, by document, with another document that
        has them: ``cuts`` by their hashes, or ``exact_cuts`` by their places."""
        import pyarrow as pa

        first_stays = self.params.keep == "first"
        count = 0
        if self.params.method == "exact":
            for group, high, low, place in self._shards(ctx):
                doc = np.unique(join_ids(high, low), return_inverse=True)[1].reshape(-1)
                goes, other = repeated(group, doc, place, self.params.length, first_stays)
                other = other[goes]
                columns = (high[goes], low[goes], place[goes], high[other], low[other])
                table = pa.table(dict(zip(_EXACT_CUT, columns, strict=True)))
                ctx.write("exact_cuts", table, columns[0])
                count += len(other)
        else:
            rows = ctx.read("windows", partition=ctx.index, sort=_WINDOW)
            key, check, high, low = (rows[name].to_numpy() for name in _WINDOW)
            new = begins(key, check)
            first = np.flatnonzero(new)[np.cumsum(new) - 1]
            several = np.bincount(first, minlength=len(key))[first] > 1
            goes = several & ~new if first_stays else several
            last = np.append(np.flatnonzero(new)[1:], len(key))[np.cumsum(new) - 1] - 1
            other = np.where(new, last, first)[goes]
            ids = (high[goes], low[goes])
            cuts = (*ids, key[goes], check[goes], high[other], low[other])
            ctx.write("cuts", pa.table(dict(zip(_CUT, cuts, strict=True))), ids[0])
            count = len(other)
        ctx.note("windows_cut", count)

    def _shards(self, ctx: TaskContext) -> Iterator[tuple[Any, Any, Any, Any]]:
        """Group, id and place of the windows of each shard of a partition, in order, by comparing
        the units themselves."""
        rows = ctx.read("regions", partition=ctx.index, sort=("id_hi", "id_lo", "place"))
        high, low, start = (rows[name].to_numpy() for name in ("id_hi", "id_lo", "place"))
        shard = self._shard(high)
        kind = "<u8" if self.params.unit == "words" else np.uint8
        empty = np.empty(0, np.int64)
        yield empty, high[:0], low[:0], empty  # every task writes its table
        for one in np.unique(shard):
            chosen = np.flatnonzero(shard == one)
            pieces = [
                np.frombuffer(rows["data"][int(n)].as_py(), kind).astype(np.uint64) for n in chosen
            ]
            sizes = np.array([len(piece) for piece in pieces])
            names = classes(np.concatenate(pieces), self.params.length)
            region = np.repeat(np.arange(len(chosen)), sizes)
            within = np.arange(len(names)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
            whole = np.flatnonzero(within + self.params.length <= sizes[region])
            row, place = chosen[region[whole]], start[chosen[region[whole]]] + within[whole]
            group = names[whole]
            order = np.lexsort((place, low[row], high[row], group))
            yield group[order], high[row][order], low[row][order], place[order]

    def mark(self, ctx: TaskContext) -> None:
        """One partition of documents: writes ``verdicts`` with the spans that go."""
        import pyarrow as pa

        goes = self._exact_cuts(ctx) if self.params.method == "exact" else self._hashed_cuts(ctx)
        lost: Counts = {}
        before = left = changed = 0
        for some, units, cuts in goes:
            ids, spans, copies, sources = [], [], [], []
            for n, (place, of) in enumerate(cuts):
                if not len(place):
                    continue
                text = some.texts[n]
                spans.append(spans_of(text, units, n, place, self.params.length))
                names, counts = np.unique(of, return_counts=True)
                copies.append(hex_ids(names[[int(np.argmax(counts))]])[0])
                ids.append(some.ids[n])
                sources.append(some.columns["source"][n])
                before += len(text)
                left += len(without(text, spans[-1]))
            chars = [sum(s[1::2]) - sum(s[::2]) for s in spans]
            table = pa.table(
                {
                    "id": pa.array(ids, pa.string()),
                    "spans": pa.array(spans, pa.list_(pa.int64())),
                    "chars_removed": pa.array(chars, pa.int64()),
                    "copy_of": pa.array(copies, pa.string()),
                }
            )
            ctx.write("verdicts", table, hash_of_ids(ids))
            add(lost, zip(sources, chars, strict=True))
            changed += len(ids)
        ctx.balance(
            "characters of changed documents = left + removed",
            total=before, parts={"left": left, "removed": sum(lost.values())},
        )  # fmt: skip
        ctx.note("changed", changed)
        ctx.note("chars_removed", lost)

    def _exact_cuts(self, ctx: TaskContext) -> Iterator[tuple[Picked, Units, list[Cut]]]:
        """Batches of documents with the places of the windows that go, in order, and for each a
        document that has it."""
        rows = ctx.read("exact_cuts", partition=ctx.index, sort=("id_hi", "id_lo", "place"))
        wanted, first, stop = by_document(packed_ids(rows))
        place, of = rows["place"].to_numpy(), packed_ids(rows, "of_hi", "of_lo")
        for some in picked(ctx, wanted, ("source",)):
            cuts = [(place[first[n] : stop[n]], of[first[n] : stop[n]]) for n in some.rows]
            yield some, self._units(some.texts), cuts

    def _hashed_cuts(self, ctx: TaskContext) -> Iterator[tuple[Picked, Units, list[Cut]]]:
        """The same, where windows are known by their hashes: they are looked up again, and with
        them those that a text repeats itself."""
        hits = ctx.read("hits", partition=ctx.index, sort=("id_hi", "id_lo", "key"))
        anchor = hits["key"].to_numpy()
        wanted, first, stop = by_document(packed_ids(hits))
        rows = ctx.read("cuts", partition=ctx.index, sort=("id_hi", "id_lo", "key", "check"))
        ids, from_, to = by_document(packed_ids(rows))
        key, check = rows["key"].to_numpy(), rows["check"].to_numpy()
        of = packed_ids(rows, "of_hi", "of_lo")
        for some in picked(ctx, wanted, ("source",)):
            units = self._units(some.texts)
            found = self._anchors(units, [anchor[first[n] : stop[n]] for n in some.rows])[2]
            windows = self._windows(units, found)
            bounds = np.searchsorted(windows[0], np.arange(len(some.ids) + 1))
            own = join_ids(*split_ids(some.ids))
            at, there = places(own, ids)
            cuts = []
            for n in range(len(some.ids)):
                here = slice(int(bounds[n]), int(bounds[n + 1]))
                known = slice(int(from_[at[n]]), int(to[at[n]])) if there[n] else slice(0)
                held = (key[known], check[known], of[known])
                cuts.append(self._own_cuts([w[here] for w in windows[1:]], held, own[n : n + 1]))
            yield some, units, cuts

    def _own_cuts(self, windows: Sequence[Any], cuts: Sequence[Any], own: Any) -> Cut:
        """The windows (place, two hashes) of one document that go: those that it repeats itself,
        and those among the cuts (two hashes, sorted, and another document)."""
        order = np.lexsort(windows)
        place, key, check = (column[order] for column in windows)
        group = np.cumsum(begins(key, check), dtype=np.int64)
        goes, _ = repeated(
            group, np.zeros(len(group), np.int64), place, self.params.length,
            self.params.keep == "first",
        )  # fmt: skip
        of = np.repeat(own, len(place))
        at, there = places(join_ids(key, check), join_ids(*cuts[:2]))
        of[there] = cuts[2][at[there]]
        goes |= there
        back = np.argsort(place[goes])
        return place[goes][back], of[goes][back]

    def tally(self, ctx: TaskContext) -> None:
        """Adds up the partitions and stops where too much would go."""
        for phase, key in (
            ("meet", "anchors"), ("windows", "windows"), ("group", "windows_cut"),
            ("mark", "changed"),
        ):  # fmt: skip
            ctx.note(key, sum(int(part[key]) for part in ctx.notes(phase)))
        lost = merged(ctx.notes("mark"), "chars_removed")
        chars = read_totals(ctx, "totals", "chars")
        ctx.note("chars", chars)
        ctx.note("chars_removed", lost)
        given = self.params
        shares = Shares(self.name, given.max_removed_share, given.max_source_share)
        shares.check(lost, chars, "characters are in repeated spans")

    def decide(
        self, batch: Sequence[Document], verdicts: Mapping[str, Mapping[str, Any]]
    ) -> list[Outcome]:
        """Cuts the spans of the verdicts out of the texts."""
        outcomes: list[Outcome] = []
        for doc in batch:
            verdict = verdicts.get(doc.id)
            spans = verdict["spans"] if verdict else []
            doc.signals["repeats_removed"] = len(spans) // 2
            doc.signals["repeats_removed_chars"] = int(verdict["chars_removed"]) if verdict else 0
            if verdict is not None and len(spans):
                text = without(doc.text, spans)
                if not collapse_space(text):
                    outcomes.append(Drop("only_repeats", str(verdict["copy_of"])))
                    continue
                raw = doc.text.encode("utf-8", "surrogatepass")
                doc.meta.setdefault("text_sha256_raw", hashlib.sha256(raw).hexdigest())
                doc.text = text
            outcomes.append(doc)
        return outcomes


STAGE = SubstringsDedup
