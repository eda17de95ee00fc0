"""A Ray cluster for the tests of this folder, a corpus, and a world in which tasks can go wrong."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from corpusmill.pipeline import Lock

ENGINES = (
    Path(__file__).parents[2]
    / f".venv-peers/engines-{sys.version_info.major}.{sys.version_info.minor}"
)
"""What `.ci/engines` installs for this Python."""

FILES = 40
RECIPE = """
schema: corpusmill/recipe/1
name: small
version: "1"
seed: 7
sources:
  - {name: rows, stage: sources.jsonl, root: input, paths: ["*.jsonl"], licence: CC0-1.0}
steps:
  - dedup.exact
  - measure.split: {heldout: "0.1", by: id}
execution: {task_bytes: 10000, partitions: 2}
"""

LINES = RECIPE.replace("dedup.exact", "dedup.lines: {host_documents: 0, documents: 2, hosts: 1}")
"""Six phases; documents, the last, need only the marks of their partition."""

WORLD = '''
"""Loaded by every worker: what WORLD/NAME holds happens to the reader of the input NAME; the task
of WORLD/PHASE-TASK waits for as long as that is there."""
import os, sys, time
from pathlib import Path

if "run-tasks" in sys.orig_argv:
    from corpusmill.stages.sources import jsonl

    before = jsonl.Jsonl.read

    def read(self, file):
        mode = Path({world!r}) / file.relative
        started = Path({world!r}) / (file.relative + ".started")
        if mode.exists():
            started.write_text(f"{{os.getppid()}} {{os.getpid()}}")
        while mode.exists() and mode.read_text() == "hold":
            time.sleep(0.05)
        if mode.exists() and mode.read_text() == "fail":
            raise ValueError("told to fail")
        return before(self, file)

    jsonl.Jsonl.read = read

    from corpusmill.pipeline import worker

    run_task = worker.Worker.run_task

    def held(self, phase, task):
        while Path({world!r}, f"{{phase.name}}-{{task}}").exists():
            time.sleep(0.05)
        return run_task(self, phase, task)

    worker.Worker.run_task = held
'''


def put_corpus(base: Path) -> None:
    """A recipe, and files of five rows, of which the last repeats the first of the file before."""
    (base / "recipe.yaml").write_text(RECIPE)
    (base / "input").mkdir()
    for f in range(FILES):
        numbers = [f * 5 + r for r in range(4)] + [max(f - 1, 0) * 5]
        rows = [{"id": f"{f}-{i}", "text": f"Row {n} of a corpus.", "url": f"https://h{i}.example/{f}"}
                for i, n in enumerate(numbers)]  # fmt: skip
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (base / "input" / f"part-{f:02d}.jsonl").write_text(lines)


@dataclass
class Site:
    """A folder with a corpus, and the command line on one Ray cluster."""

    base: Path
    cluster: subprocess.Popen[str]
    world: Path
    environment: dict[str, str]
    local: tuple[str, str] = ("", "")
    """The products of a local run of the same corpus, in one task."""

    def will(self, part: int, what: str) -> Path:
        """What happens to a reader of a part; the file that appears when one starts."""
        (self.world / f"part-{part:02d}.jsonl").write_text(what)
        return self.world / f"part-{part:02d}.jsonl.started"

    def start(
        self, out: str, *words: str, backend: str = "ray", recipe: str = "recipe.yaml"
    ) -> subprocess.Popen[str]:
        """``corpusmill run`` on a backend."""
        command = [
            sys.executable, "-P", "-m", "corpusmill.pipeline", "run", recipe, "--out", out,
            "--quiet", "--json", "--backend", backend, *words,
        ]  # fmt: skip
        return subprocess.Popen(
            command, env=self.environment, cwd=self.base, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip

    def run(self, out: str, *words: str, backend: str = "ray") -> None:
        """A run that must end well."""
        ended(self.start(out, *words, backend=backend), 0)

    def products(self, out: str) -> tuple[str, str]:
        lock = Lock.load(self.base / out)
        return lock.mix_id, lock.files_sha256

    def commits(self, out: str, phase: str) -> int:
        return sum(1 for _ in self.base.glob(f"{out}/phases/{phase}-*/commits/*/*.json"))


def ended(process: subprocess.Popen[str], code: int) -> str:
    """Waits for a run, which must end with `code`; what it said."""
    said = process.communicate(timeout=150)[1]
    assert process.returncode == code, (process.returncode, said)
    return said


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A cluster of two machines, whose workers live in a world of ours."""
    if not ENGINES.exists():
        reason = f"{ENGINES} is missing; hint: .ci/engines PYTHON"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    base = tmp_path_factory.mktemp("ray")
    (base / "site").mkdir()
    (base / "world").mkdir()
    (base / "site" / "sitecustomize.py").write_text(WORLD.format(world=str(base / "world")))
    (base / "token").write_text(secrets.token_hex(32))
    short = Path(tempfile.mkdtemp(prefix="mill-ray-"))  # a socket's path has 107 characters
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith("RAY_")},
        "PYTHONPATH": f"{base / 'site'}:{ENGINES}", "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_TMPDIR": str(short), "RAY_AUTH_TOKEN_PATH": str(base / "token"),
    }  # fmt: skip
    holder = subprocess.Popen(
        [sys.executable, "-P", str(Path(__file__).with_name("cluster.py"))], env=environment,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        start_new_session=True,
    )  # fmt: skip
    assert holder.stdout is not None
    address = next((line for line in holder.stdout if ":" in line), "").strip()
    assert address, "the cluster did not start"
    made = Site(base, holder, base / "world", {**environment, "RAY_ADDRESS": address})
    put_corpus(base)
    one = ("--workers", "1", "--partitions", "1", "--task-bytes", "1000000000")
    made.run("local", *one, backend="local")
    yield replace(made, local=made.products("local"))
    holder.communicate(timeout=60)
    shutil.rmtree(short, ignore_errors=True)


@pytest.fixture
def site(held: Site, tmp_path: Path) -> Site:
    """A folder with a corpus, and an empty world."""
    for path in held.world.iterdir():
        path.unlink()
    put_corpus(tmp_path)
    return replace(held, base=tmp_path)
