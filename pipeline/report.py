"""The funnel as text, and `status`: what a run folder holds, from its records alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .commits import missing_tasks
from .engine import RunFolder
from .ledger import build_ledger
from .lock import Lock
from .pace import pace, time_left
from .planning import Plan
from .report_pii import pii_rows

REASONS_SHOWN = 6


def human(size: int) -> str:
    """Bytes or counts with a decimal unit: ``1.2 M``."""
    value = float(size)
    for unit in ("", "k", "M", "G", "T"):
        if value < 1000 or unit == "T":
            return f"{value:.0f}" if unit == "" else f"{value:.1f} {unit}"
        value /= 1000
    return str(size)


def table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Aligned columns, the first `left` to the left, the others to the right."""
    widths = [max(len(r[i]) for r in [header, *rows]) for i in range(len(header))]
    lines = []
    for row in [header, *rows]:
        cells = [
            cell.ljust(w) if i < left or i == len(row) - 1 else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def funnel(ledger: Mapping[str, Any]) -> list[str]:
    """Documents and bytes in and out of every stage, with the reasons for what left."""
    rows = []
    for stage in ledger["stages"]:
        lost = {**stage["dropped"], **{f"error {k}": v for k, v in stage["errors"].items()}}
        top = sorted(lost.items(), key=lambda e: (-e[1], e[0]))
        why = ", ".join(f"{k} {v}" for k, v in top[:REASONS_SHOWN])
        if len(top) > REASONS_SHOWN:
            why += f", {len(top) - REASONS_SHOWN} more"
        rows.append([
            stage["stage"], str(stage["in"]), str(stage["out"]), human(stage["bytes_in"]),
            human(stage["bytes_out"]), stage["cpu_seconds"], why,
        ])  # fmt: skip
    header = ["stage", "in", "out", "bytes in", "bytes out", "cpu s", "dropped or failed"]
    lines = table(header, rows)
    records = ledger["records"]
    dropped, errors = sum(records["dropped"].values()), sum(records["errors"].values())
    lines.append("")
    lines.append(
        f"{records['in']} records read = {records['kept']} kept + {dropped} dropped + "
        f"{errors} errors: the account balances, in numbers and in id checksums"
    )
    return lines


def report_lines(root: Path) -> list[str]:
    """The whole text report of a run folder."""
    plan = Plan.load(root / "plan.json")
    folder = RunFolder(root, plan)
    ledger = build_ledger(folder)
    name = plan.recipe["name"]
    lines = [f"{name} {plan.recipe['version']}  plan {plan.plan_id[:12]}", "", *funnel(ledger), ""]
    for source, entry in ledger["sources"].items():
        licence = next(s["licence"] for s in plan.recipe["sources"] if s["name"] == source)
        first, last = entry["stages"][0], entry["stages"][-1]
        hosts = list(entry["distinct"].values())
        tail = f", about {hosts[0]['hosts']} hosts read, {hosts[-1]['hosts']} kept" if hosts else ""
        if encoded := entry.get("encoded"):
            tail += f"; {encoded['tokens']} tokens of {encoded['documents']} documents"
        lines.append(
            f"source {source}: {first['in']} records, {last['out']} kept; licence {licence}{tail}"
        )
        if entry.get("excluded"):
            names = entry["excluded"]
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            files = "1 file" if len(names) == 1 else f"{len(names)} files"
            lines.append(f"source {source}: {files} excluded by the recipe: {names[0]}{more}")
    lines += _personal_data(folder)
    lock_path = root / f"{name}.lock.json"
    if not lock_path.exists():
        lines += ["", "The run is not finished: there is no lock yet."]
        return lines
    lines += ["", *_products(Lock.load(lock_path), root)]
    return lines


def _personal_data(run: RunFolder) -> list[str]:
    base, rows = pii_rows(run)
    if not base:
        return []
    if not rows:
        return ["", f"personal data: none found in {base}"]
    header = ["personal data", "policy", "spans", "documents"]
    return ["", *table(header, rows, left=2), f"in {base}"]


def _products(lock: Lock, root: Path) -> list[str]:
    outputs = lock.data["outputs"]
    lines = []
    rows = [r for r in lock.rows() if r["role"] == "shard" and r["path"].endswith(".bin")]
    domains: dict[str, list[int]] = {}
    for row in rows:
        stream = str(row["path"]).removeprefix("shards/").rpartition("/")[0]
        figures = domains.setdefault(stream, [0, 0, 0, 0])
        figures[0] += 1
        figures[1] += int(row.get("documents_ended", 0))
        figures[2] += int(row.get("tokens", 0))
        figures[3] += int(row["bytes"])
    if domains:
        body = [[d, *(human(n) for n in f[:3]), human(f[3])] for d, f in sorted(domains.items())]
        lines += [*table(["domain", "shards", "documents", "tokens", "bytes"], body), ""]
    lines += _contamination(lock)
    lines.append(
        f"kept set   {outputs['kept']['documents']} documents, content {outputs['kept']['content']}"
    )
    if (root / "tokenizer").is_dir():
        lines.append(f"tokenizer  {root / 'tokenizer'}")
    if domains:
        lines.append(
            f"shards     {root / 'shards'}  ({outputs['shards']} files, {outputs['tokens']} tokens)"
        )
    lines.append(f"manifest   {lock.path}")
    lines.append(f"           {lock.mix_id}, files sha256:{lock.files_sha256}")
    return lines


def _contamination(lock: Lock) -> list[str]:
    """Items of evaluation sets: what was done about them, and what is left in the shards."""
    lines = []
    for step, found in lock.decontaminated():
        if found:
            rows = [[name, what, str(n)] for name, what, n in found]
            header = ["benchmark", "done", "documents"]
            lines += [*table(header, rows, left=2), f"in {step}", ""]
        else:
            lines += [f"benchmark items: none found in {step}", ""]
    totals: dict[str, dict[str, int]] = {}
    items: dict[str, set[str]] = {}
    for note in lock.data["checks"]:
        for bench, figures in note.get("contamination", {}).items():
            into = totals.setdefault(bench, {"documents": 0})
            into |= {"items": int(figures["items"]), "visible": int(figures["visible"])}
            into["documents"] += int(figures["documents"])
            items.setdefault(bench, set()).update(note["contamination_found"][bench])
    if not totals:
        return lines
    rows = [
        [name, *(str(n) for n in (f["items"], f["visible"], len(items[name]), f["documents"]))]
        for name, f in sorted(totals.items())
    ]
    header = ["benchmark", "items", "visible", "found", "documents"]
    return [*lines, "benchmark items in the shards:", *table(header, rows), ""]


def status_data(root: Path) -> dict[str, Any]:
    """Phases with tasks done and failed, from the records in the run folder."""
    plan = Plan.load(root / "plan.json")
    folder = RunFolder(root, plan)
    phases = []
    for phase in plan.phases:
        place = folder.phase_folder(phase)
        sealed = place.seal().exists()
        missing = [] if sealed else missing_tasks(place, phase.tasks)
        failures = sorted(place.failures().glob("*.json")) if place.failures().is_dir() else []
        failed = sorted({int(f.name.split(".")[0]) for f in failures} & set(missing))
        running = (
            [p.name for p in (place.root / "tmp").glob("*")]
            if (place.root / "tmp").is_dir()
            else []
        )
        speed = pace(place, len(missing)) if missing and running else None
        phases.append({
            "phase": phase.name, "tasks": phase.tasks, "done": phase.tasks - len(missing),
            "failed": failed, "attempts": len(running), "sealed": sealed,
            "tasks_per_minute": speed and round(speed.per_minute, 3),
            "seconds_left": speed and round(speed.seconds_left),
        })  # fmt: skip
    name = plan.recipe["name"]
    return {
        "name": name, "plan_id": plan.plan_id, "phases": phases,
        "finished": (root / f"{name}.lock.json").exists(),
    }  # fmt: skip


def status_lines(data: Mapping[str, Any]) -> list[str]:
    """`status_data` for people."""
    rows = []
    for p in data["phases"]:
        state = "sealed" if p["sealed"] else "open" if p["done"] or p["attempts"] else "waiting"
        failed = ", ".join(map(str, p["failed"][:8])) or "-"
        rows.append([p["phase"], f"{p['done']}/{p['tasks']}", str(p["attempts"]), failed, state])
    lines = [f"{data['name']}  plan {str(data['plan_id'])[:12]}"]
    lines += table(["phase", "done", "attempts", "failed tasks", "state"], rows)
    for p in data["phases"]:
        if p["seconds_left"] is not None:
            left = time_left(p["seconds_left"])
            lines.append(f"{p['phase']}: {p['tasks_per_minute']:.3g} tasks a minute, {left} left")
    lines.append("finished" if data["finished"] else "not finished: `corpusmill run` resumes it")
    return lines
