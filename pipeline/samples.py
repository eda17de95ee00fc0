"""Documents to read: some that a run kept and some that it dropped for each reason, with text.

A run folder holds the text of what it kept, and of what was dropped in a later phase as the phase
before wrote it. What was dropped in the first phase is read from its source again (see
`corpusmill.pipeline.replay`). Where the recipe masks personal data, so are the texts shown here.
"""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from typing import Any

from .accounts import merge_steps
from .engine import RunFolder
from .ledger import sealed_docs_phases
from .lookup import tables_of, tasks_that_read
from .masking import Masking
from .order import order_key
from .planning import Phase
from .replay import Remade, remake
from .report_rows import tables_of_tasks, telling_tasks

EXCERPT = 700
"""Characters of a text that are shown."""
COMPARED = 4000
"""Characters of a duplicate and of what stayed in its place that are compared."""
AROUND = 160
"""Characters shown before and behind a span that decided."""
MOST_SPANS = 3


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
    pair: tuple[str, str] | None = None
    """Of a duplicate: the beginnings of the text that stayed and of its own."""
    marked: tuple[tuple[str, str, str, str], ...] = ()
    """Spans that decided: what stands before, the span, what stands behind, and what it is."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Rows of a phase's rejects: `shown` to be read, `judged` to see which rules they break, out
    of `total` of that kind."""

    shown: list[dict[str, Any]]
    judged: list[dict[str, Any]]
    total: int


def excerpt(text: str, characters: int = 0) -> str:
    """The beginning of a text, whole words; `characters` where the whole text is longer."""
    if max(len(text), characters) <= EXCERPT:
        return text
    cut = text[:EXCERPT].rpartition(" ")[0] or text[:EXCERPT]
    return f"{cut} … ({max(len(text), characters)} characters)"


def first_rows(
    run: RunFolder, rows: Iterable[Mapping[str, Any]], most: int
) -> list[Mapping[str, Any]]:
    """The first `most` rows by the run's keyed order of their ids."""
    return nsmallest(most, rows, key=lambda row: order_key(run.plan.seed, row["id"], 0, "sample"))


def kept_samples(run: RunFolder, kept: Iterable[Mapping[str, Any]], most: int) -> list[Sample]:
    """The first `most` of the `kept` rows of the last phase, with their texts."""
    chosen = first_rows(run, kept, most)
    texts = kept_texts(run, chosen)
    hidden = Masking(run.plan).hidden
    return [
        Sample(r["id"], r["url"] or "", r["source"], "", "", "", excerpt(hidden(texts[r["id"]])))
        for r in chosen
    ]


def chosen_rejects(run: RunFolder, phase: Phase, each: int, rules: int) -> Chosen:
    """Of a phase's rejects up to `each` for each step and reason, and up to `rules` of those that
    its steps dropped, the first by the keyed order."""
    groups: dict[tuple[str, str], list[tuple[bytes, dict[str, Any]]]] = {}
    judged: list[tuple[bytes, dict[str, Any]]] = []
    for piece in tables_of_tasks(run, phase, "rejects", telling_tasks(run, phase, each, rules)):
        for row in piece.to_pylist():
            key = order_key(run.plan.seed, row["id"], 0, "sample")
            _offer(groups.setdefault((row["step"], row["reason"]), []), each, key, row)
            if row["step"] in phase.steps and row["outcome"] == "dropped":
                _offer(judged, rules, key, row)
    shown = [row for group in groups.values() for _, row in group]
    return Chosen(shown, [row for _, row in judged], _dropped_by_steps(run, phase))


def _dropped_by_steps(run: RunFolder, phase: Phase) -> int:
    """Records that the steps of a phase dropped, without those of its barrier, and errors."""
    entries = merge_steps([c["counts"] for c in run.seal(phase.name).commits])
    mine = (entry for entry in entries if entry["step"] in phase.steps)
    return sum(sum(f["dropped"].values()) for entry in mine for f in entry["sources"].values())


def _offer(
    best: list[tuple[bytes, dict[str, Any]]], most: int, key: bytes, row: dict[str, Any]
) -> None:
    """Keeps the `most` rows with the smallest keys."""
    if len(best) < most or (best and key < best[-1][0]):
        insort(best, (key, row), key=lambda e: e[0])
        del best[most:]


