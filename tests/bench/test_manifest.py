from __future__ import annotations

import json

import pytest

from bench import manifest


def test_small(capsys: pytest.CaptureFixture[str]) -> None:
    assert manifest.main(["--json", "--sources", "9", "--shards", "50"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["notes"] == ["9 sources, 50 shards"]
    assert made["rows"][-1]["step"] == "diff (1 lines)"
    assert all(bar["holds"] for bar in made["bars"].values())
