"""``corpusmill estimate``: what a run will take, from a small part of its input, run twice.

Two sets of whole input files are run in a temporary folder with one worker, the smaller within the
larger. From the two follow, phase by phase, what every process costs once (interpreter, kernels,
models) and what each byte of input costs. Files are taken in the order of a keyed hash of their
names, as the first files of a crawl are no fair sample of it.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import subprocess
import sys
import tempfile
import threading
import time
from argparse import Namespace
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from .errors import ConfigError, TaskError
from .planning import Plan, make_plan
from .recipe import Recipe
from .report import table
from .verbs import recipe_of, show_json, show_lines

LEAST_BYTES = 8_000_000
SHARE = 0.01
TASK_SECONDS = 600
"""What a task of the first phase should take: start-up is then under 1 % of it, and a task that
is lost costs little."""
POLL_SECONDS = 0.05
SPARE = 1.5
"""Memory asked for, over the largest seen or extrapolated."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One phase of one part: CPU seconds with all children, wall seconds, the largest sum of
    resident memory of its processes in bytes (shared pages count for each), bytes on disk."""

    tasks: int
    cpu: float
    wall: float
    memory: int
    disk: int


@dataclass(frozen=True, slots=True)
class PhaseEstimate:
    """One phase of the whole run. `fixed`: CPU seconds of every process; `per_gigabyte`: CPU
    seconds for 10^9 bytes of input; `cpu` and `wall`: seconds, with the workers asked for;
    `memory`: bytes of one task; `disk`: bytes left when the phase is done."""

    phase: str
    tasks: int
    fixed: float
    per_gigabyte: float
    cpu: float
    wall: float
    memory: int
    disk: int


def estimate(recipe: Recipe, workers: int, least_bytes: int = 0) -> dict[str, Any]:
    """The estimate for `recipe` with so many worker processes, from at least `least_bytes` of its
    input (0: a hundredth, and 8 MB at least).

    Raises ConfigError where the input has too few files to take a part of, or is not much larger
    than the part; TaskError where a part cannot be run.
    """
    plan = make_plan(recipe)
    files = [(s["name"], name, size) for s in plan.data["inputs"] for name, size, _ in s["files"]]
    whole = sum(size for _, _, size in files)
    want = least_bytes or max(LEAST_BYTES, int(whole * SHARE))
    large = _part(files, want)
    small = _part(files, sum(size for _, _, size in large) // 2)
    if len(small) == len(large):  # few large files
        large = _part(files, sum(size for _, _, size in large) + 1)
    if len(small) == len(large) or len(large) == len(files):
        raise ConfigError(
            f"{len(files)} input files of {whole} bytes are too few for an estimate from {want}",
            hint="run the recipe itself, with --sample for a look, or give fewer --bytes",
        )
    sizes, found = [], []
    for part in (small, large):
        sizes.append(sum(size for _, _, size in part))
        with tempfile.TemporaryDirectory(prefix="corpusmill-estimate-") as folder:
            found.append(_run(_narrowed(recipe, part, Path(folder)), Path(folder) / "run"))
    phases = [
        _extrapolate(phase.name, phase.tasks, sizes, (found[0][i], found[1][i]), whole, workers)
        for i, phase in enumerate(plan.phases)
    ]
    return {
        "recipe": recipe.name, "workers": workers,
        "input": {"files": len(files), "bytes": whole},
        "measured": [
            {"files": len(part), "bytes": size, "cpu": round(sum(m.cpu for m in one), 1),
             "wall": round(sum(m.wall for m in one), 1)}
            for part, size, one in zip((small, large), sizes, found, strict=True)
        ],
        "phases": [asdict(phase) for phase in phases],
        "cpu": round(sum(p.cpu for p in phases), 1), "wall": round(sum(p.wall for p in phases), 1),
        "memory": max(p.memory for p in phases), "disk": sum(p.disk for p in phases),
        "binds": max(phases, key=lambda p: p.wall).phase,
        "suggested": _suggested(phases, whole, len(files)),
    }  # fmt: skip


def _part(files: list[tuple[str, str, int]], want: int) -> list[tuple[str, str, int]]:
    """Files of at least `want` bytes, in keyed order, one of every source before a second."""
    ordered = sorted(
        files, key=lambda f: hashlib.blake2b(f"{f[0]}\0{f[1]}".encode(), digest_size=16).digest()
    )
    turn: dict[str, int] = {}
    ranked = []
    for rank, file in enumerate(ordered):
        turn[file[0]] = turn.get(file[0], 0) + 1
        ranked.append(((turn[file[0]] > 1, rank), file))
    taken: list[tuple[str, str, int]] = []
    sources = {name for name, _, _ in files}
    for _, file in sorted(ranked):
        enough = sum(size for _, _, size in taken) >= want
        if enough and {name for name, _, _ in taken} == sources:
            break
        taken.append(file)
    return taken


def _narrowed(recipe: Recipe, part: list[tuple[str, str, int]], folder: Path) -> Recipe:
    """The recipe on these files alone."""
    sources = []
    for spec in recipe.sources:
        names = [name for source, name, _ in part if source == spec.name]
        listed = folder / f"{spec.name}.paths"
        listed.write_text("".join(f"{name}\n" for name in sorted(names)))
        sources.append(replace(spec, paths=(), exclude=(), paths_from=str(listed), max_loss=1.0))
    guards = replace(recipe.guards, allow_empty=True)
    return replace(recipe, sources=tuple(sources), guards=guards)


def _run(recipe: Recipe, root: Path) -> list[Measured]:
    plan = make_plan(recipe)
    root.mkdir()
    plan.save(root / "plan.json")
    found = []
    for phase in plan.phases:
        cpu, wall, memory = _measured(root, phase.name, f"0..{phase.tasks - 1}")
        _measured(root, phase.name, "seal")
        place = root / "phases" / phase.folder
        disk = sum(p.stat().st_size for p in place.rglob("*") if p.is_file())
        found.append(Measured(phase.tasks, cpu, wall, memory, disk))
    return found


def _measured(root: Path, phase: str, tasks: str) -> tuple[float, float, int]:
    """CPU seconds with children, wall seconds, peak memory of ``run-tasks``."""
    command = [sys.executable, "-P", "-m", "corpusmill.pipeline", "run-tasks"]
    began = time.monotonic()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            [*command, str(root / "plan.json"), phase, tasks], stdout=subprocess.DEVNULL,
            stderr=said, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        watch = _Watch(process.pid)
        watch.start()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        watch.stop()
        if process.returncode:
            said.seek(0)
            text = said.read().decode("utf-8", "replace").strip().splitlines()
            last = text[-1] if text else f"exit code {process.returncode}"
            raise TaskError(f"the part that is measured failed in {phase}: {last}")
    return used.ru_utime + used.ru_stime, time.monotonic() - began, watch.peak


class _Watch(threading.Thread):
    """Samples the resident memory of a process and its descendants, summed."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid, self._end, self.peak = pid, threading.Event(), 0

    def run(self) -> None:
        while not self._end.wait(POLL_SECONDS):
            self.peak = max(self.peak, _resident(self._pid))

    def stop(self) -> None:
        self._end.set()
        self.join()


