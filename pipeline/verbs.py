"""What each verb of the command line does, in terms of the library."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from .errors import ConfigError, TaskError


def show_lines(lines: Iterable[str]) -> None:
    """Prints lines on standard output."""
    for line in lines:
        print(line)


def show_json(value: Any) -> None:
    """Prints a value as one indented JSON object."""
    print(json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True, default=str))


def recipe_of(options: Namespace) -> Any:
    """The recipe of a command line, its overrides and sample applied."""
    from .recipe import Recipe

    overrides = [_from_here(o) for o in options.overrides]
    if options.partitions is not None:
        overrides.append(f"execution.partitions={options.partitions}")
    if options.task_bytes is not None:
        overrides.append(f"execution.task_bytes={options.task_bytes}")
    recipe = Recipe.load(options.recipe, tuple(overrides))
    if options.sample is None:
        return recipe
    return Recipe.load(options.recipe, (*overrides, f"sample={_share(recipe, options.sample)}"))


def _from_here(override: str) -> str:
    """A source's root given on the command line is relative to the working directory, one in a
    recipe to the recipe."""
    key, sep, value = override.partition("=")
    if sep and key.endswith(".root") and not value.startswith(("package:", "s3://")):
        return f"{key}={json.dumps(str(Path(value).expanduser().resolve()))}"
    return override


AVERAGE_RECORD_BYTES = 5000
"""Compressed bytes of a record that ``--sample N`` reckons with: files are not read to plan."""


def _share(recipe: Any, sample: str) -> str:
    from .inputs import list_inputs

    if not sample.isdigit():
        return sample
    listed, _ = list_inputs(recipe)
    total = sum(int(f[1]) for s in listed for f in s["files"])
    documents = max(1, total // AVERAGE_RECORD_BYTES)
    return format(min(1.0, int(sample) / documents), ".6f")


def run(options: Namespace) -> int:
    from .progress import quiet, to_stderr
    from .report import report_lines
    from .uploading import bucket_of, upload

    there = None if options.upload is None else bucket_of(options.upload)
    say = quiet if options.quiet else to_stderr
    live = sys.stderr if sys.stderr.isatty() and not options.quiet else None
    if options.backend == "slurm":
        from .slurm import run as run_on_slurm
        from .slurm_verbs import profile

        if options.workers is not None:
            raise ConfigError("--workers is not for Slurm", hint="set cpus in the profile")
        result = run_on_slurm(recipe_of(options), options.out, profile(options), say=say, live=live)
    else:
        from .running import run as run_recipe

        if options.profile is not None:
            raise ConfigError("--profile is for the Slurm backend", hint="add --backend slurm")
        result = run_recipe(
            recipe_of(options), options.out, workers=options.workers, backend=options.backend,
            say=say, live=live,
        )  # fmt: skip
    uploaded = None if there is None else upload(result.root, there, say=say).lock
    if options.json:
        shown: dict[str, Any] = {"run": str(result.root), "lock": str(result.lock_path)}
        shown |= {"ledger": result.ledger} | ({"uploaded": uploaded} if uploaded else {})
        show_json(shown)
        return 0
    show_lines(report_lines(result.root))
    print(f"\n{_dropped_most(result.ledger)}")
    first = _example(result.root)
    if uploaded:
        print(f"uploaded   {uploaded}")
    print(f"next: corpusmill why {first} --run {options.out}")
    print(f"      corpusmill report {options.out} --html")
    return 0


def _dropped_most(ledger: Mapping[str, Any]) -> str:
    """The three rules that dropped most; what reading left out is no rule's doing."""
    from .replay import READERS

    dropped = ledger["records"]["dropped"].items()
    rules = [(k, v) for k, v in dropped if k.partition(":")[0] not in READERS]
    most = sorted(rules, key=lambda e: (-e[1], e[0]))[:3]
    if not most:
        return "no rule dropped anything"
    return "dropped most by " + ", ".join(f"{k} {v}" for k, v in most)


def _example(root: Path) -> str:
    """A dropped document's id to try `why` on: the first of the first table of rejects."""
    import pyarrow.parquet as pq

    from .engine import RunFolder
    from .ledger import sealed_docs_phases
    from .planning import Plan

    folder = RunFolder(root, Plan.load(root / "plan.json"))
    for phase in sealed_docs_phases(folder)[1:] or sealed_docs_phases(folder):
        for entry in folder.seal(phase.name).tables("rejects"):
            path = folder.phase_folder(phase).root / entry["path"]
            for batch in pq.ParquetFile(path).iter_batches(1, columns=["id"]):
                return str(batch["id"][0].as_py())
    return "ID"


def plan(options: Namespace) -> int:
    from .planning import make_plan
    from .progress import to_stderr
    from .running import put_plan, run_lock

    made = make_plan(recipe_of(options))
    root = Path(options.out).resolve()
    with run_lock(root):
        put_plan(root, made, to_stderr)
    rows = [{"phase": p.name, "tasks": p.tasks, "key": p.key} for p in made.phases]
    if options.json:
        show_json({"plan": str(root / "plan.json"), "plan_id": made.plan_id, "phases": rows})
        return 0
    from .report import table

    show_lines(
        table(
            ["phase", "tasks", "key"],
            [[str(r["phase"]), str(r["tasks"]), str(r["key"])[:12]] for r in rows],
        )
    )
    print(f"plan {made.plan_id} in {root / 'plan.json'}")
    return 0