@dataclass(frozen=True, slots=True)
class Overlap:
    """What the rules of a phase have in common. `documents` were looked at of `total` that they
    dropped; `breaks` counts those that break a rule, `alone` those that break no other."""

    phase: str
    documents: int
    total: int
    breaks: Mapping[str, int]
    alone: Mapping[str, int]


def dropped_samples(run: RunFolder, each: int, rules: int) -> tuple[list[Sample], list[Overlap]]:
    """Up to `each` documents for each step and reason, and the overlap of the rules among up to
    `rules` documents of each phase."""
    found: list[Sample] = []
    overlaps: list[Overlap] = []
    mask = Masking(run.plan)
    before: Phase | None = None
    for phase in sealed_docs_phases(run):
        chosen = chosen_rejects(run, phase, each, rules)
        rows = {row["id"]: row for row in [*chosen.shown, *chosen.judged]}
        made = remake(run, phase, list(rows.values()))
        named = {str(r["value"]) for r in chosen.shown if r["step"] == phase.decide and r["value"]}
        kin = _texts_before(run, before, phase, named) if before is not None else {}
        for row in chosen.shown:
            found.append(_dropped(row, made[row["id"]], kin.get(str(row["value"])), mask))
        seen = [made[row["id"]].broken for row in chosen.judged if made[row["id"]].complete]
        if seen:
            breaks = Counter(rule for rules in seen for rule in rules)
            alone = Counter(rules[0] for rules in seen if len(rules) == 1)
            overlaps.append(Overlap(phase.name, len(seen), chosen.total, breaks, alone))
        before = phase
    return found, overlaps


def _dropped(row: Mapping[str, Any], made: Remade, kin: str | None, mask: Masking) -> Sample:
    text = made.text
    pair = None
    if kin is not None and text is not None:
        pair = (mask(kin)[:COMPARED], mask(text)[:COMPARED])
    marked: list[tuple[str, str, str, str]] = []
    if text is not None and mask.hidden(text) == text:  # a piece of what is hidden is not known
        for start, end, said in made.spans[:MOST_SPANS]:
            before, behind = text[max(0, start - AROUND) : start], text[end : end + AROUND]
            marked.append((mask(before), mask(text[start:end]), mask(behind), said))
    return Sample(
        row["id"], row["url"] or "", row["source"], row["step"], row["reason"], row["value"] or "",
        None if text is None else excerpt(mask(text)[:COMPARED], len(text)),
        made.note if text is None else "", pair, tuple(marked),
    )  # fmt: skip


def texts_of(
    run: RunFolder, phase: Phase, wanted: set[str], tasks: Collection[int] | None = None
) -> dict[str, str]:
    """Whole texts of documents as a phase wrote them, by id. `tasks` as in `tables_of`."""
    found: dict[str, str] = {}
    for piece in tables_of(run, phase, "docs", wanted, tasks=tasks, only=("id", "text")):
        found |= zip(piece["id"].to_pylist(), piece["text"].to_pylist(), strict=True)
    return found


def kept_texts(run: RunFolder, rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Whole texts of rows of the last phase, by id."""
    phase = sealed_docs_phases(run)[-1]
    tasks = None if phase.upstream else tasks_that_read(run.plan, rows)
    return texts_of(run, phase, {row["id"] for row in rows}, tasks)


def _texts_before(run: RunFolder, before: Phase, phase: Phase, wanted: set[str]) -> dict[str, str]:
    """Texts of documents that `phase` took in, as the one before wrote them: none where `clean`
    removed those."""
    if run.phase_folder(before).cleaned().exists():
        return {}
    if before.upstream:
        return texts_of(run, before, wanted)
    rows = [
        row
        for table in ("docs", "rejects")
        for piece in tables_of(run, phase, table, wanted, only=("source", "file"))
        for row in piece.to_pylist()
    ]
    return texts_of(run, before, wanted, tasks_that_read(run.plan, rows))


def by_reason(samples: Iterable[Sample]) -> Iterator[tuple[str, str, list[Sample]]]:
    """(step, reason, samples), in the order given."""
    groups: dict[tuple[str, str], list[Sample]] = {}
    for sample in samples:
        groups.setdefault((sample.step, sample.reason), []).append(sample)
    for (step, reason), group in groups.items():
        yield step, reason, group
