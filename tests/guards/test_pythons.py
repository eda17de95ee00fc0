"""``make`` picks a suitable Python, or says in one line what to install."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / ".ci/pythons"


def fake(path: Path, minor: str, *, venv: bool = True, runs: bool = True) -> None:
    """An interpreter that answers the three questions that the script asks."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "#!/bin/bash\n"
        + ("" if runs else "echo 'pyenv: command not found' >&2; exit 127\n")
        + 'case "$2" in\n'
        + f'  *version_info*) echo "{minor}";;\n'
        + f"  *ensurepip*) exit {0 if venv else 1};;\n"
        + f'  *executable*) echo "{path}";;\n'
        + "esac\n"
    )
    path.chmod(0o755)


def ask(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the script with `home`/bin and the barest tools on the path."""
    tools = home / "tools"
    tools.mkdir(exist_ok=True)
    for name in ("bash", "ls", "apt-get"):
        if not (tools / name).is_symlink():
            (tools / name).symlink_to(f"/bin/{name}" if name != "apt-get" else "/bin/true")
    environment = {"HOME": str(home), "PATH": f"{home}/bin{os.pathsep}{tools}"}
    return subprocess.run(
        ["/bin/bash", str(SCRIPT), *arguments], env=environment, capture_output=True, text=True
    )


def test_lists_one_of_each_minor_newest_first(tmp_path: Path) -> None:
    fake(tmp_path / "bin/python3.11", "3.11")
    fake(tmp_path / "bin/python3.13", "3.13")
    done = ask(tmp_path)
    assert done.stdout.splitlines() == [
        f"3.13 {tmp_path}/bin/python3.13",
        f"3.11 {tmp_path}/bin/python3.11",
    ]


def test_shim_that_does_not_run_is_passed_over(tmp_path: Path) -> None:
    fake(tmp_path / "bin/python3.13", "3.13", runs=False)
    fake(tmp_path / ".pyenv/versions/3.13.0/bin/python", "3.13")
    assert ask(tmp_path, "--first").stdout == f"{tmp_path}/.pyenv/versions/3.13.0/bin/python\n"


def test_the_first_of_some_minors(tmp_path: Path) -> None:
    for minor in ("3.11", "3.12", "3.13"):
        fake(tmp_path / f"bin/python{minor}", minor)
    assert ask(tmp_path, "--first", "3.12 3.11").stdout == f"{tmp_path}/bin/python3.12\n"
    (tmp_path / "bin/python3.12").unlink()
    assert ask(tmp_path, "--first", "3.12 3.11").stdout == f"{tmp_path}/bin/python3.11\n"
    done = ask(tmp_path, "--first", "3.12")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "error: this needs one of Python 3.12 with its venv module, and none is here\n"
    )


@pytest.mark.parametrize("minor", ["3.11", "3.12", "3.13"])
def test_plain_python3_will_do(tmp_path: Path, minor: str) -> None:
    fake(tmp_path / "bin/python3", minor)
    assert ask(tmp_path, "--first").stdout == f"{tmp_path}/bin/python3\n"


@pytest.mark.parametrize("minor", ["3.10", "3.14", "2.7"])
def test_too_old_or_too_new_is_one_line_with_a_command(tmp_path: Path, minor: str) -> None:
    fake(tmp_path / "bin/python3", minor)
    done = ask(tmp_path, "--first")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "error: no Python 3.11, 3.12 or 3.13 found; install one: "
        "sudo apt-get install -y python3 python3-venv\n"
    )


def test_missing_venv_module_is_one_line_with_a_command(tmp_path: Path) -> None:
    fake(tmp_path / "bin/python3.12", "3.12", venv=False)
    done = ask(tmp_path, "--first")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"error: {tmp_path}/bin/python3.12 has no venv module; install it: "
        "sudo apt-get install -y python3.12-venv\n"
    )


def test_another_python_with_venv_is_better(tmp_path: Path) -> None:
    fake(tmp_path / "bin/python3.12", "3.12", venv=False)
    fake(tmp_path / "bin/python3.11", "3.11")
    assert ask(tmp_path, "--first").stdout == f"{tmp_path}/bin/python3.11\n"


def test_make_passes_the_line_on(tmp_path: Path) -> None:
    """And leaves no half-made environment behind."""
    done = subprocess.run(
        ["make", "sample", f"VENV={tmp_path}/venv", "PYTHON=/bin/false"],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 2
    assert "error: PYTHON=/bin/false is not Python 3.11, 3.12 or 3.13" in done.stderr
    assert not (tmp_path / "venv").exists()


@pytest.mark.parametrize("script", [".ci/pythons", ".ci/run"])
def test_script_can_be_run(script: str) -> None:
    assert os.access(ROOT / script, os.X_OK)
    assert subprocess.run(["/bin/bash", "-n", ROOT / script]).returncode == 0
