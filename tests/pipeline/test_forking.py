"""Processes forked from a warm one: they behave as those that start from nothing."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from corpusmill.pipeline.forking import Forked, ForkServer

PROGRAM = """
import os, signal, socket, sys, threading, time
from corpusmill.pipeline.forking import serve_forks

prepared = []

def prepare(request):
    prepared.append(request["do"])
    if request["do"] == "refuse":
        raise ValueError("not this")
    if request["do"] == "thread":
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    return len(prepared)

def child(request):
    print(len(prepared), os.getppid(), flush=True)
    if request["do"] == "raise":
        raise KeyError("lost")
    if request["do"] == "exit":
        os._exit(5)
    if request["do"] == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        print("deaf", flush=True)
        time.sleep(60)
    for line in sys.stdin:
        print(line.upper(), end="", flush=True)
    return 3

serve_forks(socket.socket(fileno=int(sys.argv[1])), prepare, child)
"""


@dataclass
class Begun:
    """A server, and what was started by it."""

    server: ForkServer
    processes: list[Forked]
    log: Path

    def start(self, do: str = "echo", log: Path | str = os.devnull) -> Forked | None:
        with open(log, "ab") as file:
            made = self.server.start({"do": do}, file.fileno(), text=True)
        if made is not None:
            self.processes.append(made)
        return made

    def started(self, do: str = "echo", log: Path | str = os.devnull) -> Forked:
        made = self.start(do, log)
        assert made is not None
        return made


@pytest.fixture
def begun(tmp_path: Path) -> Iterator[Begun]:
    program = [sys.executable, "-P", "-c", PROGRAM]
    with open(tmp_path / "log", "wb") as log:
        server = ForkServer(program, environment=dict(os.environ), log=log)
    made = Begun(server, [], tmp_path / "log")
    yield made
    for process in made.processes:
        process.close()
    made.server.close()


def gone(pid: int) -> bool:
    """Whether a process ends within a few seconds."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


def test_what_was_prepared_is_there_and_pipes_work(begun: Begun) -> None:
    assert begun.server.prepare({"do": "echo"}) == 1
    first, second = begun.started(), begun.started()
    assert first.stdout.readline().split()[0] == "2"
    number, parent = second.stdout.readline().split()
    assert number == "3"
    assert int(parent) not in (os.getpid(), first.pid)
    for one, word in ((first, "one"), (second, "two")):
        one.stdin.write(f"{word}\n")
        assert one.stdout.readline() == f"{word.upper()}\n"
        assert one.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        first.wait(0.01)
    first.stdin.close()
    assert first.wait(20) == first.poll() == 3
    assert first.stdout.read() == ""
    assert second.poll() is None


def test_how_a_process_ended(begun: Begun, tmp_path: Path) -> None:
    assert begun.started("exit").wait(20) == 5
    assert begun.started("raise", tmp_path / "said").wait(20) == 1
    assert (tmp_path / "said").read_text().endswith("KeyError: 'lost'\n")
    for _ in range(20):  # however early it comes
        one = begun.started()
        one.terminate()
        assert one.wait(20) == -signal.SIGTERM
    one.kill()  # it is no process any more
    deaf = begun.started("deaf")
    assert deaf.stdout.readline()
    assert deaf.stdout.readline() == "deaf\n"
    deaf.terminate()
    deaf.kill()
    assert deaf.wait(20) == -signal.SIGKILL


def test_with_many_open_files(begun: Begun) -> None:
    """As a machine of hundreds of cores has: descriptors beyond 1,024."""
    few, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert most > 1300
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(few, 1300), most))
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        one = begun.started()
        assert one.stdin.fileno() > 1024
        assert one.poll() is None
        one.stdin.close()
        assert one.wait(20) == 3
    finally:
        for number in held:
            os.close(number)
        resource.setrlimit(resource.RLIMIT_NOFILE, (few, most))


def test_a_refusal(begun: Begun) -> None:
    assert begun.server.prepare({"do": "refuse"}) is None
    assert begun.start("refuse") is None
    assert begun.start("thread") is None
    assert begun.start() is None  # it still has two
    said = begun.log.read_text().splitlines()
    assert said[1] == "ValueError: not this"
    assert said[2] == said[3]
    assert said[2].startswith("ChildProcessError: no process is forked beside threads: ")


def test_the_death_of_the_server_is_that_of_its_processes(begun: Begun) -> None:
    first, second = begun.started(), begun.started()
    parent = int(first.stdout.readline().split()[1])
    os.kill(parent, signal.SIGKILL)
    assert first.wait(20) == second.wait(20) == -signal.SIGKILL
    assert gone(first.pid)
    assert gone(second.pid)
    assert begun.server.prepare({"do": "echo"}) is None
    assert begun.start() is None


def test_a_process_dies_with_what_holds_it(begun: Begun) -> None:
    """Also one that hangs: the end of its input would not end it."""
    one, other = begun.started("deaf"), begun.started()
    pid = one.pid
    one.close()
    assert gone(pid)
    assert other.poll() is None


OWNER = """
import os, sys
from corpusmill.pipeline.forking import ForkServer
server = ForkServer([sys.executable, "-P", "-c", sys.argv[1]], environment=dict(os.environ), log=2)
one = server.start({"do": "deaf"}, 2, text=True)
print(one.stdout.readline().split()[1], one.pid, flush=True)
input()
"""


def test_all_die_with_the_process_that_began_it() -> None:
    with subprocess.Popen(
        [sys.executable, "-P", "-c", textwrap.dedent(OWNER), PROGRAM],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as owner:  # fmt: skip
        assert owner.stdout is not None
        server, child = map(int, owner.stdout.readline().split())
        owner.kill()
        assert gone(server)
        assert gone(child)


def test_the_server_does_not_heed_signals_to_a_whole_group(begun: Begun) -> None:
    one = begun.started()
    parent = int(one.stdout.readline().split()[1])
    os.kill(parent, signal.SIGINT)
    os.kill(parent, signal.SIGTERM)
    assert begun.server.prepare({"do": "echo"}) == 2
    assert one.poll() is None


def test_the_server_ends_by_itself_where_a_fork_of_its_maker_holds_the_socket(begun: Begun) -> None:
    copy = os.dup(begun.server._control.fileno())
    try:
        begun.started()
        begun.server.close()
        assert begun.server._process.returncode == 0  # not killed after a long wait
    finally:
        os.close(copy)
