"""What every measurement shares: processes timed by their own CPU time, and the report.

A side is one command a round. Sides alternate, each round begins with the next one, and the
figure of a side is the median over its rounds. CPU time is that of the whole process tree
(`bench.tree`): unlike wall time it hardly depends on what else the machine does.

The report is one object: ``{"bench": NAME, "machine": {…}, "versions": {…}, "rows": [{…}],
"bars": {"what": {"value": v, "bar": b, "holds": true}}, "notes": […]}``.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / ".venv-peers"
_TREE = Path(__file__).resolve().parent / "tree.py"


class BenchError(Exception):
    """A measurement that cannot be made; `exit_code` 2 where something has to be set up first."""

    def __init__(self, message: str, *, hint: str = "", exit_code: int = 1) -> None:
        super().__init__(message)
        self.hint = hint
        self.exit_code = exit_code


@dataclass(frozen=True, slots=True)
class Usage:
    """What one command and all its descendants used."""

    cpu_seconds: float
    """User and system time."""
    peak_bytes: int
    """Largest sum of proportional set sizes seen."""
    wall_seconds: float


@dataclass(frozen=True, slots=True)
class Side:
    """One contestant: `command` gives the command line of a round, whose output goes to `folder`
    / NAME / ROUND; `check` is called with that folder after each round and raises BenchError
    where the work was not done."""

    name: str
    command: Callable[[Path], Sequence[str]]
    check: Callable[[Path], None]
    environment: Mapping[str, str] = field(default_factory=dict)


def timed(command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None) -> Usage:
    """Runs a command to its end, its output in `log`. Raises BenchError where it fails."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch, open(log, "wb") as out:
        report = Path(scratch) / "usage.json"
        subprocess.run(
            [sys.executable, "-I", str(_TREE), str(report), *command],
            stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            env={**os.environ, **(environment or {})}, check=True,
        )  # fmt: skip
        figures = json.loads(report.read_text())
    if figures["exit_code"] != 0:
        lines = log.read_text(errors="replace").strip().splitlines()
        tail = [line for line in lines if not line.startswith("hint:")][-1:]
        raise BenchError(
            f"{' '.join(command[:4])} … ended with exit code {figures['exit_code']}"
            + (f": {tail[0][:300]}" if tail else ""),
            hint=f"its output is in {log}",
        )
    return Usage(figures["cpu_seconds"], figures["peak_bytes"], figures["wall_seconds"])


def alternate(
    sides: Sequence[Side], rounds: int, folder: Path, say: Callable[[str], None]
) -> dict[str, list[Usage]]:
    """`rounds` runs of every side, alternating; the order turns by one each round."""
    if rounds < 1:
        raise BenchError(f"{rounds} rounds measure nothing", exit_code=2)
    found: dict[str, list[Usage]] = {side.name: [] for side in sides}
    for number in range(rounds):
        turn = number % len(sides)
        for side in [*sides[turn:], *sides[:turn]]:
            place = folder / side.name.replace(" ", "-") / str(number)
            place.mkdir(parents=True)
            usage = timed(side.command(place), place.with_suffix(".log"), side.environment)
            side.check(place)
            found[side.name].append(usage)
            say(f"round {number + 1} of {rounds}, {side.name}: {usage.cpu_seconds:.1f} CPU s")
    return found


def median(runs: Sequence[Usage]) -> Usage:
    """Each figure's own median over the runs."""
    return Usage(
        statistics.median(r.cpu_seconds for r in runs),
        int(statistics.median(r.peak_bytes for r in runs)),
        statistics.median(r.wall_seconds for r in runs),
    )


def jaccard(left: set[str], right: set[str]) -> float:
    """Shared members over all members; 1 for two empty sets."""
    union = left | right
    return len(left & right) / len(union) if union else 1.0


# -- the report --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bar:
    """A figure and the least that it should be, or the most."""

    value: float
    bar: float
    at_most: bool = False

    def plain(self) -> dict[str, Any]:
        holds = self.value <= self.bar if self.at_most else self.value >= self.bar
        return {"value": self.value, "bar": self.bar, "holds": holds}


def wilson(right: int, of: int) -> tuple[float, float]:
    """The 95 % interval of a share, after Wilson (1927)."""
    if not of:
        return 0.0, 1.0
    z = 1.959964
    p = right / of
    middle = (p + z * z / (2 * of)) / (1 + z * z / of)
    spread = z / (1 + z * z / of) * math.sqrt(p * (1 - p) / of + z * z / (4 * of * of))
    return max(0.0, middle - spread), min(1.0, middle + spread)


