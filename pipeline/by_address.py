"""Documents in which an e-mail address stood, found by the address's hash.

Whoever asks to be forgotten need not tell the address: its sha256 will do. The shards hold a tag in
its place, so the texts are looked at as they were before `clean.pii`: from the tables of the phase
before it, or read from the inputs again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from .engine import RunFolder
from .errors import ConfigError, TaskError
from .ledger import sealed_docs_phases
from .planning import Phase, Plan
from .registry import build
from .replay import remake

_COUNT = "pii_email"
_HASH = re.compile(r"[0-9a-f]{64}")


def address_hash(address: str) -> str:
    """The sha256 by which an address is named: of its lower-case form in UTF-8."""
    return hashlib.sha256(address.strip().lower().encode("utf-8", "surrogatepass")).hexdigest()


def ids_with(root: Path, hashes: Collection[str]) -> list[str]:
    """The ids, sorted, of the kept documents of a run in whose text an address with one of these
    hashes stood.

    Raises ConfigError for what is no sha256, TaskError for a run without documents, and where
    texts cannot be had again: then nobody can say that they do not hold it.
    """
    for digest in hashes:
        if not _HASH.fullmatch(digest):
            raise ConfigError(
                f"{digest!r} is no hash of an address",
                hint="64 hexadecimal digits: printf %s ADDRESS-IN-LOWER-CASE | sha256sum",
            )
    run = RunFolder(root, Plan.load(root / "plan.json"))
    phases = sealed_docs_phases(run)
    if not phases:
        raise TaskError(f"{root} has no documents", hint="name the run that the shards came from")
    step = next((s for s in run.plan.recipe["steps"] if s["stage"] == "clean.pii"), None)
    texts = _kept(run, phases) if step is None else _before(run, phases, step["id"])
    holds = _test(set(hashes))
    return sorted(id_ for id_, text in texts if holds(text))


def _test(hashes: set[str]) -> Callable[[str], bool]:
    stage = build("clean.pii", {"types": ["email"], "reserved_domains": "tag"}, "forget")
    stage.setup()

    def holds(text: str) -> bool:
        spans, _ = stage.clean(text)
        return any(address_hash(text[s.start : s.end]) in hashes for s in spans)

    return holds


def _kept(run: RunFolder, phases: list[Phase]) -> Iterator[tuple[str, str]]:
    """Id and text of all kept documents: nothing was removed from them."""
    for piece in run.pieces(phases[-1].name, "docs", None, ("id", "text")):
        yield from zip(piece["id"].to_pylist(), piece["text"].to_pylist(), strict=True)


def _before(run: RunFolder, phases: list[Phase], step: str) -> Iterator[tuple[str, str]]:
    """Id of each kept document that had an address, and its text as the step `step` found it."""
    phase = next(p for p in phases if step in p.steps)
    columns = ("id", "source", "file", "offset", "length", _COUNT)
    rows: list[Mapping[str, Any]] = []
    for piece in run.pieces(phases[-1].name, "docs", None, columns):
        had = (row for row in piece.to_pylist() if row[_COUNT])
        rows += [{**row, "step": step, "reason": "kept"} for row in had]
    made = remake(run, phase, rows)
    lost = [(id_, one.note) for id_, one in made.items() if one.text is None]
    if lost:
        raise TaskError(
            f"{len(lost)} documents had an address and cannot be looked at again ({lost[0][0]}: "
            f"{lost[0][1]})",
            hint="put the inputs back at their place, or run the recipe again",
        )
    return ((id_, one.text) for id_, one in made.items() if one.text is not None)


def ids_of(root: Path, hashes: Iterable[str]) -> tuple[str, ...]:
    """`ids_with`, where there is something to look for."""
    wanted = [h.lower() for h in hashes]
    return tuple(ids_with(root, wanted)) if wanted else ()
