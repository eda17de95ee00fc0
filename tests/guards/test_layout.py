"""The rooms, their links, and the names that they must not take."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("classifiers", "configs", "pipeline", "stages", "tokenizers")
DATA_FOLDERS = ("data",)  # tables, and the scripts that made them


def python_from_root(code: str) -> subprocess.CompletedProcess[str]:
    """Runs `code` in a new interpreter that has the repository's root first on its path."""
    return subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}"],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip


@pytest.mark.parametrize("room", ROOMS)
def test_room_is_a_relative_link(room: str) -> None:
    link = ROOT / ".src/corpusmill" / room
    assert link.is_symlink(), (
        f".src/corpusmill/{room} is no symbolic link: this copy was made without links, so edits "
        "in the top-level folders go unseen; clone with git on Linux, or copy with cp -a"
    )
    assert os.readlink(link) == f"../../{room}"


def test_no_other_room_and_no_package_above_them() -> None:
    assert sorted(p.name for p in (ROOT / ".src/corpusmill").iterdir()) == sorted(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_room_is_typed(room: str) -> None:
    assert (ROOT / room / "py.typed").is_file()


def test_tokenizers_has_no_init() -> None:
    assert not (ROOT / "tokenizers/__init__.py").exists(), (
        "tokenizers/__init__.py would shadow the package tokenizers for everyone who runs Python "
        "from the root"
    )


def test_hugging_face_tokenizers_wins_from_the_root() -> None:
    done = python_from_root("import tokenizers; print(tokenizers.Tokenizer.__name__)")
    assert done.stdout == "Tokenizer\n", done.stderr


@pytest.mark.parametrize("room", sorted(set(ROOMS) - {"tokenizers"}))
def test_bare_import_names_the_right_one(room: str) -> None:
    done = python_from_root(f"import {room}")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("ImportError: ")
    assert f"import corpusmill.{room}" in done.stderr


def test_subpackages_of_a_bare_room_are_refused_too() -> None:
    done = python_from_root("from stages.filters import url")
    assert done.returncode == 1
    assert "import corpusmill.stages" in done.stderr


def test_make_refuses_a_copy_without_links(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / ".src/corpusmill/pipeline").mkdir(parents=True)
    (tmp_path / "requirements").mkdir()
    for name in ("pyproject.toml", "requirements/base.txt"):
        (tmp_path / name).touch()
    done = subprocess.run(["make", "sample"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert "is no symbolic link" in done.stderr
    assert not (tmp_path / ".venv").exists()


@pytest.mark.parametrize("package", ["stages", "pipeline", "classifiers"])
def test_every_folder_of_code_is_a_package(package: str) -> None:
    """A folder without ``__init__.py`` would be found, but typed as nothing."""
    missing = [
        str(folder.relative_to(ROOT))
        for folder in sorted({p.parent for p in (ROOT / package).rglob("*.py")})
        if not (folder / "__init__.py").exists() and folder.name not in DATA_FOLDERS
    ]
    assert missing == []


def test_no_name_of_a_test_hangs_on_the_clock() -> None:
    """A gzip member holds the time unless told; in the parameters of a test it is in its name, and
    processes that share the tests out would see different ones."""
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) == "gzip.compress"
        and not any(keyword.arg == "mtime" for keyword in node.keywords)
    ]
    assert wrong == []
