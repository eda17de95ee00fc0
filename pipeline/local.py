"""The local backend: a few worker processes of this machine, one a slot.

No process pool: each slot is one child that runs the worker entry and reads tasks from its
standard input, so a dead child is seen at once, with the task it had. Children die with this
process (PR_SET_PDEATHSIG, and the end of their standard input). Where there is more than one slot
they are forked from a `corpusmill.pipeline.nursery`, which has opened the phase for all of them; if
that cannot be, each is a process that starts from nothing.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .backends import DIED_TWICE
from .errors import TaskError
from .forking import Forked, ForkServer, die_with

PARENT_VARIABLE = "CORPUSMILL_PARENT"
STOP_SECONDS = 10.0
"""What a worker gets to end by itself before it is killed."""
TICK_SECONDS = 1.0
"""How often progress is told while no task ends."""
_ONE_THREAD = {"JE_ARROW_MALLOC_CONF": "background_thread:false"}
"""Keeps Arrow from starting a thread when it is imported: see `forking`."""
_THREADS = {
    "OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false",
    "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1",
}  # fmt: skip


def die_with_parent() -> None:
    """Makes the kernel kill this process when the one that started it dies."""
    parent = os.environ.get(PARENT_VARIABLE)
    if parent is not None:
        die_with(int(parent))


def usable_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


@dataclass
class _Slot:
    process: subprocess.Popen[str] | Forked
    log: Path
    task: int | None = None


class LocalBackend:
    """Worker processes for one run folder. Use as a context manager.

    What they write to standard error goes to ``LOG.worker-I.log``; `log` is by default below the
    run folder and named by this process.
    """

    def __init__(self, root: Path, workers: int, log: Path | None = None) -> None:
        if workers < 1:
            raise TaskError(f"{workers} workers cannot run anything")
        self.root = root
        self.workers = workers
        self.log = log
        self.slots: list[_Slot] = []
        self._nursery: ForkServer | None = None

    def __enter__(self) -> LocalBackend:
        return self

    def __exit__(self, *_: object) -> None:
        self._end_slots()
        if self._nursery is not None:
            self._nursery.close()
            self._nursery = None

    def _end_slots(self) -> None:
        for slot in self.slots:
            if slot.process.stdin is not None:
                slot.process.stdin.close()
            if slot.task is not None:
                slot.process.terminate()  # it leaves a record, and no files
        for slot in self.slots:
            try:
                slot.process.wait(timeout=STOP_SECONDS)
            except subprocess.TimeoutExpired:
                slot.process.kill()
                slot.process.wait()
            if slot.process.stdout is not None:
                slot.process.stdout.close()
        self.slots = []

    def _open(self, phase: str) -> None:
        """Has the nursery open a phase; workers that live make way where that pays."""
        if self._nursery is None:
            program = [sys.executable, "-P", "-m", "corpusmill.pipeline.nursery"]
            with open(self._log("nursery"), "ab") as log:
                self._nursery = ForkServer(
                    [*program, str(self.root / "plan.json")],
                    environment={**_environment(), **_ONE_THREAD}, log=log,
                )  # fmt: skip
        if self._nursery.prepare({"phase": phase}):
            self._end_slots()

    def _log(self, name: str) -> Path:
        stem = self.log or self.root / "logs" / f"worker-{os.getpid()}"
        stem.parent.mkdir(parents=True, exist_ok=True)
        joint = "-" if self.log is None else ".worker-"
        return stem.with_name(f"{stem.name}{joint}{name}.log")

    def _start(self, phase: str) -> _Slot:
        path = self._log(str(len(self.slots)))
        with open(path, "ab") as log:
            if self._nursery is not None:
                forked = self._nursery.start({"phase": phase}, log.fileno(), text=True)
                if forked is not None:
                    return _Slot(forked, path)
            command = [sys.executable, "-P", "-m", "corpusmill.pipeline", "run-tasks"]
            process = subprocess.Popen(
                [*command, str(self.root / "plan.json"), "-"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, bufsize=1,
                env=_environment(),
            )  # fmt: skip
        return _Slot(process, path)

    def run(
        self, phase: str, tasks: Sequence[int], progress: Callable[[int, int], None]
    ) -> dict[int, str]:
        """Runs tasks; returns the error text of those that failed.

        A task whose process died (killed, out of memory, crashed) is run once more alone.
        """
        errors: dict[int, str] = {}
        if self.workers > 1:
            self._open(phase)
        died = self._round(phase, list(tasks), self.workers, errors, progress, len(tasks))
        for task in sorted(died):
            again = self._round(phase, [task], 1, errors, progress, len(tasks))
            if again:
                errors[task] = f"{DIED_TWICE}: {again[task]}"
        return errors

    def _round(
        self, phase: str, waiting: list[int], width: int, errors: dict[int, str],
        progress: Callable[[int, int], None], total: int,
    ) -> dict[int, str]:  # fmt: skip
        waiting = sorted(waiting, reverse=True)
        died: dict[int, str] = {}
        while len(self.slots) < min(width, len(waiting)):
            self.slots.append(self._start(phase))
        slots = self.slots[:width]
        done = total - len(waiting)
        with selectors.DefaultSelector() as selector:
            for slot in slots:
                selector.register(slot.process.stdout or 0, selectors.EVENT_READ, slot)
                self._give(slot, phase, waiting)
            while any(slot.task is not None for slot in slots):
                ready = selector.select(TICK_SECONDS)
                if not ready:
                    progress(done, total)
                for key, _ in ready:
                    slot = key.data
                    line = slot.process.stdout.readline()
                    if line.endswith("\n"):  # a part of a line is the last word of a killed one
                        reply = json.loads(line)
                        slot.task = None
                        done += 1
                        if reply["error"]:
                            errors[reply["task"]] = reply["error"]
                        progress(done, total)
                        self._give(slot, phase, waiting)
                        continue
                    selector.unregister(key.fileobj)
                    code = slot.process.wait()
                    if slot.task is not None:
                        died[slot.task] = _ending(code, slot.log)
                    slot.process.stdout.close()
                    fresh = self._start(phase)
                    self.slots[self.slots.index(slot)] = fresh
                    slots[slots.index(slot)] = fresh
                    selector.register(fresh.process.stdout or 0, selectors.EVENT_READ, fresh)
                    self._give(fresh, phase, waiting)
        return died

    def _give(self, slot: _Slot, phase: str, waiting: list[int]) -> None:
        if not waiting:
            return
        slot.task = waiting.pop()
        if slot.process.stdin is None:
            raise TaskError("a worker has no standard input")
        try:
            slot.process.stdin.write(f"{phase} {slot.task}\n")
            slot.process.stdin.flush()
        except BrokenPipeError:
            return  # it died: its closed standard output is seen by the selector


def _environment() -> dict[str, str]:
    return {**os.environ, **_THREADS, PARENT_VARIABLE: str(os.getpid())}


def _ending(code: int, log: Path) -> str:
    """How a process ended, and the last line that it wrote to its log."""
    ending = f"exit code {code}"
    if code < 0:
        try:
            ending = f"killed by {signal.Signals(-code).name}"
        except ValueError:
            ending = f"killed by signal {-code}"
    lines = log.read_bytes()[-2000:].decode("utf-8", "replace").strip().splitlines()
    return f"{ending}; last in its log: {lines[-1][:300]}" if lines else ending
