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
from .work import Given, Work

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
    number: int
    log: Path
    phase: str
    """Of its last task, or the one that it was started for."""
    given: Given | None = None


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
        self._pays: dict[str, bool] = {}
        """Phases that the nursery has opened: whether workers are to be forked anew for them."""

    def __enter__(self) -> LocalBackend:
        return self

    def __exit__(self, *_: object) -> None:
        self._end(self.slots)
        if self._nursery is not None:
            self._nursery.close()
            self._nursery = None

    def _end(self, slots: Sequence[_Slot]) -> None:
        for slot in slots:
            if slot.process.stdin is not None:
                slot.process.stdin.close()
            if slot.given is not None:
                slot.process.terminate()  # it leaves a record, and no files
        for slot in slots:
            try:
                slot.process.wait(timeout=STOP_SECONDS)
            except subprocess.TimeoutExpired:
                slot.process.kill()
                slot.process.wait()
            if slot.process.stdout is not None:
                slot.process.stdout.close()
        self.slots = [slot for slot in self.slots if slot not in slots]

    def _open(self, phase: str) -> bool:
        """Has the nursery open a phase; returns whether it pays that workers of other phases make
        way for new ones."""
        if self._nursery is None:
            program = [sys.executable, "-P", "-m", "corpusmill.pipeline.nursery"]
            with open(self._log("nursery"), "ab") as log:
                self._nursery = ForkServer(
                    [*program, str(self.root / "plan.json")],
                    environment={**_environment(), **_ONE_THREAD}, log=log,
                )  # fmt: skip
        if phase not in self._pays:
            self._pays[phase] = bool(self._nursery.prepare({"phase": phase}))
        return self._pays[phase]

    def _log(self, name: str) -> Path:
        stem = self.log or self.root / "logs" / f"worker-{os.getpid()}"
        stem.parent.mkdir(parents=True, exist_ok=True)
        joint = "-" if self.log is None else ".worker-"
        return stem.with_name(f"{stem.name}{joint}{name}.log")

    def _start(self, phase: str) -> _Slot:
        taken = {slot.number for slot in self.slots}
        number = next(n for n in range(len(taken) + 1) if n not in taken)
        path = self._log(str(number))
        with open(path, "ab") as log:
            if self._nursery is not None:
                forked = self._nursery.start({"phase": phase}, log.fileno(), text=True)
                if forked is not None:
                    return _Slot(forked, number, path, phase)
            command = [sys.executable, "-P", "-m", "corpusmill.pipeline", "run-tasks"]
            process = subprocess.Popen(
                [*command, str(self.root / "plan.json"), "-"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, bufsize=1,
                env=_environment(),
            )  # fmt: skip
        return _Slot(process, number, path, phase)

    def run(self, work: Work) -> None:
        """See `Backend.run`. A task whose process died (killed, out of memory, crashed) is run
        once more alone."""
        while died := self._round(work, work.next, self.workers):
            for given in sorted(died):
                again = self._round(work, iter((given, None)).__next__, 1)
                if again:
                    work.ended(*given, f"{DIED_TWICE}: {again[given]}")

    def _round(
        self, work: Work, source: Callable[[], Given | None], width: int
    ) -> dict[Given, str]:
        """Runs what `source` gives until it gives nothing and nothing runs. Returns how processes
        died, by the task that each had."""
        died: dict[Given, str] = {}
        with selectors.DefaultSelector() as selector:
            while self._hand_out(source, width, selector):
                heard = selector.select(TICK_SECONDS)
                if not heard:
                    work.waiting()
                for key, _ in heard:
                    slot = key.data
                    selector.unregister(key.fileobj)
                    line = slot.process.stdout.readline()
                    if not line.endswith("\n"):  # a part of a line: last word of a killed one
                        died[slot.given] = self._ending(slot)
                        continue
                    reply = json.loads(line)
                    slot.given = None
                    work.ended(reply["phase"], reply["task"], reply["error"])
        return died

    def _hand_out(
        self, source: Callable[[], Given | None], width: int, selector: selectors.BaseSelector
    ) -> bool:
        """Gives tasks to at most `width` slots. Returns whether any has one now."""
        while sum(slot.given is not None for slot in self.slots) < width:
            given = source()
            if given is None:
                break
            slot = self._slot(given[0])
            slot.given = given
            self._give(slot, given)
            selector.register(slot.process.stdout or 0, selectors.EVENT_READ, slot)
        return any(slot.given is not None for slot in self.slots)

    def _slot(self, phase: str) -> _Slot:
        """One without a task, for a task of a phase."""
        idle = [slot for slot in self.slots if slot.given is None]
        if self.workers > 1 and self._open(phase):
            self._end([slot for slot in idle if slot.phase != phase])
            idle = [slot for slot in idle if slot.phase == phase]
        if not idle:
            self.slots.append(self._start(phase))
        slot = idle[0] if idle else self.slots[-1]
        slot.phase = phase
        return slot

    def _give(self, slot: _Slot, given: Given) -> None:
        if slot.process.stdin is None:
            raise TaskError("a worker has no standard input")
        try:
            slot.process.stdin.write(f"{given[0]} {given[1]}\n")
            slot.process.stdin.flush()
        except BrokenPipeError:
            return  # it died: its closed standard output is seen by the selector

    def _ending(self, slot: _Slot) -> str:
        """Takes leave of a slot whose process has died; returns how, and the last line that it
        wrote to its log."""
        code = slot.process.wait()
        if slot.process.stdout is not None:
            slot.process.stdout.close()
        self.slots.remove(slot)
        ending = f"exit code {code}"
        if code < 0:
            try:
                ending = f"killed by {signal.Signals(-code).name}"
            except ValueError:
                ending = f"killed by signal {-code}"
        lines = slot.log.read_bytes()[-2000:].decode("utf-8", "replace").strip().splitlines()
        return f"{ending}; last in its log: {lines[-1][:300]}" if lines else ending


def _environment() -> dict[str, str]:
    return {**os.environ, **_THREADS, PARENT_VARIABLE: str(os.getpid())}
