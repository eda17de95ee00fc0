"""What a run says while it works: how often, how fast it is, and how long it will take."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from corpusmill.pipeline import Recipe, local, progress, run
from corpusmill.pipeline.progress import LIVE_SECONDS, QUIET_SECONDS, Progress


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that is set by hand."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_a_line_now_and_then_without_a_terminal(clock: list[float]) -> None:
    said: list[str] = []
    shown = Progress(said.append)
    shown.begin("01-read")
    for second in range(1, 31):
        clock[0] = 100.0 + second
        shown.tick("01-read", second // 5, 8)
    assert said == [
        "01-read: 2/8 tasks, 10 s, 0.2 tasks a second, about 30 s left",
        "01-read: 4/8 tasks, 20 s, 0.2 tasks a second, about 20 s left",
        "01-read: 6/8 tasks, 30 s, 0.2 tasks a second, about 10 s left",
    ]
    shown.end("01-read", 8)
    assert said[-1] == "01-read: 8 tasks in 30.0 s"
    assert QUIET_SECONDS <= 60


def test_two_phases_at_work(clock: list[float]) -> None:
    """Each with its own time; what was done before it was looked at counts for no pace."""
    said: list[str] = []
    shown = Progress(said.append)
    shown.tick("04-mark", 0, 4)
    clock[0] = 106.0
    shown.tick("06-docs", 2, 4)
    clock[0] = 116.0
    shown.tick("04-mark", 3, 4)
    shown.end("04-mark", 4)
    clock[0] = 126.0
    shown.tick("06-docs", 4, 4)
    shown.end("06-docs", 4)
    assert said == [
        "04-mark: 3/4 tasks, 16 s, 0.19 tasks a second, about 5 s left; 06-docs: 2/4 tasks, 10 s",
        "04-mark: 4 tasks in 16.0 s",
        "06-docs: 4/4 tasks, 20 s, 0.1 tasks a second, about 0 s left",
        "06-docs: 4 tasks in 20.0 s",
    ]


@pytest.mark.slow
def test_it_moves_while_a_task_runs(
    corpus: Path, small: Callable[..., Recipe], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "TICK_SECONDS", 0.02)
    monkeypatch.setattr(progress, "LIVE_SECONDS", 0.0)
    terminal = io.StringIO()
    run(small("execution.task_bytes=1000000"), corpus / "run", workers=1, live=terminal)
    before_the_end = terminal.getvalue().count("01-read: 0/1 tasks")
    assert before_the_end >= 5


def test_a_terminal_shows_one_line_that_moves(clock: list[float]) -> None:
    """Before the first task has ended nothing is known but the time."""
    said: list[str] = []
    terminal = io.StringIO()
    shown = Progress(said.append, terminal)
    shown.begin("01-read")
    shown.tick("01-read", 0, 4)
    assert terminal.getvalue() == ""
    clock[0] += LIVE_SECONDS
    shown.tick("01-read", 0, 4)
    clock[0] += 1.8
    shown.tick("01-read", 4, 4)
    shown.end("01-read", 4)
    assert terminal.getvalue().split("\r\x1b[2K")[1:] == [
        "01-read: 0/4 tasks, 0 s", "01-read: 4/4 tasks, 2 s, 2 tasks a second, about 0 s left", "",
    ]  # fmt: skip
    assert said == ["01-read: 4 tasks in 2.0 s"]
    assert LIVE_SECONDS <= 5
