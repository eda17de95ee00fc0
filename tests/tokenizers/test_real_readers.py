"""Exports read back by the projects' own readers, where ``.venv-peers/readers`` is installed
(`readers.txt`)."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from corpusmill.pipeline.context import MemoryContext
from corpusmill.tokenizers.emitters import emit
from corpusmill.tokenizers.shards import Shards, ShardsParams

from .conftest import fill, make_docs
from .test_emitters import pieces, whole

ROOT = Path(__file__).resolve().parents[2]
PYTHON = Path(os.environ.get("CORPUSMILL_READERS", ROOT / ".venv-peers/readers/bin/python"))
pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def readers() -> None:
    """Skips without the environment; fails where everything must be tested."""
    if not PYTHON.exists():
        reason = f"{PYTHON} is missing; hint: .ci/readers"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)


@pytest.fixture(scope="module")
def released(tokenizer: MemoryContext, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("readers")
    ctx = MemoryContext(root, seed=11)
    ctx.steps["tokenizer"] = tokenizer
    fill(ctx, make_docs(60))
    ctx.run_phases(Shards(ShardsParams(tokens_per_shard=401)))
    (root / "tokenizer").mkdir()
    for name, path in tokenizer.files().items():
        (root / name).write_bytes(path.read_bytes())
    return root


def read(layout: str, folder: Path) -> list[list[int]]:
    command = [str(PYTHON), str(Path(__file__).with_name("read_back.py")), layout, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: Any = json.loads(done.stdout.splitlines()[-1])
    return [list(d) for d in found]


@pytest.mark.parametrize("layout", ["megatron", "datatrove", "olmo", "mds", "litdata"])
def test_their_reader_sees_our_tokens(released: Path, tmp_path: Path, layout: str) -> None:
    emit(released, layout, tmp_path / "x", only="web")
    found = read(layout, tmp_path / "x/web")
    if layout == "mds":
        assert found == whole(released, "web")
    elif layout == "datatrove":  # it leaves out an odd last token of each file
        shards = [np_tokens(p) for p in sorted((released / "shards/web").glob("*.bin"))]
        assert found == [s[: len(s) - len(s) % 2] for s in shards]
    elif layout == "olmo":  # by ends of text: not what goes on in the next file
        assert found == [p for p in pieces(released, "web") if p[-1] == 0]
    elif layout == "litdata":  # it knows no documents
        assert found == [[t for p in pieces(released, "web") for t in p]]
    else:
        assert found == pieces(released, "web")


def test_the_guide_trains_on_our_shards(released: Path) -> None:
    """With torch, Megatron-core and OLMo-core as the guide says; each learns its first batch."""
    script = Path(__file__).with_name("train_steps.py")
    command = [str(PYTHON), "-W", "ignore", str(script), str(ROOT / "docs/guides.md")]
    done = subprocess.run(
        [*command, str(released), "web"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found.keys() == {"numpy", "megatron", "olmo"}
    for name, one in found.items():
        assert one["losses"][-1] < 0.5 * one["losses"][0], name
    shards = [np_tokens(p) for p in sorted((released / "shards/web").glob("*.bin"))]
    assert found["olmo"]["first"] == shards[0][:16]
    row = found["megatron"]["first"]
    assert len(row) == 17
    for part in " ".join(map(str, row)).split(" 0 "):  # documents are in an order of its own
        assert f" {part} " in f" {' '.join(map(str, shards[0]))} "


def np_tokens(path: Path) -> list[int]:
    import numpy as np

    return [int(t) for t in np.fromfile(path, "<u2")]
