"""What `corpusmill status` adds for a run that was submitted to Slurm."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .engine import RunFolder
from .report import table
from .slurm import explain
from .slurm_calls import QueuedJob, have_slurm
from .slurm_record import Record, finished, live_jobs, load_record

SHOWN = 8
"""Tasks that are named one by one."""


def status_lines(root: Path, folder: RunFolder) -> tuple[dict[str, Any], list[str]]:
    """What `corpusmill status` says of a submission, as data and for people: the jobs that live,
    by what they are for, and, where none does, what is missing and why."""
    record = load_record(root)
    if record is None or record.last is None:
        return {}, []
    last = record.last
    data: dict[str, Any] = {
        "round": last.number, "state": last.state, "submitted": last.time, "jobs": None,
        "missing": [],
    }  # fmt: skip
    head = f"Slurm: round {last.number}, {last.state} {last.time}"
    if not have_slurm():
        return data, ["", f"{head}; squeue is not on this machine, so job states are not shown"]
    live = live_jobs(root, record)
    data["jobs"] = _grouped(record, live)
    lines = ["", f"{head}, {sum(j.count() for j in live)} jobs in the queue"]
    if live:
        moving = [g for g in data["jobs"] if g["reason"] != "Dependency"]
        rows = [[g["job"], g["for"], g["state"], str(g["count"]), g["reason"]] for g in moving]
        lines += table(["job", "for", "state", "count", "reason"], rows, left=3)
        waiting = sum(g["count"] for g in data["jobs"]) - sum(g["count"] for g in moving)
        if waiting:
            lines.append(f"{waiting} more wait for these")
        held = sorted({g["job"] for g in data["jobs"] if "held" in g["reason"].lower()})
        if held:
            lines.append(f"held until `scontrol release {','.join(held)}`, once the cause is gone")
        return data, lines
    found = explain(folder, record)
    data["missing"] = [t.plain() for t in found]
    for t in found[:SHOWN]:
        lines.append(f"{t.phase} task {t.task}: {t.kind}, tried {t.tries}: {t.text}")
        if t.log:
            lines.append(f"    log {t.log}")
    if len(found) > SHOWN:
        lines.append(f"and {len(found) - SHOWN} more tasks of {found[0].phase}")
    if not finished(root, folder.plan):
        lines.append("no job is left: `corpusmill retry RUN` submits what is missing")
    return data, lines


def _grouped(record: Record, live: Sequence[QueuedJob]) -> list[dict[str, Any]]:
    """Live jobs by id and state, in the order of submission."""
    jobs = record.last.jobs if record.last is not None else []
    known = {str(job["id"]): job for job in jobs}
    order = {job: i for i, job in enumerate(known)}
    groups: dict[tuple[str, str, str], int] = {}
    for j in sorted(live, key=lambda j: order.get(j.job, len(order))):
        reason = j.reason if j.state == "PENDING" and j.reason != "None" else "-"
        key = (j.job, j.state, reason)
        groups[key] = groups.get(key, 0) + j.count()
    return [
        {
            "job": job, "for": str(known.get(job, {}).get("key", "?")), "state": state,
            "count": count, "reason": reason,
        }
        for (job, state, reason), count in groups.items()
    ]  # fmt: skip
