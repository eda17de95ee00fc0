"""The guide's reader of shards does what it says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


def batches() -> Any:
    page = (ROOT / "docs/guides.md").read_text()
    code = re.findall(r"^```python\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)[0]
    names: dict[str, Any] = {}
    exec(compile(code, "docs/guides.md", "exec"), names)
    return names["batches"]


@pytest.mark.parametrize(("vocabulary", "kind"), [(65_536, np.uint16), (65_537, np.uint32)])
def test_batches_of_a_run(tmp_path: Path, vocabulary: int, kind: Any) -> None:
    (tmp_path / "tokenizer").mkdir()
    (tmp_path / "tokenizer/card.json").write_text(json.dumps({"vocab_size": vocabulary}))
    shards = tmp_path / "shards/web"
    shards.mkdir(parents=True)
    for number, length in enumerate((100, 50, 8)):  # the last is shorter than a window
        tokens = np.arange(length) + number * 1000
        tokens.astype(kind).tofile(shards / f"web-{number:05d}.bin")
    made = batches()(tmp_path, "web", 10, 200)
    inputs, targets = next(made)
    assert inputs.shape == targets.shape == (200, 10)
    assert (targets == inputs + 1).all()
    assert set((inputs // 1000).ravel().tolist()) == {0, 1}
    assert (next(batches()(tmp_path, "web", 10, 200))[0] == inputs).all()
