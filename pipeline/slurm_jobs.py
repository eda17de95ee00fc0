"""The jobs of a submission: which scripts, which arrays, and what waits for what. Pure: nothing
is submitted and nothing is written here.

For each phase that is not sealed: arrays of elements (each runs a line of the phase's list of
tasks), then one job that seals it. That job depends on every array of the phase, whatever their
end (`afterany`; it looks itself whether all tasks have committed), and all jobs of a phase depend
on the seal before (`afterok`); or, where a task needs only the one of its own number in a phase
before (`corpusmill.pipeline.needs`), each element on the one of its number (`aftercorr`), and the
seal alone on the seals before. The last job publishes.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .errors import ConfigError
from .needs import groups_of
from .planning import Phase, Plan
from .profile import Profile, memory_text, time_text

PUBLISH = "publish"
SEAL = "seal"
EXTRA = (SEAL, PUBLISH)
"""Names under which a profile may ask for other resources for the small jobs."""
LIST_SUFFIX = ".tasks"
_PLAIN_PATH = re.compile(r"/[A-Za-z0-9_./+=@,:~-]*")


@dataclass(frozen=True, slots=True)
class Job:
    """One call of sbatch."""

    key: str
    """Name within the submission: ``01-read.0``, ``01-read.seal``, ``publish``."""
    role: str
    """``tasks``, ``seal`` or ``publish``."""
    phase: str
    script: str
    """File name of its script in the round's folder."""
    elements: int = 0
    """Elements of the array; 0: no array."""
    first: int = 0
    """Line of the list of tasks that element 0 runs, from 0."""
    after_ok: tuple[str, ...] = ()
    after_any: tuple[str, ...] = ()
    after_corr: tuple[str, ...] = ()
    """An array: each element waits for the one of the same number."""

    @property
    def after(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """What it waits for, by the words of sbatch; those without jobs are left out."""
        every = (
            ("afterok", self.after_ok), ("aftercorr", self.after_corr), ("afterany", self.after_any)
        )  # fmt: skip
        return tuple((word, keys) for word, keys in every if keys)

    def log(self) -> str:
        """Where its output goes, relative to the round's folder, as sbatch spells it."""
        if self.elements:
            return f"logs/{self.phase}/{self.first:06d}/%a.log"
        return f"logs/{self.key}.log"


@dataclass(frozen=True, slots=True)
class Round:
    """All jobs, scripts and lists of tasks of one submission."""

    jobs: tuple[Job, ...]
    files: Mapping[str, str]
    """Scripts and lists, by file name in the round's folder."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What elements of a phase are given in this round, where not what the profile says."""

    kilobytes: int | None = None
    seconds: int | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """What a round's scripts must know besides the plan."""

    root: Path
    """The run folder, absolute."""
    folder: Path
    """The round's folder."""
    token: str
    """Stands in the names of all its jobs."""
    upload: str | None = None
    """Where the last job sends what it has published."""

    @property
    def prefix(self) -> str:
        return f"cm-{self.token}-"


def check_place(root: Path) -> None:
    """Raises ConfigError for a run folder whose path sbatch would read as something else."""
    if not _PLAIN_PATH.fullmatch(str(root)):
        raise ConfigError(
            f"the run folder {str(root)!r} cannot stand in a job script",
            hint="use a path of letters, digits and _ . / + = @ , : ~ - only",
        )


def check_names(profile: Profile, plan: Plan) -> None:
    """Raises ConfigError if the profile speaks of a phase that the plan does not have."""
    known = [*(p.name for p in plan.phases), *EXTRA]
    for name in profile.phases:
        if name not in known:
            raise ConfigError(
                f"the profile speaks of a phase {name!r}", hint=f"phases are {', '.join(known)}"
            )


def spans(tasks: Sequence[int]) -> str:
    """Ascending task numbers as ``0..3,7``."""
    parts: list[list[int]] = []
    for task in tasks:
        if parts and parts[-1][1] == task - 1:
            parts[-1][1] = task
        else:
            parts.append([task, task])
    return ",".join(str(a) if a == b else f"{a}..{b}" for a, b in parts)


def list_name(phase: Phase) -> str:
    """File name of a phase's list of tasks: one element a line."""
    return f"{phase.folder}{LIST_SUFFIX}"


def make_round(
    plan: Plan, todo: Sequence[tuple[Phase, Sequence[int]]], profile: Profile, limit: int,
    place: Place, needs: Mapping[str, Needs],
) -> Round:  # fmt: skip
    """The jobs for phases with their missing tasks (none: only the seal is missing), arrays cut
    to `limit` elements."""
    jobs: list[Job] = []
    files: dict[str, str] = {}
    waits, last = _dependencies(plan, todo, profile, limit)
    for phase, missing in todo:
        lines, after = _elements(phase, missing, profile), waits[phase.name]
        arrays = []
        script = f"{phase.name}.sh"
        for first in range(0, len(lines), limit):
            key = f"{phase.name}.{first}"
            elements = min(limit, len(lines) - first)
            jobs.append(Job(
                key, "tasks", phase.name, script, elements, first, after_ok=after.tasks_ok,
                after_corr=after.tasks_corr,
            ))  # fmt: skip
            arrays.append(key)
        if lines:
            files[list_name(phase)] = "".join(f"{line}\n" for line in lines)
            files[script] = _task_script(plan, phase, profile, place, needs.get(phase.name))
        seal = f"{phase.name}.{SEAL}"
        files[f"{seal}.sh"] = _small_script(
            plan, f"{phase.name}-{SEAL}", profile, SEAL, place,
            [phase.name, SEAL, "--wait", str(profile.seal_wait)],
        )  # fmt: skip
        jobs.append(Job(
            seal, SEAL, phase.name, f"{seal}.sh", after_ok=after.seal_ok, after_any=tuple(arrays)
        ))  # fmt: skip
    words = [PUBLISH, *(["--upload", shlex.quote(place.upload)] if place.upload else [])]
    files[f"{PUBLISH}.sh"] = _small_script(plan, PUBLISH, profile, PUBLISH, place, words)
    jobs.append(Job(PUBLISH, PUBLISH, "", f"{PUBLISH}.sh", after_ok=last))
    return Round(tuple(jobs), files)


def _elements(phase: Phase, missing: Sequence[int], profile: Profile) -> list[str]:
    """The phase's list of tasks: those of one element a line."""
    group = profile.group(phase.name)
    return [spans(missing[i : i + group]) for i in range(0, len(missing), group)]


@dataclass(frozen=True, slots=True)
class _Waits:
    """Jobs that those of one phase wait for, by their keys."""

    tasks_ok: tuple[str, ...]
    seal_ok: tuple[str, ...]
    tasks_corr: tuple[str, ...] = ()


def _dependencies(
    plan: Plan, todo: Sequence[tuple[Phase, Sequence[int]]], profile: Profile, limit: int
) -> tuple[dict[str, _Waits], tuple[str, ...]]:
    """What the jobs of each phase wait for, by its name, and what the last job waits for.

    Everything waits for all seals before, except where `plan.needs` allows more: then what needs
    nothing waits for what its group waits for, and elements wait for those of the same number.
    """
    missing = {phase.name: tasks for phase, tasks in todo}
    found: dict[str, _Waits] = {}
    seals: tuple[str, ...] = ()
    for group in groups_of(plan.phases, plan.needs):
        start = seals
        for phase in (one for one in group if one.name in missing):
            needs = plan.needs[phase.name]
            waits = _Waits(seals, seals)
            if needs.own in missing and _pairs(
                plan.phase(needs.own), phase, missing, profile, limit
            ):
                others = tuple(f"{name}.{SEAL}" for name in needs.sealed if name in missing)
                waits = _Waits(others, seals, (f"{needs.own}.0",))
            elif phase.reads == "nothing":
                waits = _Waits(start, start)
            found[phase.name] = waits
            seal = f"{phase.name}.{SEAL}"
            seals = (seal,) if waits.seal_ok == seals else (*seals, seal)
    return found, seals


def _pairs(
    first: Phase, second: Phase, missing: Mapping[str, Sequence[int]], profile: Profile, limit: int
) -> bool:
    """Whether elements of the same number have the same tasks: both phases are whole, cut alike,
    and one array each."""
    whole = all(len(missing[phase.name]) == phase.tasks for phase in (first, second))
    alike = profile.group(first.name) == profile.group(second.name)
    return whole and alike and len(_elements(first, missing[first.name], profile)) <= limit


def options(job: Job, ids: Mapping[str, str], profile: Profile, folder: Path) -> list[str]:
    """What stands on sbatch's command line for a job: all that differs between jobs of one
    script. Jobs that wait for no other are held until the whole submission is accepted."""
    given = [f"--output={folder / job.log()}"]
    if job.elements:
        most = f"%{profile.max_running}" if profile.max_running else ""
        given.append(f"--array=0-{job.elements - 1}{most}")
    parts = [":".join([word, *(ids[k] for k in keys)]) for word, keys in job.after]
    given.append(f"--dependency={','.join(parts)}" if parts else "--hold")
    return given


def arguments(job: Job) -> list[str]:
    """What the script is told."""
    return [str(job.first)] if job.elements else []


def graph_lines(jobs: Sequence[Job], ids: Mapping[str, str] | None = None) -> list[str]:
    """The graph for people: a job a line, with what it waits for."""
    lines = []
    for job in jobs:
        size = f"array of {job.elements}" if job.elements else "one job"
        waits = [f"{word} {key}" for word, keys in job.after for key in keys]
        name = f"{job.key} ({ids[job.key]})" if ids else job.key
        lines.append(f"{name}: {size}" + (f", {', '.join(waits)}" if waits else ""))
    return lines


def _header(name: str, profile: Profile, place: Place, cpus: int, kb: int, sec: int) -> list[str]:
    lines = [f"--job-name={place.prefix}{name}", f"--chdir={place.root}", "--open-mode=append"]
    for key in ("partition", "account", "qos"):
        value = getattr(profile, key)
        if value is not None:
            lines.append(f"--{key}={value}")
    lines += [
        "--nodes=1", "--ntasks=1", f"--cpus-per-task={cpus}", f"--mem={memory_text(kb)}",
        f"--time={time_text(sec)}", "--requeue", "--kill-on-invalid-dep=yes",
    ]  # fmt: skip
    return [f"#SBATCH {line}" for line in [*lines, *profile.sbatch]]


def _world(profile: Profile) -> list[str]:
    lines = ["set -eu", "unset CORPUSMILL_PARENT"]
    if profile.scratch is not None:
        lines.append(f'export TMPDIR="{profile.scratch}"')
        lines.append('[ -d "$TMPDIR" ] || { echo "no folder $TMPDIR on this node" >&2; exit 2; }')
    return [*lines, *profile.setup]


def _worker(plan: Plan, profile: Profile, place: Place) -> str:
    python = shlex.quote(profile.python or sys.executable)
    command = f"{python} -P -m corpusmill.pipeline run-tasks {shlex.quote(str(place.root))}"
    return f"exec {command}/plan.json --plan-id {plan.plan_id}"


def _task_script(
    plan: Plan, phase: Phase, profile: Profile, place: Place, needs: Needs | None
) -> str:
    given = needs or Needs()
    seconds = given.seconds or profile.seconds(phase.name)
    workers = profile.workers(phase.name)
    head = _header(
        phase.name, profile, place, workers, given.kilobytes or profile.kilobytes(phase.name),
        seconds,
    )  # fmt: skip
    if profile.stop_seconds:
        head.append(f"#SBATCH --signal=B:TERM@{profile.stop_seconds}")
    listed = shlex.quote(str(place.folder / list_name(phase)))
    logs = shlex.quote(str(place.folder / "logs" / phase.name))
    body = [
        "# sbatch --array=0-K THIS FIRST: element I runs line FIRST + I of the list, from 0.",
        f"export CORPUSMILL_JOB_END=$(($(date +%s) + {seconds}))",
        *_world(profile),
        f'tasks=$(sed -n "$(($1 + SLURM_ARRAY_TASK_ID + 1))p" {listed})',
        f'log={logs}/$(printf %06d "$1")/$SLURM_ARRAY_TASK_ID',
        f'{_worker(plan, profile, place)} --workers {workers} --log "$log" {phase.name} "$tasks"',
    ]
    return "\n".join(["#!/bin/bash", *head, *body, ""])


def _small_script(
    plan: Plan, name: str, profile: Profile, kind: str, place: Place, words: Sequence[str]
) -> str:
    head = _header(name, profile, place, 1, profile.kilobytes(kind), profile.seconds(kind))
    call = f"{_worker(plan, profile, place)} {' '.join(words)}"
    return "\n".join(["#!/bin/bash", *head, *_world(profile), call, ""])
