"""What the tasks of a product's phase share is made before their workers are."""

from __future__ import annotations

import json
from pathlib import Path

from corpusmill.pipeline import Recipe
from corpusmill.pipeline.planning import make_plan
from corpusmill.pipeline.worker import Worker

from .conftest import PRODUCTS, RECIPE, sentence, write_corpus


def test_benchmarks_are_made_ready_for_the_phase_that_looks_for_them(tmp_path: Path) -> None:
    write_corpus(tmp_path / "input", files=1, rows=5)
    (tmp_path / "sets").mkdir()
    row = {"id": "1", "question": sentence(5, 30), "answer": "4"}
    (tmp_path / "sets/one.jsonl").write_text(json.dumps(row) + "\n")
    text = RECIPE + PRODUCTS.replace("3000", "3000, benchmarks: sets")
    plan = make_plan(Recipe.parse(text, tmp_path))
    worker = Worker(tmp_path / "run", plan)
    ready = {}
    for phase in plan.phases:
        if phase.step == "shards":
            worker.prepare(phase)
            (step,) = worker._steps.values()
            ready[phase.method] = step.made._benchmarks is not None
    assert ready == {
        "encode": False, "mix": False, "place": False, "write": False, "check": True,
        "manifest": False,
    }  # fmt: skip
