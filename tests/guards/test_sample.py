"""The sample run, as the README promises it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SECONDS = re.compile(r" \d+\.\d{3}(?= |$)")  # the column cpu s, which differs each time


def words(line: str) -> str:
    """`line` without seconds, and with one space where a column's width made several."""
    return SECONDS.sub("", " ".join(line.split()))


def corpusmill(*words: str) -> str:
    """Standard output of one verb, which must end with exit code 0."""
    command = [str(Path(sys.executable).with_name("corpusmill")), *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_sample_run_is_what_the_readme_shows(tmp_path: Path) -> None:
    run = str(tmp_path / "run")
    corpusmill("run", "configs/recipes/sample.yaml", "--out", run, "--quiet")
    readme = (ROOT / "README.md").read_text()
    account, story = re.findall(r"^```text\n(.*?)^```$", readme, flags=re.MULTILINE | re.DOTALL)

    (url,) = re.findall(r"`corpusmill why (\S+) --run runs/sample`", readme)
    for shown, printed in (
        (account, corpusmill("report", run)),
        (story, corpusmill("why", url, "--run", run)),
    ):
        lines = [words(line) for line in printed.splitlines()]
        for line in shown.splitlines():
            start = words(line).removesuffix("…").rstrip(" ,")
            assert any(whole.startswith(start) for whole in lines), (
                f"README.md shows {line!r}; a run prints:\n{printed}"
            )

    ledger = json.loads((tmp_path / "run/ledger.json").read_text())
    records = ledger["records"]
    gone = sum(records["dropped"].values()) + sum(records["errors"].values())
    assert ledger["balanced"] is True
    assert records["in"] == records["kept"] + gone > 2000
    assert records["kept"] > 100

    assert "all as locked" in corpusmill("verify", run)
