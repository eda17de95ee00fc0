"""The Ray backend on a real Ray: the products of a local run, whatever happens to its workers."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from .conftest import FILES, LINES, Site, ended

pytestmark = pytest.mark.slow


def wait_for(what: str, true: Callable[[], bool], seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not true():
        if time.monotonic() > until:
            pytest.fail(f"{what}: not within {seconds:.0f} s")
        time.sleep(0.05)


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def test_a_cluster_that_lives_with_the_run(site: Site) -> None:
    """Without RAY_ADDRESS: seven tasks, on a cluster that is started and ended by the run."""
    folder = Path(site.environment["RAY_TMPDIR"])
    alone = {k: v for k, v in site.environment.items() if k != "RAY_ADDRESS"}
    here = replace(site, environment={**alone, "TMPDIR": str(folder)})
    here.run("run", "--task-bytes", "2500", "--partitions", "4", "--workers", "1")
    assert site.commits("run", "01-read") == 7
    assert site.products("run") == site.local
    assert list(folder.glob("ray-*")) == []


def test_a_worker_that_is_killed_in_mid_task_is_replaced(site: Site) -> None:
    started = site.will(0, "hold")
    process = site.start("run", "--task-bytes", "1")
    wait_for("the task runs", started.exists)
    slot, child = map(int, started.read_text().split())
    started.unlink()
    os.kill(slot, signal.SIGKILL)
    wait_for("its child is gone", lambda: not alive(child), 10)
    wait_for("the task runs again", started.exists)
    site.will(0, "nothing")
    ended(process, 0)
    assert site.commits("run", "01-read") == FILES
    assert site.products("run") == site.local


def test_a_killed_driver_leaves_no_worker_and_is_resumed(site: Site) -> None:
    started = site.will(FILES - 1, "hold")
    process = site.start("run", "--task-bytes", "1")
    wait_for("the last task runs", started.exists)
    wait_for("its neighbours are done", lambda: site.commits("run", "01-read") == FILES - 1)
    slot, child = map(int, started.read_text().split())
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    wait_for("no worker is left", lambda: not alive(slot) and not alive(child))
    site.will(FILES - 1, "nothing")
    site.run("run", "--task-bytes", "1")
    assert site.products("run") == site.local


def test_a_task_that_fails_stops_all_that_depends_on_it(site: Site) -> None:
    site.will(3, "fail")
    said = ended(site.start("run", "--task-bytes", "1"), 1)
    assert f"1 of {FILES} tasks of 01-read failed; task 3: ValueError: told to fail" in said
    assert site.commits("run", "01-read") == FILES - 1
    assert list(site.base.glob("run/phases/02-*")) == []


def test_documents_need_only_the_marks_of_their_partition(site: Site) -> None:
    """Those of partition 1 are done while the marks of partition 0 are at work."""
    (site.base / "lines.yaml").write_text(LINES)
    mark = site.world / "04-lines.mark-0"
    mark.write_text("hold")
    process = site.start("early", recipe="lines.yaml")
    early = "early/phases/06-docs-*/commits/*/000001.json"
    wait_for("documents of partition 1", lambda: list(site.base.glob(early)) != [])
    assert site.commits("early", "04-lines.mark") == 1
    assert list(site.base.glob("early/phases/04-*/sealed.json")) == []
    mark.unlink()
    ended(process, 0)
    ended(site.start("calm", "--workers", "1", backend="local", recipe="lines.yaml"), 0)
    assert site.products("early") == site.products("calm")


def test_a_lost_machine(site: Site) -> None:
    """Both tasks of the first phase are held, one on each machine; one machine goes away."""
    started = [site.will(part, "hold") for part in (0, FILES - 1)]
    process = site.start("run", "--task-bytes", "5500")
    wait_for("both tasks run", lambda: all(s.exists() for s in started))
    before = [int(s.read_text().split()[1]) for s in started]
    assert site.cluster.stdin is not None
    assert site.cluster.stdout is not None
    site.cluster.stdin.write("lose\n")
    site.cluster.stdin.flush()
    wait_for("a worker is gone", lambda: not all(map(alive, before)))
    for part in (0, FILES - 1):
        site.will(part, "nothing")
    ended(process, 0)
    assert site.products("run") == site.local
