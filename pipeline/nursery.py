"""The nursery: a process in which a phase is opened once, and its workers are forked.

``python -m corpusmill.pipeline.nursery PLAN FD`` is started by the local backend where it
wants more than one worker. A worker begins with the modules, kernels and models of the phase at
hand, which then cost CPU and memory once a machine and not once a worker.
"""

from __future__ import annotations

import socket
import sys
import time
from pathlib import Path

from .forking import Request, serve_forks
from .local import die_with_parent
from .planning import Phase, Plan
from .registry import room_module
from .serving import serve_input
from .stopping import EXIT_CODE, Stopped, stop_on_sigterm
from .worker import Worker

WORTH_SECONDS = 0.05
"""CPU seconds of opening a phase from which on workers are forked anew for it: a fork and the end
of a process take about a tenth of that."""


class Nursery:
    """What is opened in this process."""

    def __init__(self, path: Path) -> None:
        self.plan = Plan.load(path)
        self.worker = Worker(path.parent, self.plan)
        self._phase: Phase | None = None

    def prepare(self, request: Request) -> bool:
        """Opens the phase of a request. Returns whether a worker that lives would gain much by
        making way for one that is forked now."""
        phase = self.plan.phase(request["phase"])
        if phase is self._phase:
            return False
        self._phase = phase
        started = time.process_time()
        try:
            parts = self.worker.prepare(phase)
        except Exception:  # noqa: BLE001 - the workers meet the same, and their tasks record it
            self.worker.close()
            return False
        return parts or time.process_time() - started > WORTH_SECONDS

    def work(self, request: Request) -> int:
        """What a fork does: tasks, until its standard input ends."""
        stop_on_sigterm()
        try:
            serve_input(self.worker)
        except Stopped as stop:
            print(f"corpusmill: {stop}", file=sys.stderr)
            return EXIT_CODE
        return 0


def main() -> None:
    """Serves until whoever started it, and all that it forked, have ended."""
    die_with_parent()
    made = Nursery(Path(sys.argv[1]))
    import pyarrow.compute
    import pyarrow.parquet  # noqa: F401 - what every task comes to need

    room_module("stages.measure.distinct")
    serve_forks(socket.socket(fileno=int(sys.argv[2])), made.prepare, made.work)


if __name__ == "__main__":
    main()
