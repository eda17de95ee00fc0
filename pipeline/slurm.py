"""The Slurm backend: submit a run as arrays and dependencies, watch it, try again, cancel.

The scheduler only starts the worker entry. What is true of a run stands in its commits and seals;
a job that Slurm calls failed and whose task has committed is done, and one that Slurm calls
completed and whose task has not is missing.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from .commits import missing_tasks
from .durable import write_atomic
from .engine import RunFolder
from .errors import ConfigError, CorpusmillError, TaskError
from .ledger import build_ledger
from .needs import groups_of
from .planning import Phase, Plan, make_plan
from .profile import Profile, memory_kilobytes, time_seconds
from .progress import Progress, quiet
from .recipe import Recipe
from .running import RunResult, drop_stale, guard, put_plan, reopen_cleaned, run_lock
from .slurm_calls import (
    cancel,
    max_array_size,
    need_slurm,
    queue,
    release,
    sbatch,
)  # fmt: skip
from .slurm_jobs import (
    Job,
    Needs,
    Place,
    Round,
    arguments,
    check_names,
    check_place,
    graph_lines,
    make_round,
    options,
)  # fmt: skip
from .slurm_record import (
    CANCELLED,
    REFUSED,
    SUBMITTED,
    Record,
    RoundRecord,
    finished,
    live_jobs,
    load_record,
)  # fmt: skip
from .slurm_trouble import AGAIN, Trouble, troubles
from .warming import warm_kernels

POLL_FIRST, POLL_LAST = 1.0, 15.0
"""Seconds between looks at the queue while waiting: they grow from the first to the last."""
_USUAL = frozenset({"None", "Dependency", "Priority", "Resources", "JobHeldUser", "BeginTime"})
"""Reasons to wait that need no word."""
SILENCE_SECONDS = 900.0
"""So long a controller may give no answer before waiting is given up (the jobs go on)."""


@dataclass(frozen=True)
class Submission:
    """What a call of `submit` or `retry` made; `jobs` with their ids."""

    root: Path
    plan: Plan
    number: int
    jobs: tuple[Job, ...]
    ids: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    """Scripts and lists by file name: only of a dry run, which does not write them."""

    def lines(self) -> list[str]:
        """The graph for people."""
        return graph_lines(self.jobs, self.ids)


def to_do(folder: RunFolder) -> list[tuple[Phase, list[int]]]:
    """Phases that are not sealed, with the tasks that have not committed, or whose commit was made
    from one that is no longer there. Applies the guards of
    those that are: a changed recipe may have narrower ones. Raises StageError."""
    found = []
    for phase in folder.plan.phases:
        place = folder.phase_folder(phase)
        if place.seal().exists():
            folder.seal(phase.name)  # checks that it is the seal of this key
            guard(folder, phase)
        else:
            missing = missing_tasks(place, phase.tasks)
            found.append((phase, sorted([*missing, *folder.stale(phase)])))
    return found


def dry_run(
    recipe: Recipe, out: Path | str, profile: Profile, limit: int, upload: str | None = None
) -> Submission:
    """What `submit` would do, without writing or submitting anything."""
    root = Path(out).resolve()
    plan = make_plan(recipe)
    check_place(root)
    check_names(profile, plan)
    folder = RunFolder(root, plan)
    place = Place(root, root / "slurm" / "round-N", "TOKEN", upload)
    made = make_round(plan, to_do(folder), profile, limit, place, {})
    return Submission(root, plan, 0, made.jobs, files=dict(made.files))


def submit(
    recipe: Recipe, out: Path | str, profile: Profile, say: Callable[[str], None] = quiet, *,
    upload: str | None = None,
) -> Submission:  # fmt: skip
    """Plans `recipe` and submits all that is missing in the run folder `out`; the last job sends
    what it publishes to the address `upload`.

    Raises ConfigError while jobs of the folder live, and before any job is submitted if profile or
    recipe cannot be carried out; TaskError if Slurm refuses a job: then none of them stays.
    """
    need_slurm()
    root = Path(out).resolve()
    check_place(root)
    plan = make_plan(recipe)
    check_names(profile, plan)
    with run_lock(root):
        put_plan(root, plan, say)
        record = load_record(root) or Record(profile)
        record.profile = profile
        return _submit(RunFolder(root, plan), record, {}, say, upload)


def array_limit(profile: Profile) -> int:
    """Most elements of one array: the profile's limit, or the cluster's if that is smaller."""
    return min(profile.array_limit, max_array_size())


def _submit(
    folder: RunFolder, record: Record, needs: dict[str, Needs], say: Callable[[str], None],
    upload: str | None,
) -> Submission:  # fmt: skip
    """Writes the scripts of a new round and submits its jobs; the caller holds the run folder."""
    root, plan, profile = folder.root, folder.plan, record.profile
    reopen_cleaned(folder)
    for phase in plan.phases:
        if not folder.phase_folder(phase).seal().exists():
            drop_stale(folder, phase)
    warm_kernels()  # once, not in each job
    number = len(record.rounds) + 1
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    this = RoundRecord(
        number, uuid.uuid4().hex[:8], array_limit(profile), time=stamp, plan_id=plan.plan_id,
        upload=upload, needs=needs,
    )  # fmt: skip
    place = this.place(root)
    made = make_round(plan, to_do(folder), profile, this.limit, place, needs)
    for name, text in made.files.items():
        write_atomic(place.folder / name, text.encode())
    for job in made.jobs:
        (place.folder / job.log()).parent.mkdir(parents=True, exist_ok=True)
    record.rounds.append(this)
    record.save(root)  # before the first job: its token finds them all
    ids: dict[str, str] = {}
    try:
        _send(made, profile, place, ids, record, root)
        release([ids[j.key] for j in made.jobs if not j.after])
    except BaseException as error:
        taken_back = _take_back(this, place.prefix, list(ids.values()))
        this.state = REFUSED
        record.save(root)
        if isinstance(error, CorpusmillError):
            raise TaskError(f"{error.message}; {taken_back}", hint=error.hint) from None
        raise
    this.state = SUBMITTED
    record.save(root)
    say(f"{len(made.jobs)} jobs submitted, {ids[made.jobs[0].key]} to {ids[made.jobs[-1].key]}")
    return Submission(root, plan, number, made.jobs, ids)


def _send(
    made: Round, profile: Profile, place: Place, ids: dict[str, str], record: Record, root: Path
) -> None:
    for job in made.jobs:
        given = options(job, ids, profile, place.folder)
        ids[job.key] = sbatch(given, str(place.folder / job.script), arguments(job))
        record.rounds[-1].jobs.append({
            "id": ids[job.key], "key": job.key, "role": job.role, "phase": job.phase,
            "elements": job.elements, "first": job.first, "after_ok": list(job.after_ok),
            "after_any": list(job.after_any), "after_corr": list(job.after_corr),
        })  # fmt: skip
        record.save(root)


def _take_back(this: RoundRecord, prefix: str, ids: Sequence[str]) -> str:
    """Cancels what a submission that failed had submitted; says what became of it."""
    try:
        cancel([*dict.fromkeys([*ids, *(j.job for j in queue(prefix, this.user) if j.live)])])
    except CorpusmillError as error:
        return f"jobs {', '.join(ids) or 'of this round'} may stay in the queue: {error.message}"
    return "no job of this submission stays in the queue"


def cancel_run(root: Path) -> list[str]:
    """Cancels the jobs of a run folder; returns their ids. What has committed stays."""
    need_slurm()
    with run_lock(root, jobs=True):
        record = load_record(root)
        if record is None or record.last is None:
            raise ConfigError(f"nothing was submitted to Slurm from {root}")
        live = live_jobs(root, record)
        ids = list(dict.fromkeys(j.job for j in live))
        cancel(ids)
        if live:
            record.last.state = CANCELLED
            record.save(root)
        return ids


def explain(folder: RunFolder, record: Record | None) -> list[Trouble]:
    """Why the first phase that is not sealed is not: its tasks without a commit."""
    if record is None:
        return []
    rounds = [(r.place(folder.root).folder, r.limit) for r in record.rounds]
    ids = record.rounds[-1].ids() if record.rounds else []
    for phase in folder.plan.phases:
        place = folder.phase_folder(phase)
        if not place.seal().exists():
            missing = missing_tasks(place, phase.tasks)
            return troubles(place, phase, missing, rounds, ids)
    return []


def retry(
    root: Path, profile: Profile | None = None, *, force: bool = False,
    say: Callable[[str], None] = quiet,
) -> Submission:  # fmt: skip
    """Submits again what a run folder still misses, with more memory or time for a phase whose
    tasks ran out of it.

    Raises ConfigError while jobs live or where nothing was ever submitted, TaskError for tasks
    that have been tried too often (unless `force`).
    """
    need_slurm()
    with run_lock(root):
        record = load_record(root)
        if record is None:
            raise ConfigError(f"nothing was submitted to Slurm from {root}", hint="submit it first")
        plan = Plan.load(root / "plan.json")
        if profile is not None:
            record.profile = profile
        check_names(record.profile, plan)
        folder = RunFolder(root, plan)
        found = explain(folder, record)
        worn = [t for t in found if t.tries >= record.profile.max_attempts]
        if worn and not force:
            raise TaskError(
                f"{len(worn)} tasks of {worn[0].phase} have been tried {worn[0].tries} times; "
                f"task {worn[0].task}: {worn[0].text}",
                hint="repair the cause, then `corpusmill retry RUN --force`",
            )
        upload = record.last.upload if record.last is not None else None
        return _submit(folder, record, more(record, found), say, upload)


def more(record: Record, found: Sequence[Trouble]) -> dict[str, Needs]:
    """Resources of the next round: twice the memory (or time) for a phase of which a task ran out
    of it, within the profile's `max_memory` and `max_time`; what was raised before stays."""
    profile = record.profile
    needs = dict(record.rounds[-1].needs) if record.rounds else {}
    kinds = {t.kind for t in found}
    if found:
        phase = found[0].phase
        now = needs.get(phase, Needs())
        kilobytes = now.kilobytes or profile.kilobytes(phase)
        seconds = now.seconds or profile.seconds(phase)
        if "memory" in kinds and profile.max_memory is not None:
            kilobytes = max(kilobytes, min(2 * kilobytes, memory_kilobytes(profile.max_memory)))
        if "time" in kinds and profile.max_time is not None:
            seconds = max(seconds, min(2 * seconds, time_seconds(profile.max_time)))
        needs[phase] = Needs(kilobytes, seconds)
    return needs


