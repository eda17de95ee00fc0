"""`run`: a recipe to its products on a backend, resuming whatever lies in the run folder."""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from .backends import Backend, BackendName, left_no_record, workers_on
from .commits import missing_tasks, put_failure
from .durable import remove_tree, sync_folder, write_atomic
from .engine import RunFolder
from .errors import ConfigError, TaskError
from .identity import pretty
from .ledger import build_ledger, guard_phase, guard_sources
from .needs import groups_of
from .planning import Phase, Plan, make_plan
from .progress import Progress, quiet
from .publish import publish
from .recipe import Recipe
from .work import Given, Lot, Tick, Work, nothing

SUBMISSION = "slurm.json"
"""In a run folder: what was submitted to Slurm."""


@dataclass(frozen=True)
class RunResult:
    """What a run made."""

    root: Path
    plan: Plan
    ledger: dict[str, Any]
    lock_path: Path


@contextmanager
def run_lock(root: Path, *, jobs: bool = False, wait: float = 0.0) -> Iterator[None]:
    """Holds the run folder: a second launch while one runs is refused (ConfigError) after `wait`
    seconds, and so is one while Slurm jobs of the folder live, except with `jobs`."""
    root.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + wait
    with open(root / ".lock", "a+b") as f:
        while True:
            try:
                fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= until:
                    raise ConfigError(
                        f"another run is working in {root}",
                        hint="wait for it, or use another folder",
                    ) from None
            time.sleep(1.0)
        f.truncate(0)
        f.write(str(os.getpid()).encode())
        f.flush()
        if not jobs and (root / SUBMISSION).exists():
            from .slurm_record import refuse_live

            refuse_live(root)
        yield


def put_plan(root: Path, plan: Plan, say: Callable[[str], None]) -> None:
    """Makes `plan` the plan of the run folder; an earlier one is kept under ``plans/``, with its
    lock: nothing in the folder may claim to be finished under a plan that is not."""
    path = root / "plan.json"
    if path.exists():
        old = Plan.load(path)
        if old.plan_id == plan.plan_id:
            say(f"resuming plan {plan.plan_id[:12]}")
            if old.data["places"] != plan.data["places"]:  # inputs or assets lie elsewhere now
                plan.save(path)
            return
        kept = root / "plans" / old.plan_id[:12]
        write_atomic(kept / "plan.json", path.read_bytes())
        for pattern in ("*.lock.json", "*.files.jsonl"):  # they speak of the plan that goes
            for leaf in root.glob(pattern):
                os.replace(leaf, kept / leaf.name)
        had = {p.key for p in old.phases}
        reused = [p.name for p in plan.phases if p.key in had]
        say(
            f"plan {old.plan_id[:12]} is replaced by {plan.plan_id[:12]}: "
            f"{len(reused)} of {len(plan.phases)} phases keep their key"
        )
    plan.save(path)


def run(
    recipe: Recipe,
    out: Path | str,
    *,
    workers: int | None = None,
    backend: BackendName = "local",
    say: Callable[[str], None] = quiet,
    live: TextIO | None = None,
) -> RunResult:
    """Plans `recipe` and runs it in the folder `out` until everything is done.

    `workers` is the number of processes (default: the cores that this process may use, or those
    of the Ray cluster); `say` takes lines of progress, `live` is a terminal for the line that
    changes in place. Running again resumes. Raises ConfigError before any work, TaskError with
    the failed tasks, StageError where a guard stops the run, IntegrityError where an account
    does not balance.
    """
    root = Path(out).resolve()
    plan = make_plan(recipe)
    try:
        with run_lock(root):
            put_plan(root, plan, say)
            chosen = workers_on(backend, root, plan.plan_id, workers)
            return run_plan(root, plan, chosen, Progress(say, live))
    except OSError as error:
        raise TaskError(
            f"the run folder {root} cannot be used: {error}",
            hint="a full disk, a missing right, a folder that went away? running again resumes",
        ) from error


