"""What a run says while it works: a line for each phase, and on a terminal a live line."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

LIVE_SECONDS = 0.2
QUIET_SECONDS = 10.0


class Progress:
    """Lines go to `say`; between them, tasks done, rate and time left go to `live` (a terminal),
    or every ten seconds to `say` where there is no terminal."""

    def __init__(self, say: Callable[[str], None], live: TextIO | None = None) -> None:
        self.say = say
        self.live = live
        self._shown = False
        self._last = 0.0
        self._start = time.monotonic()

    def begin(self) -> None:
        """A phase starts."""
        self._start = self._last = time.monotonic()

    def tick(self, phase: str, done: int, total: int) -> None:
        """`done` of `total` tasks of a phase have ended."""
        now = time.monotonic()
        if now - self._last < (LIVE_SECONDS if self.live else QUIET_SECONDS):
            return
        self._last = now
        spent = now - self._start
        text = f"{phase}: {done}/{total} tasks, {spent:.0f} s"
        if done:
            left = spent / done * (total - done)
            text += f", {done / spent:.2g} tasks a second, about {left:.0f} s left"
        if self.live:
            self.live.write(f"\r\x1b[2K{text}")
            self.live.flush()
            self._shown = True
        else:
            self.say(text)

    def line(self, text: str) -> None:
        """A line that stays."""
        if self.live and self._shown:
            self.live.write("\r\x1b[2K")
            self._shown = False
        self.say(text)

    def end(self, phase: str, tasks: int) -> None:
        """A phase has ended."""
        self.line(f"{phase}: {tasks} tasks in {time.monotonic() - self._start:.1f} s")


def quiet(_: str) -> None:
    """A `say` that says nothing."""


def to_stderr(line: str) -> None:
    """A `say` for people: standard error, so that data on standard output stays clean."""
    print(line, file=sys.stderr, flush=True)
