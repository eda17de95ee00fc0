"""Finished runs as sources of another: the tables of the documents that they kept.

Nothing of them is copied to be mixed otherwise. What such a source is, is said by the run's
`mix_id` and by number, ids and content of its documents, and so does not hang on how the run was
cut into tasks and files.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .engine import RunFolder
from .errors import ConfigError, IntegrityError
from .lock import Lock
from .object_store import is_address
from .places import resolve_path
from .planning import Plan
from .publish import kept_digest, lock_identity
from .recipe import Recipe, SourceSpec
from .registry import build

Listed = dict[str, tuple[int, int]]
"""(bytes, time in nanoseconds) by name below the run's folder."""


@dataclass(frozen=True)
class Finished:
    """A finished run whose documents are there."""

    lock: Lock
    signals: dict[str, str]
    """The type of every signal that its documents have."""
    licences: dict[str, str]
    """The licence of each of its sources."""
    files: Listed
    digests: dict[str, str]
    """The sha256 of each of `files`, as it was committed."""


def finished_run(path: Path) -> Finished:
    """The run that wrote the lock `path`. Raises ConfigError if there is none, IntegrityError if
    lock and run do not belong together, or a table of documents is missing (`clean` keeps them)."""
    from .worker import signal_types

    lock = Lock.load(path)
    root = lock.path.parent
    if "forget" in lock.data["identity"]:
        raise ConfigError(
            f"{lock.path} was made by `forget`: it has shards and no documents",
            hint="exclude what is to be forgotten in the run that it came from",
        )
    plan = Plan.load(root / "plan.json")
    folder = RunFolder(root, plan)
    last = [p for p in plan.phases if p.kind == "docs"][-1]
    place = folder.phase_folder(last)
    if lock_identity(folder) != lock.data["identity"]:
        raise IntegrityError(f"{lock.path} is not the lock of the plan beside it")
    if kept_digest(folder) != lock.data["outputs"]["kept"]:
        raise IntegrityError(f"the documents of {root} are not those that its lock claims")
    files: Listed = {}
    digests = {}
    for entry in folder.seal(last.name).tables("docs"):
        where = place.root / entry["path"]
        name = where.relative_to(root).as_posix()
        try:
            status = os.stat(where)
        except OSError as error:
            raise IntegrityError(f"{where} cannot be read: {error.strerror}") from None
        files[name], digests[name] = (status.st_size, status.st_mtime_ns), entry["sha256"]
    licences = {s["name"]: s["licence"] for s in plan.recipe["sources"]}
    return Finished(lock, signal_types(plan, last), licences, files, digests)


def list_run(recipe: Recipe, spec: SourceSpec) -> tuple[dict[str, Any], str]:
    """The plan's entry of a source that is a finished run, and the run's folder. Raises
    ConfigError where the source asks for what the run has not, or says another licence."""
    if is_address(spec.root):
        raise ConfigError("a finished run is read from a folder", hint="copy it from the store")
    if len(spec.paths) != 1 or spec.paths_from is not None or spec.exclude:
        raise ConfigError("a finished run is named by its lock", hint='paths: ["NAME.lock.json"]')
    root = resolve_path(spec.root, recipe.base)
    found = finished_run(root / spec.paths[0])
    made = build(spec.stage, spec.params, f"source {spec.name}")
    taken = made.taken_of(found.licences, found.signals)
    stated = " AND ".join(sorted({found.licences[name] for name in taken}))
    if spec.licence != stated:
        raise ConfigError(
            f"its licence is {spec.licence!r}, that of the run's sources {stated!r}",
            hint="one source for each licence: params: {only: [NAME]}",
        )
    entry = {
        "name": spec.name,
        "files": [[name, *found.files[name]] for name in sorted(found.files)],
        "sha256": {name: found.digests[name] for name in sorted(found.digests)},
        "lock": spec.paths[0],
        "run": found.lock.of_documents(),
    }
    return entry, str(root)
