"""Which tests must share a process when the tests run in several (``make test``), an object store,
and an embedder that needs no package."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
TOGETHER = ("slurm",)
"""Folders whose tests share something costly: one cluster serves them all."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests of one file stay together, as fixtures of a module are made once; files that
    share something larger do too."""
    for item in items:
        path = item.path.relative_to(HERE)
        group = path.parts[0] if path.parts[0] in TOGETHER else str(path)
        item.add_marker(pytest.mark.xdist_group(group))


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
