"""A cluster for the tests of this folder, a corpus, and a world in which tasks can go wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from corpusmill.pipeline import Lock

from .cluster import Cluster, missing_programs, remove, start_cluster

RECIPE = """
schema: corpusmill/recipe/1
name: small
version: "1"
seed: 7
sources:
  - {name: rows, stage: sources.jsonl, root: input, paths: ["*.jsonl"], licence: CC0-1.0}
steps:
  - measure.split: {heldout: "0.1", by: id}
execution: {task_bytes: 100, partitions: 2}
"""
"""One phase, a task a file."""

DEDUP = RECIPE.replace("steps:\n", "steps:\n  - dedup.exact\n")
"""Four phases."""

LINES = RECIPE.replace(
    "steps:\n", "steps:\n  - dedup.lines: {host_documents: 0, documents: 2, hosts: 1}\n"
)
"""Six phases; documents, the last, need only the marks of their partition."""

PROFILE = """
schema: corpusmill/slurm-profile/1
partition: main
time: "00:05:00"
memory: 700M
seal_wait: 0
"""

FILES = 8
"""More than an array may have elements on the cluster of these tests."""
FEW = 3

SITE = '''
"""Loaded by every process of a job: what `{world}/NAME` holds happens to the reader of NAME, and
what `{world}/PHASE-TASK` holds to that task."""
import os, signal, sys, time
from pathlib import Path

if Path({world!r}, "without").exists():
    sys.modules[Path({world!r}, "without").read_text()] = None  # as if it were not installed

from corpusmill.stages.sources import jsonl

before = jsonl.Jsonl.read

def read(self, file):
    mode = Path({world!r}) / file.relative
    what = mode.read_text().split() if mode.exists() else [""]
    started = Path({world!r}) / (file.relative + ".started")
    started.write_text(str(os.getpid()))
    if what[0] == "fail":
        raise ValueError("told to fail")
    if what[0] == "sleep":
        time.sleep(float(what[1]))
    while mode.exists() and mode.read_text() == "hold":
        time.sleep(0.2)
    if what[0] == "die" and int(what[1]) > 0:
        mode.write_text(f"die {{int(what[1]) - 1}}")
        os.kill(os.getpid(), signal.SIGKILL)
    if what[0] == "hog" and int(os.environ["SLURM_MEM_PER_NODE"]) < int(what[2]):
        block = bytearray(os.urandom(1) * (int(what[1]) << 20))
        time.sleep(20)
    return before(self, file)

jsonl.Jsonl.read = read

from corpusmill.pipeline import worker

run_task = worker.Worker.run_task

def held(self, phase, task):
    mode = Path({world!r}, f"{{phase.name}}-{{task}}")
    while mode.exists() and mode.read_text() == "hold":
        time.sleep(0.2)
    if mode.exists() and mode.read_text() == "fail":
        raise ValueError("told to fail")
    return run_task(self, phase, task)

worker.Worker.run_task = held
'''


def write_corpus(folder: Path, files: int) -> None:
    """Files of ten rows, of which the last repeats the first."""
    folder.mkdir(parents=True)
    for f in range(files):
        lines = []
        for r in range(10):
            number = f * 10 if r == 9 else f * 10 + r
            text = "\n".join(f"Row {number}, line {k}, of a small corpus." for k in range(5))
            row = {"id": f"{f}-{r}", "text": text, "url": f"https://h{r}.example/{f}"}
            lines.append(json.dumps(row) + "\n")
        (folder / f"part-{f}.jsonl").write_text("".join(lines))


@dataclass
class Site:
    """A folder with a corpus, and the command line against one cluster."""

    base: Path
    cluster: Cluster
    extra: dict[str, str] = field(default_factory=dict)

    def write(
        self, recipe: str = RECIPE, profile: str = PROFILE, *, files: int = FEW,
        world: bool = False,
    ) -> None:  # fmt: skip
        """Input, recipe and profile of a test; with `world` tasks do what `will` says."""
        write_corpus(self.base / "input", files)
        (self.base / "recipe.yaml").write_text(recipe)
        if world:
            profile += f"setup: ['export PYTHONPATH={self.base}/site']\n"
            (self.base / "site").mkdir()
            (self.base / "world").mkdir()
            text = SITE.format(world=str(self.base / "world"))
            (self.base / "site" / "sitecustomize.py").write_text(text)
        (self.base / "profile.yaml").write_text(profile)

    def will(self, part: int, what: str) -> Path:
        """What happens to a reader of ``part-N.jsonl``; the file that appears when one starts."""
        (self.base / "world" / f"part-{part}.jsonl").write_text(what)
        return self.base / "world" / f"part-{part}.jsonl.started"

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        """One call of the command line, in the cluster's environment."""
        command = [sys.executable, "-P", "-m", "corpusmill.pipeline", *words]
        environment = {**self.cluster.environment, **self.extra}
        return subprocess.run(
            command, env=environment, cwd=self.base, capture_output=True, text=True, timeout=150
        )

    def start(self, *words: str) -> subprocess.Popen[str]:
        """One call that goes on beside the test."""
        command = [sys.executable, "-P", "-m", "corpusmill.pipeline", *words]
        environment = {**self.cluster.environment, **self.extra}
        return subprocess.Popen(
            command, env=environment, cwd=self.base, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def ok(self, *words: str) -> str:
        """A call that must end well; what it printed."""
        done = self.call(*words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def refused(self, code: int, *words: str) -> str:
        """A call that must end with `code`; what it said."""
        done = self.call(*words)
        assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
        return done.stderr

    def submit(self, *more: str) -> str:
        words = ("submit", "recipe.yaml", "--out", "run", "--profile", "profile.yaml")
        return self.ok(*words, *more)

    def settle(self) -> None:
        """Waits until no job is left."""
        self.cluster.wait("the queue is empty", self.cluster.empty, 120)

    def record(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.base / "run" / "slurm.json").read_text())
        return found

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.ok("status", "run", "--json"))
        return found

    def commits(self, phase: str) -> int:
        return sum(1 for _ in self.base.glob(f"run/phases/{phase}-*/commits/*/*.json"))

    def same_as_local(self, out: str = "run") -> None:
        """The products of a run on the cluster are those of a local run."""
        self.ok("run", "recipe.yaml", "--out", "local", "--workers", "1", "--quiet")
        here, there = Lock.load(self.base / "local"), Lock.load(self.base / out)
        assert (here.mix_id, here.files_sha256) == (there.mix_id, there.files_sha256)
        assert here.data["outputs"] == there.data["outputs"]


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A real Slurm of two virtual nodes, arrays of at most six elements."""
    missing = missing_programs()
    if missing:
        reason = f"NO SLURM: {', '.join(missing)} not found; install them with .ci/slurm"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    made = start_cluster(max_array=6)
    try:
        yield made
    finally:
        remove(made)
    assert made.processes() == []
    assert not made.base.exists()


@pytest.fixture
def site(cluster: Cluster, tmp_path: Path) -> Iterator[Site]:
    """An empty folder; when the test ends, no job of it is left."""
    yield Site(tmp_path, cluster)
    if not cluster.empty():
        cluster.call("scancel", "--full", *{q.split("_")[0].split()[0] for q in cluster.queue()})
        cluster.wait("the queue is empty", cluster.empty, 60)
