"""What a text resembles among the kept documents of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .engine import RunFolder
from .errors import TaskError
from .ledger import sealed_docs_phases
from .planning import Plan
from .registry import room_module


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
