"""Rows of a run that its report is made of: all, or those of some tasks where they are many.

Tasks are taken whole, in a keyed order, so that a run of 100,000 tasks does not have as many files
opened. What is shown says of how many documents and tasks it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .engine import RunFolder
from .order import order_key
from .planning import Phase

if TYPE_CHECKING:
    import pyarrow as pa

MOST_ROWS = 50_000
"""Rows of one table of a phase that are read."""
MOST_TASKS = 200
"""Tasks whose files are opened for them."""

Reason = tuple[str, str]
"""A step, and its code for a drop or an error."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """`rows` of one table, out of `total`: those of `tasks` tasks out of `of`."""

    rows: list[dict[str, Any]]
    total: int
    tasks: int
    of: int

    @property
    def weight(self) -> float:
        """How many documents of the run a row stands for."""
        return self.total / len(self.rows) if self.rows else 1.0


def base(drawn: Sequence[Drawn], what: str) -> str:
    """Which documents `drawn` are, for people."""
    shown, total = sum(len(d.rows) for d in drawn), sum(d.total for d in drawn)
    if shown == total:
        return f"all {total} {what} documents"
    tasks = max(drawn, key=lambda d: d.of)
    return (
        f"{shown} of {total} {what} documents, of tasks chosen by the keyed order "
        f"({tasks.tasks} of {tasks.of})"
    )


def draw_kept(run: RunFolder, phase: Phase) -> Drawn:
    """Documents of a phase, without their texts."""
    sizes = {c["task"]: int(c["counts"]["out"]) for c in run.seal(phase.name).commits}
    return _draw(run, phase, "docs", sizes, lambda name: name != "text")


def draw_columns(run: RunFolder, phase: Phase, prefix: str) -> Drawn:
    """Those columns of a phase's documents whose names begin with `prefix`."""
    sizes = {c["task"]: int(c["counts"]["out"]) for c in run.seal(phase.name).commits}
    return _draw(run, phase, "docs", sizes, lambda name: name.startswith(prefix))


def draw_rejects(run: RunFolder, phase: Phase) -> Drawn:
    """What a phase dropped, and what failed in it."""
    sizes = {c["task"]: sum(lost_of(c).values()) for c in run.seal(phase.name).commits}
    return _draw(run, phase, "rejects", sizes, lambda _: True)


def lost_of(commit: Mapping[str, Any]) -> dict[Reason, int]:
    """How many records a task lost for each reason."""
    lost: dict[Reason, int] = {}
    for entry in commit["counts"].get("steps", ()):
        for flow in entry["sources"].values():
            for codes in (flow["dropped"], flow["errors"]):
                for code, count in codes.items():
                    reason = (entry["step"], code)
                    lost[reason] = lost.get(reason, 0) + count
    return lost


def telling_tasks(run: RunFolder, phase: Phase, each: int, rules: int) -> set[int]:
    """Tasks in whose rejects there are `each` records of every reason or all there are, and about
    `rules` that the steps of the phase dropped; every task where the rejects are few."""
    commits = run.seal(phase.name).commits
    by_task = {c["task"]: lost_of(c) for c in commits}
    if sum(sum(lost.values()) for lost in by_task.values()) <= MOST_ROWS:
        return set(by_task)
    seen: Counter[Reason] = Counter()
    judged = 0
    chosen: set[int] = set()
    for task in _keyed(run, by_task):
        lost = by_task[task]
        mine = sum(count for (step, _), count in lost.items() if step in phase.steps)
        wanted = mine and judged < rules and len(chosen) < MOST_TASKS
        if wanted or any(seen[reason] < each for reason in lost):
            chosen.add(task)
            seen.update(lost)
            judged += mine
    return chosen


def tables_of_tasks(
    run: RunFolder, phase: Phase, table: str, tasks: Collection[int]
) -> Iterator[pa.Table]:
    """A table as these tasks wrote it, in their order."""
    for piece in run.index(phase.name).files(table):
        if piece.task in tasks:
            yield run.open_table(run.phase_folder(phase), piece, None)


def _draw(
    run: RunFolder,
    phase: Phase,
    table: str,
    sizes: Mapping[int, int],
    wanted: Callable[[str], bool],
) -> Drawn:
    """The `wanted` columns of rows of whole tasks in task order, until there are enough."""
    folder, total = run.phase_folder(phase), sum(sizes.values())
    pieces = {piece.task: piece for piece in run.index(phase.name).files(table)}
    order = sorted(sizes) if total <= MOST_ROWS else _keyed(run, sizes)
    columns: list[str] = []
    rows: list[dict[str, Any]] = []
    tasks = 0
    for task in order:
        if len(rows) >= min(total, MOST_ROWS) or (total > MOST_ROWS and tasks == MOST_TASKS):
            break
        tasks += 1
        if not columns:
            names = run.open_table(folder, pieces[task].no_rows(), None).schema.names
            columns = [n for n in names if wanted(n)]
        held = run.open_table(folder, pieces[task], columns)
        rows += held.slice(0, MOST_ROWS - len(rows)).to_pylist()
    return Drawn(rows, total, tasks, len(sizes))


def _keyed(run: RunFolder, tasks: Collection[int]) -> list[int]:
    seed = run.plan.seed
    return sorted(tasks, key=lambda task: order_key(seed, f"{task:032x}", 0, "sample"))


__all__ = [
    "MOST_ROWS", "Drawn", "base", "draw_columns", "draw_kept", "draw_rejects", "lost_of",
    "tables_of_tasks", "telling_tasks",
]  # fmt: skip
