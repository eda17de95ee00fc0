"""Calls of Slurm's own programs: submit, look, cancel, release. No accounting, no Python binding.

What a run needs to know of the past stands in its own records; the scheduler is only asked what
is alive now.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from .errors import ConfigError, TaskError

CALL_SECONDS = 120
"""A controller that answers no sooner is taken for one that is down."""
ENDED = frozenset({
    "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY",
    "PREEMPTED", "REVOKED", "TIMEOUT",
})  # fmt: skip
"""States in which a job does nothing any more. A requeued one is pending again."""
_KEPT = ("SLURM_CONF", "SLURM_JWT")


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """One line of the queue: a job, an array element, or elements that still wait together."""

    job: str
    """Id of the job, of the whole array for an element."""
    elements: str
    """``7``, ``7-99%5``, or empty for a job that is no array."""
    name: str
    state: str
    reason: str

    @property
    def live(self) -> bool:
        return self.state not in ENDED

    def count(self) -> int:
        """How many elements the line stands for."""
        total = 0
        for part in self.elements.partition("%")[0].split(","):
            low, _, high = part.partition("-")
            span, _, step = high.partition(":")
            total += (int(span) - int(low)) // int(step or 1) + 1 if span.isdigit() else 1
        return total


def have_slurm() -> bool:
    """Whether the programs of Slurm are on this machine."""
    return all(shutil.which(p) for p in ("sbatch", "squeue", "scancel", "scontrol"))


def need_slurm() -> None:
    """Raises ConfigError where the programs of Slurm are missing."""
    if not have_slurm():
        raise ConfigError(
            "sbatch, squeue, scancel and scontrol are not on this machine",
            hint="submit from a login node; --dry-run needs no Slurm",
        )


def environment() -> dict[str, str]:
    """The environment without what another job, or a user's defaults for sbatch, would add."""
    return {
        k: v
        for k, v in os.environ.items()
        if k in _KEPT or not k.startswith(("SLURM_", "SBATCH_", "SQUEUE_", "SCANCEL_"))
    }


def _call(*command: str) -> str:
    need_slurm()
    try:
        done = subprocess.run(
            command, env=environment(), capture_output=True, text=True, errors="replace",
            timeout=CALL_SECONDS, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise TaskError(f"{command[0]} gave no answer within {CALL_SECONDS} s") from None
    except OSError as error:
        raise TaskError(f"{command[0]} cannot be started: {error}") from None
    if done.returncode:
        said = " ".join(done.stderr.split())[-600:] or f"exit code {done.returncode}"
        raise TaskError(f"{command[0]} failed: {said}")
    return done.stdout


def sbatch(options: Sequence[str], script: str, arguments: Sequence[str]) -> str:
    """Submits a script; returns the job id. Raises TaskError with what sbatch said."""
    out = _call("sbatch", "--parsable", *options, script, *arguments)
    job = out.strip().partition(";")[0]  # ID;CLUSTER where there are several clusters
    if not job.isdigit():
        raise TaskError(f"sbatch answered {out.strip()[:200]!r}, not a job id")
    return job


def queue(prefix: str, user: str) -> list[QueuedJob]:
    """Jobs of the user with the number `user` whose name begins with `prefix`, finished ones as
    long as Slurm remembers them. Raises TaskError where the controller does not answer."""
    out = _call("squeue", "--noheader", f"--user={user}", "--states=all", "--format=%F|%K|%T|%r|%j")
    found = []
    for line in out.splitlines():
        parts = line.strip().split("|", 4)
        if len(parts) == 5 and parts[4].startswith(prefix):
            job, elements, state, reason, name = parts
            shown = "" if elements == "N/A" else elements
            found.append(QueuedJob(job, shown, name, state, reason))
    return found


def cancel(jobs: Sequence[str]) -> None:
    """Cancels jobs by id; those that have ended are no error."""
    if jobs:
        _call("scancel", *jobs)


def release(jobs: Sequence[str]) -> None:
    """Lets held jobs go."""
    if jobs:
        _call("scontrol", "release", ",".join(jobs))


def max_array_size() -> int:
    """Most elements of one array on this cluster."""
    match = re.search(r"^MaxArraySize\s*=\s*(\d+)", _call("scontrol", "show", "config"), re.M)
    if match is None or int(match[1]) < 2:
        raise TaskError("the configuration of the cluster allows no job arrays (MaxArraySize)")
    return int(match[1])  # the largest index is one less, and elements count from 0
