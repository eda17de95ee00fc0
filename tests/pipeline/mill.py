"""Runs that may be killed, and what must be true of a run folder whatever happened."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from corpusmill.pipeline import Lock, Plan
from corpusmill.pipeline.document import document_id
from corpusmill.pipeline.durable import FAULT_VARIABLE

from .conftest import PRODUCTS, RECIPE

PYTHON = (sys.executable, "-P")
COMMITS = "phases/*/commits/*/*.json"


@dataclass
class Ended:
    """How a run ended: its exit code (negative: the signal) and what it said on stderr."""

    code: int
    said: str


class Forks:
    """The other end of `fork_server`."""

    def __init__(self, base: Path) -> None:
        environment = {k: v for k, v in os.environ.items() if k != FAULT_VARIABLE}
        self.process = subprocess.Popen(
            [*PYTHON, str(Path(__file__).with_name("fork_server.py"))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip
        warm = {"verb": "warm", "out": str(base / "warm"), "base": str(base),
                "recipe": RECIPE + PRODUCTS, "overrides": ()}  # fmt: skip
        assert self.ask(warm) == 0

    def ask(self, job: dict[str, Any]) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def close(self) -> None:
        self.process.communicate(timeout=30)


@dataclass(frozen=True)
class Mill:
    """Runs recipes in forks: `base` holds ``input/``; run folders are made in it."""

    base: Path
    forks: Forks

    def do(self, verb: str, out: Path, **job: Any) -> Ended:
        """One job in a fork: ``run``, ``clean`` or ``verify``."""
        log = self.base / "fork.log"
        code = self.forks.ask(
            {"verb": verb, "out": str(out), "base": str(self.base), "log": str(log), **job}
        )
        return Ended(code, log.read_text("utf-8", "replace"))

    def run(
        self, out: Path | str, text: str = RECIPE, *overrides: str, fault: str = "",
        hook: str = "", trace: str = "", base: Path | None = None,
    ) -> Ended:  # fmt: skip
        """A run of a recipe in a fork, killed at `fault`, in the world of `hook`."""
        where = {} if base is None else {"base": str(base)}
        return self.do(
            "run", self.base / out, recipe=text, overrides=overrides, fault=fault, hook=hook,
            trace=trace, **where,
        )  # fmt: skip

    def ran(self, out: Path | str, text: str = RECIPE, *overrides: str, **how: Any) -> Path:
        """A run that must end well; its folder."""
        ended = self.run(out, text, *overrides, **how)
        assert ended.code == 0, ended.said
        return self.base / out


def outputs(root: Path) -> tuple[str, str, Any]:
    """What must not change: mix id, digest of the listed files, kept set."""
    lock = Lock.load(root)
    return lock.mix_id, lock.files_sha256, lock.data["outputs"]["kept"]


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def tables(root: Path, phase: str, table: str) -> list[Path]:
    """The table files that the commit records of one phase name, read without the library."""
    found = []
    for commit in sorted(root.glob(f"phases/{phase}/commits/*/*.json")):
        for entry in json.loads(commit.read_text("utf-8"))["files"]:
            if entry.get("table") == table:
                found.append(commit.parents[2] / entry["path"])
    return found


def last_docs(root: Path) -> str:
    """The folder name of the last document phase of the plan."""
    return [p.folder for p in Plan.load(root / "plan.json").phases if p.kind == "docs"][-1]


def kept(root: Path) -> Counter[str]:
    """Ids of the documents kept at the end, as often as they occur."""
    paths = tables(root, last_docs(root), "docs")
    return Counter(i for p in paths for i in pq.read_table(p, columns=["id"])["id"].to_pylist())


def kept_texts(root: Path) -> Counter[str]:
    """Texts of the documents kept at the end."""
    paths = tables(root, last_docs(root), "docs")
    return Counter(t for p in paths for t in pq.read_table(p, columns=["text"])["text"].to_pylist())


def in_shards(root: Path) -> Counter[str]:
    """Ids of the documents that begin in the published shards."""
    found: Counter[str] = Counter()
    for path in sorted(root.glob("shards/*/*.docs.parquet")):
        rows = pq.read_table(path, columns=["id", "doc_offset"]).to_pylist()
        found.update(r["id"] for r in rows if r["doc_offset"] == 0)
    return found


def truth(folder: Path, read: Callable[[str], bool] = lambda document: True) -> Counter[str]:
    """The ids that exact deduplication must keep of JSONL files: of equal texts the smallest
    of those that are read. Worked out from the files alone."""
    best: dict[str, str] = {}
    for path in sorted(folder.glob("*.jsonl")):
        data = path.read_bytes()
        start = 0
        for line in data.splitlines(keepends=True):
            text = json.loads(line)["text"]
            name = document_id("rows", path.name, len(data), start)
            if read(name):
                best[text] = min(name, best.get(text, name))
            start += len(line)
    return Counter(best.values())


def no_half_files(root: Path) -> None:
    """Every commit record is whole, and every file that one names is there with its digest."""
    for commit in sorted(root.glob(COMMITS)):
        for entry in json.loads(commit.read_text("utf-8"))["files"]:
            path = commit.parents[2] / entry["path"]
            assert sha256(path) == entry["sha256"], path
    for path in sorted(root.glob("*.lock.json")):
        lock = Lock.load(path)
        for row in lock.rows():
            if row["role"] != "input":
                assert sha256(root / row["path"]) == row["sha256"], row["path"]


def temporaries(root: Path) -> list[str]:
    """What attempts left behind: temporary names, and files that no commit record names."""
    named = {
        commit.parents[2] / entry["path"]
        for commit in root.glob(COMMITS)
        for entry in json.loads(commit.read_text("utf-8"))["files"]
    }
    odd = [p for p in root.rglob("*") if p.name.endswith(".tmp") or p.parent.name == "tmp"]
    for room in ("data", "rejects"):
        odd += [p for p in root.glob(f"phases/*/{room}/*/*") if p not in named]
    return sorted(p.relative_to(root).as_posix() for p in odd)


# -- real processes ----------------------------------------------------------------------------


def launch(
    base: Path, out: str, *more: str, workers: int = 2, site: Path | None = None,
    before: Sequence[str] = (), fault: str = "",
) -> subprocess.Popen[str]:  # fmt: skip
    """``corpusmill run recipe.yaml`` as a user starts it, in a session of its own. `site` is a
    folder with a ``sitecustomize.py``, which every process of the run then loads."""
    environment = {k: v for k, v in os.environ.items() if k != FAULT_VARIABLE}
    if site is not None:
        rest = environment.get("PYTHONPATH")
        environment["PYTHONPATH"] = os.pathsep.join([str(site), *([rest] if rest else [])])
    if fault:
        environment[FAULT_VARIABLE] = fault
    command = [
        *before, *PYTHON, "-m", "corpusmill.pipeline", "run", str(base / "recipe.yaml"), "--out",
        str(base / out), "--workers", str(workers), "--json", *more,
    ]  # fmt: skip
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        start_new_session=True,
    )  # fmt: skip


def finish(process: subprocess.Popen[str], timeout: float = 120.0) -> Ended:
    """Waits for a launched run."""
    try:
        _, said = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        pytest.fail(f"the run did not end within {timeout:.0f} s")
    return Ended(process.returncode, said)


def launched(base: Path, out: str, *more: str, **how: Any) -> Ended:
    """`launch` and `finish`."""
    return finish(launch(base, out, *more, **how))


def members(session: int) -> list[int]:
    """Living processes of a session (a launched run and all that it started)."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            stat = Path(f"/proc/{entry}/stat").read_text("utf-8", "replace")
        except OSError:
            continue  # it has ended
        state, _, _, of = stat.rpartition(")")[2].split()[:4]
        if int(of) == session and state != "Z":
            found.append(int(entry))
    return sorted(found)


def wait_for(what: str, true: Any, seconds: float = 60.0) -> None:
    """Polls until `true()` holds; fails the test if it never does."""
    until = time.monotonic() + seconds
    while not true():
        if time.monotonic() > until:
            pytest.fail(f"{what}: not within {seconds:.0f} s")
        time.sleep(0.002)


def commits(root: Path) -> int:
    """Commit records of a run folder."""
    return sum(1 for _ in root.glob(COMMITS))
