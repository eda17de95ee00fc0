"""The measurement of the engine's own costs measures what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import engine
from bench.harness import Usage


def test_archives_have_names_and_sizes_and_no_bytes(tmp_path: Path) -> None:
    engine.list_archives(tmp_path / "crawl", 1001)
    found = sorted((tmp_path / "crawl").rglob("*.warc.gz"))
    assert [p.relative_to(tmp_path).as_posix() for p in (found[0], found[-1])] == [
        "crawl/segments/000/warc/CC-000000.warc.gz", "crawl/segments/001/warc/CC-001000.warc.gz",
    ]  # fmt: skip
    assert len(found) == 1001
    assert found[7].stat().st_size == engine.ARCHIVE_BYTES + 7
    assert found[7].stat().st_blocks == 0


def test_bars() -> None:
    rows = [
        engine.row("plan", Usage(31.0, 5, 40.0)), engine.row("status", Usage(1.5, 299_000_000, 2.0)),
        {"what": "50 tasks", "CPU ms a task": 49.0}, engine.row("first page", Usage(1.2, 1, 1.0)),
        {"what": "two workers", "CPU to one": 1.06},
        engine.row("rows of one partition of 1024", Usage(1.6, 301_000_000, 2.0)),
        engine.row("Arrow alone", Usage(0.7, 1, 1.0)),
    ]  # fmt: skip
    held = {name: bar.plain()["holds"] for name, bar in engine.bars(rows).items()}
    assert held == {
        "planning, CPU s": False, "status, CPU s": True, "status, MB": True,
        "a task beyond its work, CPU ms": True, "start to first page, CPU s": True,
        "start to first page, wall s (idle machine)": True,
        "a partition's part of a seal, CPU s beyond Arrow": True,
        "a partition's part of a seal, MB": False,
        "CPU of two workers to one": False,
    }  # fmt: skip


def test_a_partition_of_many_tasks(tmp_path: Path) -> None:
    rows = engine.many_partitions(tmp_path, 3)
    assert [r["what"] for r in rows] == ["rows of one partition of 1024", "Arrow alone"]


@pytest.mark.slow
def test_records_of_many_tasks(tmp_path: Path) -> None:
    """Planned, shown and merged by the program itself: thirty archives."""
    rows = engine.many_tasks(tmp_path, 30)
    assert [r["what"] for r in rows] == ["plan", "status", "merge"]
    (seal,) = tmp_path.glob("run/phases/01-read-*/sealed.json")
    assert seal.read_bytes().count(b'"task":') == 30
