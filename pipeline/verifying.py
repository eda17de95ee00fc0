"""`verify`: re-hashes, re-adds and follows everything that a lock claims."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .engine import RunFolder
from .errors import ConfigError, CorpusmillError, IntegrityError
from .identity import pretty, sha256_file
from .ledger import build_ledger
from .lock import Lock
from .planning import Plan
from .publish import kept_digest, lock_identity


@dataclass
class Verdict:
    """What `verify` found: `faults` must be empty; `skipped` says what could not be checked."""

    faults: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    files: int = 0
    bytes: int = 0

    @property
    def ok(self) -> bool:
        return not self.faults


def verify(target: Path | str, *, inputs: bool = True, raise_on_fault: bool = False) -> Verdict:
    """Checks a run folder or a lock file.

    Products and the list of files by digest; totals by adding; every table of the run folder
    against its commit; the ledger by adding again; the inputs by digest where they can be found
    (`inputs`). With `raise_on_fault` the first fault is raised as IntegrityError.
    """
    verdict = Verdict()
    try:
        lock = Lock.load(target)
        rows = lock.rows()
    except IntegrityError as error:
        verdict.faults.append(error.message)
        return _finish(verdict, raise_on_fault)
    root = lock.path.parent
    _check_rows(lock, rows, root, verdict)
    _check_strays(rows, root, verdict)
    plan_path = root / "plan.json"
    if plan_path.exists():
        _check_run(lock, root, plan_path, verdict)
        if inputs:
            _check_inputs(rows, plan_path, verdict)
    else:
        verdict.skipped.append("there is no plan.json: phases and inputs were not checked")
    return _finish(verdict, raise_on_fault)


def _finish(verdict: Verdict, raise_on_fault: bool) -> Verdict:
    if raise_on_fault and verdict.faults:
        raise IntegrityError(verdict.faults[0])
    return verdict


def _same(path: Path, size: int, digest: str, verdict: Verdict) -> None:
    try:
        found = path.stat().st_size
    except FileNotFoundError:
        verdict.faults.append(f"{path} is missing")
        return
    verdict.files += 1
    verdict.bytes += found
    if found != size:
        verdict.faults.append(f"{path} has {found} bytes, listed are {size}")
    elif sha256_file(path) != digest:
        verdict.faults.append(f"{path} is not the file that was listed: its sha256 differs")


def _check_rows(lock: Lock, rows: list[dict[str, Any]], root: Path, verdict: Verdict) -> None:
    outputs = lock.data["outputs"]
    seen: set[tuple[str, str]] = set()
    sums = {"tokens": 0, "documents": 0, "bytes": 0, "shards": 0}
    for row in rows:
        path = str(row["path"])
        if (str(row["role"]), path) in seen:
            verdict.faults.append(f"{lock.files_path} lists {path} twice")
        seen.add((str(row["role"]), path))
        if row["role"] == "input":
            continue
        _same(root / path, int(row["bytes"]), str(row["sha256"]), verdict)
        if row["role"] == "shard" and path.endswith(".bin"):
            sums["shards"] += 1
            sums["bytes"] += int(row["bytes"])
            sums["tokens"] += int(row.get("tokens", 0))
            sums["documents"] += int(row.get("documents_ended", 0))
    for name, total in sums.items():
        if outputs[name] != total:
            verdict.faults.append(f"{lock.path}: {outputs[name]} {name}, the files sum to {total}")


def _check_strays(rows: list[dict[str, Any]], root: Path, verdict: Verdict) -> None:
    listed = {str(r["path"]) for r in rows if r["role"] != "input"}
    for room in ("shards", "tokenizer"):
        for path in sorted((root / room).rglob("*")) if (root / room).is_dir() else []:
            if path.is_file() and path.relative_to(root).as_posix() not in listed:
                verdict.faults.append(f"{path} is not listed in the lock's files")


def _check_run(lock: Lock, root: Path, plan_path: Path, verdict: Verdict) -> None:
    try:
        plan = Plan.load(plan_path)
        folder = RunFolder(root, plan)
        for phase in plan.phases:
            place = folder.phase_folder(phase)
            if place.cleaned().exists():
                verdict.skipped.append(f"the tables of {phase.name} were removed by `clean`")
                continue
            for commit in folder.seal(phase.name).commits:
                for entry in commit["files"]:
                    _same(place.root / entry["path"], entry["bytes"], entry["sha256"], verdict)
        ledger = build_ledger(folder)
        if json.loads((root / "ledger.json").read_text("utf-8")) != json.loads(pretty(ledger)):
            verdict.faults.append(f"{root / 'ledger.json'} is not the sum of the commits")
        if ledger["records"] != lock.data["funnel"]:
            verdict.faults.append(f"{lock.path}: its funnel is not the ledger's")
        if kept_digest(folder) != lock.data["outputs"]["kept"]:
            verdict.faults.append(f"{lock.path}: its kept set is not that of the phases")
        if lock_identity(folder) != lock.data["identity"]:
            verdict.faults.append(f"{lock.path}: its identity is not that of the plan and inputs")
    except FileNotFoundError as error:
        verdict.faults.append(f"{error.filename} is missing")
    except CorpusmillError as error:
        verdict.faults.append(error.message)


def _check_inputs(rows: list[dict[str, Any]], plan_path: Path, verdict: Verdict) -> None:
    try:
        plan = Plan.load(plan_path)
    except (ConfigError, IntegrityError):
        return  # reported by the check of the run
    roots = plan.data["places"]["sources"]
    for row in rows:
        if row["role"] != "input":
            continue
        source, _, relative = str(row["path"]).partition("/")
        path = Path(roots[source]) / relative
        if not path.exists():
            verdict.skipped.append(f"the input {row['path']} is no longer at its place")
            continue
        _same(path, int(row["bytes"]), str(row["sha256"]), verdict)
