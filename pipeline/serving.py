"""How a worker is told what to do: lines on standard input, one answer each on standard output."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .worker import Worker, parse_tasks


def serve(worker: Worker, lines: Iterator[str], report: Callable[[str], None]) -> None:
    """Runs the tasks that `lines` name (``PHASE SPEC``), one report line of JSON each."""
    try:
        for line in lines:
            name, _, spec = line.strip().partition(" ")
            if not name:
                continue
            phase = worker.plan.phase(name)
            for task in parse_tasks(spec, phase.tasks):
                error = worker.try_task(phase, task)
                report(json.dumps({"phase": name, "task": task, "error": error}))
    finally:
        worker.close()


def serve_input(worker: Worker) -> None:
    """`serve` of standard input, reported to standard output."""
    with reports() as out:
        serve(worker, iter(sys.stdin.readline, ""), out)


@contextmanager
def reports() -> Iterator[Callable[[str], None]]:
    """Keeps standard output for the worker's reports: what a stage or a library prints goes to
    standard error, where it cannot be taken for one."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with os.fdopen(os.dup(kept), "w", encoding="utf-8") as out:

            def report(line: str) -> None:
                out.write(line + "\n")
                out.flush()

            yield report
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)
