"""``RUN/slurm.json``: what was submitted to Slurm, round by round, and what of it still lives.

It is written before the first job of a round is submitted and after each one, so that no crash
leaves a job that nobody knows: the round's token, which stands in every job's name, is there
first.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .durable import write_atomic
from .errors import ConfigError, IntegrityError
from .identity import pretty
from .params import decode_dataclass, encode
from .planning import Plan
from .profile import Profile
from .running import SUBMISSION
from .slurm_calls import QueuedJob, have_slurm, queue
from .slurm_jobs import Needs, Place

SCHEMA = "corpusmill/slurm/1"
SUBMITTING, SUBMITTED, REFUSED, CANCELLED = "submitting", "submitted", "refused", "cancelled"


@dataclass
class RoundRecord:
    """One submission."""

    number: int
    token: str
    limit: int
    """Elements that its arrays were cut to."""
    state: str = SUBMITTING
    time: str = ""
    plan_id: str = ""
    upload: str | None = None
    """Where its last job sends what it has published."""
    user: str = field(default_factory=lambda: str(os.geteuid()))
    """Who submitted, as a number: somebody else may look at the run folder."""
    needs: dict[str, Needs] = field(default_factory=dict)
    """Resources of phases, where not those of the profile."""
    jobs: list[dict[str, Any]] = field(default_factory=list)
    """``{"id", "key", "role", "phase", "elements", "first", "after_ok", "after_any",
    "after_corr"}``."""

    def place(self, root: Path) -> Place:
        return Place(root, root / "slurm" / f"round-{self.number}", self.token, self.upload)

    def ids(self) -> list[str]:
        return [str(job["id"]) for job in self.jobs]

    def plain(self) -> dict[str, Any]:
        needs = {name: dataclasses.asdict(n) for name, n in sorted(self.needs.items())}
        return {**vars(self), "needs": needs}


@dataclass
class Record:
    """All submissions of a run folder, and the profile of the last."""

    profile: Profile
    rounds: list[RoundRecord] = field(default_factory=list)

    @property
    def last(self) -> RoundRecord | None:
        return self.rounds[-1] if self.rounds else None

    def save(self, root: Path) -> None:
        write_atomic(root / SUBMISSION, pretty({
            "schema": SCHEMA, "profile": encode(self.profile),
            "rounds": [r.plain() for r in self.rounds],
        }))  # fmt: skip


def load_record(root: Path) -> Record | None:
    """The record of a run folder, None where nothing was submitted. Raises IntegrityError if it
    is damaged, ConfigError if it is of another version."""
    path = root / SUBMISSION
    try:
        data = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise IntegrityError(f"{path} is damaged: {error}") from None
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema != SCHEMA:
        raise ConfigError(f"{path}: schema {schema!r} is unknown, this version writes {SCHEMA}")
    try:
        profile: Profile = decode_dataclass(Profile, data["profile"], str(path))
        rounds = []
        for entry in data["rounds"]:
            needs = {name: Needs(**n) for name, n in entry["needs"].items()}
            rounds.append(RoundRecord(**{**entry, "needs": needs}))
    except (KeyError, TypeError, AttributeError) as error:
        raise IntegrityError(f"{path} is damaged: {error!r}") from None
    return Record(profile, rounds)


def finished(root: Path, plan: Plan) -> bool:
    """Whether the run folder has a lock. `put_plan` moves a lock of another plan away."""
    return (root / f"{plan.recipe['name']}.lock.json").exists()


def live_jobs(root: Path, record: Record | None) -> list[QueuedJob]:
    """Jobs of the last round that have not ended. Raises ConfigError where Slurm cannot be asked
    and nothing else shows that they have."""
    if record is None or record.last is None:
        return []
    if not have_slurm():
        if (root / "plan.json").exists() and finished(root, Plan.load(root / "plan.json")):
            return []
        raise ConfigError(
            f"{root} was submitted to Slurm, which is not on this machine: its jobs may live",
            hint=f"go on where it was submitted; if its jobs are gone, remove {SUBMISSION} there",
        )
    return [j for j in queue(record.last.place(root).prefix, record.last.user) if j.live]


def refuse_live(root: Path) -> None:
    """Raises ConfigError while Slurm jobs work in a run folder."""
    live = live_jobs(root, load_record(root))
    if live:
        raise ConfigError(
            f"{sum(j.count() for j in live)} Slurm jobs are at work in {root}: {shown_ids(live)}",
            hint="wait for them (`corpusmill status RUN`), or end them: `corpusmill cancel RUN`",
        )


def shown_ids(jobs: Sequence[QueuedJob]) -> str:
    """The first ids of jobs, for messages."""
    ids = list(dict.fromkeys(j.job for j in jobs))
    return ", ".join(ids[:8]) + (", …" if len(ids) > 8 else "")
