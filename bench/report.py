"""What the report of a run of very many tasks costs: 100,000 by default.

    python -m bench.report [--tasks N] [--quick] [--json]

A crawl of as many archives is planned, a task for each: sparse files, but for one of the sample
crawl. A real task reads that one, and the records of all are its own, whose tables they share. Then
the first phase is sealed, and `report` and `report --html` are called.
"""

from __future__ import annotations

import dataclasses
import importlib.metadata
import shutil
import sys
import tempfile
from pathlib import Path

from corpusmill.pipeline import Plan
from corpusmill.pipeline.engine import RunFolder
from corpusmill.pipeline.identity import pretty
from corpusmill.pipeline.planning import Phase

from .engine import CRAWL, a_commit, command, list_archives, row
from .harness import Bar, BenchError, Report, finish, parser, timed

TASKS, QUICK = 100_000, 1_000
PARTITIONS = 16


def many_commits(folder: Path, tasks: int) -> tuple[Path, Phase]:
    """A planned run folder in which every task of the first phase is done, and that phase."""
    list_archives(folder / "crawl", tasks - 1)
    one = a_commit(folder)
    other = Plan.load(folder / "one" / "plan.json")
    (read,) = other.task_files(0)
    archive = folder / "crawl" / read.relative
    archive.parent.mkdir(parents=True)
    shutil.copy(read.path, archive)
    text = CRAWL.replace("ROOT", "crawl").replace("partitions: 256", f"partitions: {PARTITIONS}")
    (folder / "recipe.yaml").write_text(text)
    root = folder / "run"
    timed(command("plan", folder / "recipe.yaml", "--out", root), folder / "plan.log")
    made = Plan.load(root / "plan.json")
    phase = made.phases[0]
    place = RunFolder(root, made).phase_folder(phase)
    model = RunFolder(folder / "one", other).phase_folder(other.phases[0])
    for name in ("data", "rejects"):
        shutil.copytree(model.root / name, place.root / name)
    if phase.tasks != tasks:
        raise BenchError(f"{phase.tasks} tasks were planned for {tasks} archives")
    for task in range(tasks):
        body = dataclasses.replace(one, key=phase.key, phase=phase.name, task=task)
        place.commit(task).parent.mkdir(parents=True, exist_ok=True)
        place.commit(task).write_bytes(pretty(body.plain()))
    return root, phase


def measure(tasks: int) -> Report:
    """Seals, and reports as text and as a page."""
    with tempfile.TemporaryDirectory(prefix="bench-report-") as scratch:
        folder = Path(scratch)
        root, phase = many_commits(folder, tasks)
        print(f"{tasks} tasks are done", file=sys.stderr)
        seal = command("run-tasks", root / "plan.json", phase.name, "seal")
        rows = [row("seal", timed(seal, folder / "seal.log"))]
        rows.append(row("report", timed(command("report", root), folder / "report.log")))
        page = folder / "report.html"
        drawn = timed(command("report", root, "--html", page), folder / "html.log")
        size = page.stat().st_size / 1e6
        rows.append(row("report --html", drawn, **{"page MB": round(size, 3)}))
        said = (folder / "report.log").read_text()
        if "the account balances" not in said:
            raise BenchError(f"the report does not say that its account balances: {said[:300]}")
    return Report(
        "report", {"corpusmill": importlib.metadata.version("corpusmill")}, rows,
        {"MB of the page": Bar(size, 5, at_most=True)},
        ("what", "CPU s", "wall s", "MB", "page MB"), [f"{tasks} tasks"],
    )  # fmt: skip


def main() -> int:
    options = parser(__doc__ or "")
    options.add_argument("--tasks", type=int, help=f"default {TASKS}, {QUICK} if quick")
    args = options.parse_args()
    return finish(lambda: measure(args.tasks or (QUICK if args.quick else TASKS)), args.json)


if __name__ == "__main__":
    sys.exit(main())
