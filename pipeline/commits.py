"""What one task did (`Commit`), and what closes a phase (`Seal`).

A commit record is created exclusively, after its files lie at their final names. Readers read
only what a seal names, and a seal names only what commit records name. Where in a file the rows of
a partition lie stands beside the seal (`corpusmill.pipeline.seal_index`).
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .durable import new_attempt, write_atomic, write_exclusive, write_pieces
from .errors import IntegrityError, TaskError
from .identity import canonical, fingerprint, pretty
from .seal_index import IndexWriter

COMMIT_SCHEMA = "corpusmill/commit/2"
FAILURE_SCHEMA = "corpusmill/failure/1"
SEAL_SCHEMA = "corpusmill/seal/2"
FAN = 1000
"""Tasks of one sub-folder."""


@dataclass(frozen=True)
class PhaseFolder:
    """Where a phase's files lie."""

    root: Path

    @staticmethod
    def commit_name(task: int) -> str:
        return f"{task:06d}.json"

    def commit(self, task: int) -> Path:
        return self.root / "commits" / f"{task // FAN:04d}" / self.commit_name(task)

    def data(self, task: int) -> Path:
        return self.root / "data" / f"{task // FAN:04d}"

    def rejects(self, task: int) -> Path:
        return self.root / "rejects" / f"{task // FAN:04d}"

    def failures(self) -> Path:
        return self.root / "failures"

    def temporary(self, task: int, attempt: str) -> Path:
        return self.root / "tmp" / f"{task:06d}.{attempt}"

    def seal(self) -> Path:
        return self.root / "sealed.json"

    def cleaned(self) -> Path:
        """Exists where `clean` removed the tables of a closed phase."""
        return self.root / "cleaned"


_CIRCUMSTANCE = ("cpu", "memory")
"""Counts that another machine has otherwise: in no digest."""


@dataclass
class Commit:
    """The record of one finished task."""

    phase: str
    key: str
    task: int
    files: list[dict[str, Any]] = field(default_factory=list)
    """``{"name", "path", "bytes", "sha256"}``; tables also ``table``, ``rows``, ``groups`` and,
    for documents, ``content`` (order-free digest of the rows)."""
    inputs: list[dict[str, Any]] = field(default_factory=list)
    """``{"source", "path", "bytes", "sha256"}`` of each input file read."""
    upstream: dict[str, str] = field(default_factory=dict)
    """The content of the commit that the task began after, by its phase (`needs.Needs.own`)."""
    counts: dict[str, Any] = field(default_factory=dict)
    balances: list[dict[str, Any]] = field(default_factory=list)
    notes: dict[str, Any] = field(default_factory=dict)
    distinct: dict[str, Any] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)
    """Attempt, times, process: circumstance, in no digest."""

    def content(self) -> str:
        """Digest of what the task made, whoever made it."""
        return fingerprint({
            "key": self.key, "task": self.task, "files": self.files, "inputs": self.inputs,
            "upstream": self.upstream,
            "counts": {k: v for k, v in self.counts.items() if k not in _CIRCUMSTANCE},
            "balances": self.balances, "notes": self.notes,
        })  # fmt: skip

    def plain(self) -> dict[str, Any]:
        return {
            "schema": COMMIT_SCHEMA, "phase": self.phase, "key": self.key, "task": self.task,
            "files": self.files, "inputs": self.inputs, "upstream": self.upstream,
            "counts": self.counts,
            "balances": self.balances, "notes": self.notes, "distinct": self.distinct,
            "provenance": self.provenance, "content": self.content(),
        }  # fmt: skip


def put_commit(folder: PhaseFolder, commit: Commit) -> bool:
    """Creates the record; False if an equal one was there.

    Raises IntegrityError if the task was committed before with other content.
    """
    path = folder.commit(commit.task)
    before = write_exclusive(path, pretty(commit.plain()))
    if before is None:
        return True
    there = _parse(before, path)
    if there["content"] != commit.content():
        raise IntegrityError(
            f"task {commit.task} of {commit.phase} was committed twice with different content: "
            f"{there['content'][:12]} and {commit.content()[:12]}",
            hint=f"two attempts disagree; the first is {path}",
        )
    return False


