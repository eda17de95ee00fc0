"""What the Ray backend does with workers that are lost, refused or busy, with a Ray of our own; and
what one worker of it does."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from corpusmill.pipeline import Recipe, ray_backend
from corpusmill.pipeline.backends import LOST, left_no_record, workers_on
from corpusmill.pipeline.cli import main
from corpusmill.pipeline.commits import read_commit
from corpusmill.pipeline.engine import RunFolder
from corpusmill.pipeline.errors import ConfigError, TaskError
from corpusmill.pipeline.needs import Needs
from corpusmill.pipeline.planning import Plan, make_plan
from corpusmill.pipeline.ray_backend import RayBackend
from corpusmill.pipeline.ray_slot import RaySlot
from corpusmill.pipeline.work import Lot, Work

from .conftest import RECIPE


class Gone(Exception):
    """An actor died."""


class FakeRay(ModuleType):
    """Actors that live here and answer when they are waited for. `does` says what a slot does with
    a task, by the slot's number and the task's; it may raise `Gone`."""

    def __init__(self, cpus: float, does: Callable[[int, int], str | None], ready: Any) -> None:
        super().__init__("ray")
        self.exceptions = SimpleNamespace(RayError=Gone)
        self.cpus, self.does, self.is_ready = cpus, does, ready
        self.slots: list[int] = []
        self.alive: set[int] = set()
        self.given: list[tuple[int, int]] = []
        self.phases: list[str] = []
        self.inits: list[dict[str, Any]] = []

    def init(self, **how: Any) -> None:
        self.inits.append(how)

    def shutdown(self) -> None:
        self.inits.append({})

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": self.cpus}

    def remote(self, **_: Any) -> Callable[[type], Any]:
        def actor(_: str) -> Any:
            number = len(self.slots)
            self.slots.append(number)
            self.alive.add(number)

            def run(phase: str, task: int) -> Any:
                self.given.append((number, task))
                self.phases.append(phase)
                return lambda: self.does(number, task)

            return SimpleNamespace(
                ready=SimpleNamespace(remote=lambda plan_id: lambda: self.is_ready(number)),
                run=SimpleNamespace(remote=run),
                close=SimpleNamespace(remote=lambda: lambda: None),
                number=number,
            )  # fmt: skip

        def of(kind: type) -> Any:
            assert kind is RaySlot
            return SimpleNamespace(remote=lambda root: Hashed(actor(root)))

        return of

    def wait(self, answers: list[Any], num_returns: int, timeout: float) -> tuple[Any, Any]:
        return answers[:num_returns], answers[num_returns:]

    def get(self, answer: Callable[[], Any]) -> Any:
        return answer()

    def kill(self, slot: Any) -> None:
        self.alive.discard(slot.number)


class Hashed:
    """An actor's handle, which can be a member of a set."""

    def __init__(self, actor: Any) -> None:
        self.__dict__.update(vars(actor))


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Callable[..., FakeRay]:
    def make(does: Any, cpus: float = 2.0, ready: Any = lambda number: None) -> FakeRay:
        made = FakeRay(cpus, does, ready)
        monkeypatch.setitem(sys.modules, "ray", made)
        monkeypatch.setenv("RAY_ADDRESS", "auto")
        return made

    return make


def ran(
    root: Path, tasks: list[int], workers: int | None = None
) -> tuple[dict[int, str], list[Any]]:
    seen: list[Any] = []
    work = Work([Lot("01-read", tasks)], tick=lambda phase, done, total: seen.append((done, total)))
    with RayBackend(root, "plan", workers) as backend:
        backend.run(work)
    return {task: text for (_, task), text in work.errors.items()}, seen


def test_every_task_once_and_progress(fake: Any, tmp_path: Path) -> None:
    ray = fake(lambda slot, task: "bad" if task == 3 else None)
    errors, seen = ran(tmp_path, [0, 3, 5, 6])
    assert errors == {3: "bad"}
    assert sorted(task for _, task in ray.given) == [0, 3, 5, 6]
    assert seen[-1] == (4, 4)
    assert (len(ray.slots), ray.alive) == (2, set())
    assert ray.inits[-1] == {}, "it has not left the cluster"
    assert "address" not in ray.inits[0], "RAY_ADDRESS is for Ray to read"


def test_a_lost_worker_is_replaced_and_its_task_given_to_another(fake: Any, tmp_path: Path) -> None:
    def does(slot: int, task: int) -> str | None:
        if slot == 0:
            raise Gone("machine went away")
        return None

    ray = fake(does)
    assert ran(tmp_path, [0, 1, 2], workers=1)[0] == {}
    assert ray.given == [(0, 0), (1, 0), (1, 1), (1, 2)]
    assert ray.alive == set()


