"""What a text resembles among the kept documents of a run."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

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
    if len(options.near) != 2 or options.near[0] != "near" or options.run is None or options.jsonl:
        raise ConfigError(
            f"dedup cannot do {' '.join(options.near)!r}", hint="write dedup near TEXT --run RUN"
        )
    name = options.near[1]
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