def slurm_job() -> str:
    """The Slurm job of this process as ``ID``, or ``ARRAY_ELEMENT``; empty outside of Slurm."""
    array = os.environ.get("SLURM_ARRAY_JOB_ID")
    if array:
        return f"{array}_{os.environ.get('SLURM_ARRAY_TASK_ID', '')}"
    return os.environ.get("SLURM_JOB_ID", "")


def put_failure(
    folder: PhaseFolder, phase: str, task: int, kind: str, message: str, *, code: int = 1,
    trace: str = "",
) -> str | None:  # fmt: skip
    """Leaves a record of a task that failed. Returns why it could not be written, or None: a
    full disk must not hide the error that it caused."""
    record = {
        "schema": FAILURE_SCHEMA, "phase": phase, "task": task, "class": kind, "message": message,
        "exit_code": code, "trace": trace[-8000:], "pid": os.getpid(), "job": slurm_job(),
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }  # fmt: skip
    path = folder.failures() / f"{task:06d}.{new_attempt()}.json"
    try:
        write_atomic(path, pretty(record))
    except OSError as error:
        return str(error)
    return None


def _parse(data: bytes, path: Path) -> dict[str, Any]:
    try:
        record = json.loads(data)
    except ValueError as error:
        raise IntegrityError(f"the commit record {path} is damaged: {error}") from None
    _known_schema(record, COMMIT_SCHEMA, path)
    if record.keys() != Commit("", "", 0).plain().keys():
        raise IntegrityError(f"the commit record {path} has missing or unknown keys")
    return dict(record)


def _known_schema(record: Any, schema: str, path: Path) -> None:
    found = record.get("schema") if isinstance(record, dict) else None
    if found != schema:
        raise IntegrityError(
            f"{path}: schema {found!r} is unknown, this version writes {schema}",
            hint="run into another folder, or with the version that made this one",
        )


def read_commit(folder: PhaseFolder, task: int, key: str) -> dict[str, Any] | None:
    """The record of a task, None if it has not finished. Checks that it belongs to `key`."""
    path = folder.commit(task)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    record = _parse(data, path)
    if record["key"] != key or record["task"] != task:
        raise IntegrityError(f"{path} is the record of another task or phase")
    body = Commit(
        record["phase"], record["key"], record["task"], record["files"], record["inputs"],
        record["upstream"], record["counts"], record["balances"], record["notes"],
    )  # fmt: skip
    if body.content() != record["content"]:
        raise IntegrityError(f"the commit record {path} was changed after it was written")
    return record


def missing_tasks(folder: PhaseFolder, tasks: int) -> list[int]:
    """Tasks without a commit record: a listing for a thousand tasks, no look-up of each."""
    done: set[str] = set()
    for first in range(0, tasks, FAN):
        try:
            done.update(os.listdir(folder.commit(first).parent))
        except FileNotFoundError:
            continue  # none of them has finished
    return [t for t in range(tasks) if folder.commit_name(t) not in done]


@dataclass(frozen=True)
class Seal:
    """All commits of a phase in one file, without the row groups of their tables."""

    phase: str
    key: str
    commits: tuple[dict[str, Any], ...]
    index: dict[str, str]
    """The sha256 of each file of the index beside it."""

    def tables(self, name: str) -> list[dict[str, Any]]:
        """File entries of the table `name`, in task order."""
        return [f for c in self.commits for f in c["files"] if f.get("table") == name]

    def files(self, prefix: str = "") -> dict[str, dict[str, Any]]:
        """Product files (no tables) by name. Raises IntegrityError on a name made twice."""
        found: dict[str, dict[str, Any]] = {}
        for commit in self.commits:
            for entry in commit["files"]:
                if "table" in entry or not entry["name"].startswith(prefix):
                    continue
                if entry["name"] in found:
                    raise IntegrityError(f"two tasks of {self.phase} made {entry['name']!r}")
                found[entry["name"]] = entry
        return {n: found[n] for n in sorted(found)}

    def notes(self) -> list[dict[str, Any]]:
        return [dict(c["notes"]) for c in self.commits]

    def content(self) -> str:
        """Digest of the commits' contents, in task order."""
        return fingerprint([c["content"] for c in self.commits])


