"""A killable process that extracts pages, and the rules by which it is killed.

Native code cannot be interrupted by a signal handler or a thread, and one page can hang or crash
a library. So pages are extracted in a child process that the parent watches:

* Several pages are in flight (a writer thread feeds the child), answers come back one by one and
  in order, so the page at fault is known: the first one without an answer.
* A page that takes more than its CPU seconds (read from ``/proc``, never by the wall clock, so
  that a busy machine changes nothing), or a child that makes no progress at all for
  `STALL_SECONDS`, or that dies, ends the child. A new one gets that page alone, once; if that
  fails too the page's answer is an error of type ``extractor_timeout`` or ``extractor_crash``.
  Then the other pages go on.
* The child has a memory limit (RLIMIT_AS), no core files, a fixed hash seed (libraries walk over
  sets), the parent's module path, and dies with the parent (PR_SET_PDEATHSIG, which means the
  thread that started it).

No pickle, no multiprocessing: frames of JSON and bytes over two pipes.
"""

from __future__ import annotations

import fcntl
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, BinaryIO, cast

from corpusmill.pipeline.errors import ConfigError, StageError
from corpusmill.pipeline.forking import ForkServer

from .child import EXIT_MEMORY, LENGTH, write_frame

STALL_SECONDS = 600.0
"""A child that answers nothing and uses no CPU for this long (wall clock) is given up."""
START_SECONDS = 300.0
"""How long a child may take to import its libraries and pass the self-test (wall clock)."""
_POLL_SECONDS = 0.5
_READ_BYTES = 1 << 16
_PIPE_BYTES = 1 << 20
_FUNCTION = "corpusmill.stages.extract.page:page_function"
_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from corpusmill.stages.extract.child import main, main_forks; "
    "main_forks(int(sys.argv[2])) if sys.argv[2:] else main()"
)


@dataclass(frozen=True)
class WorkerLimits:
    """The safety nets of the process. They should never act: budgets refuse costly pages first."""

    cpu_seconds: int = 60
    """CPU seconds for one page. The slowest of 3,309 benchmark pages took 0.9."""
    memory_bytes: int = 2 * 1024**3
    """Address space of the child."""

    def __post_init__(self) -> None:
        if self.cpu_seconds < 1:
            raise ConfigError(f"cpu_seconds is {self.cpu_seconds}", hint="give at least 1")
        if self.memory_bytes < 256 * 1024**2:
            raise ConfigError(
                f"memory_bytes is {self.memory_bytes}", hint="the libraries need at least 256 MiB"
            )


@dataclass(frozen=True, slots=True)
class Request:
    """A page to extract: `head` is small JSON, `body` the bytes."""

    head: Mapping[str, Any]
    body: bytes


class _Lost(Exception):
    """The child gave no answer; `type` and `message` as of a Failure."""

    def __init__(self, type: str, message: str) -> None:
        super().__init__(message)
        self.type = type
        self.message = message


def _command() -> list[str]:
    return [sys.executable, "-P", "-c", _BOOT, json.dumps([p for p in sys.path if p])]


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONHASHSEED": "0"}


def _widen(pipe: BinaryIO) -> None:
    """Makes room for a page in a pipe, so that no process waits for the other in the midst."""
    try:
        fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    except OSError:  # more than the user may have in all: it stays as it is
        return


