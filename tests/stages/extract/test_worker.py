"""The worker process: order, hangs, crashes, memory, its parent's death."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from corpusmill.pipeline.errors import ConfigError, StageError
from corpusmill.stages.extract.worker import Request, Worker, WorkerLimits, _widen

HERE = Path(__file__).parent


def pages(*orders: str) -> list[Request]:
    return [Request({"n": n}, order.encode()) for n, order in enumerate(orders)]


@pytest.fixture(params=["own", pytest.param("forked", marks=pytest.mark.slow)])
def worker(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Worker]:
    """With a process that starts from nothing, and with one that is forked."""
    monkeypatch.syspath_prepend(str(HERE))
    limits = WorkerLimits(cpu_seconds=1, memory_bytes=1024**3)
    made = Worker({}, limits, function="bad_pages:make", stall_seconds=2.0)
    if request.param == "forked":
        made.share()
    made.start()
    yield made
    made.end()


def test_answers_come_in_order_from_one_process(worker: Worker) -> None:
    answers = worker.run(pages(*["ok"] * 200))
    assert [a["n"] for a in answers] == list(range(200))
    assert {a["seed"] for a in answers} == {"0"}
    assert len({a["pid"] for a in answers}) == 1
    assert answers[0]["pid"] != os.getpid()
    assert worker.restarts == 0


def test_an_empty_batch_is_no_work(worker: Worker) -> None:
    assert worker.run([]) == []


def test_bodies_larger_than_the_pipe(worker: Worker) -> None:
    bodies = [b"x " + b"y" * size for size in (0, 70_000, 3_000_000, 1)]
    answers = worker.run([Request({}, b) for b in bodies])
    assert [a["body"] for a in answers] == [len(b) for b in bodies]


def test_a_page_fits_into_the_pipe(worker: Worker, tmp_path: Path) -> None:
    child = worker._running()
    assert fcntl.fcntl(child._in.fileno(), fcntl.F_GETPIPE_SZ) == 1 << 20
    with (tmp_path / "no pipe").open("wb") as file:
        _widen(file)  # where it cannot be it is left


def test_a_page_that_spins_is_a_timeout_and_the_others_go_on(worker: Worker) -> None:
    answers = worker.run(pages("ok", "spin", "ok", "ok"))
    assert [a.get("n") for a in answers] == [0, None, 2, 3]
    assert answers[1] == {"error": "extractor_timeout", "message": "more than 1 CPU seconds"}
    assert worker.restarts == 2  # the first loss, and the second try alone


def test_a_page_that_waits_for_ever_is_a_timeout(worker: Worker) -> None:
    answers = worker.run(pages("sleep", "ok"))
    assert answers[0]["error"] == "extractor_timeout"
    assert answers[1]["n"] == 1


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ("kill", "killed by SIGSEGV"),
        ("exit", "exit code 5"),
        ("memory", "memory limit reached"),
    ],
)
def test_a_page_that_ends_the_process_is_a_crash(worker: Worker, order: str, message: str) -> None:
    answers = worker.run(pages("ok", order, "ok"))
    assert answers[1] == {"error": "extractor_crash", "message": message}
    assert [answers[0]["n"], answers[2]["n"]] == [0, 2]


def test_a_page_that_crashes_once_is_tried_again(worker: Worker, tmp_path: Path) -> None:
    head = {"n": 7, "mark": str(tmp_path / "mark")}
    answers = worker.run([Request(head, b"once"), *pages("ok")])
    assert [a["n"] for a in answers] == [7, 0]
    assert worker.restarts == 1


def test_what_a_page_raises_is_an_error_without_the_page_in_it(worker: Worker) -> None:
    answers = worker.run(pages("raise", "ok"))
    assert answers[0] == {"error": "extractor_error", "message": "ValueError"}
    assert answers[1]["n"] == 1
    assert worker.restarts == 0


def test_every_page_of_a_batch_may_crash(worker: Worker) -> None:
    answers = worker.run(pages("kill", "kill", "exit"))
    assert [a["error"] for a in answers] == ["extractor_crash"] * 3


def test_a_process_killed_between_batches_is_replaced(worker: Worker) -> None:
    first = worker.run(pages("ok"))[0]["pid"]
    os.kill(first, signal.SIGKILL)
    second = worker.run(pages("ok", "ok"))
    assert [a["n"] for a in second] == [0, 1]
    assert second[0]["pid"] != first


def test_a_function_that_cannot_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(HERE))
    worker = Worker({"broken": True}, WorkerLimits(), function="bad_pages:make")
    worker.begin()  # it is told by `start`
    for _ in range(2):
        with pytest.raises(StageError, match="no such library"):
            worker.start()


def test_a_process_that_dies_at_the_start_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(HERE))
    worker = Worker({"dead": True}, WorkerLimits(), function="bad_pages:make")
    with pytest.raises(StageError, match="did not start: exit code 3: last words"):
        worker.start()


def test_the_process_dies_with_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    program = (
        "import sys; sys.path[:] = sys.argv[1].split(chr(10))\n"
        "from corpusmill.stages.extract.worker import *\n"
        "w = Worker({}, WorkerLimits(), function='bad_pages:make')\n"
        "print(w.run([Request({}, b'ok')])[0]['pid'], flush=True)\n"
        "w.run([Request({}, b'sleep')])\n"
    )
    path = "\n".join([str(HERE), *[p for p in sys.path if p]])
    with subprocess.Popen([sys.executable, "-c", program, path], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert _runs(child)
        parent.kill()
        parent.wait()
        deadline = time.monotonic() + 20
        while _runs(child) and time.monotonic() < deadline:
            time.sleep(0.05)
    assert not _runs(child)


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_workers_share_what_their_processes_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(HERE))
    worker = Worker({}, WorkerLimits(), function="bad_pages:make")
    worker.share()
    first = worker.run(pages("ok", "kill", "ok"))
    assert [a.get("error") for a in first] == [None, "extractor_crash", None]
    one, other = first[0]["pid"], first[2]["pid"]
    maker = _parent(other)
    assert _parent(maker) == os.getpid()
    assert worker.run(pages("ok"))[0] == {**first[2], "n": 0, "served": 2}
    worker.close()
    assert not _runs(one)
    again = worker.run(pages("ok"))[0]["pid"]
    assert again not in (one, other)
    assert _parent(again) == maker
    worker.end()
    assert not _runs(again)
    assert not _runs(maker)


@pytest.mark.slow
def test_without_the_process_that_is_shared_each_starts_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(HERE))
    worker = Worker({"broken": True}, WorkerLimits(), function="bad_pages:make")
    worker.share()
    with pytest.raises(StageError, match="no such library"):
        worker.start()
    worker.end()
    worker = Worker({"dead": True}, WorkerLimits(), function="bad_pages:make")
    worker.share()
    with pytest.raises(StageError, match="did not start: exit code 3: last words"):
        worker.start()
    worker.end()


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in ("Z", "X")


@pytest.mark.parametrize("bad", [{"cpu_seconds": 0}, {"memory_bytes": 1000}])
def test_limits_are_checked(bad: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        WorkerLimits(**bad)
