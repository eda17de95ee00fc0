"""`clean`: removes what a run folder does not need, and text from before PII removal."""

from __future__ import annotations

import shutil
from pathlib import Path

from .commits import PhaseFolder, read_seal
from .durable import remove_tree, write_atomic
from .errors import ConfigError
from .planning import Phase, Plan
from .running import run_lock


def clean_run(root: Path, *, intermediates: bool = False) -> list[str]:
    """Removes temporary files, files of attempts that no record names, phases that the plan does
    not use, and logs of workers.

    With `intermediates` also the tables of every phase before the last document phase, which hold
    text from before personal data was removed; the records (counts, digests) stay. Returns what
    was removed, relative to `root`. Raises ConfigError while a run works in the folder, or if
    `intermediates` is asked for before the run has finished.
    """
    plan = Plan.load(root / "plan.json")
    removed: list[Path] = []
    with run_lock(root):
        if intermediates and not list(root.glob("*.lock.json")):
            raise ConfigError(f"the run in {root} is not finished", hint="finish it, then clean")
        by_folder = {p.folder: p for p in plan.phases}
        last = [p for p in plan.phases if p.kind == "docs"][-1]
        before_last = {p.name for p in plan.phases[: plan.phases.index(last)]}
        for folder in sorted((root / "phases").glob("*")):
            phase = by_folder.get(folder.name)
            if phase is None:
                removed.append(folder)
                continue
            removed.append(folder / "tmp")
            place = PhaseFolder(folder)
            if intermediates and phase.name in before_last and not place.cleaned().exists():
                write_atomic(place.cleaned(), b"")  # first: readers must not miss the tables
            if place.cleaned().exists():
                removed.append(folder / "data")
            removed += _unnamed(place, phase)
        removed += [*sorted(root.rglob(".*.tmp")), *sorted((root / "logs").glob("worker-*.log"))]
        removed = [p for p in dict.fromkeys(removed) if p.exists()]
        for path in removed:
            _remove(path)
    return [p.relative_to(root).as_posix() for p in removed]


def _unnamed(place: PhaseFolder, phase: Phase) -> list[Path]:
    """Files of a closed phase that its seal does not name: attempts that died between placing
    their files and the record, and did not make the same bytes as the one that won."""
    seal = read_seal(place, phase.key)
    if seal is None:
        return []
    named = {place.root / f["path"] for c in seal.commits for f in c["files"]}
    there = [p for r in ("data", "rejects") for p in sorted((place.root / r).rglob("*"))]
    return [p for p in there if p.is_file() and p not in named]


def _remove(path: Path) -> None:
    if not path.exists():
        return  # it went with its folder
    if not path.is_dir():
        path.unlink()
    elif path.name.startswith("."):
        shutil.rmtree(path)
    else:
        remove_tree(path)
