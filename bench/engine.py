"""What the engine itself costs: planning, records and status of many tasks, tasks, starts, workers.

    python -m bench.engine [--quick] [--json]

A crawl of 100,000 archives (2,000 with --quick) is listed, sparse files of a gigabyte, and planned
with a task for each; commit records of a real task are written for all of them, and merged. The
index of a seal of as many tasks with 1,024 partitions is written, and the part of one is read. Then
a small corpus is read in one task and in many: what a task costs beyond its work. A page is read by
a worker that has just started, with compiled kernels and with none. And the sample crawl is run by
one worker and by two.
"""

from __future__ import annotations

import dataclasses
import importlib.metadata
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from corpusmill.pipeline import Plan, Recipe, plan
from corpusmill.pipeline.commits import Commit
from corpusmill.pipeline.engine import RunFolder
from corpusmill.pipeline.identity import pretty
from corpusmill.pipeline.places import configs_root
from corpusmill.pipeline.seal_index import IndexWriter
from corpusmill.pipeline.worker import Worker

from .harness import Bar, BenchError, Report, Side, Usage, alternate, finish, median, parser, timed

ARCHIVES, QUICK_ARCHIVES = 100_000, 2_000
ARCHIVE_BYTES = 900_000_000
SMALL_TASKS, QUICK_SMALL_TASKS = 400, 50
PARTITIONS = 1024
ROUNDS, QUICK_ROUNDS = 3, 1
PROGRAM = (sys.executable, "-P", "-m", "corpusmill.pipeline")

CRAWL = """
schema: corpusmill/recipe/1
name: crawl
version: "1"
sources:
  - {name: web, stage: sources.warc, root: ROOT, paths: ["**/*.warc.gz"], licence: CC0-1.0}
steps:
  - extract.tiers: {tier: own}
  - measure.language
  - dedup.minhash
execution: {task_bytes: 1, partitions: 256}
"""
ROWS = """
schema: corpusmill/recipe/1
name: rows
version: "1"
sources:
  - {name: rows, stage: sources.jsonl, root: input, paths: ["*.jsonl"], licence: CC0-1.0}
steps:
  - measure.split: {heldout: "0.1", by: id}
execution: {task_bytes: 1, partitions: 1}
"""


def command(*words: str | Path) -> list[str]:
    """A call of the command line."""
    return [*PROGRAM, *map(str, words)]


def row(what: str, usage: Usage, **more: object) -> dict[str, object]:
    return {
        "what": what, "CPU s": round(usage.cpu_seconds, 3), "wall s": round(usage.wall_seconds, 2),
        "MB": usage.peak_bytes // 1_000_000, **more,
    }  # fmt: skip


def list_archives(folder: Path, count: int) -> None:
    """Names and sizes as a crawl has them; nothing on the disk."""
    for number in range(count):
        place = folder / f"segments/{number // 1000:03d}/warc"
        if number % 1000 == 0:
            place.mkdir(parents=True)
        with open(place / f"CC-{number:06d}.warc.gz", "wb") as file:
            file.truncate(ARCHIVE_BYTES + number)


def a_commit(folder: Path) -> Commit:
    """The record of a task that read a part of the sample crawl."""
    crawl = configs_root() / "sample" / "crawl"
    text = CRAWL.replace("ROOT", str(crawl)).replace("tier: own", "tier: fast")
    made = plan(Recipe.parse(text, folder))
    made.save(folder / "one" / "plan.json")
    worker = Worker(folder / "one", made)
    worker.run_task(made.phases[0], 0)
    worker.close()
    record = json.loads(worker.run.phase_folder(made.phases[0]).commit(0).read_bytes())
    return Commit(**{f.name: record[f.name] for f in dataclasses.fields(Commit)})


