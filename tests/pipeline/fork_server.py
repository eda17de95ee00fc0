"""Runs recipes in forked copies of one warm process, so that hundreds of crashes stay cheap.

A script of its own: jobs come as lines of JSON on standard input, each is done by a fork that may
die at any point, and its exit code goes back as a line. In such a copy the tasks run in the
process of the driver, in ascending order, so that the n-th fault point is always the same one.
`mill.Mill` is the other end. `HOOKS` are the ways in which a job's world can be another one.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ["TOKENIZERS_PARALLELISM"] = "false"

import pyarrow.parquet  # noqa: F401 - warm

from corpusmill.pipeline import (
    attempt,
    cleaning,
    durable,
    engine,
    planning,
    recipe,
    running,
    verifying,
)
from corpusmill.pipeline.errors import CorpusmillError
from corpusmill.pipeline.stage import InputFile
from corpusmill.pipeline.work import Work
from corpusmill.pipeline.worker import Worker
from corpusmill.stages.dedup import exact
from corpusmill.stages.sources import jsonl

Job = dict[str, Any]


class Here:
    """A backend without processes of its own. The task with the number `slow` is begun and does
    not end before there is nothing else to do, as if others worked beside it."""

    slow: int | None = None

    def __init__(self, backend: str, root: Path, plan_id: str, workers: int | None) -> None:
        self.root = root

    def __enter__(self) -> Here:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def run(self, work: Work) -> None:
        plan = planning.Plan.load(self.root / "plan.json")
        worker = Worker(self.root, plan)
        slow: list[tuple[str, int]] = []
        try:
            while (given := work.next()) is not None or slow:
                if given is not None and given[1] == self.slow:
                    slow.append(given)
                    continue
                phase, task = given or slow.pop(0)
                work.ended(phase, task, worker.try_task(plan.phase(phase), task))
        finally:
            worker.close()


def swap(where: Any, name: str, new: Any) -> Any:
    """Puts `new` in the place of an attribute; returns what was there."""
    old = getattr(where, name)
    setattr(where, name, new)
    return old


def trace_points(path: Path) -> None:
    """Writes a line ``PLACE KIND`` for every fault point; a place is a phase, plan or publish."""
    place = ["plan"]

    def traced(kind: str) -> None:
        with open(path, "a", encoding="utf-8") as f:
            f.write(f"{place[0]} {kind}\n")
        original(kind)

    def task_at(worker: Any, phase: Any, task: int) -> Any:
        place[0] = phase.name
        return try_task(worker, phase, task)

    def close_at(folder: Any, phase: Any, *rest: Any) -> None:
        place[0] = phase.name
        close_phase(folder, phase, *rest)

    def publish_at(*rest: Any) -> Any:
        place[0] = "publish"
        return publish(*rest)

    original = durable.fault_point
    for module in (durable, attempt, engine):
        swap(module, "fault_point", traced)
    try_task = swap(Worker, "try_task", task_at)
    close_phase = swap(running, "close_phase", close_at)
    publish = swap(running, "publish", publish_at)


def other_stage_version(job: Job) -> None:
    """`dedup.exact` is one version further."""
    swap(exact.ExactDedup, "version", 2)


def other_library(job: Job) -> None:
    """Another release of zstandard is installed."""

    def pins(names: tuple[str, ...]) -> dict[str, str]:
        return {n: "0.0.1" if n == "zstandard" else v for n, v in found(names).items()}

    found = swap(planning, "pin_versions", pins)


def asset_changes_before_the_tasks(job: Job) -> None:
    """The block list gets a line between planning and the first task."""

    def changed(*arguments: Any) -> Any:
        with open(Path(job["base"]) / "block.txt", "a", encoding="utf-8") as f:
            f.write("h2.example\n")
        return before(*arguments)

    before = swap(running, "run_plan", changed)


def input_changes_while_read(job: Job) -> None:
    """Somebody writes to an input after its first record was read."""

    def read(self: Any, file: InputFile) -> Iterator[Any]:
        for i, record in enumerate(before(self, file)):
            if i == 1 and file.relative == "part-1.jsonl":
                os.utime(file.path, ns=(1, 1))
            yield record

    before = swap(jsonl.Jsonl, "read", read)


def setup_fails_once(job: Job) -> None:
    """The first setup of the deduplication in this process fails."""
    tries: list[bool] = []
    ready: list[bool] = []

    def setup(self: Any) -> None:
        tries.append(True)
        if len(tries) == 1:
            raise MemoryError("no room for the model, this time")
        ready.append(True)

    def emit(self: Any, batch: Any) -> Any:
        if not ready:
            raise RuntimeError("documents came before the model")
        return before(self, batch)

    swap(exact.ExactDedup, "setup", setup)
    before = swap(exact.ExactDedup, "emit", emit)


def loses_a_document(job: Job) -> None:
    """The deduplication forgets one document and sees another one twice."""

    def decide(self: Any, batch: Any, verdicts: Any) -> Any:
        outcomes = before(self, batch, verdicts)
        return [outcomes[0], outcomes[0], *outcomes[2:]] if len(outcomes) > 1 else outcomes

    before = swap(exact.ExactDedup, "decide", decide)


def dies_while_removing(job: Job) -> None:
    """The process is killed when a closed phase has lost its tables and not yet its seal."""

    def rmtree(path: Any, *rest: Any, **how: Any) -> None:
        if (Path(path) / "sealed.json").exists():
            before(Path(path) / "data", ignore_errors=True)
            (Path(path) / "cleaned").unlink(missing_ok=True)
            os.kill(os.getpid(), signal.SIGKILL)
        before(path, *rest, **how)

    before = swap(shutil, "rmtree", rmtree)


def partition_0_is_slow(job: Job) -> None:
    """Its tasks end last, and those of later phases that need not wait for them come before."""
    swap(Here, "slow", 0)


HOOKS: dict[str, Callable[[Job], None]] = {
    f.__name__: f
    for f in (
        other_stage_version, other_library, asset_changes_before_the_tasks,
        input_changes_while_read, setup_fails_once, loses_a_document,
        dies_while_removing, partition_0_is_slow,
    )
}  # fmt: skip


def do(job: Job) -> None:
    """What a job asks for; raises what the library raises."""
    out = Path(job["out"])
    if job.get("trace"):
        trace_points(Path(job["trace"]))
    if job.get("hook"):
        HOOKS[job["hook"]](job)
    if job["verb"] == "clean":
        cleaning.clean_run(out, intermediates=True)
    elif job["verb"] == "verify":
        verifying.verify(out, raise_on_fault=True)
    else:
        swap(running, "workers_on", Here)
        made = recipe.Recipe.parse(
            job["recipe"], Path(job["base"]), overrides=tuple(job["overrides"])
        )
        running.run(made, out)


def child(job: Job) -> int:
    """Does a job in a process of its own; returns the exit code."""
    log = os.open(job["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 2)
    if job.get("fault"):
        os.environ[durable.FAULT_VARIABLE] = job["fault"]
    try:
        do(job)
    except CorpusmillError as error:
        print(error, file=sys.stderr, flush=True)
        return error.exit_code
    except BaseException:  # noqa: BLE001 - told apart from the library's own errors by the code
        traceback.print_exc()
        sys.stderr.flush()
        return 99
    return 0


def main() -> None:
    """Serves until standard input ends."""
    warnings.simplefilter("ignore", DeprecationWarning)  # of forking beside pyarrow's threads
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in iter(sys.stdin.readline, ""):
        job = json.loads(line)
        if job["verb"] == "warm":  # imports and caches of a whole run, for all that follow
            do({**job, "verb": "run"})
            answers.write("0\n")
            answers.flush()
            continue
        pid = os.fork()
        if pid == 0:
            os._exit(child(job))
        _, status = os.waitpid(pid, 0)
        answers.write(f"{os.waitstatus_to_exitcode(status)}\n")
        answers.flush()


if __name__ == "__main__":
    main()