def _resident(pid: int) -> int:
    total = 0
    with suppress(OSError, ValueError, IndexError):  # a process that ended meanwhile counts nothing
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        total = pages * os.sysconf("SC_PAGE_SIZE")
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                total += _resident(int(child))
    return total


def _extrapolate(
    name: str, tasks: int, sizes: list[int], pair: tuple[Measured, Measured], whole: int,
    workers: int,
) -> PhaseEstimate:  # fmt: skip
    small, large = pair
    step = sizes[1] - sizes[0]
    rate = max(0.0, (large.cpu - small.cpu) / step)
    fixed = max(0.0, large.cpu - rate * sizes[1])
    processes = min(workers, tasks)
    per_task = [size / m.tasks for size, m in zip(sizes, pair, strict=True)]
    rise = 0.0
    if per_task[1] > per_task[0]:
        rise = max(0.0, (large.memory - small.memory) / (per_task[1] - per_task[0]))
    memory = large.memory + int(rise * max(0.0, whole / tasks - per_task[1]))
    busy = math.ceil(tasks / processes) / tasks  # share of the work of the busiest process
    return PhaseEstimate(
        name, tasks, round(fixed, 3), round(rate * 1e9, 1),
        round(rate * whole + fixed * processes, 1), round(rate * whole * busy + fixed, 1),
        memory, int(large.disk * whole / sizes[1]),
    )  # fmt: skip


