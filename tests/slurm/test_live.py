"""The Slurm backend on a real Slurm: the products of a local run, whatever happens to the jobs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import DEDUP, FEW, FILES, LINES, PROFILE, Site

pytestmark = pytest.mark.slow


def test_the_products_of_a_local_run(site: Site) -> None:
    """More tasks than MaxArraySize, four phases, two workers an element; while jobs live, every
    other launch is refused."""
    profile = PROFILE + "cpus: 2\nphases: {02-exact.group: {tasks_per_element: 2}}\n"
    site.write(DEDUP, profile, files=FILES, world=True)
    site.will(0, "hold")  # however slow the machine, a job lives until it is let go
    printed = site.submit()
    assert "01-read.0 (" in printed
    assert "array of 6" in printed
    assert "01-read.6 (" in printed
    again = site.refused(2, "submit", "recipe.yaml", "--out", "run", "--profile", "profile.yaml")
    assert "Slurm jobs are at work" in again
    assert "corpusmill cancel" in again
    for words in (("run", "recipe.yaml", "--out", "run"), ("clean", "run"), ("retry", "run")):
        assert "Slurm jobs are at work" in site.refused(2, *words)
    assert site.status()["slurm"]["jobs"]
    site.will(0, "nothing")
    site.settle()
    status = site.status()
    assert status["finished"] is True
    assert status["slurm"]["missing"] == []
    assert [p["done"] for p in status["phases"]] == [FILES, 2, 1, 2]
    assert site.ok("verify", "run").endswith("all as locked\n")
    site.same_as_local()


def test_a_task_that_fails_stops_all_that_depends_on_it(site: Site) -> None:
    """One bad input: its neighbours finish, nothing later starts, the
    end is not zero; after the repair `retry` completes the run."""
    site.write(DEDUP, PROFILE + "max_attempts: 1\n", world=True)
    site.will(1, "fail")
    said = site.refused(
        1, "run", "recipe.yaml", "--out", "run", "--backend", "slurm", "--profile", "profile.yaml"
    )
    assert "1 tasks of 01-read have not finished; task 1 (error): ValueError: told to fail" in said
    assert site.commits("01-read") == FEW - 1
    assert list(site.base.glob("run/phases/02-*")) == []
    assert not (site.base / "run" / "small.lock.json").exists()
    jobs = {j["key"]: j["id"] for j in site.record()["rounds"][0]["jobs"]}
    ended = site.cluster.call("squeue", "-h", "--states=all", "-o", "%F %T").stdout.split("\n")
    state = dict(line.split() for line in ended if line)
    assert state[jobs["01-read.seal"]] == "FAILED"
    for key in ("02-exact.group.0", "02-exact.group.seal", "04-docs.0", "publish"):
        assert state[jobs[key]] == "CANCELLED", key
    missing = site.status()["slurm"]["missing"]
    assert [(m["task"], m["kind"], m["tries"]) for m in missing] == [(1, "error", 1)]
    told = site.ok("status", "run", "--task", "1").splitlines()
    assert told[0] == "01-read task 1: failed"
    assert "ended by   error" in told
    assert "error      ValueError: told to fail" in told
    assert f"job        {jobs['01-read.0']}_1" in told
    (log,) = (line.split()[1] for line in told if line.startswith("log "))
    assert "told to fail" in Path(log).read_text()
    assert "have been tried 1 times" in site.refused(1, "retry", "run")
    site.will(1, "nothing")
    printed = site.ok("retry", "run", "--force")
    assert "01-read.0 (" in printed
    assert "array of 1" in printed
    site.settle()
    site.same_as_local()


def test_elements_begin_when_that_of_their_number_has_ended(site: Site) -> None:
    """Documents of partition 1 are done while the marks of partition 0 are at work; when these
    fail nothing is sealed and nothing hangs, and `retry` uses what was done early."""
    site.write(LINES, world=True)
    mode = site.base / "world" / "04-lines.mark-0"
    mode.write_text("hold")
    assert "06-docs.0 (" in (printed := site.submit())
    assert "array of 2, aftercorr 04-lines.mark.0" in printed
    run = site.base / "run" / "phases"
    site.cluster.wait(
        "documents of partition 1", lambda: list(run.glob("06-docs-*/commits/*/000001.json")), 180
    )
    (early,) = run.glob("06-docs-*/commits/*/*.json")
    assert [p.name for p in run.glob("04-lines.mark-*/commits/*/*.json")] == ["000001.json"]
    assert list(run.glob("04-lines.mark-*/sealed.json")) == []
    told = {p["phase"]: p for p in site.status()["phases"]}
    assert [told[p]["done"] for p in ("04-lines.mark", "05-lines.tally", "06-docs")] == [1, 0, 1]
    before = early.read_bytes()
    mode.write_text("fail")
    site.settle()
    assert "04-lines.mark task 0: error, tried 1: ValueError: told to fail" in (
        site.ok("status", "run")
    )
    assert list(run.glob("0[456]-*/sealed.json")) == []
    mode.write_text("nothing")
    printed = site.ok("retry", "run")
    assert "aftercorr" not in printed
    site.settle()
    assert early.read_bytes() == before
    site.same_as_local()


def test_a_cancelled_element_ends_cleanly_and_is_resumed(site: Site) -> None:
    site.write(world=True)
    started = site.will(2, "sleep 100")
    site.submit()
    site.cluster.wait("task 2 runs", started.exists)
    job = site.record()["rounds"][0]["jobs"][0]["id"]
    site.cluster.call("scancel", f"{job}_2")
    site.settle()
    missing = site.status()["slurm"]["missing"]
    assert [(m["task"], m["kind"]) for m in missing] == [(2, "stopped")]
    records = list(site.base.glob("run/phases/01-read-*/failures/000002.*.json"))
    assert "Stopped" in {json.loads(r.read_text())["class"] for r in records}
    assert list(site.base.glob("run/phases/01-read-*/tmp/*")) == []
    site.will(2, "nothing")
    site.ok("retry", "run")
    site.settle()
    site.same_as_local()


def test_told_to_stop_before_the_time_limit(site: Site) -> None:
    """The signal that `--signal=B:TERM@60` sends goes to the batch process alone."""
    site.write(profile=PROFILE + "max_time: '00:10:00'\n", world=True)
    started = site.will(1, "sleep 100")
    site.submit()
    site.cluster.wait("task 1 runs", started.exists)
    job = site.record()["rounds"][0]["jobs"][0]["id"]
    site.cluster.call("scancel", "--batch", "--signal=TERM", f"{job}_1")
    site.settle()
    log = (site.base / "run/slurm/round-1/logs/01-read/000000/1.log").read_text()
    assert "corpusmill: stopped by SIGTERM" in log
    assert site.status()["slurm"]["missing"][0]["kind"] == "stopped"
    assert list(site.base.glob("run/phases/01-read-*/tmp/*")) == []


def test_a_dead_worker_is_tried_again_by_run(site: Site) -> None:
    """A worker that dies twice in its element leaves a record; `run` submits its task again."""
    site.write(world=True)
    site.will(1, "die 2")
    words = ("run", "recipe.yaml", "--out", "run", "--backend", "slurm")
    done = site.call(*words, "--profile", "profile.yaml")
    assert done.returncode == 0, done.stderr
    assert "1 tasks of 01-read again; task 1: WorkerDied" in done.stderr
    assert len(site.record()["rounds"]) == 2
    site.same_as_local()


def test_more_memory_for_a_task_that_ran_out_of_it(site: Site) -> None:
    site.write(profile=PROFILE.replace("700M", "400M") + "max_memory: 3G\n", world=True)
    site.will(1, "hog 1000 1500")
    words = ("run", "recipe.yaml", "--out", "run", "--backend", "slurm")
    done = site.call(*words, "--profile", "profile.yaml")
    assert done.returncode == 0, done.stderr
    rounds = site.record()["rounds"]
    assert [r["needs"].get("01-read", {}).get("kilobytes", 0) >> 10 for r in rounds] == [
        0, 800, 1600,
    ]  # fmt: skip
    site.same_as_local()


def test_a_submission_that_is_refused_leaves_nothing(site: Site) -> None:
    """The last phase asks for more memory than any node has: sbatch refuses it after the first
    jobs were taken, and none of them runs."""
    site.write(DEDUP, PROFILE + "phases: {04-docs: {memory: 90G}}\n")
    said = site.refused(1, "submit", "recipe.yaml", "--out", "run", "--profile", "profile.yaml")
    assert "sbatch failed" in said
    assert "no job of this submission stays in the queue" in said
    site.settle()
    assert site.record()["rounds"][0]["state"] == "refused"
    assert site.commits("01-read") == 0
    assert list(site.base.glob("run/slurm/round-1/logs/**/*.log")) == []


def test_a_submission_that_is_killed_leaves_no_unknown_job(site: Site) -> None:
    """SIGKILL in the middle of submitting: its jobs are held, known by their name, refused a
    second launch and cancelled on demand."""
    site.write()
    real = subprocess.run(
        ["sh", "-c", "command -v sbatch"], env=site.cluster.environment, capture_output=True,
        text=True, check=True,
    ).stdout.strip()  # fmt: skip
    fake = site.base / "bin" / "sbatch"
    fake.parent.mkdir()
    fake.write_text(
        f'#!/bin/sh\n{real} "$@"\n[ -e {site.base}/second ] && kill -9 $PPID\n'
        f": > {site.base}/second\n"
    )
    fake.chmod(0o755)
    site.extra = {"PATH": f"{fake.parent}:{site.cluster.environment['PATH']}"}
    killed = site.call("submit", "recipe.yaml", "--out", "run", "--profile", "profile.yaml")
    assert killed.returncode == -9
    site.extra = {}
    assert len({q.split("_")[0].split()[0] for q in site.cluster.queue()}) == 2
    assert len(site.record()["rounds"][0]["jobs"]) == 1
    assert "Slurm jobs are at work" in site.refused(
        2, "submit", "recipe.yaml", "--out", "run", "--profile", "profile.yaml"
    )
    assert site.ok("cancel", "run") == "2 jobs cancelled\n"
    site.settle()
    assert site.commits("01-read") == 0
    words = ("run", "recipe.yaml", "--out", "run", "--backend", "slurm")
    site.ok(*words, "--profile", "profile.yaml", "--quiet")
    site.same_as_local()


def test_a_job_of_another_plan_does_nothing(site: Site) -> None:
    """A script of an earlier round, run when another plan lies in the folder."""
    site.write()
    site.ok("plan", "recipe.yaml", "--out", "run")
    command = [sys.executable, "-P", "-m", "corpusmill.pipeline", "run-tasks", "run/plan.json"]
    done = subprocess.run(
        [*command, "--plan-id", "0" * 64, "01-read", "0..1"], cwd=site.base, capture_output=True,
        text=True, env=dict(os.environ),
    )  # fmt: skip
    assert done.returncode == 2
    assert "another plan took its place" in done.stderr
    assert site.commits("01-read") == 0


def test_a_lost_node_whose_attempt_still_writes(site: Site) -> None:
    """The daemon of a node dies, its job runs on: Slurm starts the task again elsewhere, so that
    two attempts are at work at the same time. The products are those of a local run."""
    site.write(world=True)
    cluster = site.cluster
    cluster.call("scontrol", "update", "NodeName=n2", "State=DRAIN", "Reason=test")
    started = site.will(1, "hold")
    site.submit()
    job = site.record()["rounds"][0]["jobs"][0]["id"]
    cluster.wait("task 1 runs", started.exists)
    cluster.wait("its neighbours are gone", lambda: len(cluster.queue()) == 3)
    first = int(started.read_text())
    daemon = int((cluster.base / "slurmd-n1.pid").read_text())
    os.kill(daemon, signal.SIGKILL)
    started.unlink()
    cluster.call("scontrol", "update", "NodeName=n2", "State=RESUME")
    cluster.call("scontrol", "update", "NodeName=n1", "State=DOWN", "Reason=test")

    def elsewhere() -> bool:  # a requeued job waits two minutes; it need not
        cluster.call("scontrol", "update", f"JobId={job}_1", "StartTime=now", check=False)
        return started.exists()

    cluster.wait("task 1 runs again", elsewhere)
    assert Path(f"/proc/{first}").exists()
    second = int(started.read_text())
    assert second != first
    site.will(1, "nothing")
    cluster.wait("the second attempt is over", lambda: not Path(f"/proc/{second}").exists(), 120)
    cluster.wait("the first attempt is over", lambda: not Path(f"/proc/{first}").exists(), 120)
    cluster.call("slurmd", "-N", "n1")
    cluster.call("scontrol", "update", "NodeName=n1", "State=RESUME", check=False)
    site.settle()
    assert site.commits("01-read") == FEW
    assert list(site.base.glob("run/phases/01-read-*/tmp/*")) == []
    site.same_as_local()
