"""The locks: exact, hashed, without an index address, and within their size."""

from __future__ import annotations

import importlib.metadata
import re
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ("base", "test", "docs")
SUPPORTED = ("3.11", "3.12", "3.13")
BASE_BYTES = 900_000_000  # docs/dependencies.md says what makes it up and how it can shrink


def normalise(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def locked(lock: str, python: str) -> dict[str, Version]:
    """Versions by name for one Python; fails on a line that is anything but a hashed pin."""
    text = (ROOT / f"requirements/{lock}.txt").read_text()
    code = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", "")
    pins: dict[str, Version] = {}
    for line in code.splitlines():
        match = re.fullmatch(
            r"([a-z0-9-]+)==([^\s;]+)(?: ; (.+?))?((?:\s+--hash=sha256:[0-9a-f]{64})+) *", line
        )
        assert match, f"requirements/{lock}.txt: no hashed pin: {line!r}"
        name, version, marker, _ = match.groups()
        if marker is None or Marker(marker).evaluate({"python_version": python}):
            assert name not in pins, f"{name} twice for Python {python}"
            pins[name] = Version(version)
    return pins


def project() -> dict[str, list[Requirement]]:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {k: [Requirement(r) for r in v] for k, v in table["optional-dependencies"].items()}
    return {"base": [Requirement(r) for r in table["dependencies"]], **extras}


@pytest.mark.parametrize("python", SUPPORTED)
@pytest.mark.parametrize("lock", LOCKS)
def test_lock_meets_the_declared_bounds(lock: str, python: str) -> None:
    pins = locked(lock, python)
    for requirement in project()[lock]:
        version = pins[normalise(requirement.name)]
        assert version in requirement.specifier, f"{requirement} but {version} is locked"


@pytest.mark.parametrize("python", SUPPORTED)
def test_locks_do_not_overlap(python: str) -> None:
    assert not locked("base", python).keys() & locked("test", python).keys()


@pytest.mark.parametrize("python", SUPPORTED)
def test_editable_install_needs_nothing_more(python: str) -> None:
    assert {"hatchling", "editables"} <= locked("base", python).keys()


@pytest.mark.parametrize("lock", LOCKS)
def test_no_address_in_the_lock(lock: str) -> None:
    text = (ROOT / f"requirements/{lock}.txt").read_text()
    assert not re.search(r"://|--(?:extra-)?index|--find-links|@", text)


def test_base_has_a_lower_bound_for_each() -> None:
    loose = [str(r) for r in project()["base"] if ">=" not in str(r.specifier)]
    assert loose == []


def test_the_tests_own_packages_stay_out_of_the_base() -> None:
    pins = locked("base", "3.11")
    assert not {"pytest", "hypothesis", "mypy", "ruff", "tiktoken", "torch", "ray"} & pins.keys()


def test_every_dependency_is_explained() -> None:
    page = (ROOT / "docs/dependencies.md").read_text()
    named = {normalise(n) for n in re.findall(r"^\| `([^`]+)`", page, flags=re.MULTILINE)}
    wanted = {normalise(r.name) for rs in project().values() for r in rs}
    assert wanted | {"hatchling", "editables"} == named


def test_module_fasttext_is_the_maintained_one() -> None:
    owners = importlib.metadata.packages_distributions()["fasttext"]
    assert owners == ["fasttext-community"]


@pytest.mark.slow
def test_base_set_keeps_its_size() -> None:
    """Bytes of all files of the locked base distributions, compiled Python included."""
    python = ".".join(map(str, sys.version_info[:2]))
    sizes = {}
    for name, version in locked("base", python).items():
        installed = importlib.metadata.distribution(name)
        assert Version(installed.version) == version, f"{name}: another version is installed"
        paths = [Path(str(f.locate())) for f in installed.files or ()]
        sizes[name] = sum(p.lstat().st_size for p in paths if p.exists())
    largest = sorted(sizes.items(), key=lambda kv: -kv[1])[:6]
    assert sum(sizes.values()) < BASE_BYTES, largest
