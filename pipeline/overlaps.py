"""What a run's sources, its held-out documents and benchmarks share, by their shingles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .engine import RunFolder
from .errors import TaskError
from .ledger import sealed_docs_phases
from .planning import Plan
from .registry import room_module

HELDOUT = "heldout"
_ROWS = 512


def overlaps(root: Path, benchmarks: Path | None = None) -> list[dict[str, Any]]:
    """A row for each ordered pair: `of` and `among` (``source:NAME``, ``heldout``,
    ``benchmark:NAME``), the `share` of the shingles of the first that are also in the second, its
    standard `error`, and how many were `compared`.

    Reads the kept documents twice (once, where none are held out). Raises TaskError for a run
    without documents.
    """
    measure = room_module("stages.measure.overlap")
    run = RunFolder(root, Plan.load(root / "plan.json"))
    probes: dict[str, Any] = {}
    if benchmarks is not None:
        for benchmark in room_module("stages.decontaminate.benchmarks").load(benchmarks):
            probe = probes[f"benchmark:{benchmark.name}"] = measure.Probe()
            texts = [f"{item.question} {item.answer}" for item in benchmark.items]
            probe.add(measure.shingles(texts))
    held = measure.Probe()
    for name, texts in _texts(run):
        if name == HELDOUT:
            held.add(measure.shingles(texts))
    if len(held.hashes):
        probes[HELDOUT] = held
    sample = measure.Sample()
    for name, texts in _texts(run):
        if name == HELDOUT:
            continue
        found = measure.shingles(texts)
        sample.add(name, found)
        for probe in probes.values():
            probe.look(name, found)
    names = sorted(sample.sets)
    rows = [_row(a, b, sample.share(a, b)) for a in names for b in names if a != b]
    rows += [_row(p, n, probe.share(n)) for p, probe in probes.items() for n in names]
    return rows


def _row(of: str, among: str, share: Any) -> dict[str, Any]:
    return {
        "of": of, "among": among, "share": round(share.share, 6), "error": round(share.error, 6),
        "compared": share.compared,
    }  # fmt: skip


def _texts(run: RunFolder) -> Iterator[tuple[str, list[str]]]:
    """Batches of texts of one source each, or held out."""
    phases = sealed_docs_phases(run)
    if not phases:
        raise TaskError(f"{run.root} has no documents yet", hint="run its recipe first")
    last = phases[-1].name
    names = next(iter(run.pieces(last, "docs", -1, None))).schema.names
    columns = ["source", "text", *(["split"] if "split" in names else [])]
    for piece in run.pieces(last, "docs", None, columns):
        for batch in piece.to_batches(max_chunksize=_ROWS):
            groups: dict[str, list[str]] = {}
            for row in batch.to_pylist():
                held = row.get("split") == HELDOUT
                name = HELDOUT if held else f"source:{row['source']}"
                groups.setdefault(name, []).append(row["text"])
            yield from groups.items()


def overlap_lines(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The rows for people."""
    from .report import table

    header = ["of", "also in", "share", "±", "shingles"]
    yield from table(header, [
        [r["of"], r["among"], f"{r['share']:.2%}", f"{r['error']:.2%}", str(r["compared"])]
        for r in rows
    ])  # fmt: skip


__all__ = ["overlap_lines", "overlaps"]
