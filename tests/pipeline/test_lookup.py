"""A record's rows: found in the files and row groups that can hold them, and no others read."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpusmill.pipeline.cleaning import clean_run
from corpusmill.pipeline.engine import RunFolder
from corpusmill.pipeline.errors import ConfigError, IntegrityError
from corpusmill.pipeline.ledger import sealed_docs_phases
from corpusmill.pipeline.lookup import (
    ids_of_url,
    is_id,
    matching,
    rows_of,
    tables_of,
    tasks_that_read,
)
from corpusmill.pipeline.planning import Plan
from corpusmill.pipeline.story import complete, story_lines, why

from .conftest import SEEN_TEXTS

ROWS = {"id": ["a", "b", "b", "d", "e"], "url": ["x", "y", "x", None, "x"], "n": [1, 2, 3, 4, 5]}


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, tuple[str, ...]]]:
    """What is read from here on: file, row group, columns."""
    seen: list[tuple[str, int, tuple[str, ...]]] = []
    real = pq.ParquetFile

    class Watched(real):  # type: ignore[misc, valid-type]
        def __init__(self, path: Path, **options: Any) -> None:
            super().__init__(path, **options)
            self.name = path.name

        def read_row_group(self, group: int, columns: list[str], **options: Any) -> Any:
            seen.append((self.name, group, tuple(columns)))
            return super().read_row_group(group, columns=columns, **options)

    monkeypatch.setattr(pq, "ParquetFile", Watched)
    return seen


@pytest.mark.parametrize(("word", "said"), [
    ("0123456789abcdef" * 2, True), ("0123456789ABCDEF" * 2, False), ("0" * 31, False),
    ("g" * 32, False),
])  # fmt: skip
def test_what_an_id_looks_like(word: str, said: bool) -> None:
    assert is_id(word) is said


def test_only_groups_that_can_hold_it(
    tmp_path: Path, read: list[tuple[str, int, tuple[str, ...]]]
) -> None:
    path = tmp_path / "t"
    pq.write_table(pa.table(ROWS), path, row_group_size=2)
    assert rows(path, "id", "b") == [
        {"id": "b", "url": "y", "n": 2}, {"id": "b", "url": "x", "n": 3},
    ]  # fmt: skip
    every = ("id", "url", "n")
    assert read == [("t", 0, ("id",)), ("t", 0, every), ("t", 1, ("id",)), ("t", 1, every)]
    read.clear()
    assert rows(path, "id", "c") == []
    assert read == [("t", 1, ("id",))]
    assert rows(path, "url", "x", only=("n", "id"), without=("id",)) == [
        {"n": 1}, {"n": 3}, {"n": 5},
    ]  # fmt: skip
    read.clear()
    assert [r["n"] for r in rows(path, "id", "e", "c", "A", "a", "bb")] == [1, 5]
    assert [group for _, group, columns in read if columns == ("id",)] == [0, 1, 2]


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(b"PAR1 nothing PAR1")
    for name in ("t", "none"):
        with pytest.raises(IntegrityError, match=f"{name} cannot be read back"):
            rows(tmp_path / name, "id", "a")


def rows(path: Path, column: str, *values: str, **options: Any) -> list[dict[str, Any]]:
    """What `matching` finds, as rows."""
    return [row for table in matching(path, column, values, **options) for row in table.to_pylist()]


def test_rows_of_several_ids(seen: RunFolder) -> None:
    """Of the first phase only from the tasks that read their files."""
    first, last = sealed_docs_phases(seen)
    for phase in (first, last):
        whole = [r for p in seen.pieces(phase.name, "docs", None, None) for r in p.to_pylist()]
        ids = [row["id"] for row in whole]
        tables = list(tables_of(seen, phase, "docs", [*ids, "0" * 32], only=("id",)))
        assert [i for table in tables for i in table["id"].to_pylist()] == ids
        assert list(tables_of(seen, phase, "docs", [])) == []
    assert tasks_that_read(seen.plan, whole) == {0}
    assert list(tables_of(seen, first, "docs", ids, tasks={1})) == []
    assert tasks_that_read(seen.plan, [{"source": "rows", "file": "b.jsonl"}]) is None


def test_every_row_of_every_phase_is_found(seen: RunFolder) -> None:
    """Against reading whole tables, for each record of a run in two partitions."""
    for phase in sealed_docs_phases(seen):
        for table in ("docs", "rejects"):
            rows = [r for p in seen.pieces(phase.name, table, None, None) for r in p.to_pylist()]
            for row in rows:
                assert list(rows_of(seen, phase, table, row["id"])) == [row]
                other = "rejects" if table == "docs" else "docs"
                assert list(rows_of(seen, phase, other, row["id"])) == []


def test_a_url_is_looked_up_in_the_first_phase(
    seen: RunFolder, read: list[tuple[str, int, tuple[str, ...]]]
) -> None:
    phases = sealed_docs_phases(seen)
    (good,) = ids_of_url(seen, phases, "https://a.test/good")
    first = seen.phase_folder(phases[0]).root
    assert all(list(first.rglob(name)) for name, _, _ in read)
    assert why(seen.root, good)[0]["url"] == "https://a.test/good"
    assert ids_of_url(seen, phases, "https://a.test/none") == []


def test_stories_after_clean(seen: RunFolder, tmp_path: Path) -> None:
    """Only the tables of the last phase are left, and what each phase dropped."""
    shutil.copytree(seen.root, tmp_path / "run")
    (tmp_path / "run/seen.lock.json").touch()
    before = {name: why(seen.root, f"https://a.test/{name}") for name in SEEN_TEXTS}
    clean_run(tmp_path / "run", intermediates=True)
    lost = 0
    for name, told in before.items():
        (story,) = why(tmp_path / "run", f"https://a.test/{name}")
        assert story["events"] == told[0]["events"]
        assert why(tmp_path / "run", story["id"]) == [story]
        if story["events"][-1]["outcome"] == "kept":
            assert story == told[0]
        else:
            assert story["text"] is None
            lost += told[0]["text"] is not None
    assert lost == 2
    gone = [why(tmp_path / "run", f"https://a.test/copy {x}")[0] for x in "ab"]
    (copy,) = (story for story in gone if story["survivor"])
    complete(tmp_path / "run", [copy], raw=False)
    assert copy["kept_instead"]["similarity"] is None
    told_now = story_lines(tmp_path / "run", copy)
    assert any("one of the two texts is no longer there" in line for line in told_now)
    run = RunFolder(tmp_path / "run", Plan.load(tmp_path / "run/plan.json"))
    assert len(sealed_docs_phases(run)) == 2
    with pytest.raises(ConfigError, match="no record with the id"):
        why(tmp_path / "run", "0" * 32)
