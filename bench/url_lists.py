"""The first and the later loads of a list of millions of domains, as `filters.url` reads it.

    python -m bench.url_lists [--quick] [--json] [--rounds N]

The list is made: 4.6 million domains, as many as UT1's category ``adult`` has (with ``--quick``
100,000). Each load is a process of its own; ``start`` is one that loads nothing. The first load
finds no cache, the later one that of the first. Figures are medians of the rounds.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from corpusmill.pipeline.peak import own_peak_bytes
from corpusmill.pipeline.progress import to_stderr as say
from corpusmill.stages.filters.url_lists import load_lists

from .harness import Bar, Report, finish, parser, timed

DOMAINS, QUICK_DOMAINS = 4_600_000, 100_000
ROUNDS = 3
LOADS = ("start", "first", "later")
_TOPS = (".com", ".net", ".org", ".de", ".co.uk", ".info")
_JOINTS = ("", "-", ".", "", "")


def main(argv: Sequence[str] | None = None) -> int:
    options = parser(__doc__ or "")
    options.add_argument("--rounds", type=int, default=ROUNDS, help="loads of each kind")
    options.add_argument("--load", help=argparse.SUPPRESS)  # what the processes are called with
    args = options.parse_args(argv)
    if args.load is not None:
        return load(args.load)
    return finish(lambda: measure(args), args.json)


def load(folder: str) -> int:
    """Loads the lists in a folder, if one is named, and prints the most memory that was its own."""
    if folder:
        load_lists([folder], ["adult"])
    # Not by getrusage: that begins with what the process that started this one held.
    print(own_peak_bytes())
    return 0


def make(folder: Path, domains: int) -> int:
    """Writes a folder in UT1's layout with so many domains; returns its bytes."""
    draw = random.Random(1)
    words = ["".join(draw.choices("etaoinshrdlu", k=draw.randint(3, 8))) for _ in range(3000)]
    path = folder / "adult" / "domains"
    path.parent.mkdir(parents=True)
    with path.open("w", encoding="ascii") as file:
        for number in range(domains):
            name = draw.choice(words) + draw.choice(_JOINTS) + draw.choice(words)
            file.write(f"{name}{number % 1000}{draw.choice(_TOPS)}\n")
    return path.stat().st_size


def measure(args: argparse.Namespace) -> Report:
    seconds: dict[str, list[float]] = {name: [] for name in LOADS}
    peaks: dict[str, list[int]] = {name: [] for name in LOADS}
    with tempfile.TemporaryDirectory(prefix="bench-url-lists-") as name:
        scratch = Path(name)
        size = make(scratch / "lists", QUICK_DOMAINS if args.quick else DOMAINS)
        say(f"a list of {size / 1e6:.0f} MB is made")
        make(scratch / "few", 100)
        # Compiles the kernel, where that was not done, so that the first load need not.
        command = [sys.executable, "-m", "bench.url_lists", "--load", str(scratch / "few")]
        timed(command, scratch / "log", {"CORPUSMILL_CACHE": str(scratch / "cache-few")})
        for number in range(args.rounds):
            cache = {"CORPUSMILL_CACHE": str(scratch / f"cache-{number}")}
            for kind in LOADS:
                folder = "" if kind == "start" else str(scratch / "lists")
                command = [sys.executable, "-m", "bench.url_lists", "--load", folder]
                seconds[kind].append(timed(command, scratch / "log", cache).cpu_seconds)
                peaks[kind].append(int((scratch / "log").read_text()))
    cpu = {kind: statistics.median(found) for kind, found in seconds.items()}
    peak = {kind: statistics.median(found) for kind, found in peaks.items()}
    return Report(
        bench="url_lists",
        versions={name: version(name) for name in ("corpusmill", "numpy")},
        rows=[
            {"load": kind, "cpu_s": round(cpu[kind], 3), "peak_mb": round(peak[kind] / 1e6, 1)}
            for kind in LOADS
        ],
        bars={
            "first load, CPU seconds more than the start": Bar(
                round(cpu["first"] - cpu["start"], 3), 1.0, at_most=True
            ),
            "first load, MB": Bar(round(peak["first"] / 1e6, 1), 90, at_most=True),
            "later load, CPU seconds more than the start": Bar(
                round(cpu["later"] - cpu["start"], 3), 1.0, at_most=True
            ),
        },
        columns=("load", "cpu_s", "peak_mb"),
        notes=["peak_mb: the most memory of the process by its own account, without mapped files"],
    )


if __name__ == "__main__":
    sys.exit(main())
