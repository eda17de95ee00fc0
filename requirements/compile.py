"""Writes ``base.txt``, ``test.txt`` and ``docs.txt``: exact versions with hashes, for all
supported Pythons.

    python requirements/compile.py [--upgrade] [--only docs] PYTHON3.11 PYTHON3.12 PYTHON3.13

The arguments are interpreters with pip. pip itself resolves, for each of them, what the package
needs (``pyproject.toml``) plus what its editable install needs (hatchling, editables), so that
nothing is fetched after ``base.txt``; ``test.txt`` holds what the tests need beside it, and
``docs.txt`` what builds the site of ``docs/``, in an environment of its own. The results are
merged into one file each: a line that not all Pythons have in the same version gets an
environment marker. The hashes are those of the wheels that pip takes on Linux x86-64, on this
system and on one with glibc 2.28. No index address is written. Versions that stand in the files
are kept as long as ``pyproject.toml`` allows; with ``--upgrade`` the newest are taken.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SUPPORTED = ("3.11", "3.12", "3.13")
BUILD = ("hatchling", "editables")
OLDER = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_24", "manylinux2014", "manylinux2010",
         "manylinux1", "manylinux_2_17", "manylinux_2_12", "manylinux_2_5", "linux")  # fmt: skip
HEADER = """\
# Made by requirements/compile.py; do not edit. Install with
#     pip install --require-hashes -r requirements/{name}.txt
"""

Pins = dict[str, tuple[str, frozenset[str]]]
"""Version and hashes by normalised name."""
Table = dict[str, Any]
"""The table ``project`` of pyproject.toml."""


@dataclass(frozen=True, slots=True)
class Python:
    """An interpreter with pip, and its version as ``3.11.7``."""

    path: str
    version: str

    @property
    def minor(self) -> str:
        """The version as ``3.11``."""
        return self.version.rpartition(".")[0]

    def resolve(self, lines: Iterable[str], keep: str, *options: str) -> Pins:
        """What pip would install for the requirement `lines`, held to the constraints `keep`."""
        with tempfile.TemporaryDirectory() as folder:
            wanted, held, report = (Path(folder, n) for n in ("in.txt", "keep.txt", "report.json"))
            wanted.write_text("".join(f"{line}\n" for line in lines))
            held.write_text(keep)
            command = [
                self.path, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet",
                "--only-binary", ":all:", "--report", str(report), "-r", str(wanted),
                "-c", str(held), *options,
            ]  # fmt: skip
            subprocess.run(command, check=True, cwd=folder)
            found = json.loads(report.read_text())["install"]
        pins: Pins = {}
        for item in found:
            digest = item["download_info"]["archive_info"]["hashes"]["sha256"]
            name = normalise(item["metadata"]["name"])
            pins[name] = (item["metadata"]["version"], frozenset({digest}))
        return pins

    def complete(self, pins: Pins) -> Pins:
        """The same with the hashes of the wheels that a system with glibc 2.28 takes."""
        exact = [f"{name}=={version}" for name, (version, _) in pins.items()]
        platforms = [f"--platform={tag}_x86_64" for tag in OLDER]
        with tempfile.TemporaryDirectory() as target:
            older = self.resolve(
                exact, "", "--no-deps", f"--python-version={self.version}", f"--target={target}",
                *platforms,
            )  # fmt: skip
        return {name: (version, found | older[name][1]) for name, (version, found) in pins.items()}


def normalise(name: str) -> str:
    """The name as indexes spell it."""
    return name.lower().replace("_", "-").replace(".", "-")


def held_versions(minor: str, *names: str) -> str:
    """The lines of the present locks `names` for this Python, as constraints."""
    lines = []
    for path in (ROOT / f"requirements/{name}.txt" for name in names):
        for line in path.read_text().splitlines() if path.exists() else ():
            pin, _, marker = line.removesuffix("\\").partition(";")
            if "==" in pin and (not marker or f'"{minor}"' in marker):
                lines.append(pin.strip() + "\n")
    return "".join(lines)


def render(name: str, by_python: dict[str, Pins], leave_out: set[str]) -> str:
    """The merged file; names in `leave_out` are in another file already."""
    lines = [HEADER.format(name=name)]
    for package in sorted({p for pins in by_python.values() for p in pins} - leave_out):
        pythons: dict[str, list[str]] = {}
        hashes: dict[str, set[str]] = {}
        for minor, pins in by_python.items():
            if package in pins:
                version, found = pins[package]
                pythons.setdefault(version, []).append(minor)
                hashes.setdefault(version, set()).update(found)
        for version, minors in pythons.items():
            marker = ""
            if len(minors) < len(by_python):
                marker = " ; " + " or ".join(f'python_version == "{m}"' for m in minors)
            rows = [f"{package}=={version}{marker}"]
            rows += [f"--hash=sha256:{h}" for h in sorted(hashes[version])]
            lines.append(" \\\n    ".join(rows) + "\n")
    return "".join(lines)


def compile_run(pythons: list[Python], project: Table, keep: dict[str, str]) -> None:
    """Writes ``base.txt`` and, beside it, ``test.txt``."""
    needed = [*project["dependencies"], *BUILD]
    tests = project["optional-dependencies"]["test"]
    base: dict[str, Pins] = {}
    test: dict[str, Pins] = {}
    for python in pythons:
        minor = python.minor
        base[minor] = python.complete(python.resolve(needed, keep[minor]))
        exact = [f"{name}=={version}" for name, (version, _) in base[minor].items()]
        test[minor] = python.complete(python.resolve([*exact, *tests], keep[minor]))
        print(f"Python {minor}: {len(base[minor])} + {len(test[minor]) - len(base[minor])}")
    names = {p for pins in base.values() for p in pins}
    Path(ROOT, "requirements/base.txt").write_text(render("base", base, set()))
    Path(ROOT, "requirements/test.txt").write_text(render("test", test, names))


def compile_docs(pythons: list[Python], project: Table, keep: dict[str, str]) -> None:
    """Writes ``docs.txt``."""
    needed = project["optional-dependencies"]["docs"]
    pins = {p.minor: p.complete(p.resolve(needed, keep[p.minor])) for p in pythons}
    Path(ROOT, "requirements/docs.txt").write_text(render("docs", pins, set()))


def main(argv: list[str]) -> None:
    """Compiles the files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("pythons", nargs=len(SUPPORTED), help="interpreters with pip")
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions")
    parser.add_argument("--stay-at", type=Path, help="a file of versions to stay at")
    parser.add_argument("--only", choices=("run", "docs"), help="base and test, or docs")
    options = parser.parse_args(argv)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    code = "import sys; print('%d.%d.%d' % sys.version_info[:3])"
    pythons = [
        Python(path, subprocess.check_output([path, "-c", code], text=True).strip())
        for path in options.pythons
    ]
    if tuple(sorted(p.minor for p in pythons)) != SUPPORTED:
        raise SystemExit(f"compile.py: got Python {[p.minor for p in pythons]}, needs {SUPPORTED}")

    def kept(*names: str) -> dict[str, str]:
        if options.upgrade:
            return dict.fromkeys(SUPPORTED, "")
        if options.stay_at:
            return dict.fromkeys(SUPPORTED, options.stay_at.read_text())
        return {minor: held_versions(minor, *names) for minor in SUPPORTED}

    if options.only != "docs":
        compile_run(pythons, project, kept("base", "test"))
    if options.only != "run":
        compile_docs(pythons, project, kept("docs"))


if __name__ == "__main__":
    main(sys.argv[1:])
