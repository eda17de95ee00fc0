"""Token shards: the kept documents, encoded, mixed by token budgets, in keyed order.

Phases: `encode` (documents to ids, once), `mix` (one task: what is taken of each domain, see
`corpusmill.pipeline.mix`), `place` (every taken copy of a document goes to the partition of its
place key), `write` (each partition writes the shards whose first token it holds, and reads on
into the next ones to fill its last), `check` (the written files, read again), `manifest` (one
task: all figures added up, ``shards/manifest.json``).

A *stream* is what one phase takes of one domain, and for each rung of the ladder a part of that:
its copies in the order of their place keys; shard k holds tokens k * `tokens_per_shard` and on.
Neither depends on the number of partitions or on the order in which documents arrive, and so
neither do the bytes of any shard. Files: ``shards/<domain>/<domain>-00000.bin`` and its
companions, see `formats`; with phases ``shards/<phase>/<domain>/…``, the ladder's in
``shards/scale-1-64/…``.

A document counts its tokens and one end-of-text. One that a budget cuts keeps its first tokens
and still ends with end-of-text, so that readers that look for it find every border.

Memory: `mix` holds id and count of every document (about 120 bytes each), `write` one partition
and the index rows of the shard it fills.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from corpusmill.pipeline.context import hash_of_ids, partition_of
from corpusmill.pipeline.document import META_COLUMNS
from corpusmill.pipeline.errors import ConfigError, IntegrityError
from corpusmill.pipeline.identity import pretty
from corpusmill.pipeline.licences import refused_sources
from corpusmill.pipeline.mix import MixParams, Share, assign, copies_of, plan_mix
from corpusmill.pipeline.order import order_keys
from corpusmill.pipeline.stage import Asset, AuxPhase, Sink

from . import formats
from .audit import Benchmarks, BenchmarkSearch, check_shard, load_benchmarks, merge_hits
from .encode import Lengths, load
from .formats import locate, read_shard
from .sampling import rule_columns
from .streams import PROVENANCE, Stream, empty_tokens, placed_table, token_table

if TYPE_CHECKING:
    import pyarrow as pa

    from corpusmill.pipeline.context import TaskContext

TOKENIZER_STEP = "tokenizer"
MANIFEST = "shards/manifest.json"
MANIFEST_SCHEMA = "corpusmill/shards/2"


@dataclass(frozen=True, slots=True)
class ShardsParams:
    """Parameters of `Shards`.

    `tokens_per_shard` (2^27: 256 MiB at two bytes a token) must stay below 2^31, a limit of
    several readers. `heldout` writes the held-out documents to a domain of that name, whole and
    once; else they are left out. `benchmarks` is a folder as for `decontaminate.ngram`: the
    decoded shards are searched for its items, and the manifest reports them.
    """

    mix: MixParams = field(default_factory=MixParams)
    tokens_per_shard: int = 2**27
    heldout: bool = True
    benchmarks: Asset | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.tokens_per_shard < 2**31:
            raise ConfigError(f"tokens_per_shard {self.tokens_per_shard} is not in 1 … 2^31 - 1")


class Shards(Sink):
    """Writes the token shards of a mix and their manifest."""

    name: ClassVar[str] = "tokenizers.shards"
    version: ClassVar[int] = 3
    pins: ClassVar[tuple[str, ...]] = ("tokenizers", "sentencepiece", "pyarrow")
    Params: ClassVar[type] = ShardsParams
    phases: ClassVar[tuple[AuxPhase, ...]] = (
        AuxPhase("encode", "partitions", "encode", depends="encoding", reads="own documents"),
        AuxPhase("mix", "one", "mix"),
        AuxPhase("place", "partitions", "place"),
        AuxPhase("write", "partitions", "write"),
        AuxPhase("check", "partitions", "check"),
        AuxPhase("manifest", "one", "manifest"),
    )

    params: ShardsParams
    _benchmarks: Benchmarks | None = None

    def check_assets(self) -> None:
        if self.params.benchmarks is not None:
            load_benchmarks(self.params.benchmarks)

    def setup(self) -> None:
        """One process uses one slot of the machine: no threads of the library's own."""
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

    def setup_phase(self, method: str) -> None:
        """Makes the search for benchmarks once, for all tasks that check shards."""
        if method == "check":
            self._ready_benchmarks()

    def _ready_benchmarks(self) -> Benchmarks | None:
        if self._benchmarks is None and self.params.benchmarks is not None:
            self._benchmarks = Benchmarks(self.params.benchmarks)
        return self._benchmarks

    def encoding(self) -> dict[str, Any]:
        """What encoding depends on: a mix of other weights reuses what was encoded."""
        mix = self.params.mix
        return {
            "domains": [[d.name, dict(d.match)] for d in mix.domains],
            "licences": sorted(mix.licences), "heldout": self.params.heldout,
        }  # fmt: skip

    def encode(self, ctx: TaskContext) -> None:
        """Table ``tokens``: id, domain, n_tokens, tokens (of the stream's type, without
        end-of-text) and provenance, partitioned by id."""
        encoder = load(ctx.stage_files(TOKENIZER_STEP))
        dtype = formats.dtype_for(encoder.max_id)
        counts = assign({"source": []}, (), 0)[1]
        mix = self.params.mix
        refused = refused_sources(ctx.params["sources"] if mix.licences else {}, mix.licences)
        documents = tokens = 0
        columns: set[str] = set()
        seen: set[str] = set()
        sources: dict[str, dict[str, int]] = {}
        ctx.write("tokens", empty_tokens())
        for piece in ctx.batches("docs", partition=ctx.index):
            documents += piece.num_rows
            columns.update(piece.column_names)
            _refuse_repeated(piece.column("id").to_pylist(), seen)
            looked_at = rule_columns(piece, mix.domains)
            domains, more = assign(
                looked_at, mix.domains, piece.num_rows,
                refused=refused, heldout=self.params.heldout,
            )  # fmt: skip
            counts = _sum_counts((counts, more))
            rows = [i for i, d in enumerate(domains) if d is not None]
            if not rows:
                continue
            kept = piece if len(rows) == piece.num_rows else piece.take(rows)
            ids, lengths = encoder.encode_column(kept.column("text"))
            _add_sizes(sources, kept, lengths)
            names = kept.column("id").to_pylist()
            table = token_table(
                names, [domains[i] for i in rows], formats.narrow(ids, dtype), lengths,
                {n: kept.column(n) for n in PROVENANCE if n in kept.column_names},
            )  # fmt: skip
            ctx.write("tokens", table, hash_of_ids(names))
            tokens += int(lengths.sum()) + len(rows)
        ctx.balance("documents = encoded + left out", total=documents, parts=counts)
        ctx.note("documents", documents)
        ctx.note("counts", counts)
        ctx.note("tokens", tokens)
        ctx.note("sources", sources)
        ctx.note("invalid_texts", encoder.invalid)
        ctx.note("columns", sorted(columns))

    def mix(self, ctx: TaskContext) -> None:
        """Notes the plan: a share per domain, and warnings."""
        seen = {c for n in ctx.notes("encode") for c in n["columns"]}
        for rule in self.params.mix.domains:
            for column in rule.match:
                if seen and column not in seen and column not in META_COLUMNS:
                    raise ConfigError(
                        f"mix domain {rule.name!r} matches on {column!r}, which no document has",
                        hint=f"columns: {', '.join(sorted(seen))}",
                    )
        domains: list[str] = []
        ids: list[str] = []
        counts = [np.zeros(0, dtype=np.int64)]
        for piece in ctx.batches("tokens", columns=("id", "domain", "n_tokens")):
            ids += piece.column("id").to_pylist()
            domains += piece.column("domain").to_pylist()
            counts.append(piece.column("n_tokens").to_numpy())
        plan = plan_mix(self.params.mix, domains, ids, np.concatenate(counts), seed=ctx.seed)
        warnings = list(plan.warnings)
        left_out = _sum_counts(n["counts"] for n in ctx.notes("encode"))
        for key, why in (
            ("unmatched", "match no domain"), ("licence_left_out", "have a licence not allowed"),
        ):  # fmt: skip
            if left_out[key]:
                warnings.append(f"mix: {left_out[key]} documents {why} and are left out")
        ctx.balance(
            "documents encoded = documents in domains",
            total=len(ids), parts={s.domain: s.documents for s in plan.shares},
        )  # fmt: skip
        ctx.note("shares", [s.to_json() for s in plan.shares])
        ctx.note("warnings", warnings)

    def place(self, ctx: TaskContext) -> None:
        """Table ``placed``: a row for every taken copy, partitioned by place key; notes how many
        tokens each domain has in each of its partitions."""
        import pyarrow as pa

        shares = {s["stream"]: Share.from_json(s) for s in ctx.notes("mix")[0]["shares"]}
        tokens = {s: [0] * ctx.partitions for s in shares}
        copies = dict.fromkeys(shares, 0)
        nothing = placed_table(empty_tokens(), "", 0, [], np.zeros(0, dtype=np.int64))
        ctx.write("placed", nothing)
        for piece in ctx.batches("tokens", partition=ctx.index):
            domains = np.asarray(piece.column("domain").to_pylist(), dtype=object)
            of_domain = {
                d: piece.filter(pa.array(domains == d, pa.bool_()))
                for d in sorted({s.domain for s in shares.values()})
            }
            for stream, share in shares.items():
                mine = of_domain[share.domain]
                ids = mine.column("id").to_pylist()
                n_tokens = mine.column("n_tokens").to_numpy()
                for copy, rows, take in copies_of(share, ids, n_tokens, seed=ctx.seed):
                    if not len(rows):
                        continue
                    part = mine.take(rows)
                    keys = order_keys(ctx.seed, part.column("id").to_pylist(), copy, "place")
                    hexes = [f"{hi:016x}{lo:016x}" for hi, lo in keys.tolist()]
                    table = placed_table(part, stream, copy, hexes, take)
                    ctx.write("placed", table, keys[:, 0].copy())
                    where = partition_of(keys[:, 0], ctx.partitions)
                    for p in np.unique(where).tolist():
                        tokens[stream][p] += int(take[where == p].sum())
                    copies[stream] += len(rows)
        ctx.note("tokens", tokens)
        ctx.note("copies", copies)

    def write(self, ctx: TaskContext) -> None:
        """Writes the shards that begin in this partition; notes a summary of each."""
        encoder = load(ctx.stage_files(TOKENIZER_STEP))
        shares = {s["stream"]: s for s in ctx.notes("mix")[0]["shares"]}
        streams = []
        for name, sizes in _sum_lists(n["tokens"] for n in ctx.notes("place")).items():
            ends = np.cumsum(np.asarray(sizes, dtype=np.int64))
            stream = Stream(
                ctx, name, shares[name]["domain"], encoder, size=self.params.tokens_per_shard,
                begin=int(ends[ctx.index]) - sizes[ctx.index], end=int(ends[ctx.index]),
                total=int(ends[-1]),
            )  # fmt: skip
            if not stream.done:
                streams.append(stream)
        for partition in range(ctx.index, ctx.partitions):
            waiting = [s for s in streams if not s.done]
            if not waiting:
                break
            table = ctx.read(
                "placed", partition=partition, sort=("stream", "place_key", "id", "copy")
            )
            names = np.asarray(table.column("stream").to_pylist(), dtype=object)
            for stream in waiting:
                rows = np.flatnonzero(names == stream.name)
                if len(rows):  # sorted by stream: they are one run
                    stream.feed(table.slice(int(rows[0]), len(rows)))
        unfinished = [s.name for s in streams if not s.done]
        if unfinished:
            raise IntegrityError(f"tokens are missing for the last shard of {unfinished}")
        ctx.note("shards", [row for s in streams for row in s.summaries])

    def check(self, ctx: TaskContext) -> None:
        """Reads every shard of this task again: size, digests, ids, ends of text, pieces; and
        searches the decoded documents for benchmark items where that is asked for."""
        encoder = load(ctx.stage_files(TOKENIZER_STEP))
        files = ctx.files("shards/")
        said = {row["name"]: row for n in ctx.notes("write") for row in n["shards"]}
        names = sorted(n.removesuffix(".bin") for n in files if n.endswith(".bin"))
        if names != sorted(said):
            raise IntegrityError(f"shards written {sorted(said)} are not those found {names}")
        found = BenchmarkSearch(self._ready_benchmarks(), encoder)
        tokens: dict[str, int] = {}
        documents: dict[str, int] = {}
        mine = names[ctx.index :: ctx.partitions]
        for name in mine:
            row = said[name]
            paths = {s: files[name + s] for s in formats.SUFFIXES}
            check_shard(name, paths, row, encoder)
            stream = row["stream"]
            tokens[stream] = tokens.get(stream, 0) + row["tokens"]
            documents[stream] = documents.get(stream, 0) + row["documents_ended"]
            if not stream.startswith("scale-"):  # rungs of the ladder hold nothing else
                found.search(name, files)
        ctx.note("checked", len(mine))
        ctx.note("tokens", tokens)
        ctx.note("documents_ended", documents)
        ctx.note("contamination", found.figures())
        ctx.note(
            "contamination_found",
            {b: dict(sorted(items.items())) for b, items in sorted(found.found.items())},
        )

    def manifest(self, ctx: TaskContext) -> None:
        """Adds all up, and writes ``shards/manifest.json``."""
        encoder = load(ctx.stage_files(TOKENIZER_STEP))
        plan = ctx.notes("mix")[0]
        tokens = _sum_counts(n["tokens"] for n in ctx.notes("check"))
        ended = _sum_counts(n["documents_ended"] for n in ctx.notes("check"))
        shards = sorted(
            (row for n in ctx.notes("write") for row in n["shards"]), key=lambda r: r["name"]
        )
        checked = sum(n["checked"] for n in ctx.notes("check"))
        ctx.balance("shards written = checked", total=len(shards), parts={"checked": checked})
        for share in plan["shares"]:
            d = share["stream"]
            ctx.balance(
                f"{d}: tokens taken = tokens in shards",
                total=share["taken"], parts={"shards": tokens.get(d, 0)},
            )  # fmt: skip
            ctx.balance(
                f"{d}: document copies taken = documents ended in shards",
                total=share["copies"], parts={"shards": ended.get(d, 0)},
            )  # fmt: skip
        encoded = ctx.notes("encode")
        manifest = {
            "schema": MANIFEST_SCHEMA,
            "seed": ctx.seed,
            "tokenizer": {
                "digest": encoder.digest, "family": encoder.family,
                "vocab_size": encoder.vocab_size, "max_id": encoder.max_id,
                "eos": {"id": encoder.eos_id, "token": encoder.eos_token},
            },
            "stream": {
                "dtype": "uint16" if formats.dtype_for(encoder.max_id).itemsize == 2 else "uint32",
                "byte_order": "little", "tokens_per_shard": self.params.tokens_per_shard,
                "beginning_of_text": False, "end_of_text": "after every document",
            },
            "documents": {
                "in": sum(n["documents"] for n in encoded),
                **_sum_counts(n["counts"] for n in encoded),
                "invalid_texts": sum(n["invalid_texts"] for n in encoded),
            },
            "domains": plan["shares"],
            "warnings": plan["warnings"],
            "tokens": sum(n for s, n in tokens.items() if not s.startswith("scale-")),
            "ladder_tokens": sum(n for s, n in tokens.items() if s.startswith("scale-")),
            "contamination": merge_hits(ctx.notes("check")),
            "contamination_searched": self.params.benchmarks is not None,
            "shards": shards,
        }  # fmt: skip
        ctx.new_file(MANIFEST).write_bytes(pretty(manifest))
        ctx.note("tokens", tokens)
        ctx.note("documents_ended", ended)
        ctx.note("shards", len(shards))
        ctx.note("warnings", plan["warnings"])


