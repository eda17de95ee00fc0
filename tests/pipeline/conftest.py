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
