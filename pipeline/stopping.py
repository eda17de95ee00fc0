"""How a worker is told to stop: SIGTERM, from a scheduler or from the process that started it.

The task at hand is given up like one that failed: its files are removed, a record says why, and
the process ends with `EXIT_CODE`, which means: try again.
"""

from __future__ import annotations

import os
import signal
import time
from types import FrameType

EXIT_CODE = 75
"""EX_TEMPFAIL of sysexits.h: nothing is wrong with the work."""
END_VARIABLE = "CORPUSMILL_JOB_END"
"""Unix time at which the job's time limit ends, set by its script."""
NEAR_END_SECONDS = 180
"""A stop so near the end of the time limit came from it: Slurm warns up to a minute early, and
its own clock of the job started earlier than the script's."""


class Stopped(BaseException):
    """SIGTERM arrived. Not an `Exception`: no handler of errors may take it for one."""

    kind = "Stopped"


class OutOfTime(Stopped):
    """SIGTERM arrived because the time limit of the job is near."""

    kind = "OutOfTime"


def stop_on_sigterm() -> None:
    """From now on the first SIGTERM raises `Stopped`; further ones are ignored."""
    signal.signal(signal.SIGTERM, _stop)


def _stop(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # clearing up must not be cut short
    end = os.environ.get(END_VARIABLE, "")
    if end.isdigit() and time.time() >= int(end) - NEAR_END_SECONDS:
        raise OutOfTime("stopped by SIGTERM: the time limit of the job is near")
    raise Stopped("stopped by SIGTERM")