def validate(options: Namespace) -> int:
    from .advice import order_warnings
    from .recipe import Recipe

    recipe = Recipe.load(options.recipe, tuple(options.overrides))
    warnings = order_warnings(recipe)
    if options.json:
        show_json({"valid": True, "steps": [s.id for s in recipe.steps], "warnings": warnings})
        return 0
    show_lines(f"warning: {w}" for w in warnings)
    print(f"{options.recipe}: {len(recipe.steps)} steps, {len(recipe.sources)} sources, valid")
    print("checked: keys, values, signals and order; not checked: whether inputs and the files")
    print("that steps name are there (corpusmill plan does that), and what is in them")
    return 0


def run_tasks(options: Namespace) -> int:
    from .local import die_with_parent
    from .stopping import EXIT_CODE, Stopped, stop_on_sigterm

    die_with_parent()
    stop_on_sigterm()
    try:
        return _run_tasks(options)
    except Stopped as stop:
        print(f"corpusmill: {stop}", file=sys.stderr)
        return EXIT_CODE


def _run_tasks(options: Namespace) -> int:
    from .planning import Plan
    from .serving import reports, serve, serve_input
    from .worker import Worker, parse_tasks

    path = Path(options.plan).resolve()
    made = Plan.load(path)
    if options.plan_id not in (None, made.plan_id):
        raise ConfigError(
            f"{path} is plan {made.plan_id[:12]}, the job was submitted for {options.plan_id[:12]}",
            hint="another plan took its place since; nothing was done",
        )
    if options.phase == "-":
        serve_input(Worker(path.parent, made))
        return 0
    if options.phase == "publish":
        from .slurm_worker import publish_run

        print(publish_run(path.parent, made))
        if options.upload is not None:
            from .uploading import bucket_of, upload

            print(upload(path.parent, bucket_of(options.upload)).lock)
        return 0
    if options.tasks is None:
        raise ConfigError("run-tasks needs the tasks to run", hint="write I..J, as in 0..3")
    phase = made.phase(options.phase)
    if options.tasks == "seal":
        from .slurm_worker import seal_phase

        seal_phase(path.parent, made, phase, options.wait)
        return 0
    tasks = parse_tasks(options.tasks, phase.tasks)
    if options.workers is not None:
        from .slurm_worker import run_element

        run_element(path.parent, made, phase, tasks, options.workers, options.log)
        return 0
    failed: list[str] = []

    with reports() as out:

        def report(line: str) -> None:
            out(line)
            if json.loads(line)["error"]:
                failed.append(line)

        serve(Worker(path.parent, made), iter([f"{options.phase} {options.tasks}"]), report)
    if failed:
        raise TaskError(f"{len(failed)} tasks failed", hint="their records lie in failures/")
    return 0


def clean(options: Namespace) -> int:
    from .cleaning import clean_run

    removed = clean_run(Path(options.run).resolve(), intermediates=options.intermediates)
    if options.json:
        show_json({"removed": removed})
    else:
        show_lines(f"removed {r}" for r in removed)
    return 0


def warm(options: Namespace) -> int:
    from .local import usable_cores
    from .warming import warm_kernels

    done = warm_kernels(usable_cores())
    if options.json:
        show_json({"seconds": done})
    else:
        show_lines(f"{name:<20} {seconds} s" for name, seconds in done.items())
    return 0


def status(options: Namespace) -> int:
    from .engine import RunFolder
    from .planning import Plan
    from .report import status_data, status_lines
    from .running import SUBMISSION

    root = Path(options.run).resolve()
    if options.task is not None:
        return _task_status(RunFolder(root, Plan.load(root / "plan.json")), options)
    data = status_data(root)
    lines = status_lines(data)
    if (root / SUBMISSION).exists():
        from .slurm_status import status_lines as of_slurm

        data["slurm"], more = of_slurm(root, RunFolder(root, Plan.load(root / "plan.json")))
        if not data["finished"]:
            lines[-1] = "not finished"  # what resumes it, the lines about Slurm say
        lines += more
    show_json(data) if options.json else show_lines(lines)
    return 0


def _task_status(folder: Any, options: Namespace) -> int:
    from .task_status import open_phase, task_data, task_lines

    phase = open_phase(folder) if options.phase is None else folder.plan.phase(options.phase)
    data = task_data(folder, phase, options.task)
    show_json(data) if options.json else show_lines(task_lines(data))
    return 0


