"""Deduplication of one JSONL file in memory, without a run folder: ``corpusmill dedup``."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpusmill.pipeline.context import MemoryContext, hash_of_ids
from corpusmill.pipeline.document import Document
from corpusmill.pipeline.errors import InputError
from corpusmill.stages.json_rows import Fields, RowWriter, read_rows, text_of

from .exact import ExactDedup, ExactParams
from .minhash import MinhashDedup, MinhashParams

if TYPE_CHECKING:
    import pyarrow as pa

    from corpusmill.pipeline.stage import Barrier

_BATCH_CHARS = 8_000_000


@dataclass(slots=True)
class _Row:
    fields: dict[str, Any]
    doc: Document
    order: int
    """Line number in the input."""
    survivor: int = -1
    """Number (in order of id) of the row that stands for this one; its own where it is kept,
    -1 for an empty text that was dropped."""
    reason: str = ""
    similarity: float | None = 1.0


def dedup_jsonl(
    in_path: Path | str,
    out_path: Path | str,
    removed_path: Path | str | None = None,
    *,
    exact: ExactParams | None = None,
    minhash: MinhashParams | None = None,
    by_url: bool = False,
) -> dict[str, Any]:
    """Exact and near-duplicates among the rows of `in_path`, one JSON object a line with a
    text ``text``, an ``id`` (a text or a whole number, its own; without it the row's number) and,
    for `by_url`, a ``url``.

    Kept rows go to `out_path` in the order of the input, with all their fields and ``cluster``,
    the smallest id of the rows that the kept one stands for, and ``cluster_size``, their number:
    the sizes sum to the rows read. The others go to `removed_path` with ``duplicate_of`` (the
    kept row), ``similarity`` and ``reason``. Similarity is 1 for the same text, that of the
    shingle sets for near-duplicates, null for the same URL; where a row's survivor was removed in
    a later step, that of the weakest link. "Smallest" is in code-point order of ids as text, so
    that which row is kept does not depend on the order of lines. Holds the file in memory, about
    5 times its size.

    Returns the counts: rows in, kept, removed by reason. Raises InputError for a line that is
    not such an object, with its number, and for an id that comes twice.
    """
    read = (_row(f, n - 1, f"{in_path}: line {n}") for n, f in read_rows(in_path))
    rows = sorted(read, key=lambda row: row.doc.id)
    for number, row in enumerate(rows):
        if number and row.doc.id == rows[number - 1].doc.id:
            raise InputError(
                f"{in_path}: the id {row.doc.id!r} comes twice", hint="ids must be unique"
            )
        row.survivor = number
    names = [row.doc.id for row in rows]
    for number, row in enumerate(rows):  # ids of the stages' own form, in the same order
        row.doc.id = _id_of(number)
    exact = exact or ExactParams()
    barriers: list[Barrier] = [ExactDedup(replace(exact, by="content"))]
    if by_url:
        barriers.append(ExactDedup(replace(exact, by="url")))
    barriers.append(MinhashDedup(minhash or MinhashParams()))
    for barrier in barriers:
        _apply(barrier, rows)
    kept_by: dict[int, list[int]] = {}
    for number, row in enumerate(rows):
        if row.survivor >= 0:
            kept_by.setdefault(_final(rows, number)[0], []).append(number)
    counts = _write(rows, names, kept_by, Path(out_path), removed_path)
    return {"in": len(rows), "kept": len(rows) - sum(counts.values()), "removed": counts}


def _row(fields: Fields, number: int, place: str) -> _Row:
    text = text_of(fields, place)
    name = fields.get("id", number)
    if isinstance(name, bool) or not isinstance(name, str | int):
        raise InputError(f"{place}: the id is {name!r}", hint="a text or a whole number")
    url = fields.get("url")
    meta: dict[str, Any] = {"url": url} if isinstance(url, str) else {}
    date = fields.get("date")
    if isinstance(date, str):
        meta["date"] = date
    return _Row(fields, Document(str(name), text, "jsonl", meta), number)


def _id_of(number: int) -> str:
    """An id whose leading half tells documents apart, in the order of numbers."""
    return f"{number:016x}{0:016x}"


def _number_of(name: str) -> int:
    return int(name[:16], 16)


def _batches(docs: Sequence[Document]) -> Iterator[list[Document]]:
    batch: list[Document] = []
    chars = 0
    for doc in docs:
        batch.append(doc)
        chars += len(doc.text)
        if chars > _BATCH_CHARS:
            yield batch
            batch, chars = [], 0
    yield batch


def documents(docs: Sequence[Document], signals: Sequence[str] = ()) -> pa.Table:
    """The columns of a document table that the phases of this package's barriers read, `signals`
    among them."""
    import pyarrow as pa

    return pa.table(
        {
            "id": pa.array([doc.id for doc in docs], pa.string()),
            "text": pa.array([readable(doc.text) for doc in docs], pa.large_string()),
            "host": pa.array([doc.meta.get("host") for doc in docs], pa.string()),
            "source": pa.array([doc.source for doc in docs], pa.string()),
            "date": pa.array([doc.meta.get("date") for doc in docs], pa.string()),
            **{name: pa.array([doc.signals.get(name) for doc in docs]) for name in signals},
        }
    )


def readable(text: str) -> str:
    """`text` with U+FFFD for lone surrogates, which no table can hold and no word has."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
    return text


def _apply(barrier: Barrier, rows: Sequence[_Row]) -> None:
    """Runs one barrier over the rows still kept and marks those that it drops."""
    live = [row.doc for row in rows if not row.reason]
    barrier.setup()
    with tempfile.TemporaryDirectory() as scratch:
        ctx = MemoryContext(Path(scratch))
        for batch in _batches(live):
            for name, (table, hashes) in barrier.emit(batch).items():
                ctx.write(name, table, hashes)
            ctx.write("docs", documents(batch), hash_of_ids([doc.id for doc in batch]))
        ctx.run_phases(barrier)
        verdicts = {row["id"]: row for row in ctx.read("verdicts").to_pylist()}
    for doc, outcome in zip(live, barrier.decide(live, verdicts), strict=True):
        if isinstance(outcome, Document):
            continue
        row = rows[_number_of(doc.id)]
        row.reason = str(getattr(outcome, "reason", ""))
        verdict = verdicts.get(doc.id)
        row.survivor = _number_of(verdict["survivor"]) if verdict else -1
        if verdict is None or row.reason == "duplicate_url":
            row.similarity = None
        else:
            row.similarity = float(verdict.get("similarity", 1.0))


def _final(rows: Sequence[_Row], number: int) -> tuple[int, float | None]:
    """The kept row at the end of the chain (the survivor of a step may go in the next one),
    and the smallest similarity on the way to it, None where one is not known."""
    links: list[float | None] = []
    while rows[number].survivor != number:
        links.append(rows[number].similarity)
        number = rows[number].survivor
    known = [link for link in links if link is not None]
    return number, min(known, default=1.0) if len(known) == len(links) else None


def _write(
    rows: Sequence[_Row],
    names: Sequence[str],
    kept_by: dict[int, list[int]],
    out_path: Path,
    removed_path: Path | str | None,
) -> dict[str, int]:
    counts: dict[str, int] = {}
    kept: list[tuple[int, Fields]] = []
    removed: list[tuple[int, Fields]] = []
    for number, row in enumerate(rows):
        if not row.reason:
            members = kept_by[number]
            extra: dict[str, Any] = {"cluster": names[members[0]], "cluster_size": len(members)}
        else:
            counts[row.reason] = counts.get(row.reason, 0) + 1
            target, similarity = _final(rows, number) if row.survivor >= 0 else (None, None)
            extra = {
                "duplicate_of": names[target] if target is not None else None,
                "similarity": similarity,
                "reason": row.reason,
            }
        (removed if row.reason else kept).append((row.order, {**row.fields, **extra}))
    for path, found in ((out_path, kept), (removed_path, removed)):
        if path is None:
            continue
        with RowWriter(path) as out:
            for _, fields in sorted(found, key=lambda f: f[0]):
                out.write(fields)
    return dict(sorted(counts.items()))
