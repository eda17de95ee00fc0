"""Tasks that begin before the phase before theirs is sealed: the same bytes, nothing stale, and
nothing sealed that a guard or a crash should have stopped."""

from __future__ import annotations

import dataclasses
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from corpusmill.pipeline import Plan, verify
from corpusmill.pipeline.attempt import Attempt
from corpusmill.pipeline.commits import (
    Commit,
    PhaseFolder,
    Seal,
    put_commit,
    read_commit,
    read_seal,
    write_seal,
)
from corpusmill.pipeline.engine import EngineContext, RunFolder
from corpusmill.pipeline.errors import IntegrityError, StageError, TaskError
from corpusmill.pipeline.planning import Phase
from corpusmill.pipeline.report import status_data, status_lines
from corpusmill.pipeline.slurm import to_do

from . import sites
from .conftest import PRODUCTS, RECIPE
from .mill import Mill, launched, no_half_files, outputs

LINES = RECIPE.replace(
    "- dedup.exact", "- dedup.lines: {host_documents: 0, documents: 2, hosts: 1}"
).replace("partitions: 4", "partitions: 2")
"""Phases 04 to 06 are ``lines.mark``, ``lines.tally`` and ``docs``."""
SLOW = "partition_0_is_slow"


@dataclasses.dataclass(frozen=True)
class Disturbed:
    """A run of `LINES` in which partition 0 was slow, and its fault points."""

    root: Path
    points: list[tuple[str, str]]

    def number(self, place: str, kind: str, nth: int = 0) -> int:
        """The number of a fault point, from 1."""
        found = [n for n, p in enumerate(self.points, 1) if p == (place, kind)]
        return found[nth]


@pytest.fixture(scope="module")
def disturbed(mill: Mill) -> Disturbed:
    trace = mill.base / "trace"
    root = mill.ran("slow", LINES, hook=SLOW, trace=str(trace))
    return Disturbed(root, [(p, k) for p, k in map(str.split, trace.read_text().splitlines())])


@pytest.fixture(scope="module")
def calm(mill: Mill) -> Path:
    return mill.ran("calm", LINES)


@pytest.fixture(scope="module")
def killed(mill: Mill, disturbed: Disturbed) -> Path:
    """A run that was killed when the documents of partition 1 had committed, and the marks of
    partition 0 had not."""
    number = disturbed.number("04-lines.mark", "commit", 1)
    ended = mill.run("dead", LINES, hook=SLOW, fault=f"any:{number}")
    assert ended.code == -signal.SIGKILL, ended.said
    return mill.base / "dead"


@pytest.fixture
def cut(mill: Mill, killed: Path) -> Iterator[Path]:
    """A copy of it."""
    shutil.copytree(killed, mill.base / "cut")
    yield mill.base / "cut"
    shutil.rmtree(mill.base / "cut")


def phase_of(root: Path, name: str) -> tuple[PhaseFolder, Phase]:
    plan = Plan.load(root / "plan.json")
    return RunFolder(root, plan).phase_folder(plan.phase(name)), plan.phase(name)


def record(root: Path, name: str, task: int) -> dict[str, Any]:
    place, phase = phase_of(root, name)
    found = read_commit(place, task, phase.key)
    assert found is not None
    return found


def test_a_slow_partition_holds_back_only_itself(disturbed: Disturbed, calm: Path) -> None:
    """The documents of partition 1 are done before the marks of partition 0; the same bytes."""
    ends = [(p, k) for p, k in disturbed.points if k in ("commit", "seal")]
    assert ends[-8:] == [
        ("04-lines.mark", "commit"), ("06-docs", "commit"), ("04-lines.mark", "commit"),
        ("04-lines.mark", "seal"), ("05-lines.tally", "commit"), ("05-lines.tally", "seal"),
        ("06-docs", "commit"), ("06-docs", "seal"),
    ]  # fmt: skip
    assert outputs(disturbed.root) == outputs(calm)
    for task in (0, 1):
        assert record(disturbed.root, "06-docs", task) == {
            **record(calm, "06-docs", task),
            "provenance": record(disturbed.root, "06-docs", task)["provenance"],
            "counts": record(disturbed.root, "06-docs", task)["counts"],
        }
        marked = record(calm, "04-lines.mark", task)
        assert record(calm, "06-docs", task)["upstream"] == {"04-lines.mark": marked["content"]}
        assert marked["upstream"] == {}
    assert verify(disturbed.root).faults == []


