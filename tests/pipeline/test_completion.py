"""Completion as the shells carry it out."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from corpusmill.pipeline.cli import main
from corpusmill.pipeline.completion import SHELLS, verbs


@pytest.fixture
def script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert main(["completion", "bash"]) == 0
    path = tmp_path / "bash"
    path.write_text(capsys.readouterr().out)
    return path


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["tr"], {"trace", "train", "try"}),
        (["run", "--work"], {"--workers"}),
        (["run", "--backend", ""], {"local", "ray", "slurm"}),
        (["ls", "s"], {"stages", "signals"}),
        (["completion", ""], {"bash", "zsh", "fish", "--help"}),
        (["report", "--a"], {"--against"}),
        (["why", "zz"], set()),
    ],
)
def test_bash_completes(script: Path, words: list[str], found: set[str]) -> None:
    line = " ".join(f"'{w}'" for w in ["corpusmill", *words])
    code = (
        f"source {script}; COMP_WORDS=({line}); COMP_CWORD={len(words)}; _corpusmill; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == found, done.stderr
    assert done.stderr == ""


@pytest.mark.parametrize("shell", SHELLS)
def test_every_verb_and_option_is_there(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    text = capsys.readouterr().out
    for verb in verbs():
        assert verb.name in text
        for option in verb.options:
            assert option.name.removeprefix("--") in text, (verb.name, option.name)
    if shutil.which(shell):
        check = {"fish": ["fish", "--no-execute"]}.get(shell, [shell, "-n"])
        done = subprocess.run([*check], input=text, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
