"""`status --task`: what is known of one task, from its records, its log and Slurm's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .commits import read_commit
from .engine import RunFolder
from .errors import ConfigError, TaskError
from .planning import Phase
from .slurm_record import load_record
from .slurm_trouble import kind_of_class, logs_of, troubles

SHOWN_FILES = 5
TRACE_LINES = 6


def open_phase(folder: RunFolder) -> Phase:
    """The phase that is at work: the first that is not sealed. Raises ConfigError if all are."""
    for phase in folder.plan.phases:
        if not folder.phase_folder(phase).seal().exists():
            return phase
    raise ConfigError("all phases are done", hint="say which one: --phase 01-read")


def task_data(folder: RunFolder, phase: Phase, task: int) -> dict[str, Any]:
    """State of a task, its last failures and where their logs are. Raises TaskError if the phase
    has no such task."""
    if not 0 <= task < phase.tasks:
        raise TaskError(f"phase {phase.name} has tasks 0 to {phase.tasks - 1}, not {task}")
    place = folder.phase_folder(phase)
    commit = read_commit(place, task, phase.key)
    failures = [_failure(p) for p in place.failures().glob(f"{task:06d}.*.json")]
    attempts = [p.name for p in (place.root / "tmp").glob(f"{task:06d}.*")]
    failures.sort(key=lambda f: (f["time"], f["record"]))
    data: dict[str, Any] = {
        "phase": phase.name, "task": task, "inputs": [], "failures": failures, "logs": [],
        "attempts": sorted(attempts), "kind": None,
        "done": None if commit is None else commit["provenance"],
    }  # fmt: skip
    if not phase.upstream:
        files = folder.plan.task_files(task)
        data["inputs"] = [f"{f.source}/{f.relative}" for f in files]
    if failures:
        data["kind"] = kind_of_class(failures[-1]["class"])
    _add_slurm(folder, phase, task, data)
    return data


def _failure(path: Path) -> dict[str, Any]:
    return {**json.loads(path.read_bytes()), "record": str(path)}


def _add_slurm(folder: RunFolder, phase: Phase, task: int, data: dict[str, Any]) -> None:
    """Logs of the elements that had the task, and what the last one says of its end."""
    record = load_record(folder.root)
    if record is None or record.last is None:
        return
    rounds = [(r.place(folder.root).folder, r.limit) for r in record.rounds]
    found = (logs_of(place, phase, limit, [task]).get(task) for place, limit in rounds)
    data["logs"] = [str(log) for log in found if log is not None]
    if data["done"] is None:
        place = folder.phase_folder(phase)
        (trouble,) = troubles(place, phase, [task], rounds, record.last.ids())
        data["kind"], data["text"] = trouble.kind, trouble.text


def task_lines(data: dict[str, Any]) -> list[str]:
    """`task_data` for people."""
    done, failures = data["done"], data["failures"]
    state = (
        "done" if done else f"{len(data['attempts'])} at work" if data["attempts"]
        else "failed" if failures else "not done"
    )  # fmt: skip
    lines = [f"{data['phase']} task {data['task']}: {state}"]
    if data["inputs"]:
        more = len(data["inputs"]) - SHOWN_FILES
        lines.append(f"reads      {', '.join(data['inputs'][:SHOWN_FILES])}")
        lines += [f"           and {more} more files"] if more > 0 else []
    if done:
        lines.append(f"done       {done['finished']}, {done['cpu_seconds']} CPU seconds")
        lines += [f"job        {done['job']}"] if done["job"] else []
    elif data["kind"]:
        lines.append(f"ended by   {data['kind']}")
    if failures:
        last = failures[-1]
        lines.append(f"failed     {len(failures)} times, last {last['time']}")
        lines.append(f"error      {last['class']}: {last['message']}")
        lines.append(f"exit code  {last['exit_code']}, process {last['pid']}")
        lines += [f"job        {last['job']}"] if last["job"] else []
        lines.append(f"record     {last['record']}")
    elif data.get("text"):
        lines.append(f"error      {data['text']}")
    lines += [f"log        {log}" for log in data["logs"]]
    if failures and not done:
        trace = failures[-1]["trace"].rstrip().splitlines()[-TRACE_LINES:]
        lines += ["", *trace] if trace else []
    return lines
