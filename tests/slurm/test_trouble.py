"""A cluster on a bad day: what happens to nodes, controller and environment changes no product."""

from __future__ import annotations

import pytest

from .conftest import DEDUP, PROFILE, Site

pytestmark = pytest.mark.slow

RUN = ("run", "recipe.yaml", "--out", "run", "--backend", "slurm", "--profile", "profile.yaml")


def test_forty_tasks_through_drain_requeue_and_a_restarted_controller(site: Site) -> None:
    """Forty tasks in two elements. One node is drained; an element is requeued in mid-task; the
    controller is killed and started again; `run` waits through it all."""
    cluster = site.cluster
    site.write(profile=PROFILE + "tasks_per_element: 20\n", files=40, world=True)
    cluster.call("scontrol", "update", "NodeName=n2", "State=DRAIN", "Reason=test")
    started = site.will(9, "hold")  # the last file
    process = site.start(*RUN, "--quiet")
    cluster.wait("the last task runs", started.exists)
    cluster.wait("all others are done", lambda: site.commits("01-read") == 39)
    array = site.record()["rounds"][0]["jobs"][0]["id"]
    first = started.read_text()
    started.unlink()
    cluster.requeue(f"{array}_1")

    def again() -> bool:
        cluster.start_now(f"{array}_1")
        return started.exists()

    cluster.wait("the last task runs again", again)
    assert started.read_text() != first
    cluster.call("scontrol", "update", "NodeName=n2", "State=RESUME")
    cluster.save_state(f"{array}_1")
    cluster.restart_controller()
    site.will(9, "nothing")
    cluster.wait("the run ends", lambda: process.poll() is not None, 300)
    assert (process.communicate()[1], process.returncode) == ("", 0)
    assert len(site.record()["rounds"]) == 1
    commits = sorted(site.base.glob("run/phases/01-read-*/commits/*/*.json"))
    assert len(commits) == 40
    assert list(site.base.glob("run/phases/01-read-*/tmp/*")) == []
    site.same_as_local()


def test_the_time_limit(site: Site) -> None:
    """The job is told to stop before the limit of a minute, its task is left without files, and
    `run` submits it again with twice the time."""
    site.write(
        profile=PROFILE.replace("00:05:00", "00:01:00")
        + "stop_seconds: 30\nmax_time: '00:10:00'\n",
        world=True,
    )
    site.will(1, "sleep 300")
    process = site.start(*RUN)
    failures = "run/phases/01-read-*/failures/000001.*.json"
    site.cluster.wait("it was stopped", lambda: list(site.base.glob(failures)) != [], 100)
    site.will(1, "nothing")
    said = process.communicate(timeout=150)[1]
    assert process.returncode == 0, said
    assert "1 tasks of 01-read again; task 1: OutOfTime: stopped by SIGTERM" in said
    assert [r["needs"].get("01-read", {}).get("seconds") for r in site.record()["rounds"]] == [
        None, 120,
    ]  # fmt: skip
    site.same_as_local()


def test_two_submissions_at_once_and_a_module_that_nodes_lack(site: Site) -> None:
    """One of the two is refused. On the nodes a module is missing that the submitting machine has:
    every task says so, nothing later starts, and nothing is tried again."""
    site.write(DEDUP, world=True)
    site.will(0, "nothing")
    (site.base / "world" / "without").write_text("pyarrow")
    words = ("submit", "recipe.yaml", "--out", "run", "--profile", "profile.yaml")
    both = [site.start(*words) for _ in range(2)]
    said = [process.communicate(timeout=100)[1] for process in both]
    assert sorted(process.returncode for process in both) == [0, 2], said
    (refused,) = [s for s, p in zip(said, both, strict=True) if p.returncode == 2]
    assert "another run is working in" in refused or "Slurm jobs are at work" in refused
    site.settle()
    assert len(site.record()["rounds"]) == 1
    missing = site.status()["slurm"]["missing"]
    assert {m["kind"] for m in missing} == {"error"}
    assert all("ModuleNotFoundError: import of pyarrow halted" in m["text"] for m in missing)
    assert list(site.base.glob("run/phases/02-*")) == []
    (site.base / "world" / "without").unlink()
    site.ok("retry", "run")
    site.settle()
    site.same_as_local()