def many_tasks(folder: Path, archives: int) -> list[dict[str, object]]:
    """Planning a crawl, `status` when all but one of its tasks are done, and merging them."""
    list_archives(folder / "crawl", archives)
    (folder / "recipe.yaml").write_text(CRAWL.replace("ROOT", "crawl"))
    root = folder / "run"
    planned = timed(command("plan", folder / "recipe.yaml", "--out", root), folder / "plan.log")
    rows = [row("plan", planned, **{"file MB": _megabytes(root / "plan.json")})]
    made = Plan.load(root / "plan.json")
    phase, one = made.phases[0], a_commit(folder)
    if phase.tasks != archives:
        raise BenchError(f"{phase.tasks} tasks were planned for {archives} archives")
    place = RunFolder(root, made).phase_folder(phase)
    for task in range(archives):
        body = dataclasses.replace(one, key=phase.key, phase=phase.name, task=task)
        place.commit(task).parent.mkdir(parents=True, exist_ok=True)
        if task != archives - 1:
            place.commit(task).write_bytes(pretty(body.plain()))
    rows.append(row("status", timed(command("status", root), folder / "status.log")))
    shown = (folder / "status.log").read_text()
    if f"{archives - 1}/{archives}" not in shown:
        raise BenchError(f"status does not show the tasks: {shown[:300]}")
    place.commit(archives - 1).write_bytes(pretty(body.plain()))
    sealing = command("run-tasks", root / "plan.json", phase.name, "seal")
    sealed = timed(sealing, folder / "seal.log")
    sizes = {
        "file MB": _megabytes(place.seal()),
        "commit kB": round(len(pretty(body.plain())) / 1000, 1),
    }
    return [*rows, row("merge", sealed, **sizes)]


def _megabytes(path: Path) -> float:
    return round(path.stat().st_size / 1e6, 1)


_PART = f"rows of one partition of {PARTITIONS}"
READ = """
import sys
from pathlib import Path
from corpusmill.pipeline.seal_index import SealIndex
found = SealIndex(Path(sys.argv[1]), "key").pieces("docs", int(sys.argv[2]))
sys.exit(len(found) != int(sys.argv[3]))
"""


def many_partitions(folder: Path, tasks: int) -> list[dict[str, object]]:
    """The index of a seal, three tables a task: what a worker of one partition reads."""
    rows = [[p, p, 1, 30] for p in range(PARTITIONS)]
    groups = np.array(rows, dtype=np.int64)
    writer = IndexWriter(folder, "key")
    for task in range(tasks):
        for table in ("docs", "minhash.bands", "rejects"):
            path = f"data/{task // 1000:04d}/{task:06d}-{table}-0123456789abcdef.parquet"
            held = groups if table != "rejects" else groups[:1]
            writer.add(task, {"table": table, "path": path, "bytes": task, "groups": held})
        writer.end_task(task)
    writer.finish()
    program = [sys.executable, "-P", "-c", READ, str(folder), "300", str(tasks)]
    size = sum(_megabytes(path) for path in folder.glob("*.parquet"))
    bare = timed([*program[:3], "import pyarrow.compute, pyarrow.parquet"], folder / "bare.log")
    return [
        row(_PART, timed(program, folder / "read.log"), **{"file MB": size}),
        row("Arrow alone", bare),
    ]


def small_tasks(folder: Path, tasks: int, rounds: int) -> list[dict[str, object]]:
    """The same rows in one task and in a task a file."""
    (folder / "input").mkdir(parents=True)
    for number in range(tasks):
        line = json.dumps({"id": str(number), "text": f"Row {number}."}) + "\n"
        (folder / "input" / f"part-{number:04d}.jsonl").write_text(line)
    (folder / "recipe.yaml").write_text(ROWS)

    def side(name: str, task_bytes: int, expected: int) -> Side:
        def check(place: Path) -> None:
            found = len(list(place.glob("run/phases/01-*/commits/*/*.json")))
            if found != expected:
                raise BenchError(f"{found} tasks were run, not {expected}")

        return Side(
            name,
            lambda place: command(
                "run", folder / "recipe.yaml", "--out", place / "run", "--workers", "1",
                "--task-bytes", str(task_bytes), "--quiet",
            ),
            check,
        )  # fmt: skip

    sides = [side("one task", 1 << 40, 1), side("many tasks", 1, tasks)]
    found = alternate(sides, rounds, folder / "tasks", _say)
    one, many = (median(found[s.name]) for s in sides)
    each = (many.cpu_seconds - one.cpu_seconds) / (tasks - 1) * 1000
    return [row("one task", one), row(f"{tasks} tasks", many, **{"CPU ms a task": round(each, 1)})]


