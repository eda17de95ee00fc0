"""Which tests share a process and which are first when they run in several (``make test``), an
object store, and an embedder that needs no package."""

from __future__ import annotations

import gc
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

gc.disable()  # until all tests are collected: none of that is garbage, and looking is a quarter

HERE = Path(__file__).parent
TOGETHER = ("slurm",)
"""Folders whose tests share something costly: one cluster serves them all."""
LONGEST = (
    "slurm", "pipeline/test_crash.py", "pipeline/test_engine.py", "pipeline/test_change.py",
    "ray/test_live.py", "pipeline/test_uploading.py", "pipeline/test_mix_of_runs.py",
    "pipeline/test_machine.py", "guards/test_sample.py", "pipeline/browsing/test_in_browser.py",
    "stages/extract/test_cost_of_pages.py", "tokenizers/test_real_readers.py",
    "tokenizers/test_bpe_training.py",
)  # fmt: skip
"""What takes longest, begun first: begun last, it would leave the other processes idle."""


def group_of(nodeid: str) -> str:
    """The tests of one file share a process, as fixtures of a module are made once; files that
    share something larger do too."""
    path = nodeid.partition("::")[0].removeprefix(f"{HERE.name}/")
    folder = path.partition("/")[0]
    return folder if folder in TOGETHER else path


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """By `group_of`. The marks of ``--dist loadgroup`` are lost on the way: xdist 3.8 writes them
    into names that pytest 9.2 makes anew."""
    from xdist.scheduler import LoadScopeScheduling

    scheduler = LoadScopeScheduling(config, log)
    scheduler._split_scope = group_of
    return scheduler


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    rank = {group: number for number, group in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(group_of(item.nodeid), len(rank)))


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


MOTO = Path(
    os.environ.get(
        "CORPUSMILL_READERS", Path(__file__).parents[1] / ".venv-peers/readers/bin/python"
    )
)
"""A Python that has moto."""
SERVE = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print("http://%s:%d" % server.get_host_and_port(), flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="session")
def moto() -> Iterator[str]:
    """The address of moto's server, a process on a free port of loopback."""
    if not MOTO.exists():
        reason = f"{MOTO} is missing; hint: .ci/readers"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    server = subprocess.Popen(
        [str(MOTO), "-c", SERVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert server.stdout is not None
    yield server.stdout.readline().strip()
    server.communicate()  # the end of its input ends it


WORDS = {
    "sea": (9, 0, 0), "ship": (8, 1, 0), "sail": (7, 0, 1), "whale": (9, 1, 1), "wave": (8, 0, 0),
    "code": (0, 9, 0), "loop": (0, 8, 1), "class": (1, 7, 0), "list": (0, 8, 0), "int": (1, 9, 1),
    "bread": (0, 0, 9), "oven": (1, 0, 8), "salt": (0, 1, 7), "flour": (1, 1, 9), "soup": (0, 0, 8),
    "the": (1, 1, 1), "and": (1, 1, 1), "of": (1, 1, 1),
}  # fmt: skip
"""Words of `small_embedder`, in three directions."""


@pytest.fixture
def small_embedder() -> Any:
    """An `Embedder` of `WORDS`, which stands for that of the extra ``embed``."""
    import numpy as np

    from corpusmill.classifiers.embedding import DIMENSIONS, Embedder
    from tokenizers import Tokenizer, models, pre_tokenizers

    vocabulary = {"[UNK]": 0, **{word: n for n, word in enumerate(WORDS, 1)}}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    table = np.zeros((len(vocabulary), DIMENSIONS), np.int32)
    for word, numbers in WORDS.items():
        table[vocabulary[word], :3] = np.array(numbers) * 100
    return Embedder(table, tokenizer)
