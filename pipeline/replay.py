"""Dropped documents made again: their text, all signals of their phase, all rules they break.

A run keeps of a dropped document its id, the step, the reason and the value. Stages are pure, so
the rest can be had again: the document as the phase before wrote it (or as its source reads it)
goes through the steps of its phase, and past the one that dropped it. Later phases have not seen
it, and what they would say is not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .document import Document, Drop, Failure, Page
from .engine import RunFolder
from .errors import CorpusmillError
from .input_files import place, reopened, still_there
from .ledger import sealed_docs_phases
from .lookup import tables_of, tasks_that_read
from .planning import Phase, Plan
from .recipe import Step
from .stage import InputFile, Source
from .tables import documents

READERS = ("read", "sample")
"""Steps that drop records before any stage has seen them."""
_BATCH = 256


@dataclass(slots=True)
class Remade:
    """A dropped document. `text` is what the step that dropped it was given, None where there is
    none, and `note` says why. `broken` are the rules of its phase that it breaks, as
    ``step:reason``, in the order of the steps."""

    text: str | None = None
    note: str = ""
    broken: list[str] = field(default_factory=list)
    signals: dict[str, Any] = field(default_factory=dict)
    meta: dict[str, Any] = field(default_factory=dict)
    spans: Sequence[tuple[int, int, str]] = ()
    """What in `text` decided, see `Stage.spans`."""
    complete: bool = False
    """Whether every step of the phase has judged it."""


def remake(
    run: RunFolder, phase: Phase, rows: Sequence[Mapping[str, Any]], partition: int | None = None
) -> dict[str, Remade]:
    """The documents of `rows` (of the phase's table of rejects) by id. With `partition`, all rows
    are of that one, and the others are not read."""
    found = {row["id"]: Remade(broken=[f"{row['step']}:{row['reason']}"]) for row in rows}
    for row in rows:
        if row["step"] in READERS:
            found[row["id"]].note = "the reader dropped it"
    before = _phase_before(run, phase)
    left = [row for row in rows if row["step"] not in READERS]
    if not left:
        return found
    try:
        if before is None:
            items = _from_inputs(run.plan, left, found)
        else:
            items = _from_tables(run, before, phase, left, partition, found)
        at = {row["id"]: row["step"] for row in left}
        judged = [item for item in items if at[item.id] in phase.steps]
        if judged:  # texts that are stored are there even where the stages are of another version
            _judge_all(judged, run.plan.load_steps(phase.steps), at, found)
    except CorpusmillError as error:
        for row in left:
            one = found[row["id"]]
            if not one.complete and not one.note:
                one.note = f"cannot be judged again: {error.message}"
    return found


def _phase_before(run: RunFolder, phase: Phase) -> Phase | None:
    before = None
    for other in sealed_docs_phases(run):
        if other.name == phase.name:
            break
        before = other
    return before


def _judge_all(
    items: Sequence[Page | Document], steps: Sequence[Step], at: Mapping[str, str],
    found: Mapping[str, Remade],
) -> None:  # fmt: skip
    try:
        for step in steps:
            step.made.setup()
        for start in range(0, len(items), _BATCH):
            _judge(items[start : start + _BATCH], steps, at, found)
    finally:
        for step in steps:
            step.made.close()


def _judge(
    batch: Sequence[Page | Document], steps: Sequence[Step], at: Mapping[str, str],
    found: Mapping[str, Remade],
) -> None:  # fmt: skip
    live = list(batch)
    for item in live:
        found[item.id].broken = []
    for step in steps:
        for item in live:
            if at[item.id] == step.id:
                _seen(item, step, found[item.id])
        takes = step.made.takes
        mine = [i for i in live if takes == "any" or (takes == "page") == isinstance(i, Page)]
        try:
            gone = _apply(mine, step, found)
        except CorpusmillError as error:
            for item in live:
                found[item.id].note = f"not judged by {step.id} and later steps: {error.message}"
            break
        live = [now for item in live if (now := gone.get(item.id, item)) is not None]
    else:
        for item in live:
            found[item.id].complete = True
    for item in live:
        made = found[item.id]
        made.signals, made.meta = dict(item.signals), dict(item.meta)


def _seen(item: Page | Document, step: Step, made: Remade) -> None:
    if isinstance(item, Document):
        made.text = item.text
        made.spans = step.made.spans(item)
    else:
        made.note = f"dropped as a page of {len(item.body)} bytes, before its text was extracted"


def _apply(
    mine: Sequence[Page | Document], step: Step, found: Mapping[str, Remade]
) -> dict[str, Page | Document | None]:
    """Applies a step; what it changed by id, None for what cannot go on. Drops are booked, and
    the dropped go on."""
    changed: dict[str, Page | Document | None] = {}
    if not mine:
        return changed
    if step.made.kind == "decide" and not step.made.edits_text and not step.made.writes:
        for item, drops in zip(mine, step.made.broken(mine), strict=True):
            found[item.id].broken += dict.fromkeys(f"{step.id}:{d.reason}" for d in drops)
        return changed
    for item, outcome in zip(mine, step.made.apply(mine), strict=True):
        if isinstance(outcome, Drop):
            found[item.id].broken.append(f"{step.id}:{outcome.reason}")
        elif isinstance(outcome, Failure):
            found[item.id].broken.append(f"{step.id}:{outcome.type}")
            changed[item.id] = None
        else:
            changed[item.id] = outcome
            if found[item.id].broken and found[item.id].text is None:
                found[item.id].text = getattr(outcome, "text", None)
    return changed


# -- where they come from ----------------------------------------------------------------------


def _from_tables(
    run: RunFolder, before: Phase, phase: Phase, rows: Sequence[Mapping[str, Any]],
    partition: int | None, found: Mapping[str, Remade],
) -> list[Page | Document]:  # fmt: skip
    """As the phase before wrote them, and the barrier that decided first left them."""
    from .worker import signal_types

    wanted = {row["id"] for row in rows}
    signals = signal_types(run.plan, before)
    held: list[Document] = []
    if partition is None:
        tasks = None if before.upstream else tasks_that_read(run.plan, rows)
        pieces = tables_of(run, before, "docs", wanted, tasks=tasks)
    else:
        pieces = run.pieces(before.name, "docs", partition, None)
    for piece in pieces:
        held += documents(piece.filter(_is_in(piece["id"], wanted)), signals)
    for doc in held:
        made = found[doc.id]
        made.text, made.signals, made.meta = doc.text, dict(doc.signals), dict(doc.meta)
    if phase.decide is None or not held:
        return list(held)
    (step,) = run.plan.load_steps([phase.decide])
    step.made.setup()
    held.sort(key=lambda doc: doc.id)
    verdicts = _verdicts(run, phase, partition, wanted)
    decided = step.made.decide(held, verdicts)
    return [o for o in decided if isinstance(o, Document)]


def _is_in(column: Any, wanted: Iterable[str]) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.is_in(column, value_set=pa.array(sorted(wanted), type=column.type))


def _verdicts(
    run: RunFolder, phase: Phase, partition: int | None, wanted: set[str]
) -> dict[str, dict[str, Any]]:
    table = f"{phase.decide}.verdicts"
    for name in reversed(phase.upstream):
        other = run.plan.phase(name)
        if other.step == phase.decide and run.index(name).has(table):
            pieces = run.pieces(name, table, partition, None)
            picked = (piece.filter(_is_in(piece["id"], wanted)) for piece in pieces)
            return {row["id"]: row for piece in picked for row in piece.to_pylist()}
    return {}


def _from_inputs(
    plan: Plan, rows: Sequence[Mapping[str, Any]], found: Mapping[str, Remade]
) -> list[Page | Document]:
    """As their sources read them, where the inputs are still there."""
    sources = {name: plan.load_source(name) for name in {row["source"] for row in rows}}
    for source in sources.values():
        source.setup()
    sizes = {
        (entry["name"], name): int(size)
        for entry in plan.data["inputs"]
        for name, size, _ in entry["files"]
    }
    items: list[Page | Document] = []
    for name, source in sources.items():
        if source.finished:
            mine = [row for row in rows if row["source"] == name]
            items += from_run(plan, source, mine, found)
    rows = [row for row in rows if not sources[row["source"]].finished]
    for (name, relative), of_file in _by_file(rows).items():
        path = place(plan.data["places"]["sources"][name], relative)
        size = sizes.get((name, relative))
        if size is None or not still_there(path, size):
            for row in of_file:
                found[row["id"]].note = "its input is no longer there"
            continue
        file = InputFile(name, path, relative, size)
        records = _records(sources[name], file, of_file)
        for row in of_file:
            item = records.get(row["id"])
            if isinstance(item, Page | Document):
                items.append(item)
            else:
                found[row["id"]].note = "cannot be made again: its source ends it now"
    return items


def from_run(
    plan: Plan, source: Source, rows: Sequence[Mapping[str, Any]], found: Mapping[str, Remade]
) -> list[Page | Document]:
    """The documents of `rows` in the tables of the finished run that `source` reads: what their
    rows say of a file is said of the run's own input."""
    name = rows[0]["source"]
    wanted = {row["id"] for row in rows}
    items: list[Page | Document] = []
    entry = next(e for e in plan.data["inputs"] if e["name"] == name)
    for relative, size, _ in entry["files"]:
        path = place(plan.data["places"]["sources"][name], relative)
        if still_there(path, size):
            for record in source.read(InputFile(name, path, relative, size)):
                if record.id in wanted and isinstance(record.outcome, Page | Document):
                    items.append(record.outcome)
    for missing in wanted - {item.id for item in items}:
        found[missing].note = "the run that it came from is no longer there"
    return items


def _by_file(
    rows: Iterable[Mapping[str, Any]],
) -> dict[tuple[str, str], list[Mapping[str, Any]]]:
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["source"], row["file"]), []).append(row)
    return groups


def _records(source: Source, file: InputFile, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the source makes of the rows' records, by id. A file without direct access is read
    once, up to the last of them."""
    wanted = {row["id"]: row["offset"] for row in rows}
    if source.direct:
        places = [(row["offset"], row.get("length") or 0) for row in rows]
        with reopened(file, places) as local:
            one = {key: source.read_one(local, offset, key) for key, offset in wanted.items()}
        return {key: record.outcome for key, record in one.items() if record is not None}
    found: dict[str, Any] = {}
    with reopened(file) as local:
        for record in source.read(local):
            if record.id in wanted:
                found[record.id] = record.outcome
                if len(found) == len(wanted):
                    break
    return found