def _suggested(phases: list[PhaseEstimate], whole: int, files: int) -> dict[str, Any]:
    """Task size, memory and time limit for a profile."""
    first = phases[0]
    per_byte = first.per_gigabyte / 1e9
    largest = max(whole // files, 1)
    task_bytes = max(largest, int(TASK_SECONDS / per_byte) if per_byte else whole)
    task_bytes = min(task_bytes, whole)
    longest = max(per_byte * task_bytes, *(p.per_gigabyte / 1e9 * whole / p.tasks for p in phases))
    minutes = max(10, math.ceil((longest + max(p.fixed for p in phases)) * 4 / 60))
    half = 512 << 20
    memory = math.ceil(max(p.memory for p in phases) * SPARE / half) * half
    return {
        "task_bytes": task_bytes, "memory": f"{memory >> 20}M",
        "time": f"{minutes // 60:02d}:{minutes % 60:02d}:00",
    }  # fmt: skip


def happened(root: Path) -> dict[str, Any]:
    """What a finished run took: CPU seconds by its ledger, bytes of its phases on disk."""
    try:
        ledger = json.loads((root / "ledger.json").read_bytes())
    except (OSError, ValueError) as error:
        raise TaskError(f"{root} holds no finished run: {error}") from None
    rows = [*ledger["stages"], *ledger["products"]]
    plan = Plan.load(root / "plan.json")
    disk = sum(
        path.stat().st_size
        for phase in plan.phases
        for path in (root / "phases" / phase.folder).rglob("*") if path.is_file()
    )  # fmt: skip
    return {"cpu": round(sum(float(r["cpu_seconds"]) for r in rows), 1), "disk": disk}


def estimate_verb(options: Namespace) -> int:
    """The verb ``estimate RECIPE``."""
    recipe = recipe_of(options)
    workers = options.workers or len(os.sched_getaffinity(0))
    found = estimate(recipe, workers, options.bytes)
    if options.against:
        found["happened"] = happened(Path(options.against))
    if options.json:
        show_json(found)
    else:
        show(found, options.against)
    return 0


def show(found: Mapping[str, Any], against: str | None) -> None:
    """Prints an estimate, and what the run in the folder `against` took."""
    workers = found["workers"]
    parts = found["measured"]
    print(f"measured on {parts[0]['files']} and {parts[1]['files']} of {found['input']['files']} "
          f"files, {_size(parts[1]['bytes'])} of {_size(found['input']['bytes'])}, in "
          f"{parts[0]['wall'] + parts[1]['wall']:.0f} s")  # fmt: skip
    rows = [
        [p["phase"], f"{p['tasks']}", f"{p['fixed']:.1f} s", f"{p['per_gigabyte']:.0f} s",
         _time(p["cpu"]), _time(p["wall"]), _size(p["memory"]), _size(p["disk"])]
        for p in found["phases"]
    ]  # fmt: skip
    rows.append(["all", "", "", "", _time(found["cpu"]), _time(found["wall"]),
                 _size(found["memory"]), _size(found["disk"])])  # fmt: skip
    header = ["phase", "tasks", "a process", "a GB", "CPU", "wall", "memory", "disk"]
    show_lines(table(header, rows))
    said = found["suggested"]
    print(f"with {workers} workers {found['binds']} takes longest; for a profile: memory: "
          f"{said['memory']}, time: \"{said['time']}\", execution.task_bytes: "
          f"{said['task_bytes']}")  # fmt: skip
    if against:
        real = found["happened"]
        print(f"{against} took {_time(real['cpu'])} of CPU in its steps and "
              f"{_size(real['disk'])} of disk: the estimate is off by "
              f"{(found['cpu'] / real['cpu'] - 1) * 100:+.0f} % and "
              f"{(found['disk'] / real['disk'] - 1) * 100:+.0f} %")  # fmt: skip


def _size(value: float) -> str:
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if value >= size:
            return f"{value / size:.1f} {unit}"
    return f"{value / 1e3:.0f} kB"


def _time(seconds: float) -> str:
    if seconds >= 7200:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 60:.1f} min" if seconds >= 300 else f"{seconds:.1f} s"


VERBS: Mapping[str, Callable[[Namespace], int]] = {"estimate": estimate_verb}
