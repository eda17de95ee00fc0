"""How work is run: recipes, plans, tasks, commits, ledgers, locks, backends, command line.

The public way in: ``from corpusmill.pipeline import Recipe, plan, run, Lock, verify``. Names are
loaded when first used, so that the command line starts quickly.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if __name__ != "corpusmill.pipeline":
    raise ImportError(
        f"this folder is the package 'corpusmill.pipeline', imported here as {__name__!r}; "
        "hint: write 'import corpusmill.pipeline'"
    )

if TYPE_CHECKING:
    from .document import Document, Drop, Failure, Page, Record
    from .errors import CorpusmillError
    from .lock import Lock, diff
    from .planning import Plan
    from .planning import make_plan as plan
    from .recipe import Recipe
    from .running import run
    from .stage import Asset, AuxPhase, Barrier, Sink, Source, Stage
    from .verifying import verify

_HOMES = {
    "Asset": "stage", "AuxPhase": "stage", "Barrier": "stage", "CorpusmillError": "errors",
    "Document": "document", "Drop": "document", "Failure": "document", "Lock": "lock",
    "Page": "document", "Plan": "planning", "Recipe": "recipe", "Record": "document",
    "Sink": "stage", "Source": "stage", "Stage": "stage", "diff": "lock", "plan": "planning",
    "run": "running", "verify": "verifying",
}  # fmt: skip
_CALLED = {"plan": "make_plan"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        module = importlib.import_module(f".{_HOMES[name]}", __name__)
        return getattr(module, _CALLED.get(name, name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Asset", "AuxPhase", "Barrier", "CorpusmillError", "Document", "Drop", "Failure", "Lock",
    "Page", "Plan", "Recipe", "Record", "Sink", "Source", "Stage", "diff", "plan", "run", "verify",
]  # fmt: skip