def write_seal(
    folder: PhaseFolder, phase: str, key: str, tasks: int, after: Seal | None = None
) -> None:
    """Makes the seal from all commits, each read once and none held; idempotent. Raises TaskError
    if one is missing, IntegrityError if one was not made from what the seal `after` names, the one
    of the phase that tasks began after."""
    write_pieces(folder.seal(), _seal_pieces(folder, phase, key, tasks, after))


def _seal_pieces(
    folder: PhaseFolder, phase: str, key: str, tasks: int, after: Seal | None
) -> Iterator[bytes]:
    """A seal's canonical JSON. Its own digest, whose key sorts last, is of all without it."""
    digest = hashlib.sha256()
    for piece in _body_pieces(folder, phase, key, tasks, after):
        digest.update(piece)
        yield piece
    digest.update(b"}")
    yield _seal_end(digest.hexdigest())


def _seal_end(digest: str) -> bytes:
    return f',"sha256":"{digest}"}}'.encode()


def _body_pieces(
    folder: PhaseFolder, phase: str, key: str, tasks: int, after: Seal | None
) -> Iterator[bytes]:
    index = IndexWriter(folder.root, key)
    try:
        yield b'{"commits":['
        for task in range(tasks):
            record = read_commit(folder, task, key)
            if record is None:
                raise TaskError(f"task {task} of {phase} has not finished")
            _same_upstream(record, after)
            record.pop("provenance")
            for entry in record["files"]:
                if "table" in entry:
                    index.add(task, entry)
                    del entry["groups"]
            index.end_task(task)
            yield (b"," if task else b"") + canonical(record)
        rest = {"index": index.finish(), "key": key, "phase": phase, "schema": SEAL_SCHEMA}
    finally:
        index.give_up()
    yield b"]," + canonical(rest)[1:-1]


def _same_upstream(record: dict[str, Any], after: Seal | None) -> None:
    task = record["task"]
    sealed = {} if after is None else {after.phase: after.commits[task]["content"]}
    if record["upstream"] != sealed:
        raise IntegrityError(
            f"task {task} of {record['phase']} was made from other results than were sealed: from "
            f"{record['upstream']}, sealed are {sealed}",
            hint="run again: the task is found stale, and made anew",
        )


def _parsed(data: bytes) -> Any:
    """JSON, read with the collector of cycles at rest: it would look at the millions of objects of
    a whole crawl's seal, which have none, again and again (13 s in place of 4)."""
    resting = gc.isenabled()
    gc.disable()
    try:
        return json.loads(data)
    finally:
        if resting:
            gc.enable()


def read_seal(folder: PhaseFolder, key: str) -> Seal | None:
    """The seal, None if the phase is not closed. Raises IntegrityError if it was damaged."""
    path = folder.seal()
    try:
        data = path.read_bytes()
        body = _parsed(data)
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise IntegrityError(f"the seal {path} is damaged: {error}") from None
    _known_schema(body, SEAL_SCHEMA, path)
    end = _seal_end(str(body.get("sha256")))
    digest = hashlib.sha256(memoryview(data)[: -len(end)])
    digest.update(b"}")
    if not data.endswith(end) or digest.hexdigest() != body["sha256"]:
        raise IntegrityError(f"the seal {path} was changed after it was written")
    if body["key"] != key:
        raise IntegrityError(f"the seal {path} belongs to another phase key")
    return Seal(body["phase"], body["key"], tuple(body["commits"]), body["index"])
