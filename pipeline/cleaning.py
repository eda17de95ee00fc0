"""`clean`: removes what a run folder does not need, and text from before PII removal."""

from __future__ import annotations

import shutil
from pathlib import Path

from .durable import write_atomic
from .errors import ConfigError
from .planning import Plan
from .running import run_lock


def clean_run(root: Path, *, intermediates: bool = False) -> list[str]:
    """Removes temporary files, phases that the plan does not use, and logs of workers.

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
            if intermediates and phase.name in before_last and not (folder / "cleaned").exists():
                write_atomic(folder / "cleaned", b"")
                removed.append(folder / "data")
        removed += [*sorted(root.rglob(".*.tmp")), *sorted((root / "logs").glob("worker-*.log"))]
        removed = [p for p in removed if p.exists()]
        for path in removed:
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
    return [p.relative_to(root).as_posix() for p in removed]