class _Child:
    """One running process, forked where somebody forks them."""

    def __init__(self, config: Mapping[str, Any], forks: ForkServer | None) -> None:
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as it
        forked = forks and forks.start(config, self._errors.fileno(), text=False)
        self._process = forked or subprocess.Popen(
            _command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
            env=_environment(),
        )  # fmt: skip
        self._in = cast(BinaryIO, self._process.stdin)
        self._out = cast(BinaryIO, self._process.stdout)
        _widen(self._in)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._out, selectors.EVENT_READ)
        self._buffer = bytearray()
        self._cpu = 0.0
        self._writer: threading.Thread | None = None
        self._ready = False
        self.send([(json.dumps(config).encode(), None)])

    def wait_until_ready(self) -> None:
        """Raises StageError if it does not come so far."""
        if self._ready:
            return
        try:
            answer = self.receive(cpu_seconds=START_SECONDS, stall_seconds=START_SECONDS)
        except _Lost as lost:
            self._errors.seek(0)
            lines = self._errors.read().decode("utf-8", "replace").strip().splitlines()
            self.kill()
            raise StageError(
                f"the extraction process did not start: {lost.message}"
                + (f": {lines[-1]}" if lines else ""),
                hint="a larger memory_bytes, or isolate: false to see the error in this process",
            ) from None
        if "fatal" in answer:
            self.kill()
            raise StageError(str(answer["fatal"]), hint=answer.get("hint"))
        self._ready = True

    def send(self, frames: Sequence[tuple[bytes, bytes | None]]) -> None:
        """Feeds the child in a thread of its own, since both pipes may be full."""

        def feed() -> None:
            try:
                for head, body in frames:
                    write_frame(self._in, head)
                    if body is not None:
                        write_frame(self._in, body)
                self._in.flush()
            except (OSError, ValueError):  # it died or was killed: `receive` finds out
                return

        self._join()
        self._writer = threading.Thread(target=feed, name="extract-feed", daemon=True)
        self._writer.start()

    def receive(
        self, *, cpu_seconds: float, stall_seconds: float = STALL_SECONDS
    ) -> dict[str, Any]:
        """The next answer. Raises _Lost if the child dies or exceeds its CPU seconds."""
        progress = time.monotonic()
        seen = self._cpu
        while (frame := self._take_frame()) is None:
            if self._selector.select(_POLL_SECONDS):
                piece = os.read(self._out.fileno(), _READ_BYTES)
                if not piece:
                    raise _Lost("extractor_crash", self._ending())
                self._buffer += piece
                continue
            cpu = self._cpu_now()
            if cpu > seen:
                seen, progress = cpu, time.monotonic()
            if cpu - self._cpu > cpu_seconds:
                raise _Lost("extractor_timeout", f"more than {cpu_seconds:g} CPU seconds")
            if time.monotonic() - progress > stall_seconds:
                raise _Lost("extractor_timeout", f"no progress for {stall_seconds:g} seconds")
        answer: dict[str, Any] = json.loads(frame)
        self._cpu = max(self._cpu, float(answer.pop("cpu", 0.0)))
        return answer

    @property
    def cpu(self) -> float:
        """CPU seconds at its last answer."""
        return self._cpu

    def _take_frame(self) -> bytes | None:
        """The first whole frame of what was read so far."""
        if len(self._buffer) < LENGTH.size:
            return None
        end = LENGTH.size + LENGTH.unpack_from(self._buffer)[0]
        if len(self._buffer) < end:
            return None
        frame = bytes(self._buffer[LENGTH.size : end])
        del self._buffer[:end]
        return frame

    def _cpu_now(self) -> float:
        try:
            with open(f"/proc/{self._process.pid}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            return self._cpu
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _ending(self) -> str:
        code = self._process.wait()
        if code == EXIT_MEMORY:
            return "memory limit reached"
        if code < 0:
            return f"killed by {signal.Signals(-code).name}"
        return f"exit code {code}"

    def alive(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        """Ends the process at once and releases its pipes."""
        self._process.kill()
        self._process.wait()
        self._join()
        self._selector.close()
        for stream in (self._in, self._out, self._errors):
            try:
                stream.close()
            except OSError:  # what was buffered for the dead process cannot be written
                continue

    def _join(self) -> None:
        if self._writer is not None:
            self._writer.join()
            self._writer = None


class Worker:
    """Extracts pages in a child process: `start`, then `run` per batch, then `close`."""

    def __init__(
        self,
        params: Mapping[str, Any],
        limits: WorkerLimits,
        *,
        function: str = _FUNCTION,
        stall_seconds: float = STALL_SECONDS,
    ) -> None:
        """`params` is the JSON configuration that `function` (``module:name``, called once in
        the child, returns the page function) gets. Tests inject functions that misbehave."""
        self._config = {
            "function": function,
            "params": dict(params),
            "memory_bytes": limits.memory_bytes,
        }
        self._limits = limits
        self._stall = stall_seconds
        self._child: _Child | None = None
        self._forks: ForkServer | None = None
        self.restarts = 0
        """How often a child was lost, for reports."""
        self._spent = 0.0

    def share(self) -> None:
        """From now on the processes of this worker, and of its copies in processes that are forked
        from this one, come from one that has loaded the libraries. What it cannot load they meet
        themselves."""
        self._forks = ForkServer(_command(), environment=_environment(), log=subprocess.DEVNULL)
        self._forks.begin(self._config)

    def begin(self) -> None:
        """Starts the process, and does not wait until it has loaded the libraries."""
        if self._child is None or not self._child.alive():
            self.close()
            self._child = _Child({**self._config, "parent": os.getpid()}, self._forks)

    def start(self) -> None:
        """Starts the process. Raises StageError if it cannot start or fails its self-test."""
        self.begin()
        if self._child is not None:
            self._child.wait_until_ready()

    def run(self, requests: Sequence[Request]) -> list[dict[str, Any]]:
        """One answer for each request, in order."""
        answers: list[dict[str, Any]] = []
        while len(answers) < len(requests):
            child = self._running()
            child.send([(json.dumps(r.head).encode(), r.body) for r in requests[len(answers) :]])
            try:
                while len(answers) < len(requests):
                    answers.append(self._receive(child))
            except _Lost:
                self._drop_child()
                answers.append(self._alone(requests[len(answers)]))
        return answers

    def _alone(self, request: Request) -> dict[str, Any]:
        child = self._running()
        child.send([(json.dumps(request.head).encode(), request.body)])
        try:
            return self._receive(child)
        except _Lost as lost:
            self._drop_child()
            return {"error": lost.type, "message": lost.message}

    def _receive(self, child: _Child) -> dict[str, Any]:
        return child.receive(cpu_seconds=self._limits.cpu_seconds, stall_seconds=self._stall)

    def _running(self) -> _Child:
        self.start()
        if self._child is None:
            raise StageError("the extraction process is gone")
        return self._child

    def _drop_child(self) -> None:
        self.restarts += 1
        self.close()

    def cpu(self) -> float:
        """CPU seconds of all children so far."""
        return self._spent + (self._child.cpu if self._child is not None else 0.0)

    def close(self) -> None:
        """Ends the process. `run` after it starts a new one."""
        if self._child is not None:
            self._spent += self._child.cpu
            self._child.kill()
            self._child = None

    def end(self) -> None:
        """`close`, and ends what `share` began where that was done in this process."""
        self.close()
        if self._forks is not None:
            self._forks.close()
            self._forks = None
