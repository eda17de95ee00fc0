"""What `status --task` says of one task."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from corpusmill.pipeline import Recipe
from corpusmill.pipeline.backends import workers_on
from corpusmill.pipeline.cli import main
from corpusmill.pipeline.errors import TaskError
from corpusmill.pipeline.planning import make_plan
from corpusmill.pipeline.progress import Progress, quiet
from corpusmill.pipeline.running import put_plan, run_plan

from .conftest import RECIPE, write_corpus


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of which a file went away after it was planned."""
    base = tmp_path_factory.mktemp("failed")
    write_corpus(base / "input")
    made = make_plan(Recipe.parse(RECIPE, base, overrides=("execution.task_bytes=1",)))
    root = base / "run"
    put_plan(root, made, quiet)
    (base / "input" / "part-2.jsonl").unlink()
    with pytest.raises(TaskError, match="1 of 4 tasks"):
        run_plan(root, made, workers_on("local", root, made.plan_id, 1), Progress(quiet))
    return root


def said(capsys: Any, *words: object) -> str:
    assert main(["status", *map(str, words)]) == 0
    return str(capsys.readouterr().out)


def test_a_task_that_failed(failed: Path, capsys: Any) -> None:
    lines = said(capsys, failed, "--task", 2).splitlines()
    assert lines[:3] == [
        "01-read task 2: failed", "reads      rows/part-2.jsonl", "ended by   error",
    ]  # fmt: skip
    assert lines[3].startswith("failed     1 times, last 20")
    assert lines[4].startswith("error      InputError: part-2.jsonl cannot be read")
    assert lines[5].startswith("exit code  1, process ")
    record = Path(lines[6].split()[1])
    assert json.loads(record.read_text())["task"] == 2
    assert lines[-1].startswith("corpusmill.pipeline.errors.InputError: part-2.jsonl cannot")
    data = json.loads(said(capsys, failed, "--task", 2, "--json"))
    assert (data["kind"], data["done"], len(data["failures"])) == ("error", None, 1)


def test_a_task_that_is_done_and_one_that_has_not_begun(failed: Path, capsys: Any) -> None:
    lines = said(capsys, failed, "--task", 1).splitlines()
    assert lines[:2] == ["01-read task 1: done", "reads      rows/part-1.jsonl"]
    assert lines[2].startswith("done       20")
    assert lines[2].endswith(" CPU seconds")
    assert len(lines) == 3
    later = said(capsys, failed, "--task", 0, "--phase", "04-docs")
    assert later == "04-docs task 0: not done\n"
    assert main(["status", str(failed), "--task", "4"]) == 1
    assert "has tasks 0 to 3, not 4" in capsys.readouterr().err


@pytest.mark.slow
def test_a_finished_run_has_no_phase_at_work(finished: Path, capsys: Any) -> None:
    assert main(["status", str(finished), "--task", "0"]) == 2
    assert "all phases are done" in capsys.readouterr().err
    assert said(capsys, finished, "--task", 0, "--phase", "01-read").startswith(
        "01-read task 0: done"
    )
