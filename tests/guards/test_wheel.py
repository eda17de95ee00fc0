"""What a wheel holds is what the tree holds."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("classifiers", "configs", "pipeline", "stages", "tokenizers")


def tree() -> set[str]:
    """Files of the rooms that git has, or would take."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", *ROOMS]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    names = [name for name in listed.decode().split("\0") if name]
    return {f"corpusmill/{name}" for name in names if (ROOT / name).exists()}


def built(kind: str, folder: Path, source: Path) -> Path:
    """Builds a wheel or an sdist without the network."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (found,) = folder.iterdir()
    return found


@pytest.mark.slow
def test_wheel_holds_the_tree(tmp_path: Path) -> None:
    with zipfile.ZipFile(built("wheel", tmp_path, ROOT)) as wheel:
        names = set(wheel.namelist())
    code = {name for name in names if not name.startswith("corpusmill-0.")}
    assert code == tree()
    assert "corpusmill/tokenizers/py.typed" in code
    assert "corpusmill/tokenizers/__init__.py" not in code
