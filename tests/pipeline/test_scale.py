"""Records of many tasks: listed, not looked up; merged without being held."""

from __future__ import annotations

import gc
import json
import os
import tracemalloc
from pathlib import Path

import pytest

from corpusmill.pipeline import commits
from corpusmill.pipeline.commits import (
    Commit,
    PhaseFolder,
    missing_tasks,
    read_seal,
    write_seal,
)
from corpusmill.pipeline.errors import IntegrityError, TaskError
from corpusmill.pipeline.identity import canonical, pretty, sha256_hex
from corpusmill.pipeline.seal_index import FILES_NAME, GROUPS_NAME

TASKS = 2500


def commit(task: int, note: str = "") -> Commit:
    provenance = {"attempt": f"{task}"}
    return Commit("01-read", "k", task, notes={"n": task, "x": note}, provenance=provenance)


def put_all(folder: PhaseFolder, tasks: int, note: str = "") -> None:
    for task in range(tasks):
        path = folder.commit(task)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pretty(commit(task, note).plain()))


def test_missing_tasks_are_found_without_a_look_at_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = PhaseFolder(tmp_path)
    assert missing_tasks(folder, 3) == [0, 1, 2]
    for task in (*range(999), 1001, 2499):
        folder.commit(task).parent.mkdir(parents=True, exist_ok=True)
        folder.commit(task).touch()
    (folder.commit(0).parent / ".000999.json.0.tmp").write_bytes(b"half")
    listed: list[Path] = []
    before = os.listdir

    def listdir(path: Path) -> list[str]:
        listed.append(path)
        return before(path)

    monkeypatch.setattr(os, "listdir", listdir)
    monkeypatch.setattr(Path, "stat", lambda *_: pytest.fail("a look at one task"))
    assert missing_tasks(folder, TASKS) == [999, 1000, *range(1002, 2499)]
    assert len(listed) == 3


def test_a_seal_is_the_canonical_json_of_all_commits(tmp_path: Path) -> None:
    """Byte for byte what hashing and writing the whole at once gives."""
    folder = PhaseFolder(tmp_path)
    put_all(folder, 3)
    write_seal(folder, "01-read", "k", 3)
    records = [commit(task).plain() for task in range(3)]
    for record in records:
        del record["provenance"]
    index = {n: sha256_hex((tmp_path / n).read_bytes()) for n in (FILES_NAME, GROUPS_NAME)}
    body = {
        "schema": "corpusmill/seal/2", "phase": "01-read", "key": "k", "commits": records,
        "index": index,
    }  # fmt: skip
    whole = {**body, "sha256": sha256_hex(canonical(body))}
    assert folder.seal().read_bytes() == canonical(whole)
    found = read_seal(folder, "k")
    assert found is not None
    assert list(found.commits) == records
    assert found.phase == "01-read"
    assert found.index == index


def test_a_seal_that_cannot_be_finished_leaves_none(tmp_path: Path) -> None:
    folder = PhaseFolder(tmp_path)
    put_all(folder, 2)
    with pytest.raises(TaskError, match="task 2 of 01-read has not finished"):
        write_seal(folder, "01-read", "k", 3)
    assert read_seal(folder, "k") is None
    assert not list(tmp_path.glob("*.parquet"))
    assert not list(tmp_path.glob(f".{FILES_NAME}*"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"n":1', b'"n":7'),
        (b'"sha256":"', b'"sha256":"0'),
        (b'"x":""', b'"x": ""'),
        (b'"}', b'" }'),
    ],
)
def test_a_seal_that_was_changed_is_refused(tmp_path: Path, old: bytes, new: bytes) -> None:
    folder = PhaseFolder(tmp_path)
    put_all(folder, 2)
    write_seal(folder, "01-read", "k", 2)
    data = folder.seal().read_bytes()
    at = data.rindex(old)
    folder.seal().write_bytes(data[:at] + new + data[at + len(old) :])
    with pytest.raises(IntegrityError, match="was changed after it was written"):
        read_seal(folder, "k")


def test_a_seal_without_a_digest_is_refused(tmp_path: Path) -> None:
    folder = PhaseFolder(tmp_path)
    folder.root.mkdir(exist_ok=True)
    folder.seal().write_bytes(json.dumps({"schema": "corpusmill/seal/2"}).encode())
    with pytest.raises(IntegrityError, match="was changed after it was written"):
        read_seal(folder, "k")


def test_merging_holds_one_commit_at_a_time(tmp_path: Path) -> None:
    folder = PhaseFolder(tmp_path)
    put_all(folder, 60, "x" * 100_000)  # 6 MB in all
    write_seal(PhaseFolder(tmp_path), "01-read", "k", 1)  # imports what writing takes
    tracemalloc.start()
    try:
        write_seal(folder, "01-read", "k", 60)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert folder.seal().stat().st_size > 6_000_000
    assert peak < 1_500_000


@pytest.mark.parametrize("on", [True, False])
def test_the_collector_is_left_as_it_was(on: bool) -> None:
    try:
        (gc.enable if on else gc.disable)()
        assert commits._parsed(b'{"a": [1]}') == {"a": [1]}
        with pytest.raises(ValueError, match="Expecting"):
            commits._parsed(b"{")
        assert gc.isenabled() is on
    finally:
        gc.enable()
