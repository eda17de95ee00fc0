"""Killed anywhere: running again gives the bytes of a run that nobody disturbed."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from corpusmill.pipeline import verify
from corpusmill.pipeline.cleaning import clean_run
from corpusmill.pipeline.commits import Commit, PhaseFolder, put_commit, read_commit
from corpusmill.pipeline.errors import IntegrityError

from . import sites
from .conftest import PRODUCTS, RECIPE
from .mill import (
    Mill,
    commits,
    finish,
    launch,
    members,
    no_half_files,
    outputs,
    temporaries,
    wait_for,
)

SAMPLE = Path(__file__).resolve().parents[2] / "configs" / "recipes" / "sample.yaml"
WHOLE = RECIPE + PRODUCTS
SMALL = ("execution.partitions=2", "execution.task_bytes=30000")
"""Two tasks a phase: few points, of every kind."""
KINDS = ("open", "write", "fsync", "rename", "commit", "seal", "publish")
PARTS = 8


@pytest.fixture(scope="module")
def points(mill: Mill) -> list[tuple[str, str]]:
    """Every fault point of a run, in order, as (place, kind). The run is the measure of all."""
    trace = mill.base / "trace"
    mill.ran("undisturbed", WHOLE, *SMALL, trace=str(trace))
    assert verify(mill.base / "undisturbed").faults == []
    return [(p, k) for p, k in (line.split() for line in trace.read_text().splitlines())]


def killed_then_resumed(mill: Mill, number: int, what: str) -> None:
    """The laws of a crash, at the `number`-th fault point (from 1)."""
    root = mill.base / "killed"
    ended = mill.run(root, WHOLE, *SMALL, fault=f"any:{number}")
    assert ended.code == -signal.SIGKILL, (what, ended.said)
    no_half_files(root)
    mill.ran(root, WHOLE, *SMALL)
    assert outputs(root) == outputs(mill.base / "undisturbed"), what
    clean_run(root)
    assert temporaries(root) == [], what
    shutil.rmtree(root)


def test_every_kind_of_point_occurs(points: list[tuple[str, str]]) -> None:
    assert {kind for _, kind in points} == set(KINDS)
    assert all(("publish", kind) in points for kind in ("open", "rename", "publish"))
    phases = {place for place, _ in points} - {"plan", "publish"}
    assert all((phase, kind) in points for phase in phases for kind in ("commit", "seal"))
    assert len(phases) >= 13


@pytest.mark.parametrize(
    ("kind", "place"),
    [("open", "-read"), ("write", "tokenizer.train"), ("fsync", "-docs"),
     ("rename", "shards.write"), ("commit", "exact.group"), ("seal", "shards.encode"),
     ("publish", "publish")],
)  # fmt: skip
def test_killed_at_one_point_of_each_kind(
    mill: Mill, points: list[tuple[str, str]], kind: str, place: str
) -> None:
    numbers = [n for n, (p, k) in enumerate(points, 1) if k == kind and p.endswith(place)]
    number = numbers[len(numbers) // 2]
    killed_then_resumed(mill, number, f"point {number} {points[number - 1]}")


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_killed_at_every_kind_of_point_in_each_phase(
    mill: Mill, points: list[tuple[str, str]], part: int
) -> None:
    """The first, the second and the last point of each kind in each phase, an eighth a test."""
    chosen: set[int] = set()
    for point in set(points):
        numbers = [n for n, p in enumerate(points, 1) if p == point]
        chosen |= {*numbers[:2], *numbers[-1:]}
    for number in sorted(chosen)[part::PARTS]:
        killed_then_resumed(mill, number, f"point {number}: {points[number - 1]}")


@pytest.mark.slow
def test_killed_again_and_again_at_the_same_point(mill: Mill, points: Any) -> None:
    """Each start gets 60 fault points further, and dies; enough starts finish the run."""
    root = mill.base / "again"
    for starts in range(200):  # noqa: B007 - looked at after the loop
        ended = mill.run(root, WHOLE, *SMALL, fault="any:60")
        no_half_files(root)
        if ended.code == 0:
            break
        assert ended.code == -signal.SIGKILL, ended.said
    assert 3 < starts < 199
    assert outputs(root) == outputs(mill.base / "undisturbed")


@pytest.mark.slow
def test_clean_is_killed_at_each_of_its_points(mill: Mill) -> None:
    """A clean that dies loses nothing that is needed, and the next one finishes its work."""
    for number in range(1, 100):
        root = mill.base / "cleaned"
        shutil.rmtree(root, ignore_errors=True)
        mill.ran(root, RECIPE, *SMALL)
        phases = len(list(root.glob("phases/*")))
        mill.ran(root, RECIPE, *SMALL, "seed=8")  # the phases of seed 7 are now nobody's
        before = outputs(root)
        ended = mill.do("clean", root, fault=f"any:{number}")
        assert verify(root).faults == [], f"point {number}"
        mill.ran(root, RECIPE, *SMALL, "seed=8")
        assert outputs(root) == before, f"point {number}"
        assert mill.do("clean", root).code == 0
        assert temporaries(root) == [], f"point {number}"
        assert len(list(root.glob("phases/*"))) == phases
        if ended.code == 0:
            break
        assert ended.code == -signal.SIGKILL, ended.said
    assert 12 < number < 99


def test_killed_while_removing_a_phase(mill: Mill) -> None:
    """A phase of which half is gone is never taken for a phase: not the one that `clean` removes,
    not the one that a changed recipe opens again."""
    root = mill.base / "removing"
    mill.ran(root, RECIPE, *SMALL)
    mill.ran(root, RECIPE, *SMALL, "seed=8")
    assert mill.do("clean", root, hook="dies_while_removing").code == -signal.SIGKILL
    mill.ran(root, RECIPE, *SMALL)
    mill.ran("fresh", RECIPE, *SMALL)
    assert outputs(root) == outputs(mill.base / "fresh")
    assert verify(root).faults == []
    assert mill.do("clean", root).code == 0
    assert any(root.glob("phases/01-read-*/cleaned"))
    changed = (*SMALL, "steps.split.heldout='0.5'")
    assert mill.run(root, RECIPE, *changed, hook="dies_while_removing").code == -signal.SIGKILL
    mill.ran(root, RECIPE, *changed)
    mill.ran("fresh", RECIPE, *changed)
    assert outputs(root) == outputs(mill.base / "fresh")


# -- whole process trees ----------------------------------------------------------------------


def kill_tree(process: Any) -> None:
    """SIGKILL to a launched run and all its children at one moment."""
    os.killpg(process.pid, signal.SIGKILL)
    finish(process)
    wait_for("the end of all children", lambda: not members(process.pid), 10)


def resume_after_kills(mill: Mill, text: str, seed: int, kills: int) -> None:
    undisturbed = mill.ran("calm", text, *SMALL)
    (mill.base / "recipe.yaml").write_text(text)
    chance = random.Random(seed)
    total = commits(undisturbed)
    root = mill.base / f"tree-{seed}"
    for instant in sorted(chance.sample(range(total - 1), kills)):
        process = launch(mill.base, root.name, *(f"--set={s}" for s in SMALL))
        wait_for(
            f"commit {instant} of {total}",
            lambda: commits(root) >= instant or process.poll() is not None,  # noqa: B023
        )
        time.sleep(chance.uniform(0, 0.03))
        kill_tree(process)
        no_half_files(root)
    mill.ran(root, text, *SMALL)
    assert outputs(root) == outputs(undisturbed), f"seed {seed}"
    clean_run(root)
    assert temporaries(root) == []
    shutil.rmtree(root)
    shutil.rmtree(undisturbed)


def test_the_process_tree_is_killed_at_random_instants(mill: Mill) -> None:
    resume_after_kills(mill, RECIPE, seed=1, kills=2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_the_process_tree_is_killed_at_fifty_random_instants(mill: Mill, seed: int) -> None:
    resume_after_kills(mill, WHOLE, seed, kills=5)


@pytest.mark.slow
def test_the_sample_run_is_killed_at_random_instants(tmp_path: Path) -> None:
    """Three times; CORPUSMILL_KILLS=50 does it fifty times, in six minutes or so."""
    shutil.copy(SAMPLE, tmp_path / "recipe.yaml")
    assert finish(launch(tmp_path, "calm"), 600).code == 0
    kills = int(os.environ.get("CORPUSMILL_KILLS", "3"))
    chance = random.Random(kills)
    root = tmp_path / "killed"
    while kills:
        process = launch(tmp_path, "killed")
        time.sleep(chance.uniform(0.2, 8.0))
        if process.poll() is not None:  # it came to its end: from the beginning
            assert finish(process).code == 0
            shutil.rmtree(root)
            continue
        kill_tree(process)
        no_half_files(root)
        kills -= 1
    assert finish(launch(tmp_path, "killed"), 600).code == 0
    assert outputs(root) == outputs(tmp_path / "calm")
    assert verify(root).faults == []
    clean_run(root)
    assert temporaries(root) == []


def test_a_killed_driver_leaves_no_child(mill: Mill, tmp_path: Path) -> None:
    """Not even one that is deep in a task and looks at nothing else."""
    (mill.base / "recipe.yaml").write_text(RECIPE)
    site = sites.put(tmp_path, sites.SLEEPS)
    process = launch(mill.base, "orphans", "--set=execution.task_bytes=1", workers=1, site=site)
    wait_for("the second task", (site / "asleep").exists)
    assert len(members(process.pid)) == 2
    process.kill()
    finish(process)
    wait_for("the end of its worker", lambda: not members(process.pid), 10)
    mill.ran("orphans", RECIPE)
    assert outputs(mill.base / "orphans") == outputs(mill.ran("calm", RECIPE))


# -- the record -------------------------------------------------------------------------------


def test_a_task_is_committed_once(tmp_path: Path) -> None:
    """The same content again is the same commit, whoever made it; another is an error."""
    folder = PhaseFolder(tmp_path)
    first = Commit("01-read", "k", 0, notes={"n": 1}, provenance={"attempt": "a"})
    assert put_commit(folder, first) is True
    same = Commit("01-read", "k", 0, notes={"n": 1}, provenance={"attempt": "b"})
    assert put_commit(folder, same) is False
    with pytest.raises(IntegrityError, match="committed twice with different content"):
        put_commit(folder, Commit("01-read", "k", 0, notes={"n": 2}))
    record = read_commit(folder, 0, "k")
    assert record is not None
    assert (record["notes"], record["provenance"]) == ({"n": 1}, {"attempt": "a"})
    assert [p.name for p in folder.commit(0).parent.iterdir()] == ["000000.json"]


def test_clean_removes_what_no_record_names(mill: Mill) -> None:
    root = mill.ran("swept", RECIPE, *SMALL)
    left = {
        root / "phases" / ".01-read-x.tmp" / "data",
        *(p / "000000-docs-0123456789abcdef.parquet" for p in root.glob("phases/*/data/0000")),
        *(p / ".x.json.tmp" for p in root.glob("phases/*/commits/0000")),
        *(p / "tmp" / "000001.a" / "docs.parquet" for p in root.glob("phases/*-docs-*")),
        root / ".plan.json.0.tmp",
    }
    before = {p for p in root.rglob("*") if p.is_file()}
    for path in left:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"half")
    assert len(left) > 8
    clean_run(root)
    assert {p for p in root.rglob("*") if p.is_file()} == before
    assert verify(root).faults == []