@pytest.mark.slow
def test_two_workers_and_a_slow_partition(
    mill: Mill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The marks of partition 0 end when the documents of the three others are done: a run in which
    phases waited for each other would never end."""
    text = LINES.replace("partitions: 2", "partitions: 4")
    (mill.base / "recipe.yaml").write_text(text)
    root = mill.base / "held"
    monkeypatch.setenv("WAIT_FOR", str(root / "phases/06-docs-*/commits/*/*.json"))
    ended = launched(mill.base, root.name, site=sites.put(tmp_path, sites.HELD_MARKS))
    assert ended.code == 0, ended.said
    assert outputs(root) == outputs(mill.ran("four", text))
    assert verify(root).faults == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "kind", "nth"),
    [("06-docs", "commit", 0), ("04-lines.mark", "seal", 0),
     ("05-lines.tally", "commit", 0), ("06-docs", "seal", 0)],
)  # fmt: skip
def test_killed_between_an_early_task_and_the_seal_before(
    mill: Mill, disturbed: Disturbed, calm: Path, place: str, kind: str, nth: int
) -> None:
    root = mill.base / "killed"
    number = disturbed.number(place, kind, nth)
    ended = mill.run(root, LINES, hook=SLOW, fault=f"any:{number}")
    assert ended.code == -signal.SIGKILL, ended.said
    no_half_files(root)
    mill.ran(root, LINES)
    assert outputs(root) == outputs(calm)
    shutil.rmtree(root)


def test_the_status_of_two_phases_at_work(killed: Path) -> None:
    shown = [line.split() for line in status_lines(status_data(killed))[5:8]]
    assert [(row[0], row[1], row[-1]) for row in shown] == [
        ("04-lines.mark", "1/2", "open"), ("05-lines.tally", "0/1", "waiting"),
        ("06-docs", "1/2", "open"),
    ]  # fmt: skip


@pytest.mark.slow
def test_an_early_task_is_not_run_again(mill: Mill, cut: Path, calm: Path) -> None:
    before = record(cut, "06-docs", 1)["provenance"]["attempt"]
    assert not phase_of(cut, "04-lines.mark")[0].seal().exists()
    mill.ran(cut, LINES)
    assert record(cut, "06-docs", 1)["provenance"]["attempt"] == before
    assert outputs(cut) == outputs(calm)


def replaced(root: Path, name: str, task: int) -> str:
    """Puts another record in the place of a task's, as if it had been made anew and otherwise;
    returns its content."""
    place = phase_of(root, name)[0]
    old = record(root, name, task)
    place.commit(task).unlink()
    fields = {f.name: old[f.name] for f in dataclasses.fields(Commit)}
    new = Commit(**{**fields, "notes": {**old["notes"], "changed": 1}})
    assert put_commit(place, new)
    return new.content()


def test_an_early_task_whose_upstream_was_replaced_is_run_again(
    mill: Mill, cut: Path, calm: Path
) -> None:
    before = record(cut, "06-docs", 1)["provenance"]["attempt"]
    content = replaced(cut, "04-lines.mark", 1)
    folder = RunFolder(cut, Plan.load(cut / "plan.json"))
    assert folder.stale(phase_of(cut, "06-docs")[1]) == [1]
    assert [(phase.name, tasks) for phase, tasks in to_do(folder)] == [
        ("04-lines.mark", [0]), ("05-lines.tally", [0]), ("06-docs", [0, 1]),
    ]  # fmt: skip
    mill.ran(cut, LINES)
    assert record(cut, "06-docs", 1)["provenance"]["attempt"] != before
    assert record(cut, "06-docs", 1)["upstream"] == {"04-lines.mark": content}
    assert outputs(cut)[2] == outputs(calm)[2]


@pytest.mark.slow
def test_an_early_task_whose_upstream_is_gone_is_run_again(
    mill: Mill, cut: Path, calm: Path
) -> None:
    before = record(cut, "06-docs", 1)["provenance"]["attempt"]
    shutil.rmtree(phase_of(cut, "04-lines.mark")[0].root)
    mill.ran(cut, LINES)
    assert record(cut, "06-docs", 1)["provenance"]["attempt"] != before
    assert outputs(cut) == outputs(calm)


@pytest.mark.parametrize("after", [None, "another"])
def test_a_seal_names_what_the_seal_before_names(tmp_path: Path, after: str | None) -> None:
    place = PhaseFolder(tmp_path)
    assert put_commit(place, Commit("b", "k", 0, upstream={"a": "content"}))
    assert not put_commit(place, Commit("b", "k", 0, upstream={"a": "content"}))
    with pytest.raises(IntegrityError, match="committed twice with different content"):
        put_commit(place, Commit("b", "k", 0))
    other = None if after is None else Seal("a", "k", ({"content": after},), {})
    with pytest.raises(IntegrityError, match="task 0 of b was made from other results"):
        write_seal(place, "b", "k", 1, other)
    assert not place.seal().exists()
    write_seal(place, "b", "k", 1, Seal("a", "k", ({"content": "content"},), {}))
    found = read_seal(place, "k")
    assert found is not None
    assert found.commits[0]["upstream"] == {"a": "content"}


@pytest.mark.slow
def test_a_seal_is_not_closed_before_the_one_that_it_depends_on(mill: Mill, calm: Path) -> None:
    root = mill.base / "open"
    shutil.copytree(calm, root)
    docs, phase = phase_of(root, "06-docs")
    marks, before = phase_of(root, "04-lines.mark")
    for place in (docs, marks):
        place.seal().unlink()
    with pytest.raises(TaskError, match=r"phase 04-lines.mark is not closed"):
        RunFolder(root, Plan.load(root / "plan.json")).close(phase)
    assert not docs.seal().exists()
    replaced(root, "04-lines.mark", 0)
    folder = RunFolder(root, Plan.load(root / "plan.json"))
    folder.close(before)
    with pytest.raises(IntegrityError, match="task 0 of 06-docs was made from other results"):
        folder.close(phase)
    assert not docs.seal().exists()
    mill.ran(root, LINES)
    assert (
        record(root, "06-docs", 0)["upstream"]["04-lines.mark"]
        == (record(root, "04-lines.mark", 0)["content"])
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "override", "said", "early"),
    [(LINES, "steps.lines.max_removed_share=0.01", "characters are in repeated lines", "06-docs"),
     (RECIPE + PRODUCTS, "sources.rows.max_loss=0.01", "source rows lost", "05-tokenizer.measure")],
)  # fmt: skip
def test_a_guard_stops_the_run_and_nothing_after_it_is_sealed(
    mill: Mill, text: str, override: str, said: str, early: str
) -> None:
    """What early tasks made stays, and is not sealed; running again says the same."""
    root = mill.base / "guarded"
    for _ in range(2):
        ended = mill.run(root, text, override, hook=SLOW)
        assert ended.code == 1, ended.said
        assert said in ended.said
        place = phase_of(root, early)[0]
        assert place.commit(1).exists()
        assert not place.seal().exists()
    assert list(root.glob("*.lock.json")) == []
    shutil.rmtree(root)


# -- what stages say of themselves --------------------------------------------------------------


@pytest.fixture
def context(calm: Path, tmp_path: Path) -> Callable[..., EngineContext]:
    """``context(name, task, field=value)``: a task of a finished run, with other declarations."""
    folder = RunFolder(calm, Plan.load(calm / "plan.json"))

    def make(name: str, task: int, **declared: Any) -> EngineContext:
        phase = dataclasses.replace(folder.plan.phase(name), **declared)
        attempt = Attempt(PhaseFolder(tmp_path), phase.name, phase.key, task, 2)
        return EngineContext(folder, phase, attempt, task)

    return make


def test_a_phase_is_held_to_what_it_says_that_it_reads(
    context: Callable[..., EngineContext],
) -> None:
    own = context("04-lines.mark", 1, reads="own documents")
    rows = own.read("docs", partition=1, columns=("id", "text"))
    assert (rows.num_rows > 5, rows.schema.names) == (True, ["id", "text"])
    assert own.stage_files("tokenizer") == {}
    for refused in (
        lambda: own.read("docs", partition=0), lambda: own.read("docs"),
        lambda: own.read("frame", partition=1), lambda: own.notes("hosts"), own.files,
    ):  # fmt: skip
        with pytest.raises(StageError, match="reads own documents, as its stage says, and asks"):
            refused()
    nothing = context("04-lines.mark", 1, reads="nothing")
    for refused in (
        lambda: nothing.read("docs", partition=1), lambda: nothing.stage_files("tokenizer"),
        lambda: nothing.notes("hosts"), nothing.files,
    ):  # fmt: skip
        with pytest.raises(StageError, match="reads nothing, as its stage says, and asks for"):
            refused()


def test_a_phase_is_held_to_what_it_says_that_it_writes(
    context: Callable[..., EngineContext],
) -> None:
    import numpy as np
    import pyarrow as pa

    table = pa.table({"id": ["a"]})
    own = context("04-lines.mark", 1, own_verdicts=True)
    own.write("verdicts", table, np.array([1 << 63], np.uint64))
    own.write("verdicts", table.slice(0, 0), np.empty(0, np.uint64))
    for hashes in (np.array([1], np.uint64), None):
        with pytest.raises(StageError, match="writes rows of 'verdicts' that belong to another"):
            own.write("verdicts", table, hashes)
    context("04-lines.mark", 1, own_verdicts=False).write("verdicts", table, None)


def test_a_commit_that_a_network_file_system_shows_late(
    calm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is waited for; one that never comes is an error that names it."""
    place = phase_of(calm, "04-lines.mark")[0]
    hidden = calm / "hidden"
    looks: list[float] = []

    def shown(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 2:
            hidden.rename(place.commit(1))

    monkeypatch.setattr(time, "sleep", shown)
    place.commit(1).rename(hidden)
    folder = RunFolder(calm, Plan.load(calm / "plan.json"))
    with pytest.raises(TaskError, match=r"task 1 of phase 04-lines\.mark has not finished"):
        folder.commit("04-lines.mark", 1)
    assert folder.commit("04-lines.mark", 1, wait=60)["task"] == 1
    assert looks == [1.0, 1.0]


def test_rows_of_others_are_not_read_from_a_phase_that_is_open(
    context: Callable[..., EngineContext],
) -> None:
    docs = context("06-docs", 1)
    assert docs.upstream.has("04-lines.mark", "lines.verdicts")
    assert not docs.upstream.has("04-lines.mark", "lines.nothing")
    (rows,) = docs.upstream.pieces("04-lines.mark", "lines.verdicts", 1, ("id",))
    assert rows.num_rows > 0
    assert docs.upstream.no_rows("04-lines.mark", "lines.verdicts").num_rows == 0
    with pytest.raises(StageError, match=r"task 1 began after that of the same number in 04-lines"):
        list(docs.upstream.pieces("04-lines.mark", "lines.verdicts", 0, None))
    with pytest.raises(StageError, match=r"task 1 of 04-lines.mark wrote no table 'lines.nothing'"):
        list(docs.upstream.pieces("04-lines.mark", "lines.nothing", 1, None))
