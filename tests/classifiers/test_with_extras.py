"""The tests in `with_extras`, run in the environment that has those packages."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTHON = Path(os.environ.get("CORPUSMILL_READERS", ROOT / ".venv-peers/readers/bin/python"))


@pytest.mark.slow
def test_they_pass_where_the_extras_are_installed() -> None:
    if not PYTHON.exists():
        reason = f"{PYTHON} is missing; hint: .ci/readers"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    folder = Path(__file__).with_name("with_extras")
    command = [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "default", folder]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / ".src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        list(map(str, command)), cwd=ROOT, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert re.search(r"\d+ passed", done.stdout)
    assert "skipped" not in done.stdout
