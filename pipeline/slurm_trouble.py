"""Why tasks of a Slurm run have not finished: failure records first, then what their element's log
says, for Slurm writes the reason there when it ends a job. No accounting is needed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .commits import PhaseFolder
from .planning import Phase
from .slurm_jobs import list_name
from .worker import parse_tasks

TAIL_BYTES = 4000
AGAIN = frozenset({"stopped", "time", "memory", "lost"})
"""Kinds that another try may end well without anybody changing anything."""
_OF_CLASS = {
    "Stopped": "stopped", "OutOfTime": "time", "MemoryError": "memory", "WorkerDied": "lost",
}  # fmt: skip
_SIGNS = (
    ("time", re.compile(r"DUE TO TIME LIMIT")),
    ("memory", re.compile(r"oom.kill|out of memory|memory limit|MemoryError", re.IGNORECASE)),
    ("stopped", re.compile(r"CANCELLED AT|DUE TO (?:NODE FAILURE|PREEMPTION)|stopped by SIGTERM")),
)


@dataclass(frozen=True, slots=True)
class Trouble:
    """One task that has not finished."""

    phase: str
    task: int
    kind: str
    """``error`` (the task itself: it will fail again), ``time``, ``memory``, ``stopped`` (told
    to stop: preempted, cancelled, node lost), ``lost`` (no word left), ``waiting`` (never
    started)."""
    text: str
    tries: int
    """Elements that have started with this task, in all rounds."""
    log: str | None = None

    def plain(self) -> dict[str, Any]:
        return {
            "phase": self.phase, "task": self.task, "kind": self.kind, "text": self.text,
            "tries": self.tries, "log": self.log,
        }  # fmt: skip


def kind_of_class(name: str) -> str:
    """The kind of trouble (see `Trouble.kind`) of a failure record's class."""
    return _OF_CLASS.get(name, "error")


def logs_of(folder: Path, phase: Phase, limit: int, tasks: Iterable[int]) -> dict[int, Path]:
    """Logs of the elements that ran these tasks in one round, of those that started."""
    try:
        lines = (folder / list_name(phase)).read_text("utf-8").splitlines()
    except FileNotFoundError:
        return {}  # the round had nothing to do for this phase
    wanted = set(tasks)
    found: dict[int, Path] = {}
    for number, line in enumerate(lines):
        mine = wanted.intersection(parse_tasks(line, phase.tasks))
        first = number - number % limit
        log = folder / "logs" / phase.name / f"{first:06d}" / f"{number - first}.log"
        if mine and log.exists():
            found |= dict.fromkeys(mine, log)
    return found


def _records(place: PhaseFolder, tasks: Sequence[int]) -> dict[int, dict[str, Any]]:
    """The newest failure record of each task."""
    wanted = set(tasks)
    found: dict[int, dict[str, Any]] = {}
    for path in sorted(place.failures().glob("*.json")) if place.failures().is_dir() else []:
        number = path.name.partition(".")[0]
        if not number.isdigit() or int(number) not in wanted:
            continue
        record = json.loads(path.read_bytes())
        key = (record["time"], path.name)
        if int(number) not in found or key > found[int(number)]["_key"]:
            found[int(number)] = {**record, "_key": key}
    return found


def _tail(log: Path) -> str:
    parts = []
    for path in [*sorted(log.parent.glob(f"{log.stem}.worker-*.log")), log]:
        data = path.read_bytes()[-TAIL_BYTES:]
        parts.append(data.decode("utf-8", "replace"))
    return "\n".join(parts)


def _of_log(text: str) -> str | None:
    for kind, sign in _SIGNS:
        if sign.search(text):
            return kind
    return None


def troubles(
    place: PhaseFolder, phase: Phase, missing: Sequence[int],
    rounds: Sequence[tuple[Path, int]], ids: Container[str],
) -> list[Trouble]:  # fmt: skip
    """What became of tasks without a commit. `rounds` are the folders of the submissions of this
    run, oldest first, each with the limit its arrays were cut to; `ids` the jobs of the last."""
    logs = [logs_of(folder, phase, limit, missing) for folder, limit in rounds]
    records = _records(place, missing)
    found = []
    for task in missing:
        tries = sum(task in one for one in logs)
        log = logs[-1].get(task) if logs else None
        if log is None:
            found.append(Trouble(phase.name, task, "waiting", "has not started", tries))
            continue
        said = _tail(log)
        record = records.get(task)
        if record is not None and record.get("job", "").partition("_")[0] in ids:
            kind = kind_of_class(record["class"])
            if kind == "lost":
                kind = _of_log(said) or kind
            text = f"{record['class']}: {record['message']}"
        else:
            kind = _of_log(said) or "lost"
            text = _last_line(said) or "ended without a word"
        found.append(Trouble(phase.name, task, kind, " ".join(text.split())[:300], tries, str(log)))
    return found


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""
