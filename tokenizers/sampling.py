"""The text a tokenizer is trained on: a keyed sample of the training documents, by byte budget.

Trainers hold all distinct words in memory and gain little from more text: four times as much
(50 to 200 MB) bought 0.3 % to 1.7 % bytes per token in our measurements, so a sample of a few
hundred MB with the right mixture is the plain choice. Which documents are in it follows from
keyed hashes of their ids, never from their order or number of files.

Three phases, shared by all trainers: `measure` (each partition: domain, key, bytes of every
training document), `select` (one: per domain the longest prefix of the keyed order within its
budget), `collect` (each partition: the chosen texts). `texts` then gives them in keyed order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from corpusmill.pipeline.errors import ConfigError, StageError
from corpusmill.pipeline.mix import (
    DomainRule,
    apportion,
    check_rules,
    domains_of,
    exact,
)
from corpusmill.pipeline.order import order_key
from corpusmill.pipeline.stage import AuxPhase

if TYPE_CHECKING:
    import pyarrow as pa

    from corpusmill.pipeline.context import TaskContext

MOST_BYTES = 2**31 - 1
"""The trainers count pairs in 32 bits (Hugging Face `tokenizers` loses the commonest merge
beyond that, huggingface/tokenizers#2058); a sample below 2 GiB cannot hold more pairs."""

PHASES = (
    AuxPhase("measure", "partitions", "measure", reads="own documents"),
    AuxPhase("select", "one", "select"),
    AuxPhase("collect", "partitions", "collect"),
    AuxPhase("train", "one", "train"),
)


@dataclass(frozen=True, slots=True)
class SampleParams:
    """What to train on.

    `bytes` is the total in UTF-8 bytes. `document_bytes` caps what one document contributes,
    so that none can put its own junk into the vocabulary (nanochat caps at 10,000 characters;
    the cut is at the last character boundary within the cap). `domains` are rules as in a mix
    (none: each source is a domain). `weights` by domain are relative; none: in proportion to
    size. A domain that has less than its share gives what it has; the card says so.
    """

    bytes: int = 200_000_000
    document_bytes: int = 10_000
    domains: tuple[DomainRule, ...] = ()
    weights: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 1 <= self.bytes <= MOST_BYTES:
            raise ConfigError(f"sample.bytes {self.bytes} is not within 1 and {MOST_BYTES}")
        if self.document_bytes < 4:
            raise ConfigError(f"sample.document_bytes {self.document_bytes} is below 4")
        check_rules(self.domains)
        known = {d.name for d in self.domains}
        for name, weight in self.weights.items():
            if not weight > 0:
                raise ConfigError(f"sample.weights.{name}: {weight} is not above 0")
            if self.domains and name not in known:
                raise ConfigError(
                    f"sample.weights names {name!r}, which is no domain",
                    hint=f"domains: {', '.join(sorted(known))}",
                )


def capped(text: str, most: int) -> str:
    """The longest prefix of whole characters within `most` UTF-8 bytes."""
    if len(text) * 4 <= most:
        return text
    raw = text.encode("utf-8")
    return text if len(raw) <= most else raw[:most].decode("utf-8", "ignore")


def rule_columns(table: pa.Table, rules: Any) -> dict[str, list[object]]:
    """The columns of `table` that `rules` look at, ``source`` and ``split``, as Python values."""
    names = {"source", "split"} | {column for rule in rules for column in rule.match}
    return {n: table.column(n).to_pylist() for n in sorted(names) if n in table.column_names}


def _training(ctx: TaskContext, p: SampleParams) -> Iterator[tuple[str, str, str, str | None]]:
    """(id, key, capped text, domain) of every document of this partition that is not held out;
    the domain is None where no rule matches."""
    for piece in ctx.batches("docs", partition=ctx.index):
        domains = domains_of(rule_columns(piece, p.domains), p.domains, piece.num_rows)
        splits: list[object] = [None] * piece.num_rows
        if "split" in piece.column_names:
            splits = piece.column("split").to_pylist()
        ids, texts = piece.column("id").to_pylist(), piece.column("text").to_pylist()
        for id_, text, domain, split in zip(ids, texts, domains, splits, strict=True):
            if split != "heldout":
                key = order_key(ctx.seed, id_, 0, "sample").hex()
                yield id_, key, capped(text, p.document_bytes), domain


def measure(ctx: TaskContext, p: SampleParams) -> None:
    """Writes table ``sizes``: id, key, domain, bytes."""
    import pyarrow as pa

    rows: dict[str, list[Any]] = {"id": [], "key": [], "domain": [], "bytes": []}
    unmatched = 0
    for id_, key, text, domain in _training(ctx, p):
        if domain is None:
            unmatched += 1
            continue
        for name, value in zip(rows, (id_, key, domain, len(text.encode("utf-8"))), strict=True):
            rows[name].append(value)
    types = {"id": pa.string(), "key": pa.string(), "domain": pa.string(), "bytes": pa.int64()}
    ctx.write("sizes", pa.table({n: pa.array(v, types[n]) for n, v in rows.items()}))
    ctx.note("unmatched", unmatched)


def select(ctx: TaskContext, p: SampleParams) -> None:
    """Notes, per domain, what is there, what is wanted and up to which key it is taken."""
    table = ctx.read("sizes", sort=("domain", "key", "id"))
    domains = np.asarray(table.column("domain").to_pylist(), dtype=object)
    keys = table.column("key").to_pylist()
    sizes = np.asarray(table.column("bytes").to_pylist(), dtype=np.int64)
    names = sorted(set(domains.tolist()))
    if not names:
        raise StageError(
            "no document to train a tokenizer on",
            hint="look in the ledger at what dropped them, or at sample.domains",
        )
    known = set(names) | {d.name for d in p.domains}
    for name in p.weights:
        if name not in known:
            raise ConfigError(
                f"sample.weights names {name!r}, which has no document",
                hint=f"domains: {', '.join(names)}",
            )
    for name in names:
        if p.weights and name not in p.weights:
            raise ConfigError(
                f"sample.weights has none for the domain {name!r}",
                hint="give every domain a weight, or leave sample.weights out",
            )
    available = [int(sizes[domains == n].sum()) for n in names]
    if p.weights:
        wanted = apportion(p.bytes, [exact(p.weights[n]) for n in names])
    else:
        wanted = apportion(min(p.bytes, sum(available)), [Fraction(a) for a in available])
    chosen: dict[str, dict[str, Any]] = {}
    for name, has, want in zip(names, available, wanted, strict=True):
        rows = np.flatnonzero(domains == name)
        ends = np.cumsum(sizes[rows])
        count = int(np.searchsorted(ends, want, side="right"))
        chosen[name] = {
            "documents": len(rows), "bytes": has, "wanted_bytes": want,
            "taken_documents": count, "taken_bytes": int(ends[count - 1]) if count else 0,
            "last_key": keys[rows[count - 1]] if count else "",
        }  # fmt: skip
    ctx.note("domains", chosen)


def collect(ctx: TaskContext, p: SampleParams) -> None:
    """Writes table ``texts``: key, id, text of the chosen documents."""
    import pyarrow as pa

    chosen = ctx.notes("select")[0]["domains"]
    rows: dict[str, list[str]] = {"key": [], "id": [], "text": []}
    for id_, key, text, domain in _training(ctx, p):
        if domain is not None and key <= chosen[domain]["last_key"]:
            for name, value in zip(rows, (key, id_, text), strict=True):
                rows[name].append(value)
    ctx.write("texts", pa.table({n: pa.array(v, pa.large_string()) for n, v in rows.items()}))


def texts(ctx: TaskContext) -> tuple[list[str], dict[str, Any]]:
    """The sample in keyed order, and its figures for the card. Raises StageError if empty."""
    chosen = ctx.notes("select")[0]["domains"]
    result: list[str] = ctx.read("texts", sort=("key", "id")).column("text").to_pylist()
    ctx.balance(
        "sample documents chosen = read", total=len(result),
        parts={n: d["taken_documents"] for n, d in chosen.items()},
    )  # fmt: skip
    if not any(result):
        raise StageError(
            "the tokenizer's sample is empty", hint="raise sample.bytes: no document fits in it"
        )
    figures = {
        "documents": len(result),
        "bytes": sum(d["taken_bytes"] for d in chosen.values()),
        "domains": {
            name: {k: v for k, v in d.items() if k != "last_key"} for name, d in chosen.items()
        },
        "unmatched_documents": sum(n["unmatched"] for n in ctx.notes("measure")),
    }
    return result, figures
