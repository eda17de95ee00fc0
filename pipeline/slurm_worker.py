"""What runs inside Slurm jobs: the tasks of an array element, the seal of a phase, the end."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from .commits import PhaseFolder, missing_tasks
from .engine import SEAL_WAIT_SECONDS, RunFolder
from .errors import TaskError
from .local import LocalBackend
from .planning import Phase, Plan
from .running import finish, guard, run_lock, run_lots
from .work import Lot

LOCK_WAIT_SECONDS = 300.0
"""How long the last job waits for a submission that still holds the run folder."""


def run_element(
    root: Path, plan: Plan, phase: Phase, tasks: Sequence[int], workers: int, log: str | None
) -> None:
    """Runs tasks in `workers` processes below this one, those committed before excepted.

    A worker that dies (memory, native crash) takes nobody with it. Raises TaskError if a task
    failed; each failure has a record by then.
    """
    folder = RunFolder(root, plan)
    place = folder.phase_folder(phase)
    todo = [t for t in tasks if not place.commit(t).exists()]
    print(f"{phase.name}: {len(todo)} of {len(tasks)} tasks to do", file=sys.stderr, flush=True)
    if not todo:
        return
    width = min(workers, len(todo))
    prefix = None if log is None else Path(log)
    with LocalBackend(root, width, prefix) as backend:
        errors = run_lots(folder, [Lot(phase.name, todo)], backend)
    for path in sorted(prefix.parent.glob(f"{prefix.name}.worker-*.log")) if prefix else []:
        if path.stat().st_size == 0:
            path.unlink()
    if errors:
        raise TaskError("; ".join(f"task {t}: {text}" for (_, t), text in sorted(errors.items())))


def failed_tasks(place: PhaseFolder) -> set[int]:
    """Tasks that have left a failure record, whatever became of them later."""
    folder = place.failures()
    found = folder.glob("*.json") if folder.is_dir() else ()
    return {int(p.name.partition(".")[0]) for p in found if p.name[0].isdigit()}


def seal_phase(root: Path, plan: Plan, phase: Phase, wait: float = SEAL_WAIT_SECONDS) -> None:
    """Closes a phase of which all tasks have committed, and applies the guards; idempotent.

    Waits up to `wait` seconds for records of tasks that have left no failure: another node may
    have written them moments ago. Raises TaskError while tasks are missing, StageError where a
    guard stops the run.
    """
    folder = RunFolder(root, plan)
    place = folder.phase_folder(phase)
    if not place.seal().exists():
        until = time.monotonic() + wait
        missing = missing_tasks(place, phase.tasks)
        while set(missing) - failed_tasks(place) and time.monotonic() < until:
            time.sleep(1.0)
            missing = missing_tasks(place, phase.tasks)
        if missing:
            raise TaskError(
                f"{len(missing)} of {phase.tasks} tasks of {phase.name} have not finished, the "
                f"first is {missing[0]}",
                hint="`corpusmill status RUN` says why; `corpusmill retry RUN` tries them again",
            )
        folder.close(phase, wait=wait)
    guard(folder, phase)


def publish_run(root: Path, plan: Plan) -> Path:
    """Ledger, products and lock of a run whose phases are all sealed; returns the lock's path."""
    with run_lock(root, jobs=True, wait=LOCK_WAIT_SECONDS):
        folder = RunFolder(root, plan)
        for phase in plan.phases:
            folder.seal(phase.name, wait=SEAL_WAIT_SECONDS)
            guard(folder, phase)
        return finish(folder).lock_path
