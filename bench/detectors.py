"""The other detectors of encodings: a process each, in the environment that ``make peers`` made."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from .harness import PEERS, ROOT, BenchError

PEER = "detectors"
SCRIPT = ROOT / "bench" / "peers" / PEER / "detect.py"


REPAIRS = ("ftfy fix_encoding", "ftfy fix_text")
"""Rows that repair text and tell no encoding: for `bench.twice`."""


@dataclass
class Detector:
    """A process that answers bodies (``bench/peers/detectors/detect.py``)."""

    name: str
    command: list[str]
    version: str
    _process: subprocess.Popen[bytes] | None = None

    def ask(self, body: bytes) -> tuple[str, str, float]:
        """(encoding that it says, text that it gives, CPU seconds): one of the first two is empty.
        Raises BenchError where the process ended."""
        if self._process is None:
            self._process = subprocess.Popen(
                [*self.command, "--detector", self.name],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise BenchError(f"{self.name} has no pipes")
        stdin.write(len(body).to_bytes(8) + body)
        stdin.flush()
        line = stdout.readline()
        if not line:
            raise BenchError(f"{self.name} ended with exit code {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer["name"], answer["text"], answer["cpu"]

    def end(self) -> None:
        """Lets the process end."""
        if self._process is not None:
            self._process.communicate()
            self._process = None


def installed() -> tuple[dict[str, Detector], list[str]]:
    """By name those that are installed, and the names of those that are not. Without the
    environment of ``make peers``, those among our own dependencies."""
    python = PEERS / PEER / "bin" / "python"
    call = [str(python) if python.exists() else sys.executable, str(SCRIPT)]
    done = subprocess.run([*call, "--list"], capture_output=True, text=True)
    if done.returncode != 0:
        raise BenchError(f"{' '.join(call)}: {done.stderr.strip()[-200:]}", hint="make peers")
    versions: dict[str, str | None] = json.loads(done.stdout)
    found = {n: Detector(n, call, number) for n, number in versions.items() if number is not None}
    return found, [name for name, number in versions.items() if number is None]