def wait(root: Path, plan: Plan, progress: Progress) -> None:
    """Returns when no job of the run folder lives any more; says what is going on."""
    folder = RunFolder(root, plan)
    record = load_record(root)
    pause, said, heard = POLL_FIRST, "", time.monotonic()
    phases = list(plan.phases)
    while True:
        for phase in [p for p in phases if folder.phase_folder(p).seal().exists()]:
            progress.line(f"{phase.name}: sealed")
            progress.forget(phase.name)
            phases.remove(phase)
            pause = POLL_FIRST
        try:
            live = live_jobs(root, record)
            heard = time.monotonic()
        except TaskError as error:
            if time.monotonic() - heard > SILENCE_SECONDS:
                raise TaskError(
                    f"Slurm does not answer: {error.message}",
                    hint="the jobs go on; `corpusmill status RUN` shows how far they are",
                ) from None
            time.sleep(pause)
            continue
        if not live:
            return
        _tick(folder, phases, progress)
        reasons = sorted({
            j.reason for j in live if j.state == "PENDING" and j.reason not in _USUAL
        })  # fmt: skip
        if ", ".join(reasons) != said:
            said = ", ".join(reasons)
            progress.line(f"the queue says: {said}" if said else "the queue moves again")
        time.sleep(pause)
        pause = min(pause * 1.5, POLL_LAST)


