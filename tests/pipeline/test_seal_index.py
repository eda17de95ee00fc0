"""What a task reads of a seal: its own rows of many files, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from corpusmill.pipeline import seal_index
from corpusmill.pipeline.errors import IntegrityError
from corpusmill.pipeline.seal_index import (
    FILES_NAME,
    GROUPS_NAME,
    IndexWriter,
    Piece,
    SealIndex,
)


def entry(table: str, task: int, *groups: tuple[int, int, int]) -> dict[str, Any]:
    """A file entry as in a commit; `groups` are partition, first row group and their number."""
    return {
        "table": table, "path": f"data/{table}-{task}.parquet", "bytes": 100 + task,
        "groups": [[*g, 1] for g in groups],
    }  # fmt: skip


def piece(table: str, task: int, first: int, count: int) -> Piece:
    return Piece(task, f"data/{table}-{task}.parquet", 100 + task, first, count)


def write(root: Path, *tasks: list[dict[str, Any]]) -> SealIndex:
    writer = IndexWriter(root, "k")
    for task, entries in enumerate(tasks):
        for one in entries:
            writer.add(task, one)
        writer.end_task(task)
    writer.finish()
    return SealIndex(root, "k")


@pytest.mark.parametrize(("block", "rows"), [(1000, 1 << 15), (2, 2), (1, 1)])
def test_pieces_of_one_partition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int, rows: int
) -> None:
    """The same for every cut into blocks and row groups."""
    monkeypatch.setattr(seal_index, "BLOCK_TASKS", block)
    monkeypatch.setattr(seal_index, "ROWS_PER_GROUP", rows)
    index = write(
        tmp_path,
        [entry("docs", 0, (0, 0, 1), (2, 1, 2), (3, 3, 1)), entry("bands", 0, (2, 0, 1))],
        [entry("docs", 1)],
        [entry("docs", 2, (2, 0, 1)), entry("bands", 2, (1, 0, 1))],
        [entry("docs", 3, (0, 0, 4), (1, 4, 1), (2, 5, 1))],
    )
    assert index.pieces("docs", 2) == [
        piece("docs", 0, 1, 2), piece("docs", 2, 0, 1), piece("docs", 3, 5, 1),
    ]  # fmt: skip
    assert index.pieces("docs", 0) == [piece("docs", 0, 0, 1), piece("docs", 3, 0, 4)]
    assert index.pieces("bands", 2) == [piece("bands", 0, 0, 1)]
    assert index.pieces("bands", 0) == index.pieces("docs", -1) == index.pieces("docs", 4) == []
    assert index.files("docs") == [piece("docs", t, 0, -1) for t in range(4)]
    assert index.has("bands")
    assert not index.has("verdicts")
    assert index.files("verdicts") == index.pieces("verdicts", 0) == []


def test_only_row_groups_that_may_hold_the_partition_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seal_index, "BLOCK_TASKS", 10)
    monkeypatch.setattr(seal_index, "ROWS_PER_GROUP", 20)
    spans = [(p, p, 1) for p in range(16)]
    index = write(tmp_path, *([entry("docs", t, *spans)] for t in range(30)))
    assert index.pieces("docs", 5) == [piece("docs", t, 5, 1) for t in range(30)]
    seen: list[int] = []
    before = pq.ParquetFile.read_row_group

    def read(self: Any, number: int, *rest: Any, **how: Any) -> Any:
        seen.append(number)
        return before(self, number, *rest, **how)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", read)
    index.pieces("docs", 5)
    assert seen == [2, 10, 18]  # of 24: two partitions in each, eight in a block


def test_another_phase_or_a_damaged_file_is_refused(tmp_path: Path) -> None:
    index = write(tmp_path, *([entry("docs", t, (0, 0, 1), (1, 1, 1))] for t in range(50)))
    with pytest.raises(IntegrityError, match=f"{FILES_NAME} belongs to another phase key"):
        SealIndex(tmp_path, "l").files("docs")
    with pytest.raises(IntegrityError, match=f"{GROUPS_NAME} belongs to another phase key"):
        SealIndex(tmp_path, "l").pieces("docs", 0)
    assert len(index.pieces("docs", 0)) == 50
    for name in (GROUPS_NAME, FILES_NAME):
        path = tmp_path / name
        whole = path.read_bytes()
        data = bytearray(whole)
        data[data.rindex(b"\x28\xb5\x2f\xfd") + 8] ^= 1  # in the last page
        path.write_bytes(bytes(data))
        with pytest.raises(IntegrityError, match=f"{name} cannot be read back"):
            SealIndex(tmp_path, "k").pieces("docs", 0)
        path.write_bytes(whole)


CODE = """
import sys, time
from pathlib import Path
import pyarrow.compute, pyarrow.parquet
from corpusmill.pipeline.peak import own_peak_bytes, start_again
from corpusmill.pipeline.seal_index import SealIndex
start_again()
before, started = own_peak_bytes(), time.process_time()
found = SealIndex(Path(sys.argv[1]), "k").pieces("docs", 300)
print(len(found), (own_peak_bytes() - before) // 1024, time.process_time() - started)
"""


@pytest.mark.slow
def test_a_task_of_many_tasks_and_partitions(tmp_path: Path) -> None:
    """Four million entries: little memory, and no more than a moment."""
    groups = [[p, p, 1, 30] for p in range(1024)]
    writer = IndexWriter(tmp_path, "k")
    for task in range(4_000):
        writer.add(task, {**entry("docs", task), "groups": groups})
        writer.end_task(task)
    writer.finish()
    said = subprocess.check_output([sys.executable, "-c", CODE, str(tmp_path)], text=True)
    number, kilobytes, seconds = said.split()
    assert int(number) == 4_000
    assert int(kilobytes) < 60_000
    assert float(seconds) < 1.0
