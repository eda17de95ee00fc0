"""The command line answers at once, and importing the package costs little."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BOUND = 0.3  # seconds of CPU, user and system
HEAVY = {
    "datasketch", "datatrove", "fasttext", "fastwarc", "numba", "numpy", "pyarrow", "pycld2",
    "ray", "resiliparse", "scipy", "selectolax", "sentencepiece", "tokenizers", "torch",
    "trafilatura", "unittest",
}  # fmt: skip


def cpu_seconds(command: list[str]) -> float:
    """CPU time of one child, which must end with exit code 0."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as child:
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, command
    return usage.ru_utime + usage.ru_stime


def best_of(times: int, command: list[str]) -> float:
    return min(cpu_seconds(command) for _ in range(times))


def console_script() -> str:
    script = Path(sys.executable).with_name("corpusmill")
    assert script.exists(), "the package is not installed in this environment; hint: make test"
    return str(script)


@pytest.mark.parametrize("verb", ["--help", "--version"])
def test_command_line_answers_at_once(verb: str) -> None:
    assert best_of(5, [console_script(), verb]) < BOUND


def test_import_is_cheap() -> None:
    assert best_of(5, [sys.executable, "-I", "-c", "import corpusmill.pipeline"]) < BOUND


@pytest.mark.parametrize(
    "arguments", [["-c", "import corpusmill.pipeline"], ["-m", "corpusmill.pipeline", "--help"]]
)
def test_nothing_heavy_is_loaded(arguments: list[str]) -> None:
    command = [sys.executable, "-I", "-X", "importtime", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    loaded = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines() if "|" in line}
    assert "corpusmill.pipeline" in loaded
    assert sorted(loaded & HEAVY) == []
