"""The estimate: what follows from two measurements, by hand; then a recipe for real."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from corpusmill.pipeline import Recipe, run
from corpusmill.pipeline.cli import main
from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.estimating import Measured, _extrapolate, _part, _suggested, estimate, show

from .conftest import RECIPE, write_corpus

MB = 10**6


def test_fixed_and_rate_follow_from_two_parts() -> None:
    pair = (Measured(2, 7.0, 0, 100 * MB, 5 * MB), Measured(4, 12.0, 0, 100 * MB, 10 * MB))
    found = _extrapolate("01-read", 100, [10 * MB, 20 * MB], pair, 500 * MB, 10)
    # 5 s for 10 MB, and 2 s a process: of 500 MB, 250 s in all and 2 s for each of ten.
    assert (found.fixed, found.per_gigabyte) == (2.0, 500.0)
    assert (found.cpu, found.wall) == (270.0, 27.0)
    assert (found.memory, found.disk) == (100 * MB, 250 * MB)
    # Of 15 equal tasks on ten workers, five do two.
    assert _extrapolate("x", 15, [10 * MB, 20 * MB], pair, 500 * MB, 10).wall == 35.3
    # One task is one process, whatever the workers.
    alone = _extrapolate("x", 1, [10 * MB, 20 * MB], pair, 500 * MB, 10)
    assert (alone.cpu, alone.wall) == (252.0, 252.0)


def test_memory_grows_with_what_a_task_holds() -> None:
    pair = (Measured(4, 1.0, 0, 100 * MB, 1), Measured(4, 1.0, 0, 110 * MB, 1))
    # 2.5 MB more a task took 10 MB more: of 25 MB a task, 20 more than measured, 80 MB more.
    found = _extrapolate("x", 4, [10 * MB, 20 * MB], pair, 100 * MB, 1)
    assert found.memory == 190 * MB
    assert (found.fixed, found.per_gigabyte) == (1.0, 0.0)


def test_a_part_is_of_whole_files_in_keyed_order_of_every_source() -> None:
    files = [("a", f"{i}.gz", 10) for i in range(50)] + [("b", "only.gz", 10)]
    part = _part(files, 100)
    assert len(part) == 10
    assert {source for source, _, _ in part} == {"a", "b"}
    assert part == _part(files[::-1], 100)
    assert _part(files, 50) == part[:5]
    assert [name for _, name, _ in part[:3]] != ["0.gz", "1.gz", "2.gz"]


def test_what_a_profile_is_told() -> None:
    pair = (Measured(1, 7.0, 0, 900 * MB, 1), Measured(2, 12.0, 0, 900 * MB, 1))
    phase = _extrapolate("01-read", 100, [10 * MB, 20 * MB], pair, 50_000 * MB, 10)
    made = _suggested([phase], 50_000 * MB, 1000)
    # 500 s a GB: ten minutes are 1.2 GB; 1.5 times 900 MB in steps of 512 MiB.
    assert made == {"task_bytes": 1_200 * MB, "memory": "1536M", "time": "00:41:00"}


@pytest.mark.slow
def test_estimate_of_a_recipe_and_what_happened(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_corpus(tmp_path / "input", files=16, rows=20)
    (tmp_path / "recipe.yaml").write_text(RECIPE.replace("task_bytes: 10000", "task_bytes: 40000"))
    made = run(Recipe.load(str(tmp_path / "recipe.yaml"), ()), tmp_path / "run", workers=1)
    capsys.readouterr()
    words = ["estimate", str(tmp_path / "recipe.yaml"), "--workers", "2", "--bytes", "80000"]
    assert main([*words, "--against", str(made.root), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    small, large = found["measured"]
    assert small["files"] < large["files"] <= 8
    assert found["input"]["files"] == 16
    assert [p["phase"] for p in found["phases"]] == [p.name for p in made.plan.phases]
    assert all(p["memory"] > 20 * MB for p in found["phases"])
    # The files are alike, so the disk is nearly in proportion.
    assert 0.5 < found["disk"] / found["happened"]["disk"] < 2
    assert found["happened"]["cpu"] > 0
    show(found, str(made.root))
    said = capsys.readouterr().out
    assert "with 2 workers" in said
    assert "of disk: the estimate is off by" in said


def test_too_few_files(corpus: Path, small: Callable[..., Recipe]) -> None:
    with pytest.raises(ConfigError, match="too few for an estimate"):
        estimate(small(), 1, 10**9)