def run_plan(root: Path, plan: Plan, workers: Backend, progress: Progress) -> RunResult:
    """Runs a plan that lies in its folder, whose lock the caller holds, on workers that are not
    started yet."""
    folder = RunFolder(root, plan)
    reopen_cleaned(folder)
    with workers as backend:
        for group in groups_of(plan.phases, plan.needs):
            run_group(folder, group, backend, progress)
    return finish(folder)


def guard(folder: RunFolder, phase: Phase) -> None:
    """Applies the guards of a sealed phase; after the last one of documents, also those of the
    sources. Raises StageError."""
    guard_phase(folder, phase)
    if phase.name == [p.name for p in folder.plan.phases if p.kind == "docs"][-1]:
        guard_sources(folder.plan, build_ledger(folder))


def finish(folder: RunFolder) -> RunResult:
    """Ledger, products and lock of a run whose phases are all sealed."""
    ledger = build_ledger(folder)
    write_atomic(folder.root / "ledger.json", pretty(ledger))
    lock_path = publish(folder, ledger)
    return RunResult(folder.root, folder.plan, ledger, lock_path)


def reopen_cleaned(folder: RunFolder) -> None:
    """Opens again those phases whose tables were removed and are needed by a phase still to run."""
    needed: set[str] = set()
    for phase in reversed(folder.plan.phases):
        place = folder.phase_folder(phase)
        if place.cleaned().exists() and phase.name in needed:
            remove_tree(place.root)
        if not place.seal().exists():
            needed |= set(phase.upstream)


def run_lots(
    folder: RunFolder, lots: Sequence[Lot], backend: Backend, *,
    close: Callable[[str], None] = nothing, tick: Tick = nothing,
) -> dict[Given, str]:  # fmt: skip
    """Runs tasks; returns the error texts of those that failed, each of which has a record. For
    `close` and `tick` see `Work`."""

    def failed(phase: str, task: int, text: str) -> None:
        if left_no_record(text):
            place = folder.phase_folder(folder.plan.phase(phase))
            put_failure(place, phase, task, "WorkerDied", text)

    work = Work(lots, close=close, failed=failed, tick=tick)
    work.start()
    backend.run(work)
    return work.errors


def close_phase(folder: RunFolder, phase: Phase, progress: Progress) -> None:
    """Seals a phase of which all tasks have committed and applies its guards."""
    progress.begin(phase.name)
    folder.close(phase)
    progress.end(phase.name, phase.tasks)
    shutil.rmtree(folder.phase_folder(phase).root / "tmp", ignore_errors=True)
    guard(folder, phase)


def run_group(
    folder: RunFolder, group: Sequence[Phase], backend: Backend, progress: Progress
) -> None:
    """Runs what is missing of phases of which tasks may run at the same time, and seals them.
    Raises TaskError if a task failed."""
    lots = []
    for phase in group:
        place = folder.phase_folder(phase)
        if place.seal().exists():
            folder.seal(phase.name)  # checks that it is the seal of this key
            progress.line(f"{phase.name}: done before")
            guard(folder, phase)
            continue
        shutil.rmtree(place.root / "tmp", ignore_errors=True)  # attempts of a run that died
        drop_stale(folder, phase)
        missing = missing_tasks(place, phase.tasks)
        lots.append(Lot(phase.name, missing, folder.plan.needs[phase.name]))
    errors = run_lots(
        folder, lots, backend, tick=progress.tick,
        close=lambda name: close_phase(folder, folder.plan.phase(name), progress),
    )  # fmt: skip
    if errors:
        name, first = min(errors)
        failed = folder.plan.phase(name)
        count = sum(phase == name for phase, _ in errors)
        raise TaskError(
            f"{count} of {failed.tasks} tasks of {name} failed; task {first}: "
            f"{errors[name, first]}",
            hint=f"the records are in {folder.phase_folder(failed).failures()}; running again "
            "retries them",
        )


def drop_stale(folder: RunFolder, phase: Phase) -> None:
    """Removes the records of tasks that began after a commit that is no longer there: they are
    missing again."""
    for task in folder.stale(phase):
        record = folder.phase_folder(phase).commit(task)
        record.unlink()
        sync_folder(record.parent)
