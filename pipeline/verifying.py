"""`verify`: re-hashes, re-adds and follows everything that a lock claims."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .engine import RunFolder
from .errors import ConfigError, CorpusmillError, InputError, IntegrityError
from .identity import canonical, pretty, sha256_file
from .input_files import place
from .ledger import build_ledger
from .lock import Lock
from .object_store import is_address, store
from .planning import Plan
from .publish import file_rows, listing_bytes, lock_body, lock_identity
from .shard_checks import check_shards


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
    """Checks a run folder, a lock file, or what `upload` sent to an ``s3://`` address.

    Products and the list of files by digest; totals by adding; shards by their structure; every
    table of the run folder against its commit; lock, list and ledger by making them again from
    the commits; the inputs by digest where they can be found (`inputs`). With `raise_on_fault`
    the first fault is raised as IntegrityError.
    """
    verdict = Verdict()
    if is_address(str(target)):
        _check_sent(str(target), verdict)
        return _finish(verdict, raise_on_fault)
    try:
        lock = Lock.load(target)
        rows = lock.rows()
    except IntegrityError as error:
        verdict.faults.append(error.message)
        return _finish(verdict, raise_on_fault)
    root = lock.path.parent
    if not _well_formed(lock, rows, verdict):
        return _finish(verdict, raise_on_fault)
    _check_rows(lock, rows, verdict, lambda row: _same_file(row, root, verdict))
    _check_strays(rows, root, verdict)
    verdict.faults += check_shards(root, rows)
    plan_path = root / "plan.json"
    if plan_path.exists():
        _check_run(lock, root, plan_path, verdict)
        if inputs:
            _check_inputs(rows, plan_path, verdict)
            _check_runs(plan_path, verdict)
    else:
        verdict.skipped.append("there is no plan.json: phases and inputs were not checked")
    return _finish(verdict, raise_on_fault)


def _finish(verdict: Verdict, raise_on_fault: bool) -> Verdict:
    if raise_on_fault and verdict.faults:
        raise IntegrityError(verdict.faults[0])
    return verdict


def _well_formed(lock: Lock, rows: list[dict[str, Any]], verdict: Verdict) -> bool:
    """Whether every row has what the checks read; a list made by hand may not."""
    need = {"path": str, "bytes": int, "sha256": str, "role": str}
    may = {"tokens": int, "documents_ended": int}
    for number, row in enumerate(rows, 1):
        good = isinstance(row, dict) and all(
            [isinstance(row.get(k), kind) for k, kind in need.items()]
            + [isinstance(row.get(k, 0), kind) for k, kind in may.items()]
        )
        if not good or row["role"] not in ("tokenizer", "shard", "input"):
            verdict.faults.append(f"{lock.files_path}, line {number}: no row of a list of files")
            return False
    odd = [k for k in ("tokens", "documents", "bytes", "shards") if k not in lock.data["outputs"]]
    if odd:
        verdict.faults.append(f"{lock.path}: its outputs lack {', '.join(odd)}")
    return not odd


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


def _same_file(row: Mapping[str, Any], root: Path, verdict: Verdict) -> None:
    _same(root / str(row["path"]), int(row["bytes"]), str(row["sha256"]), verdict)


def _check_rows(
    lock: Lock, rows: list[dict[str, Any]], verdict: Verdict,
    check: Callable[[Mapping[str, Any]], None],
) -> None:  # fmt: skip
    """Rows listed once, `check` for each product, and sums as the lock has them."""
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
        check(row)
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


def _check_sent(address: str, verdict: Verdict) -> None:
    """What lies in an object store: the lock, its list and every product are read again."""
    there = store(address.rstrip("/"))
    found = {f[0]: f for _, f in there.entries("", deep=True) if f is not None}
    locks = [name for name in found if name.endswith(".lock.json") and "/" not in name]
    if len(locks) != 1:
        raise ConfigError(f"{address} holds {len(locks)} locks, one is needed")
    with tempfile.TemporaryDirectory(prefix="corpusmill-") as folder:
        near = Path(folder)
        beside = [name for name in found if name.endswith(".files.jsonl") and "/" not in name]
        for name in [*locks, *beside]:
            with open(near / name, "wb", buffering=0) as into:
                there.fetch(name, found[name][1], None, into)
        try:
            lock = Lock.load(near)
            rows = lock.rows()
        except IntegrityError as error:
            verdict.faults.append(error.message.replace(folder, address.rstrip("/")))
            return
        if not _well_formed(lock, rows, verdict):
            return

        def check(row: Mapping[str, Any]) -> None:
            name, size = str(row["path"]), int(row["bytes"])
            if name not in found:
                verdict.faults.append(f"{there.root}/{name} is missing")
            elif found[name][1] != size:
                verdict.faults.append(
                    f"{there.root}/{name} has {found[name][1]} bytes, listed are {size}"
                )
            else:
                _check_object(there.root, name, size, str(row["sha256"]), verdict)

        _check_rows(lock, rows, verdict, check)
        listed = {str(r["path"]) for r in rows if r["role"] != "input"}
        verdict.faults += [
            f"{there.root}/{name} is not listed in the lock's files"
            for name in sorted(found.keys() - listed)
            if name.startswith(("shards/", "tokenizer/"))
        ]
    verdict.skipped.append("the shards' structure, the records of the run and the inputs")


def _check_run(lock: Lock, root: Path, plan_path: Path, verdict: Verdict) -> None:
    try:
        plan = Plan.load(plan_path)
        folder = RunFolder(root, plan)
        if lock_identity(folder) != lock.data["identity"]:
            verdict.faults.append(f"{lock.path}: its identity is not that of the plan and inputs")
        for phase in plan.phases:
            place = folder.phase_folder(phase)
            if place.cleaned().exists():
                verdict.skipped.append(f"the tables of {phase.name} were removed by `clean`")
                continue
            seal = folder.seal(phase.name)
            for commit in seal.commits:
                for entry in commit["files"]:
                    _same(place.root / entry["path"], entry["bytes"], entry["sha256"], verdict)
            verdict.faults += [
                f"{place.root / name} is not as its seal has it: its sha256 differs"
                for name, digest in seal.index.items()
                if sha256_file(place.root / name) != digest
            ]
        ledger = build_ledger(folder)
        if (root / "ledger.json").read_bytes() != pretty(ledger):
            verdict.faults.append(f"{root / 'ledger.json'} is not the sum of the commits")
        _check_against_commits(lock, folder, ledger, verdict)
    except FileNotFoundError as error:
        verdict.faults.append(f"{error.filename} is missing")
    except CorpusmillError as error:
        verdict.faults.append(error.message)


def _check_against_commits(
    lock: Lock, folder: RunFolder, ledger: dict[str, Any], verdict: Verdict
) -> None:
    """The list of files and the lock as the commits would have them."""
    rows = file_rows(folder)
    made = {canonical(r): str(r["path"]) for r in rows}
    listed = {canonical(r): str(r["path"]) for r in lock.rows()}
    for path in sorted({*made.values(), *listed.values()}):
        if {r for r, p in made.items() if p == path} != {r for r, p in listed.items() if p == path}:
            what = "is not listed" if path not in listed.values() else "is not as its commit has it"
            if path not in made.values():
                what = "is in no commit"
            verdict.faults.append(f"{lock.files_path}: {path} {what}")
    if lock.rows() != rows:
        verdict.faults.append(f"{lock.files_path} is not the list that the commits give")
    body = lock_body(folder, ledger, rows, listing_bytes(rows))
    for key in sorted(body.keys() | (lock.data.keys() - {"provenance", "seal"})):
        if key not in lock.data:
            continue  # a key that older locks lack: `Lock.load` takes no lock without the others
        if lock.data[key] != body.get(key):
            verdict.faults.append(f"{lock.path}: its {key} is not what the commits give")


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
        if source not in roots:
            verdict.faults.append(f"{plan_path} has no source {source!r}, the lock names its files")
            continue
        where, size = place(roots[source], relative), int(row["bytes"])
        if is_address(where):
            _check_object(roots[source], relative, size, str(row["sha256"]), verdict)
        elif Path(where).exists():
            _same(Path(where), size, str(row["sha256"]), verdict)
        else:
            verdict.skipped.append(f"the input {row['path']} is no longer at its place")


def _check_runs(plan_path: Path, verdict: Verdict) -> None:
    """Follows the finished runs that the result was made of, down to their inputs."""
    try:
        plan = Plan.load(plan_path)
    except (ConfigError, IntegrityError):
        return  # reported by the check of the run
    for entry in plan.data["inputs"]:
        if "run" not in entry:
            continue
        where = Path(plan.data["places"]["sources"][entry["name"]], entry["lock"])
        if not where.exists():
            verdict.skipped.append(f"the run of source {entry['name']} is no longer at its place")
            continue
        below = verify(where)
        verdict.files += below.files
        verdict.bytes += below.bytes
        verdict.faults += [f"source {entry['name']}: {fault}" for fault in below.faults]
        verdict.skipped += [f"source {entry['name']}: {what}" for what in below.skipped]
        if below.ok and Lock.load(where).of_documents() != entry["run"]:
            verdict.faults.append(f"source {entry['name']}: {where} is the lock of other documents")


def _check_object(root: str, name: str, size: int, digest: str, verdict: Verdict) -> None:
    try:
        if not store(root).stat([name]):
            verdict.skipped.append(f"the input {root}/{name} is no longer at its place")
            return
        found = store(root).fetch(name, size)
    except (InputError, ConfigError) as error:
        verdict.faults.append(error.message)
        return
    verdict.files += 1
    verdict.bytes += size
    if found != digest:
        verdict.faults.append(
            f"{root}/{name} is not the object that was listed: its sha256 differs"
        )
