"""What a text resembles among the kept documents of a run, the index of those, and the largest
groups of duplicates."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .durable import write_atomic
from .engine import RunFolder
from .errors import ConfigError, InputError, TaskError
from .ledger import sealed_docs_phases
from .planning import Plan
from .registry import room_module
from .report import table
from .verbs import show_json, show_lines


def near_in_run(root: Path, text: str, least: float) -> list[Any]:
    """The documents of the last closed document phase whose similarity to `text`, or share of
    it, is at least `least`: a list of ``stages.dedup.near.Near``, most similar first.

    Raises TaskError where the run has no closed document phase, ConfigError for a text without
    words.
    """
    folder = RunFolder(root, Plan.load(root / "plan.json"))
    phases = sealed_docs_phases(folder)
    if not phases:
        raise TaskError(f"{root} has no documents yet", hint="run its recipe first")
    pieces = folder.pieces(phases[-1].name, "docs", None, ("id", "text", "url"))
    found: list[Any] = room_module("stages.dedup.near").find_near(text, pieces, least=least)
    return found


def near(options: Namespace) -> int:
    """The verb ``dedup near TEXT --run RUN``."""
    if len(options.what) != 2 or options.what[0] != "near" or options.run is None or options.jsonl:
        raise ConfigError(
            f"dedup cannot do {' '.join(options.what)!r}",
            hint="write dedup near TEXT --run RUN, or dedup index OUT --run RUN",
        )
    name = options.what[1]
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{name} cannot be read as a text: {error}") from None
    found = near_in_run(Path(options.run), text, options.least)
    if options.json:
        show_json([n.plain() for n in found])
    elif found:
        rows = [[f"{n.similarity:.3f}", f"{n.contained:.3f}", n.id, n.url] for n in found]
        show_lines(table(["similar", "contained", "id", "url"], rows))
    else:
        print("no kept document resembles it")
    return 0


def clusters(options: Namespace) -> int:
    """The verb ``dedup clusters --run RUN``: the groups that the deduplication steps of the run
    found suspiciously large, with the ids of some members."""
    if len(options.what) != 1 or options.run is None or options.jsonl:
        raise ConfigError(
            f"dedup cannot do {' '.join(options.what)!r}", hint="write dedup clusters --run RUN"
        )
    found = large_clusters(Path(options.run))
    if options.json:
        show_json(found)
    elif found:
        rows = [[c["step"], str(c["size"]), c["host"], c["id"], " ".join(c["some"])] for c in found]
        show_lines(
            table(["step", "size", "host of the kept", "cluster", "removed, for example"], rows)
        )
    else:
        print("no step found a group of suspicious size (large_cluster, large_group)")
    return 0


def large_clusters(root: Path) -> list[dict[str, Any]]:
    """Step, id, size, host of the survivor and the ids of some members that went (`some`)."""
    folder = RunFolder(root, Plan.load(root / "plan.json"))
    found: list[dict[str, Any]] = []
    for phase in folder.plan.phases:
        if phase.aux != "tally" or not folder.phase_folder(phase).seal().exists():
            continue
        for note in folder.seal(phase.name).notes():
            for key in ("large_clusters", "large_groups"):
                found += [
                    {"step": phase.step, "id": c[0], "size": c[1], "host": c[2], "some": c[3]}
                    for c in note.get(key, ())
                ]
    return found


def index(options: Namespace) -> int:
    """The verb ``dedup index OUT --run RUN``: an index of the run's kept documents, or of those
    that ``--only`` names, which are then not to come back."""
    if len(options.what) != 2 or options.run is None or options.jsonl:
        raise ConfigError(
            f"dedup cannot do {' '.join(options.what)!r}", hint="write dedup index OUT --run RUN"
        )
    root = Path(options.run)
    names = None
    if options.only is not None:
        names = set(room_module("stages.filters.listed").read_names(options.only))
    packed, count = index_of_run(root, names)
    write_atomic(Path(options.what[1]), packed)
    said = {"index": options.what[1], "documents": count, "bytes": len(packed)}
    if options.json:
        show_json(said)
    else:
        kind = "known" if names is None else "forgotten"
        print(f"{count} {kind} documents of {root} are in {options.what[1]}, {len(packed)} bytes")
    return 0


def index_of_run(root: Path, names: set[str] | None) -> tuple[bytes, int]:
    """The index file's bytes and its number of documents.

    Raises TaskError where the run is not finished, ConfigError for names that no kept document has.
    """
    plan = Plan.load(root / "plan.json")
    folder = RunFolder(root, plan)
    phases = sealed_docs_phases(folder)
    if len(phases) < sum(phase.kind == "docs" for phase in plan.phases):
        raise TaskError(f"the run in {root} is not finished", hint="run its recipe to the end")
    seen: set[str] = set()
    pieces = folder.pieces(phases[-1].name, "docs", None, ("id", "text", "url", "record_id"))
    count = 0

    def chosen() -> Iterator[Any]:
        nonlocal count
        for piece in pieces:
            if names is not None:
                rows = [_names(row) & names for row in piece.drop_columns("text").to_pylist()]
                seen.update(*rows)
                piece = piece.filter([bool(row) for row in rows])
            count += piece.num_rows
            yield piece

    about = {
        "run": plan.recipe["name"], "plan_id": plan.plan_id,
        "purpose": "known" if names is None else "forgotten",
    }  # fmt: skip
    packed: bytes = room_module("stages.dedup.index").build_index(chosen(), about)
    missing = (names or set()) - seen
    if missing:
        raise ConfigError(
            f"{len(missing)} of {len(names or ())} names are of no kept document, "
            f"{min(missing)} first",
            hint="corpusmill why NAME --run RUN tells what became of it",
        )
    return packed, count


def _names(row: dict[str, Any]) -> set[str]:
    """What a document can be named by in a list."""
    return {row["id"], row["url"] or "", (row["record_id"] or "").strip("<>")}