def first_page(folder: Path) -> list[dict[str, object]]:
    """A worker's whole life with one page: tier own, language and rules."""
    (folder / "input").mkdir(parents=True)
    page = (
        "<html><body><p>" + "One page of text, long enough to be kept. " * 20 + "</p></body></html>"
    )
    (folder / "input" / "page.html").write_text(page)
    text = CRAWL.replace("ROOT", "input").replace("sources.warc", "sources.html")
    made = plan(Recipe.parse(text.replace("**/*.warc.gz", "*.html"), folder))
    rows = []
    environment = {"NUMBA_CACHE_DIR": str(folder / "kernels")}
    for name in ("first page, cold", "first page"):
        root = folder / name.replace(", ", "-").replace(" ", "-")
        made.save(root / "plan.json")
        words = command("run-tasks", root / "plan.json", "01-read", "0")
        rows.append(row(name, timed(words, folder / "page.log", environment)))
    bare = timed([sys.executable, "-P", "-c", "pass"], folder / "bare.log")
    return [*rows, row("Python alone", bare)]


def workers(folder: Path, rounds: int) -> list[dict[str, object]]:
    """The sample crawl with one worker and with two."""
    recipe = configs_root() / "recipes" / "sample.yaml"

    def check(place: Path) -> None:
        if not list(place.glob("run/*.lock.json")):
            raise BenchError(f"{place} holds no lock")

    sides = [
        Side(
            name,
            lambda place, n=n: command(  # type: ignore[misc]
                "run", recipe, "--out", place / "run", "--workers", n, "--quiet"
            ),
            check,
        )
        for name, n in (("one worker", "1"), ("two workers", "2"))
    ]
    found = alternate(sides, rounds, folder / "workers", _say)
    one, two = (median(found[s.name]) for s in sides)
    ratios = {
        "CPU to one": round(two.cpu_seconds / one.cpu_seconds, 3),
        "wall to one": round(two.wall_seconds / one.wall_seconds, 3),
    }
    return [row("one worker", one), row("two workers", two, **ratios)]


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def bars(rows: Sequence[Mapping[str, object]]) -> dict[str, Bar]:
    """What the figures should keep to."""

    def of(what: str, key: str) -> float:
        return float(str(next(r[key] for r in rows if str(r["what"]) == what and key in r)))

    tasks = next(str(r["what"]) for r in rows if str(r["what"]).endswith(" tasks"))
    return {
        "planning, CPU s": Bar(of("plan", "CPU s"), 30, at_most=True),
        "status, CPU s": Bar(of("status", "CPU s"), 2, at_most=True),
        "status, MB": Bar(of("status", "MB"), 300, at_most=True),
        "a task beyond its work, CPU ms": Bar(of(tasks, "CPU ms a task"), 50, at_most=True),
        "a partition's part of a seal, CPU s beyond Arrow": Bar(
            round(of(_PART, "CPU s") - of("Arrow alone", "CPU s"), 2), 1, at_most=True
        ),
        "a partition's part of a seal, MB": Bar(of(_PART, "MB"), 300, at_most=True),
        "start to first page, wall s (idle machine)": Bar(
            of("first page", "wall s"), 1.5, at_most=True
        ),
        "start to first page, CPU s": Bar(of("first page", "CPU s"), 1.5, at_most=True),
        "CPU of two workers to one": Bar(of("two workers", "CPU to one"), 1.05, at_most=True),
    }


def measure(quick: bool) -> Report:
    """All of it, in a temporary folder."""
    rounds = QUICK_ROUNDS if quick else ROUNDS
    with tempfile.TemporaryDirectory(prefix="bench-engine-") as scratch:
        folder = Path(scratch)
        rows = many_tasks(folder / "many", QUICK_ARCHIVES if quick else ARCHIVES)
        rows += many_partitions(folder / "index", QUICK_ARCHIVES if quick else ARCHIVES)
        rows += small_tasks(folder / "small", QUICK_SMALL_TASKS if quick else SMALL_TASKS, rounds)
        rows += first_page(folder / "page")
        rows += workers(folder, rounds)
    return Report(
        "engine", {"corpusmill": importlib.metadata.version("corpusmill")}, rows, bars(rows),
        ("what", "CPU s", "wall s", "MB", "file MB", "commit kB", "CPU ms a task", "CPU to one",
         "wall to one"),
    )  # fmt: skip


def main() -> int:
    options = parser(__doc__ or "").parse_args()
    return finish(lambda: measure(options.quick), options.json)


if __name__ == "__main__":
    sys.exit(main())
