"""The measurement of browse asks what it says."""

from __future__ import annotations

import json

import pytest

from bench import browse


@pytest.mark.slow
def test_on_few_documents(capsys: pytest.CaptureFixture[str]) -> None:
    assert browse.main(["--documents", "400", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    rows = {row["what"]: row for row in report["rows"]}
    assert rows["all, first page"]["found"] == 400
    assert 0 < rows["two signals between bounds"]["found"] < 400
    assert rows["the commonest word, sorted"]["found"] > 300
    assert rows["a phrase"]["found"] >= 1
    assert rows["index"]["index_bytes"] > 0
    assert {name: bar["holds"] for name, bar in report["bars"].items()} == {
        "CPU seconds of the slowest filter": True,
        "CPU seconds of the slowest search for words": True,
    }