@dataclass
class Report:
    """What a measurement found."""

    bench: str
    versions: Mapping[str, str]
    rows: list[dict[str, Any]]
    """One mapping a row of the table; values of columns named in no `columns` are details."""
    bars: dict[str, Bar]
    columns: tuple[str, ...]
    """Keys of `rows` that the table shows, in order."""
    notes: list[str] = field(default_factory=list)
    machine: dict[str, Any] = field(default_factory=dict)
    more: tuple[tuple[str, ...], ...] = ()
    """Columns of further tables of the same rows."""

    def plain(self) -> dict[str, Any]:
        """The object that ``--json`` prints."""
        return {
            "bench": self.bench,
            "machine": self.machine,
            "versions": dict(self.versions),
            "rows": self.rows,
            "bars": {name: bar.plain() for name, bar in self.bars.items()},
            "notes": self.notes,
        }

    def text(self) -> str:
        """The same for people."""
        lines = [f"{self.bench} on {self.machine.get('cpu', 'an unknown CPU')}", ""]
        for columns in (self.columns, *self.more):
            shown_rows = [r for r in self.rows if any(c in r for c in columns[1:])]
            lines += table([list(columns), *([r.get(c) for c in columns] for r in shown_rows)])
            lines.append("")
        for name, bar in self.bars.items():
            plain = bar.plain()
            verdict = "holds" if plain["holds"] else "DOES NOT HOLD"
            lines.append(f"{name}: {shown(bar.value)} (bar {shown(bar.bar)}: {verdict})")
        lines += ["", *self.notes]
        lines.append("versions: " + ", ".join(f"{n} {v}" for n, v in self.versions.items()))
        return "\n".join(lines)


def shown(value: Any) -> str:
    """A value as the table shows it: floats with three digits that count, at least."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}" if value else "0"
    return str(value)


def table(rows: Sequence[Sequence[Any]]) -> list[str]:
    """Lines of aligned columns; the first to the left, the others to the right."""
    cells = [[shown(value) for value in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    lines = []
    for row in cells:
        first, *rest = zip(row, widths, strict=True)
        padded = [first[0].ljust(first[1]), *(c.rjust(w) for c, w in rest)]
        lines.append("  ".join(padded).rstrip())
    return lines


def machine() -> dict[str, Any]:
    """The machine, as far as it bears on speed, and how busy it is now."""
    cpu = platform.machine()
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith("model name"):
                cpu = line.partition(":")[2].strip()
                break
    with open("/proc/meminfo", encoding="utf-8") as file:
        memory = int(file.readline().split()[1]) * 1024
    return {
        "cpu": cpu,
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": memory,
        "kernel": platform.release(),
        "python": platform.python_version(),
        "load_average": round(os.getloadavg()[0], 2),
    }


def peer_python(name: str) -> Path:
    """The interpreter of a peer's virtual environment. Raises BenchError (exit code 2)."""
    python = PEERS / name / "bin" / "python"
    if not python.exists():
        raise BenchError(f"{name} is not installed in {PEERS}", hint="make peers", exit_code=2)
    return python


def peer_versions(python: Path, names: Sequence[str]) -> dict[str, str]:
    """Versions of distributions in a peer's environment."""
    code = (
        "import importlib.metadata as m, json, sys\n"
        "print(json.dumps({n: m.version(n) for n in sys.argv[1:]}))"
    )
    done = subprocess.run(
        [str(python), "-I", "-c", code, *names], capture_output=True, text=True, check=True
    )
    found: dict[str, str] = json.loads(done.stdout)
    return found


def parser(description: str) -> argparse.ArgumentParser:
    """The options that every measurement has."""
    made = argparse.ArgumentParser(description=description.strip().splitlines()[0])
    made.add_argument("--quick", action="store_true", help="small data, within a minute")
    made.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    return made


def finish(make: Callable[[], Report], as_json: bool) -> int:
    """Makes a report and prints it; progress and errors go to standard error."""
    before = machine()
    try:
        report = make()
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        if error.hint:
            print(f"hint: {error.hint}", file=sys.stderr)
        return error.exit_code
    report.machine = {**before, "load_average_after": machine()["load_average"]}
    print(json.dumps(report.plain(), indent=1) if as_json else report.text())
    return 0
