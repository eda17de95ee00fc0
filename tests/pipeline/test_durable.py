"""Atomic writes, exclusive commits, publishing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from corpusmill.pipeline.durable import (
    FAULT_VARIABLE,
    link_or_copy,
    write_atomic,
    write_exclusive,
)


def test_atomic_write_replaces_and_leaves_nothing(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "x"
    write_atomic(target, b"one")
    write_atomic(target, b"two")
    assert target.read_bytes() == b"two"
    assert os.listdir(target.parent) == ["x"]


def test_the_first_commit_wins(tmp_path: Path) -> None:
    target = tmp_path / "c.json"
    assert write_exclusive(target, b"first") is None
    assert write_exclusive(target, b"second") == b"first"
    assert target.read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["c.json"]


def test_publishing_twice_leaves_one_name(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    link_or_copy(tmp_path / "a", tmp_path / "out" / "b")
    link_or_copy(tmp_path / "a", tmp_path / "out" / "b")
    assert os.listdir(tmp_path / "out") == ["b"]
    assert (tmp_path / "out" / "b").read_bytes() == b"x"


def test_a_kill_before_the_rename_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "x"
    write_atomic(target, b"old")
    code = (
        "import sys, pathlib\n"
        "from corpusmill.pipeline.durable import write_atomic\n"
        "write_atomic(pathlib.Path(sys.argv[1]), b'new')\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, str(target)],
        env={**os.environ, FAULT_VARIABLE: "rename:1"},
    )
    assert done.returncode == -signal.SIGKILL
    assert target.read_bytes() == b"old"
