"""Documents to read: some that a run kept and some that it dropped for each reason, with text.

A run folder holds the text of what it kept, and of what was dropped in a later phase as the phase
before wrote it. What was dropped in the first phase is read from its source again and taken through
the steps up to the one that dropped it, as far as the input is still there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .document import Document, Page
from .engine import RunFolder
from .errors import CorpusmillError
from .ledger import sealed_docs_phases
from .order import order_key
from .planning import Phase, Plan
from .stage import InputFile, Source

EXCERPT = 700
"""Characters of a text that are shown."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One document. `text` is an excerpt; None where there is none, and `note` says why."""

    id: str
    url: str
    source: str
    step: str
    """The step that dropped it; empty for a kept one."""
    reason: str
    value: str
    text: str | None
    note: str = ""


def excerpt(text: str) -> str:
    """The beginning of a text, whole words."""
    if len(text) <= EXCERPT:
        return text
    cut = text[:EXCERPT].rpartition(" ")[0] or text[:EXCERPT]
    return f"{cut} … ({len(text)} characters)"


def kept_samples(run: RunFolder, most: int) -> list[Sample]:
    """`most` documents of the last phase, the first by the run's keyed order."""
    phases = sealed_docs_phases(run)
    best: list[tuple[bytes, dict[str, Any]]] = []
    for piece in run.pieces(phases[-1].name, "docs", None, ("id", "url", "source", "text")):
        rows = piece.select(["id", "url", "source"]).to_pylist()
        for n, row in enumerate(rows):
            key = order_key(run.plan.seed, row["id"], 0, "sample")
            if len(best) < most or key < best[-1][0]:
                row["text"] = piece["text"][n].as_py()
                best = sorted([*best, (key, row)], key=lambda e: e[0])[:most]
    return [
        Sample(r["id"], r["url"] or "", r["source"], "", "", "", excerpt(r["text"]))
        for _, r in best
    ]


def dropped_samples(run: RunFolder, each: int) -> list[Sample]:
    """Up to `each` documents for each step and reason, the first by the keyed order."""
    found: list[Sample] = []
    before: Phase | None = None
    for phase in sealed_docs_phases(run):
        chosen: dict[tuple[str, str], list[tuple[bytes, dict[str, Any]]]] = {}
        for piece in run.pieces(phase.name, "rejects", None, None):
            for row in piece.to_pylist():
                key = order_key(run.plan.seed, row["id"], 0, "sample")
                group = chosen.setdefault((row["step"], row["reason"]), [])
                if len(group) < each or key < group[-1][0]:
                    group.append((key, row))
                    group.sort(key=lambda e: e[0])
                    del group[each:]
        rows = [row for group in chosen.values() for _, row in group]
        if before is None:
            texts = _replayed(run.plan, phase, rows)
        else:
            held = _texts(run, before, {row["id"] for row in rows})
            texts = {row["id"]: (held.get(row["id"]), "") for row in rows}
        for row in rows:
            text, note = texts[row["id"]]
            found.append(
                Sample(
                    row["id"], row["url"] or "", row["source"], row["step"], row["reason"],
                    row["value"] or "", None if text is None else excerpt(text), note,
                )
            )  # fmt: skip
        before = phase
    return found


def _texts(run: RunFolder, phase: Phase, wanted: set[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for piece in run.pieces(phase.name, "docs", None, ("id", "text")):
        for n, name in enumerate(piece["id"].to_pylist()):
            if name in wanted:
                found[name] = piece["text"][n].as_py()
    return found


def _replayed(
    plan: Plan, phase: Phase, rows: list[dict[str, Any]]
) -> dict[str, tuple[str | None, str]]:
    """Text and note of what the first phase dropped, by id."""
    found: dict[str, tuple[str | None, str]] = {
        row["id"]: (None, "the reader dropped it" if row["step"] in ("read", "sample") else "")
        for row in rows
    }
    left = [row for row in rows if row["step"] in phase.steps]
    if not left:
        return found
    try:
        sources = {name: plan.load_source(name) for name in {row["source"] for row in left}}
        for source in sources.values():
            source.setup()
        steps = plan.load_steps(phase.steps)
        for step in steps:
            step.made.setup()
    except CorpusmillError as error:
        return found | {row["id"]: (None, f"cannot be made again: {error}") for row in left}
    sizes = {
        (entry["name"], name): int(size)
        for entry in plan.data["inputs"]
        for name, size, _ in entry["files"]
    }
    try:
        for (name, relative), rows_of_file in _by_file(left).items():
            path = Path(plan.data["places"]["sources"][name]) / relative
            size = sizes.get((name, relative))
            if size is None or not path.is_file() or path.stat().st_size != size:
                gone = (None, "its input is no longer there")
                found |= {row["id"]: gone for row in rows_of_file}
                continue
            file = InputFile(name, str(path), relative, size)
            records = _records(sources[name], file, rows_of_file)
            for row in rows_of_file:
                found[row["id"]] = _until(records.get(row["id"]), steps, row["step"])
    finally:
        for step in steps:
            step.made.close()
    return found


def _by_file(rows: Iterable[dict[str, Any]]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["source"], row["file"]), []).append(row)
    return groups


def _records(source: Source, file: InputFile, rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """What the source makes of the rows' records, by id. A file without direct access is read
    once, up to the last of them."""
    wanted = {row["id"]: row["offset"] for row in rows}
    if type(source).read_one is not Source.read_one:
        one = {key: source.read_one(file, offset, key) for key, offset in wanted.items()}
        return {key: record.outcome for key, record in one.items() if record is not None}
    found: dict[str, Any] = {}
    for record in source.read(file):
        if record.id in wanted:
            found[record.id] = record.outcome
            if len(found) == len(wanted):
                break
    return found


def _until(item: Any, steps: Iterable[Any], last: str) -> tuple[str | None, str]:
    """The text that the step `last` was given."""
    for step in steps:
        if step.id == last or not isinstance(item, Page | Document):
            break
        takes = step.made.takes
        if takes == "any" or (takes == "page") == isinstance(item, Page):
            item = step.made.apply([item])[0]
    if isinstance(item, Document):
        return item.text, ""
    if isinstance(item, Page):
        return None, f"dropped as a page of {len(item.body)} bytes, before its text was extracted"
    return None, "cannot be made again: an earlier step ends it now"


def by_reason(samples: Iterable[Sample]) -> Iterator[tuple[str, str, list[Sample]]]:
    """(step, reason, samples), in the order given."""
    groups: dict[tuple[str, str], list[Sample]] = {}
    for sample in samples:
        groups.setdefault((sample.step, sample.reason), []).append(sample)
    for (step, reason), group in groups.items():
        yield step, reason, group


def survivors(samples: Iterable[Sample], run: RunFolder) -> Mapping[str, str]:
    """Excerpts of the kept documents that dropped duplicates name as their value, by id."""
    named = {s.value for s in samples if len(s.value) == 32}
    phases = sealed_docs_phases(run)
    held = _texts(run, phases[-1], named) if named and phases else {}
    return {name: excerpt(text) for name, text in held.items()}