def test_a_slow_task_holds_back_only_its_own(
    fake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first task that was begun is answered last."""
    ray = fake(lambda slot, task: None)
    monkeypatch.setattr(ray, "wait", lambda answers, **_: (answers[-1:], answers[:-1]))
    closed: list[str] = []
    lots = [Lot("a", [0, 1, 2], Needs(sealed=("0",))), Lot("b", [0, 1, 2], Needs("a"))]
    with RayBackend(tmp_path, "plan", 2) as backend:
        backend.run(Work(lots, close=closed.append))
    begun = [(phase, task) for phase, (_, task) in zip(ray.phases, ray.given, strict=True)]
    assert begun == [("a", 0), ("a", 1), ("a", 2), ("b", 1), ("b", 2), ("b", 0)]
    assert closed == ["a", "b"]


def test_a_task_that_takes_its_worker_along_is_given_up(fake: Any, tmp_path: Path) -> None:
    def does(slot: int, task: int) -> str | None:
        if task == 1:
            raise Gone("out\n of   memory")
        return None

    ray = fake(does)
    errors, seen = ran(tmp_path, [0, 1, 2])
    assert errors == {1: f"{LOST} 3 times: out of memory"}
    assert left_no_record(errors[1])
    assert [task for _, task in ray.given].count(1) == 3
    assert seen[-1] == (3, 3)


def test_machines_that_cannot_work_are_left_out(fake: Any, tmp_path: Path) -> None:
    ray = fake(lambda slot, task: None, cpus=3.0, ready=lambda n: "no module" if n != 1 else None)
    assert ran(tmp_path, [0, 1])[0] == {}
    assert ray.given == [(1, 0), (1, 1)]
    fake(lambda slot, task: None, ready=lambda n: "on n1: PlanError: other versions")
    with pytest.raises(
        TaskError, match="no worker could be started on the Ray cluster: on n1: Plan"
    ):
        ran(tmp_path, [0])


def test_a_cluster_without_room(fake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(lambda slot, task: None, cpus=0.0)
    with pytest.raises(ConfigError, match="the Ray cluster has no CPU"):
        ran(tmp_path, [0])
    ray = fake(lambda slot, task: None)
    monkeypatch.setattr(ray, "wait", lambda answers, num_returns, timeout: ([], answers))
    monkeypatch.setattr(ray_backend, "START_SECONDS", -1.0)
    with pytest.raises(TaskError, match="has started no worker within"):
        ran(tmp_path, [0])


def test_a_cluster_that_cannot_be_reached(fake: Any, tmp_path: Path) -> None:
    ray = fake(lambda slot, task: None)

    def init(**_: Any) -> None:
        raise ConnectionError("nobody answers")

    ray.init = init
    with pytest.raises(ConfigError, match="can be reached or started: nobody answers") as caught:
        ran(tmp_path, [0])
    assert "RAY_ADDRESS" in str(caught.value.hint)


def test_a_cluster_of_our_own_is_on_loopback_and_leaves_no_folder(
    fake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray = fake(lambda slot, task: None)
    monkeypatch.delenv("RAY_ADDRESS")
    ran(tmp_path, [0], workers=1)
    how = ray.inits[0]
    assert (how["address"], how["_node_ip_address"], how["num_cpus"]) == ("local", "127.0.0.1", 1)
    assert how["include_dashboard"] is False
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"
    assert not Path(how["_temp_dir"]).exists()


def test_without_ray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match="needs the package ray") as caught:
        workers_on("ray", tmp_path, "plan", None)
    assert caught.value.hint == "pip install 'corpusmill[ray]'"


def test_a_profile_is_not_for_ray(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("run", "recipe.yaml", "--out", str(tmp_path), "--backend", "ray", "--profile", "x")
    assert main(words) == 2
    assert "--profile is for the Slurm backend" in capsys.readouterr().err


def test_one_worker(tmp_path: Path) -> None:
    """Ready for its plan and no other; runs a task in a child; the task that fails says so."""
    (tmp_path / "input").mkdir()
    for name in "ab":
        (tmp_path / "input" / f"{name}.jsonl").write_text('{"id": "1", "text": "one"}\n')
    plan = make_plan(Recipe.parse(RECIPE, tmp_path, overrides=("execution.task_bytes=1",)))
    slot = RaySlot(str(tmp_path))
    refused = slot.ready(plan.plan_id)
    assert refused is not None
    assert "cannot read the plan" in refused
    plan.save(tmp_path / "plan.json")
    (tmp_path / "input" / "b.jsonl").unlink()
    assert slot.ready(plan.plan_id) is None
    assert f"is another plan, {plan.plan_id[:12]}" in str(slot.ready("0" * 64))
    try:
        assert slot.run("01-read", 0) is None
        assert "InputError" in str(slot.run("01-read", 1))
    finally:
        slot.close()
    folder = RunFolder(tmp_path, plan).phase_folder(plan.phases[0])
    record = read_commit(folder, 0, plan.phases[0].key)
    assert record is not None
    assert record["counts"]["out"] == 1


def test_another_installation_is_refused(tmp_path: Path) -> None:
    (tmp_path / "input").mkdir()
    (tmp_path / "input" / "a.jsonl").write_text('{"id": "1", "text": "one"}\n')
    plan = make_plan(Recipe.parse(RECIPE, tmp_path))
    data = json.loads(json.dumps(plan.data))
    data["recipe"]["steps"][0]["version"] = 999
    with pytest.raises(ConfigError, match="exact version 999, installed is"):
        Plan(data, plan.phases).check_installation()
    data["recipe"]["steps"][0]["version"] = plan.data["recipe"]["steps"][0]["version"]
    data["recipe"]["sources"][0]["version"] = 999
    with pytest.raises(ConfigError, match="jsonl version 999, installed is"):
        Plan(data, plan.phases).check_installation()
