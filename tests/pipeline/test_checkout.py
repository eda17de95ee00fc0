from __future__ import annotations

import subprocess
from pathlib import Path

from corpusmill.pipeline.checkout import checkout


def git(root: Path, *words: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@b.example")
    return subprocess.check_output(["git", "-C", str(root), *who, *words], text=True)


def test_of_an_installed_package(tmp_path: Path) -> None:
    assert checkout(tmp_path) == {}


def test_clean_and_dirty(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "a").write_text("1")
    git(tmp_path, "add", "a")
    git(tmp_path, "commit", "-q", "-m", "one")
    commit = git(tmp_path, "rev-parse", "HEAD").strip()
    (tmp_path / "untracked").write_text("x")
    assert checkout(tmp_path) == {"commit": commit, "dirty": False}
    (tmp_path / "a").write_text("2")
    assert checkout(tmp_path) == {"commit": commit, "dirty": True}


def test_a_checkout_that_git_cannot_read(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: /nowhere\n")
    assert checkout(tmp_path) == {}
