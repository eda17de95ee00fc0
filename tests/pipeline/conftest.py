"""A small corpus and recipe for the engine's tests."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from corpusmill.pipeline import Recipe

if TYPE_CHECKING:
    from corpusmill.pipeline.engine import RunFolder

    from .mill import Forks, Mill

_WORDS = (
    "river stone lantern orchard copper winter harbour sparrow meadow thunder velvet compass "
    "granite willow ember canyon saffron glacier marble thicket anchor prairie cobalt juniper"
).split()


def sentence(seed: int, length: int = 12) -> str:
    """Words picked by a linear rule: different for each seed, the same everywhere."""
    return " ".join(
        _WORDS[(seed * 7919 + i * (seed % 23 + 1) * 31 + i * i) % 24] for i in range(length)
    )


def text_of(number: int) -> str:
    return "\n".join(f"{sentence(number * 40 + k)} {number} {k}." for k in range(8))


def write_corpus(folder: Path, files: int = 4, rows: int = 20) -> None:
    """JSONL files in which every tenth row repeats an earlier one."""
    folder.mkdir(parents=True, exist_ok=True)
    for f in range(files):
        with open(folder / f"part-{f}.jsonl", "w", encoding="utf-8") as out:
            for r in range(rows):
                number = f * rows + r
                same = number - number % 10 if number % 10 == 9 else number
                row = {
                    "id": str(number),
                    "text": text_of(same),
                    "url": f"https://h{number % 5}.example/{number}",
                }
                out.write(json.dumps(row) + "\n")


RECIPE = """
schema: corpusmill/recipe/1
name: small
version: "1"
seed: 7
sources:
  - {name: rows, stage: sources.jsonl, root: input, paths: ["*.jsonl"], licence: CC0-1.0}
steps:
  - dedup.exact
  - measure.split: {heldout: "0.1", by: id}
execution: {task_bytes: 10000, partitions: 4}
"""

PRODUCTS = """
tokenizer: {stage: tokenizers.bpe, vocab_size: 400}
mix: {}
shards: {tokens_per_shard: 3000}
"""


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A folder with ``input/`` and room for run folders."""
    write_corpus(tmp_path / "input")
    return tmp_path


@pytest.fixture
def small(corpus: Path) -> Callable[..., Recipe]:
    """``small("key=value", …, text=RECIPE)``: the small recipe, with overrides."""

    def make(*overrides: str, text: str = RECIPE) -> Recipe:
        return Recipe.parse(text, corpus, overrides=overrides)

    return make


@pytest.fixture(scope="session")
def ran_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``input/``, and in ``run`` a finished run of `RECIPE`. Read only."""
    from corpusmill.pipeline import run

    base = tmp_path_factory.mktemp("ran")
    write_corpus(base / "input")
    run(Recipe.parse(RECIPE, base), base / "run", workers=1)
    return base


@pytest.fixture
def finished(ran_once: Path, corpus: Path) -> Path:
    """The folder of a finished run of `RECIPE` on `corpus`: a copy for one test."""
    shutil.copytree(ran_once, corpus, dirs_exist_ok=True)
    return corpus / "run"


def run_here(recipe: Recipe, root: Path) -> RunFolder:
    """Every phase of a recipe in this process, without products: quick, for tests of what looks
    at a run folder."""
    from corpusmill.pipeline.engine import RunFolder
    from corpusmill.pipeline.planning import make_plan
    from corpusmill.pipeline.worker import Worker

    plan = make_plan(recipe)
    root.mkdir(exist_ok=True)
    plan.save(root / "plan.json")
    worker = Worker(root, plan)
    for phase in plan.phases:
        for task in range(phase.tasks):
            worker.run_task(phase, task)
        worker.run.close(phase)
    worker.close()
    return RunFolder(root, plan)


@pytest.fixture(scope="session")
def run_folder() -> Callable[[Recipe, Path], RunFolder]:
    """`run_here`, for tests in folders below."""
    return run_here


SEEN = """
schema: corpusmill/recipe/1
name: seen
version: "1"
sources:
  - {name: rows, stage: sources.jsonl, root: in, paths: ["*.jsonl"], licence: CC0-1.0}
steps:
  - measure.fineweb
  - filters.threshold: {signal: fineweb_line_punct, min: 0.5, as: ends}
  - filters.threshold: {signal: fineweb_short_lines, max: 0.5, as: shorts}
  - dedup.exact: {normalise: fold}
  - measure.c4
  - filters.threshold: {signal: c4_sentences, max: 2, as: many}
  - filters.threshold: {signal: c4_lines, max: 2, as: lines}
  - clean.pii
execution: {partitions: 2}
"""
LONG = "this is a line that is by far long enough to be no short line"
SEEN_TEXTS = {
    "good": f"{LONG}.",
    "no end": f"{LONG}",
    "short": "it ends.",
    "both": "ann@tiny.io",
    "copy a": f"{LONG} twice.",
    "copy b": f"{LONG.upper()} TWICE.",
    "three": f"{LONG}!\n{LONG} and on!\n{LONG} for ann@tiny.io!",
}


@pytest.fixture(scope="session")
def seen(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A small run in which each rule of two phases drops something; ``recipe.yaml`` is beside it.
    Read only."""
    base = tmp_path_factory.mktemp("seen")
    (base / "in").mkdir()
    rows = [{"text": text, "url": f"https://a.test/{name}"} for name, text in SEEN_TEXTS.items()]
    (base / "in/a.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    (base / "recipe.yaml").write_text(SEEN)
    return run_here(Recipe.parse(SEEN, base), base / "run")


@pytest.fixture(scope="session")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    """One warm process for all runs that are made in forks of it."""
    from .mill import Forks

    base = tmp_path_factory.mktemp("forks")
    write_corpus(base / "input", files=4, rows=10)
    made = Forks(base)
    yield made
    made.close()


@pytest.fixture(scope="module")
def mill(forks: Forks) -> Iterator[Mill]:
    """A folder with inputs, and runs in forks. In memory, where syncing costs nothing: a SIGKILL
    does not care."""
    from .mill import Mill

    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    base = Path(tempfile.mkdtemp(prefix="mill-", dir=memory))
    write_corpus(base / "input", files=4, rows=10)
    yield Mill(base, forks)
    shutil.rmtree(base)