def _add_sizes(into: dict[str, dict[str, int]], docs: pa.Table, lengths: Lengths) -> None:
    """Adds documents, bytes of text and tokens (with the end-of-text of each) by source."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if "source" not in docs.column_names:
        return
    sizes = pa.table({
        "source": docs["source"], "bytes": pc.binary_length(docs["text"]), "tokens": lengths + 1,
    })  # fmt: skip
    sums = sizes.group_by("source", use_threads=False).aggregate(
        [("bytes", "count"), ("bytes", "sum"), ("tokens", "sum")]
    )
    for row in sums.to_pylist():
        mine = into.setdefault(row["source"], {"documents": 0, "bytes": 0, "tokens": 0})
        mine["documents"] += row["bytes_count"]
        mine["bytes"] += row["bytes_sum"]
        mine["tokens"] += row["tokens_sum"]


def _sum_lists(notes: Iterable[Mapping[str, list[int]]]) -> dict[str, list[int]]:
    """Lists of equal length by key, added up."""
    result: dict[str, list[int]] = {}
    for note in notes:
        for key, values in note.items():
            old = result.get(key, [0] * len(values))
            result[key] = [a + b for a, b in zip(old, values, strict=True)]
    return result


def _refuse_repeated(ids: list[str], seen: set[str]) -> None:
    """Raises IntegrityError for an id that was seen before: sources that are finished runs may
    hold the same document."""
    for name in ids:
        if name in seen:
            raise IntegrityError(
                f"the document {name} is there twice", hint="two sources read the same run"
            )
        seen.add(name)


def _sum_counts(notes: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Counts by key, added up."""
    return {k: v[0] for k, v in _sum_lists({k: [n[k]] for k in n} for n in notes).items()}


STAGE = Shards

__all__ = ["STAGE", "Shards", "ShardsParams", "locate", "read_shard"]
