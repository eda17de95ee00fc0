"""What a run says while it works: a line for each phase, and on a terminal a live line."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO

LIVE_SECONDS = 0.2
QUIET_SECONDS = 10.0


@dataclass
class _Phase:
    """How far a phase is."""

    start: float
    before: int | None = None
    """Tasks that had ended when it was first heard of."""
    done: int = 0
    total: int = 0

    def text(self, name: str, now: float) -> str:
        spent, ended = now - self.start, self.done - (self.before or 0)
        text = f"{name}: {self.done}/{self.total} tasks, {spent:.0f} s"
        if ended and spent:
            left = spent / ended * (self.total - self.done)
            text += f", {ended / spent:.2g} tasks a second, about {left:.0f} s left"
        return text


class Progress:
    """Lines go to `say`; between them, tasks done, rate and time left of the phases at work go to
    `live` (a terminal), or every ten seconds to `say` where there is no terminal."""

    def __init__(self, say: Callable[[str], None], live: TextIO | None = None) -> None:
        self.say = say
        self.live = live
        self._shown = False
        self._last = 0.0
        self._phases: dict[str, _Phase] = {}

    def begin(self, phase: str) -> None:
        """A phase starts, unless it has."""
        if phase not in self._phases:
            self._last = time.monotonic()
            self._phases[phase] = _Phase(self._last)

    def tick(self, phase: str, done: int, total: int) -> None:
        """`done` of `total` tasks of a phase have ended."""
        self.begin(phase)
        it = self._phases[phase]
        it.done, it.total = done, total
        it.before = done if it.before is None else it.before
        now = time.monotonic()
        if now - self._last < (LIVE_SECONDS if self.live else QUIET_SECONDS):
            return
        self._last = now
        text = "; ".join(one.text(name, now) for name, one in self._phases.items() if one.total)
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
        self.begin(phase)
        spent = time.monotonic() - self._phases[phase].start
        self.forget(phase)
        self.line(f"{phase}: {tasks} tasks in {spent:.1f} s")

    def forget(self, phase: str) -> None:
        """A phase is not at work any more."""
        self._phases.pop(phase, None)


def quiet(_: str) -> None:
    """A `say` that says nothing."""


def to_stderr(line: str) -> None:
    """A `say` for people: standard error, so that data on standard output stays clean."""
    print(line, file=sys.stderr, flush=True)
