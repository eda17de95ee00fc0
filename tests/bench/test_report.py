"""The measurement of the report of many tasks makes what it says."""

from __future__ import annotations

import json
import sys

import pytest

from bench import report


@pytest.mark.slow
def test_twenty_tasks(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["report", "--tasks", "20", "--json"])
    assert report.main() == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["what"] for row in found["rows"]] == ["seal", "report", "report --html"]
    assert 0.01 < found["rows"][-1]["page MB"] < 5
