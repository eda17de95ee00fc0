"""What the files of the repository may say, and how long they may be."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAX_LINES = 450
LONGER: set[str] = {
    "stages/extract/blocks/features.py",  # one compiled function over shared arrays
    "stages/extract/blocks/scan.py",  # one compiled function: a state machine
    "tests/pipeline/test_verify.py",  # one case of tampering beside the other
    "tests/pipeline/test_change.py",  # one case beside the other, sharing one warm process
}
"""Files that may be longer, each with its reason beside it."""

TEXT = {".py", ".md", ".toml", ".yaml", ".yml", ".txt", ".sh", ".cfg", ".in", ""}
DATA = ("tests/data/", "configs/sample/crawl/", "configs/sample/own/", "configs/sample/notices/")

EXEMPT = ("LICENSE", "tests/guards/test_text.py")

# Spelled in pieces, so that this file does not say what it forbids.
HOSTS = ("pypi" + ".org", "pythonhosted" + ".org", "npmjs" + ".com", "registry.npmjs" + ".org",
         "deb.debian" + ".org", "crates" + ".io", "proxy.golang" + ".org")  # fmt: skip
MACHINE = re.compile(
    r"(?<![\w.}/])/" + r"(?:root|work|Users|mnt|opt)/|(?<![\w.}/])/home/(?!user\b)"
)
WORKSHOP = re.compile(
    r"\.\./shar" + r"ed|shared/(?:design|reference|data)|/briefs/|\bsub-?agents?\b|"
    r"\bfound" + r"ers?\b|this sess" + r"ion\b",
    re.IGNORECASE,
)


def tracked() -> list[str]:
    """Paths of all files that git has or would take."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    return sorted(n for n in listed.split("\0") if n and (ROOT / n).is_file())


def texts() -> list[tuple[str, str]]:
    """Path and content of what people wrote here (no data, no notices)."""
    return [
        (name, (ROOT / name).read_text())
        for name in tracked()
        if (ROOT / name).suffix in TEXT and not name.startswith(DATA) and name not in EXEMPT
    ]


def places(pattern: re.Pattern[str], *, but: tuple[str, ...] = ()) -> list[str]:
    return [
        f"{name}:{number}: {line.strip()[:100]}"
        for name, text in texts()
        if name not in but
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (MACHINE, 'open("/ro' + 'ot/x")'),
        (MACHINE, "see /wo" + "rk/main"),
        (WORKSHOP, "from ../shar" + "ed/data"),
    ],
)
def test_the_patterns_see(pattern: re.Pattern[str], text: str) -> None:
    assert pattern.search(text)


@pytest.mark.parametrize("text", ["docs/work/x", "https://example.org/home/page", "the founding"])
def test_the_patterns_let_pass(text: str) -> None:
    assert not MACHINE.search(text)
    assert not WORKSHOP.search(text)


def test_no_registry_is_named() -> None:
    assert places(re.compile("|".join(map(re.escape, HOSTS)))) == []


def test_no_path_of_one_machine() -> None:
    assert places(MACHINE) == []


def test_the_project_speaks_of_itself_alone() -> None:
    assert places(WORKSHOP, but=(".ci/run",)) == []


def test_the_data_folder_stands_on_one_line_of_ci() -> None:
    lines = (ROOT / ".ci/run").read_text().splitlines()
    assert len([line for line in lines if WORKSHOP.search(line)]) == 1


def test_files_are_short() -> None:
    long = {
        name: text.count("\n")
        for name, text in texts()
        if Path(name).suffix in {".py", ".md"} and text.count("\n") > MAX_LINES
    }
    assert set(long) - LONGER == set(), long
    assert set(tracked()) >= LONGER


def test_readme_is_short() -> None:
    assert (ROOT / "README.md").read_text().count("\n") < 150


def test_no_file_is_huge() -> None:
    """A large file in git stays for ever: 3 MB is the bound for one, 20 MB for all."""
    sizes = {name: (ROOT / name).stat().st_size for name in tracked()}
    assert {n: s for n, s in sizes.items() if s > 3_000_000} == {}
    assert sum(sizes.values()) < 20_000_000, sorted(sizes.items(), key=lambda kv: -kv[1])[:8]
