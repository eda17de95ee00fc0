"""Records, queue lines and reasons of failure, without a scheduler."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from corpusmill.pipeline import Recipe
from corpusmill.pipeline.commits import PhaseFolder, put_failure
from corpusmill.pipeline.errors import ConfigError, IntegrityError, TaskError
from corpusmill.pipeline.planning import Phase, Plan, make_plan
from corpusmill.pipeline.profile import Profile
from corpusmill.pipeline.running import put_plan, run_lock
from corpusmill.pipeline.slurm import more
from corpusmill.pipeline.slurm_calls import QueuedJob, environment
from corpusmill.pipeline.slurm_jobs import Needs
from corpusmill.pipeline.slurm_record import Record, RoundRecord, load_record
from corpusmill.pipeline.slurm_trouble import Trouble, troubles
from corpusmill.pipeline.slurm_worker import seal_phase
from corpusmill.pipeline.stopping import END_VARIABLE

from .conftest import DEDUP, write_corpus

PROFILE = Profile(schema="corpusmill/slurm-profile/1", time="01:00:00", memory="4G")
PHASE = Phase("01-read", "docs", "ab" * 32, 8)


@pytest.mark.parametrize(
    ("elements", "count"),
    [("", 1), ("7", 1), ("0-9", 10), ("0-9%3", 10), ("1,3,5-7", 5), ("0-8:2", 5)],
)
def test_elements_of_a_queue_line(elements: str, count: int) -> None:
    assert QueuedJob("1", elements, "n", "PENDING", "None").count() == count


def test_states_that_live() -> None:
    lives = ["PENDING", "RUNNING", "COMPLETING", "SUSPENDED", "REQUEUE_HOLD"]
    ended = ["COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY"]
    assert [QueuedJob("1", "", "n", s, "").live for s in lives] == [True] * 5
    assert [QueuedJob("1", "", "n", s, "").live for s in ended] == [False] * 6


def test_the_world_of_sbatch(monkeypatch: pytest.MonkeyPatch) -> None:
    """A submission from within a job is not one of that job's shape."""
    for name in ("SLURM_JOB_ID", "SLURM_MEM_PER_NODE", "SBATCH_PARTITION", "SQUEUE_FORMAT"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("SLURM_CONF", "/c")
    found = environment()
    assert found["SLURM_CONF"] == "/c"
    assert [k for k in found if k.startswith(("SLURM_", "SBATCH_", "SQUEUE_"))] == ["SLURM_CONF"]
    assert found["PATH"] == os.environ["PATH"]


def test_a_record_reads_back(tmp_path: Path) -> None:
    assert load_record(tmp_path) is None
    first = RoundRecord(1, "ab12", 6, needs={"01-read": Needs(1 << 20, None)})
    first.jobs.append({"id": "17", "key": "01-read.0"})
    Record(PROFILE, [first]).save(tmp_path)
    assert load_record(tmp_path) == Record(PROFILE, [first])
    path = tmp_path / "slurm.json"
    whole = json.loads(path.read_text())
    path.write_text(json.dumps({**whole, "rounds": [{"number": 1}]}))
    with pytest.raises(IntegrityError, match="is damaged"):
        load_record(tmp_path)
    path.write_text(json.dumps({**whole, "schema": "corpusmill/slurm/9"}))
    with pytest.raises(ConfigError, match="this version writes corpusmill/slurm/1"):
        load_record(tmp_path)
    path.write_text("{")
    with pytest.raises(IntegrityError, match="is damaged"):
        load_record(tmp_path)


def test_where_slurm_cannot_be_asked_nothing_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run folder that was submitted elsewhere: its jobs may live."""
    Record(PROFILE, [RoundRecord(1, "ab12", 6)]).save(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match="its jobs may live"), run_lock(tmp_path):
        pass
    with run_lock(tmp_path, jobs=True):
        pass


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A round in which tasks 0 to 7 ran two an element, arrays cut to 3 elements."""
    folder = tmp_path / "round-1"
    (folder / "logs/01-read/000000").mkdir(parents=True)
    (folder / "logs/01-read/000003").mkdir(parents=True)
    (folder / f"{PHASE.folder}.tasks").write_text("0..1\n2..3\n4..5\n6..7\n")
    return folder


def kinds(logs: Path, place: PhaseFolder, missing: list[int]) -> list[tuple[int, str, int]]:
    found = troubles(place, PHASE, missing, [(logs, 3)], {"17"})
    return [(t.task, t.kind, t.tries) for t in found]


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (
            "slurmstepd: error: *** JOB 17 ON n1 CANCELLED AT 2026-11-29 DUE TO TIME LIMIT ***",
            "time",
        ),
        ("slurmstepd: error: JOB 17 ON n1 CANCELLED AT 2026-11-29 DUE TO NODE FAILURE", "stopped"),
        ("slurmstepd: error: Detected 1 oom_kill event in StepId=17.batch", "memory"),
        ("slurmstepd: error: JobId=17 exceeded memory limit (600 > 400), being killed", "memory"),
        ("corpusmill: stopped by SIGTERM", "stopped"),
        ("module: command not found", "lost"),
        ("", "lost"),
    ],
)
def test_reasons_that_stand_in_the_log(logs: Path, tmp_path: Path, said: str, kind: str) -> None:
    place = PhaseFolder(tmp_path / "phase")
    (logs / "logs/01-read/000003/0.log").write_text(said + "\n")
    assert kinds(logs, place, [0, 7]) == [(0, "waiting", 0), (7, kind, 1)]


