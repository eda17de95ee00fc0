"""Worlds for the processes of a run: each is a ``sitecustomize.py`` that every Python of the run
loads when it starts. `put` writes one and gives the folder for ``PYTHONPATH``."""

from __future__ import annotations

from pathlib import Path

HEAD = """
import os, sys
WORKER = bool({{"run-tasks", "corpusmill.pipeline.nursery"}} & set(sys.orig_argv))
MARKS = {marks!r}

def first(name):
    # Whether nobody was here before, in any process of the run.
    try:
        os.close(os.open(os.path.join(MARKS, name), os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True
"""

KILLED_ONCE = """
import signal
if WORKER:
    from corpusmill.pipeline import durable
    def fault_point(kind):
        if kind == "commit" and first("died"):
            os.kill(os.getpid(), signal.SIGKILL)
    durable.fault_point = fault_point
"""
"""One worker is killed at its first commit; nothing ever happens again."""

KILLS_THE_NURSERY_ONCE = KILLED_ONCE.replace("os.getpid()", "os.getppid()")
"""One worker kills, at its first commit, the process that it was forked from."""

KILLED_WITH_TASK_2 = """
import signal
if WORKER:
    from corpusmill.pipeline import attempt
    before = attempt.Attempt.__enter__
    def enter(self):
        if self.commit.phase == "01-read" and self.commit.task == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return before(self)
    attempt.Attempt.__enter__ = enter
"""
"""Whoever begins task 2 of the first phase is killed, as by the kernel for its memory."""

SLEEPS = """
import time
if WORKER:
    from corpusmill.pipeline import attempt
    before = attempt.Attempt.__enter__
    def enter(self):
        if self.commit.task:
            open(os.path.join(MARKS, "asleep"), "x").close()
            time.sleep(600)
        return before(self)
    attempt.Attempt.__enter__ = enter
"""
"""The second task takes ten minutes."""

SLEEPS_WITH_ITS_TOOLS = """
import time
if WORKER:
    from corpusmill.pipeline import attempt
    def finish(self):
        open(os.path.join(MARKS, "asleep"), "x").close()
        time.sleep(600)
    attempt.Attempt.finish = finish
"""
"""The first task takes ten minutes to end, while its stages are open."""

SLOW_SETUP = """
import time
if WORKER:
    from corpusmill.stages.dedup import exact
    before = exact.ExactDedup.setup
    def setup(self):
        until = time.process_time() + 0.2
        while time.process_time() < until:
            pass
        with open(os.path.join(MARKS, "setups"), "a") as file:
            file.write(f"{os.getpid()}\\n")
        before(self)
    exact.ExactDedup.setup = setup
"""
"""A stage takes long to set up; which process does it is written down."""

LITTLE_MEMORY = """
import resource
if WORKER:
    from corpusmill.pipeline import durable
    before = durable.fault_point
    limited = []
    def fault_point(kind):
        before(kind)
        if kind == "commit" and not limited:
            limited.append(True)
            pages = int(open("/proc/self/statm").read().split()[0])
            limit = pages * resource.getpagesize() + (48 << 20)
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    durable.fault_point = fault_point
"""
"""After its first task a worker may take 48 MiB more of address space and no byte beyond."""

JUMPING_CLOCK = """
import time
ticks = []
def jumping():
    ticks.append(1)
    return 1.8e9 * (len(ticks) % 2) + 86400.0 * len(ticks)
time.time = jumping
"""
"""Time of day jumps by decades, forth and back, at every look."""

NOISY_LIBRARY = """
if WORKER:
    from corpusmill.stages.dedup import exact
    before = exact.ExactDedup.setup
    def setup(self):
        print('{"phase": "01-read", "task": 3, "error": null}', flush=True)
        os.write(1, b"a native library is talkative\\n")
        before(self)
    exact.ExactDedup.setup = setup
"""
"""A stage prints what looks like a report, and its library writes to file descriptor 1."""

WAITS_FOR_THE_OTHERS = """
import glob, time
if WORKER:
    from corpusmill.stages.sources import jsonl
    before = jsonl.Jsonl.read
    def read(self, file):
        if file.relative == "part-1-huge.jsonl":
            until = time.monotonic() + 40
            while len(glob.glob(os.environ["WAIT_FOR"])) < 7:
                if time.monotonic() > until:
                    raise RuntimeError("the other files wait for the huge one")
                time.sleep(0.01)
        return before(self, file)
    jsonl.Jsonl.read = read
"""
"""The huge file is read for as long as seven other tasks need to end."""


HELD_MARKS = """
import glob, time
if WORKER:
    from corpusmill.pipeline import worker
    run_task = worker.Worker.run_task
    def held(self, phase, task):
        until = time.monotonic() + 60
        while (phase.name, task) == ("04-lines.mark", 0) and len(glob.glob(os.environ["WAIT_FOR"])) < 3:
            if time.monotonic() > until:
                raise RuntimeError("documents of other partitions wait for the marks of this one")
            time.sleep(0.01)
        return run_task(self, phase, task)
    worker.Worker.run_task = held
"""
"""Lines of partition 0 are marked when three tasks of a later phase have committed."""


def missing(module: str, *, driver: bool = False) -> str:
    """A world in which `module` is not installed (in the driver, or in the workers)."""
    return f"""
if WORKER is not {driver}:
    class Missing:
        def find_spec(self, name, path=None, target=None):
            if name == {module!r}:
                raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
    sys.meta_path.insert(0, Missing())
"""


def put(folder: Path, world: str) -> Path:
    """Writes ``sitecustomize.py`` into a new folder below `folder`."""
    site = folder / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(HEAD.format(marks=str(site)) + world)
    return site