def report(options: Namespace) -> int:
    from .engine import RunFolder
    from .ledger import build_ledger
    from .planning import Plan
    from .report import report_lines

    root = Path(options.run)
    if options.against is not None:
        return _against(options)
    if options.html is not None:
        from .durable import write_atomic
        from .report_html import html_report

        target = Path(options.html or root / "report.html")
        write_atomic(target, html_report(root).encode("utf-8", "replace"))
        print(target)
    elif options.json:
        show_json(build_ledger(RunFolder(root, Plan.load(root / "plan.json"))))
    else:
        show_lines(report_lines(root))
    return 0


def _against(options: Namespace) -> int:
    from .comparing import compare, comparison_lines, open_run

    now, before = open_run(Path(options.run)), open_run(Path(options.against))
    found = compare(now, before)
    if options.html is not None:
        from .comparing_html import comparison_page
        from .durable import write_atomic

        target = Path(options.html or now.root / "against.html")
        write_atomic(target, comparison_page(now, before, found).encode("utf-8", "replace"))
        print(target)
    elif options.json:
        show_json(found.plain())
    else:
        show_lines(comparison_lines(found))
    return 0


def trace(options: Namespace) -> int:
    from .story import trace_position
    from .story import why as stories_of
    from .terminal import printable

    root = Path(options.run)
    if options.position is None:
        from .forgetting import places_verb

        return places_verb(root, options)
    shard, sep, offset = options.position.rpartition(":")
    if sep and offset.isdigit():
        row = trace_position(root, shard, int(offset))
        lines = (printable(f"{k:<14} {v}") for k, v in row.items())
        show_json(row) if options.json else show_lines(lines)
        return 0
    positions = [row for story in stories_of(root, options.position) for row in story["tokens"]]
    if options.json:
        show_json(positions)
    else:
        show_lines(
            f"{r['shard']}:{r['start']}..{r['end']}  copy {r.get('copy', 0)}" for r in positions
        )
    return 0


def verify(options: Namespace) -> int:
    from .verifying import verify as check

    verdict = check(options.target, inputs=not options.no_inputs)
    if options.release and verdict.ok:
        from .lock import Lock
        from .releasing import release_faults

        verdict.faults += release_faults(Lock.load(options.target))
    if options.json:
        show_json({"ok": verdict.ok, "faults": verdict.faults, "skipped": verdict.skipped,
               "files": verdict.files, "bytes": verdict.bytes})  # fmt: skip
    else:
        show_lines(f"FAULT    {f}" for f in verdict.faults)
        show_lines(f"skipped  {s}" for s in verdict.skipped)
        state = "all as locked" if verdict.ok else f"{len(verdict.faults)} faults"
        print(f"{verdict.files} files, {verdict.bytes} bytes checked: {state}")
    return 0 if verdict.ok else 3


def diff(options: Namespace) -> int:
    from .lock import Lock
    from .lock import diff as differences

    lines = differences(Lock.load(options.a), Lock.load(options.b))
    if options.json:
        show_json({"different": bool(lines), "changes": lines})
    else:
        show_lines(lines or ["no difference"])
    return 1 if lines and options.exit_code else 0


def ls(options: Namespace) -> int:
    from .catalogue import recipes, signals, stages
    from .report import table

    kinds: Mapping[str, Callable[[], list[dict[str, str]]]] = {
        "stages": stages, "signals": signals, "recipes": recipes,
    }  # fmt: skip
    rows = kinds[options.what]()
    if options.json:
        show_json(rows)
    elif rows:
        show_lines(table(list(rows[0]), [list(r.values()) for r in rows], left=len(rows[0])))
    return 0


def _later(module: str, name: str) -> Callable[[Namespace], int]:
    """A verb of another module, which is loaded when it is called."""

    def verb(options: Namespace) -> int:
        verbs: Mapping[str, Callable[[Namespace], int]] = import_module(
            f".{module}", __package__
        ).VERBS
        return verbs[name](options)

    return verb


VERBS: Mapping[str, Callable[[Namespace], int]] = {
    "run": run, "plan": plan, "validate": validate, "run-tasks": run_tasks, "clean": clean,
    "warm": warm, "status": status, "report": report, "trace": trace,
    "verify": verify, "diff": diff, "ls": ls,
    "try": _later("trying", "try"), "why": _later("retelling", "why"),
    "completion": _later("completion", "completion"),
    "index": _later("indexing", "index"), "browse": _later("browsing.server", "browse"),
    "init": _later("starting", "init"), "schema": _later("starting", "schema"),
    "estimate": _later("estimating", "estimate"), "ablate": _later("ablating", "ablate"),
    "quantiles": _later("quantiles", "quantiles"),
    "mix": _later("mix_verbs", "mix"), "upload": _later("uploading", "upload"),
    "forget": _later("forgetting", "forget"), "reproduce": _later("reproducing", "reproduce"),
    "tokenizer": _later("tokenizer_verbs", "tokenizer"),
    **{name: _later("exporting", name) for name in ("export", "pack")},
    **{name: _later("slurm_verbs", name) for name in ("submit", "retry", "cancel")},
    **{
        name: _later("stage_verbs", name)
        for name in ("extract", "filter", "pii", "dedup", "contamination", "canary", "train")
    },
}  # fmt: skip