def test_reasons_that_stand_in_a_record(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = PhaseFolder(tmp_path / "phase")
    for number in range(3):
        (logs / f"logs/01-read/000000/{number}.log").write_text("")
    monkeypatch.setenv("SLURM_ARRAY_JOB_ID", "17")
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "0")
    put_failure(place, "01-read", 0, "InputError", "cannot be read")
    put_failure(place, "01-read", 1, "OutOfTime", "stopped")
    put_failure(place, "01-read", 2, "MemoryError", "")
    put_failure(place, "01-read", 3, "WorkerDied", "its worker died twice")
    monkeypatch.setenv("SLURM_ARRAY_JOB_ID", "9")
    put_failure(place, "01-read", 5, "InputError", "of an earlier round")
    assert kinds(logs, place, [0, 1, 2, 3, 5]) == [
        (0, "error", 1), (1, "time", 1), (2, "memory", 1), (3, "lost", 1), (5, "lost", 1),
    ]  # fmt: skip
    (logs / "logs/01-read/000000/1.log").write_text("Detected 1 oom_kill event")
    assert kinds(logs, place, [3]) == [(3, "memory", 1)]


def test_tries_are_counted_over_all_rounds(logs: Path, tmp_path: Path) -> None:
    (logs / "logs/01-read/000000/2.log").write_text("")
    second = tmp_path / "round-2"
    (second / "logs/01-read/000000").mkdir(parents=True)
    (second / f"{PHASE.folder}.tasks").write_text("4\n6\n")
    (second / "logs/01-read/000000/0.log").write_text("")
    place = PhaseFolder(tmp_path / "phase")
    found = troubles(place, PHASE, [4, 6], [(logs, 3), (second, 3)], {"18"})
    assert [(t.task, t.kind, t.tries) for t in found] == [(4, "lost", 2), (6, "waiting", 0)]


def test_more_resources_within_bounds() -> None:
    profile = Profile(
        schema="corpusmill/slurm-profile/1", time="01:00:00", memory="4G", max_memory="12G",
        max_time="01:30:00",
    )  # fmt: skip
    short = [Trouble("01-read", 3, "memory", "", 1), Trouble("01-read", 4, "error", "", 1)]
    record = Record(profile, [RoundRecord(1, "a", 6)])
    seen = []
    for number in (2, 3, 4):
        needs = more(record, short)
        seen.append((needs["01-read"].kilobytes, needs["01-read"].seconds))
        record.rounds.append(RoundRecord(number, "a", 6, needs=needs))
    assert seen == [(8 << 20, 3600), (12 << 20, 3600), (12 << 20, 3600)]
    late = more(record, [Trouble("01-read", 3, "time", "", 1)])
    assert late["01-read"] == Needs(12 << 20, 5400)
    plain = more(Record(PROFILE, [RoundRecord(1, "a", 6)]), short)
    assert plain["01-read"] == Needs(4 << 20, 3600)


@pytest.fixture
def planned(tmp_path: Path) -> tuple[Path, Plan]:
    write_corpus(tmp_path / "input", 2)
    plan = make_plan(Recipe.parse(DEDUP, tmp_path))
    put_plan(tmp_path / "run", plan, print)
    return tmp_path / "run", plan


def test_a_seal_waits_for_records_that_no_failure_explains(planned: tuple[Path, Plan]) -> None:
    root, plan = planned
    phase = plan.phases[0]
    start = time.monotonic()
    with pytest.raises(TaskError, match="2 of 2 tasks of 01-read have not finished"):
        seal_phase(root, plan, phase, wait=1.0)
    assert time.monotonic() - start >= 1.0
    place = PhaseFolder(root / "phases" / phase.folder)
    for task in (0, 1):
        put_failure(place, phase.name, task, "InputError", "gone")
    start = time.monotonic()
    with pytest.raises(TaskError, match="retry"):
        seal_phase(root, plan, phase, wait=60.0)
    assert time.monotonic() - start < 30.0


@pytest.mark.parametrize(("left", "kind"), [(3600, "Stopped"), (30, "OutOfTime")])
def test_sigterm_raises_once(left: int, kind: str) -> None:
    """The second SIGTERM must not cut the clearing up short."""
    code = (
        "import os, signal, time\n"
        "from corpusmill.pipeline import stopping\n"
        "stopping.stop_on_sigterm()\n"
        "try:\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    time.sleep(10)\n"
        "except stopping.Stopped as stop:\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    time.sleep(0.1)\n"
        "    print(stop.kind)\n"
    )
    world = {**os.environ, END_VARIABLE: str(int(time.time()) + left)}
    command = [sys.executable, "-P", "-c", code]
    done = subprocess.run(command, env=world, capture_output=True, text=True, check=True)
    assert done.stdout == f"{kind}\n"


def test_a_worker_that_is_told_to_stop(planned: tuple[Path, Plan], tmp_path: Path) -> None:
    """SIGTERM to the process that watches the workers: exit code 75, a record, no files left."""
    root, plan = planned
    started = tmp_path / "started"
    (tmp_path / "sitecustomize.py").write_text(
        "import time\nfrom pathlib import Path\nfrom corpusmill.stages.sources import jsonl\n"
        f"def read(self, file):\n    Path({str(started)!r}).touch()\n    time.sleep(60)\n"
        "jsonl.Jsonl.read = read\n"
    )
    command = [sys.executable, "-P", "-m", "corpusmill.pipeline", "run-tasks"]
    process = subprocess.Popen(
        [*command, str(root / "plan.json"), "01-read", "0..1", "--workers", "1"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)}, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    until = time.monotonic() + 60
    while not started.exists() and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 75
    assert "corpusmill: stopped by SIGTERM" in said
    folder = root / "phases" / plan.phases[0].folder
    records = [json.loads(p.read_text()) for p in folder.glob("failures/*.json")]
    assert [(r["task"], r["class"]) for r in records] == [(0, "Stopped")]
    assert list(folder.glob("tmp/*")) == []