def _tick(folder: RunFolder, left: Sequence[Phase], progress: Progress) -> None:
    """Says how far the phases are of which tasks may run now, of those that are not sealed."""
    groups = groups_of(folder.plan.phases, folder.plan.needs)
    first = next((group for group in groups if any(phase in left for phase in group)), [])
    for phase in first:
        done = phase.tasks - len(missing_tasks(folder.phase_folder(phase), phase.tasks))
        if phase in left and (done or phase is left[0]):
            progress.tick(phase.name, done, phase.tasks)


def run(
    recipe: Recipe, out: Path | str, profile: Profile, *,
    say: Callable[[str], None] = quiet, live: TextIO | None = None,
) -> RunResult:  # fmt: skip
    """Submits, waits and returns what the last job published.

    Tasks that were stopped, lost, or ran out of memory or time are tried again, within the
    profile's bounds. Raises what `submit` raises; TaskError with the first task that failed;
    StageError where a guard stopped the run. An interruption leaves the jobs alone.
    """
    progress = Progress(say, live)
    submission = submit(recipe, out, profile, say)
    root, plan = submission.root, submission.plan
    folder = RunFolder(root, plan)
    while True:
        wait(root, plan, progress)
        if finished(root, plan):
            return RunResult(root, plan, build_ledger(folder), _lock_path(root, plan))
        record = load_record(root)
        found = explain(folder, record)
        again = bool(found) and record is not None and record.last is not None
        again = again and all(t.kind in AGAIN for t in found)
        if not again or record is None or _cancelled(record):
            raise failure(folder, record, found)
        first = found[0]
        say(f"{len(found)} tasks of {first.phase} again; task {first.task}: {first.text}")
        retry(root, say=say)


def _cancelled(record: Record) -> bool:
    return record.last is not None and record.last.state == CANCELLED


def _lock_path(root: Path, plan: Plan) -> Path:
    return root / f"{plan.recipe['name']}.lock.json"


def failure(folder: RunFolder, record: Record | None, found: Sequence[Trouble]) -> CorpusmillError:
    """The error of a run whose jobs are gone and that has no lock."""
    if record is not None and _cancelled(record):
        return TaskError(
            "the jobs of this run were cancelled", hint="`corpusmill retry RUN` goes on"
        )
    errors = [t for t in found if t.kind not in AGAIN] or list(found)
    if errors:
        first = errors[0]
        where = f"; its log is {first.log}" if first.log else ""
        return TaskError(
            f"{len(found)} tasks of {first.phase} have not finished; task {first.task} "
            f"({first.kind}): {first.text}",
            hint=f"repair the cause, then `corpusmill retry RUN`{where}",
        )
    try:
        to_do(folder)  # a guard that stopped the run says so again
    except CorpusmillError as error:
        return error
    logs = folder.root / "slurm"
    return TaskError(
        "all tasks have committed, but a job that seals or publishes has failed",
        hint=f"its log is below {logs}; `corpusmill retry RUN` submits it again",
    )
