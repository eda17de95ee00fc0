"""`bench.url_lists`: the list that it makes is one, and the loads are what they are called."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import url_lists
from corpusmill.stages.filters.url_lists import read_lists


def test_made_list_is_one_of_domains(tmp_path: Path) -> None:
    size = url_lists.make(tmp_path / "lists", 500)
    path = tmp_path / "lists" / "adult" / "domains"
    assert size == path.stat().st_size
    lines = path.read_text().split()
    assert len(lines) == 500
    found = read_lists([str(tmp_path / "lists")], ["adult"])
    assert len(found.domains) == len(set(lines)) > 400
    assert not len(found.prefixes)


@pytest.mark.slow
def test_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert url_lists.main(["--quick", "--rounds", "1", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    peak = {row["load"]: row["peak_mb"] for row in report["rows"]}
    assert 0 < peak["start"] < peak["first"]
    assert report["bars"]["first load, MB"]["holds"], report
    assert peak["first"] < peak["start"] + 20, report  # the list is 2 MB
