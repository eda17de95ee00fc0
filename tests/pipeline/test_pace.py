"""How fast tasks end, and how long the others will take."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from corpusmill.pipeline import Plan, Recipe, plan
from corpusmill.pipeline.cli import main
from corpusmill.pipeline.commits import FAN, PhaseFolder
from corpusmill.pipeline.engine import RunFolder
from corpusmill.pipeline.pace import NEWEST, Pace, pace, time_left

from .conftest import RECIPE, write_corpus


def ended(place: PhaseFolder, task: int, when: float) -> None:
    path = place.commit(task)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    os.utime(path, (when, when))
    os.utime(path.parent, (when, when))


def test_the_pace_of_the_newest_records(tmp_path: Path) -> None:
    place = PhaseFolder(tmp_path)
    assert pace(place, 5) is None
    ended(place, 0, 1000.0)
    assert pace(place, 5) is None
    ended(place, 1, 1000.0)
    assert pace(place, 5) is None  # no time went by
    ended(place, 2, 1030.0)
    assert pace(place, 5) == Pace(4.0, 75.0)  # two in half a minute
    for task in range(3, NEWEST + 50):  # as slow as before
        ended(place, task, 1000.0 + 15 * task)
    for task in range(FAN, FAN + NEWEST + 50):  # a day later, one a second
        ended(place, task, 90_000.0 + task)
    assert pace(place, 60) == Pace(60.0, 60.0)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "0 s"), (89.4, "89 s"), (90, "2 min"), (3540, "59 min"), (3599, "1 h 0 min"),
     (11_000, "3 h 3 min"), (172_800, "2 d 0 h"), (400_000, "4 d 15 h")],
)  # fmt: skip
def test_time_left_for_people(seconds: float, said: str) -> None:
    assert time_left(seconds) == said


def test_status_has_it_while_tasks_are_at_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_corpus(tmp_path / "input")
    root = tmp_path / "run"
    plan(Recipe.parse(RECIPE, tmp_path)).save(root / "plan.json")
    made = Plan.load(root / "plan.json")
    place = RunFolder(root, made).phase_folder(made.phases[0])
    ended(place, 0, 1000.0)
    ended(place, 1, 1020.0)
    assert main(["status", str(root), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["phases"][0]["seconds_left"] is None
    place.temporary(2, "abc").mkdir(parents=True)
    assert main(["status", str(root)]) == 0
    assert "01-read: 3 tasks a minute, 40 s left\n" in capsys.readouterr().out
