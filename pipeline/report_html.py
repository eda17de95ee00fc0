"""`report --html`: one self-contained page about a run, made from its ledger and data files.

The page loads nothing and runs nothing: plots are static SVG, and its content security policy
forbids scripts even where a page of the crawl should get one past the escaping.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .engine import RunFolder
from .errors import TaskError
from .html_parts import figure, frame, safe, table
from .ledger import build_ledger, sealed_docs_phases
from .lock import Lock
from .planning import Plan
from .plots import Series, bars, curve, histogram, number
from .registry import build
from .report import human
from .report_flow import reasons, waterfall
from .report_looks import looks, overlap_tables
from .report_mix import mix_section
from .report_models import model_cards, tokenizer_audit
from .report_reading import dropped_pages, kept_pages, masked_pages, token_pages
from .report_rows import base as said_of
from .report_rows import draw_kept, draw_rejects
from .samples import dropped_samples, kept_samples
from .stage import Side, Stage

_KEPT, _EACH, _NEAR = 12, 10, 3
_RULES = 1000
"""Dropped documents of a phase that are made again, to see which rules they break."""
_PLAIN = {
    "id", "text", "source", "url", "url_canonical", "host", "date", "file", "offset", "length",
    "record_id", "licence", "licence_where", "title", "text_sha256_raw", "cluster", "family",
    "mime_sniffed", "content_type", "charset_declared", "lang_declared", "robots", "tdm",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Threshold:
    """A bound that a step sets on a signal."""

    step: str
    reason: str
    signal: str
    bound: float
    side: Side
    """With "low" a value under the bound is dropped, with "high" one over it."""


def html_report(root: Path) -> str:
    """The page. Raises TaskError where no document phase is finished."""
    plan = Plan.load(root / "plan.json")
    run = RunFolder(root, plan)
    phases = sealed_docs_phases(run)
    if not phases:
        raise TaskError(f"{root} has no documents yet", hint="run its recipe first")
    ledger = build_ledger(run)
    lock_path = root / f"{plan.recipe['name']}.lock.json"
    lock = Lock.load(lock_path) if lock_path.exists() else None
    drawn = draw_kept(run, phases[-1])
    lost = [draw_rejects(run, phase) for phase in phases]
    kept, rejects = drawn.rows, [row for one in lost for row in one.rows]
    thresholds = thresholds_of(plan)
    dropped, overlaps = dropped_samples(run, _EACH, _RULES)
    base = said_of([drawn], "kept")
    both = f"{base}; {said_of(lost, 'dropped')}"
    sections = [
        ("look", "What to look at first", looks(ledger, drawn, lost, overlaps)),
        ("flow", "From records to the kept set", waterfall(ledger, plan)),
        ("reasons", "Reasons", reasons(ledger) + overlap_tables(overlaps)),
        ("signals", "Signals", _signals(kept, rejects, thresholds, both)),
        ("near", "Near misses", _near_misses(kept, rejects, thresholds, both)),
        ("made-of", "What the kept set is made of", _made_of(kept, base)),
        ("kept", "Kept pages to read", kept_pages(kept_samples(run, kept, _KEPT))),
        ("dropped", "Dropped pages to read", dropped_pages(dropped)),
        ("pii", "Personal data that was masked", masked_pages(run, kept, base)),
        ("mix", "Mix and shards", mix_section(lock, root)),
        ("models", "Models that judged", model_cards(plan)),
        ("audit", "The tokenizer's audit", tokenizer_audit(run, root, kept)),
        ("tokens", "Text as the tokenizer cuts it", token_pages(run, root, kept)),
        ("time", "Time and memory", _time(ledger) + _phases(run)),
    ]
    return _page(plan, lock, sections)


def thresholds_of(plan: Plan) -> list[Threshold]:
    """The bounds of all deciding steps, in order."""
    found = []
    for entry in plan.recipe["steps"]:
        made = build(entry["stage"], entry["params"], f"step {entry['id']}")
        for reason, signal, bound, side in made.thresholds() if isinstance(made, Stage) else ():
            found.append(Threshold(entry["id"], reason, signal, float(bound), side))
    return found


# -- sections ----------------------------------------------------------------------------------


def _signals(
    kept: Sequence[Mapping[str, Any]], rejects: Sequence[Mapping[str, Any]],
    thresholds: Sequence[Threshold], base: str,
) -> str:  # fmt: skip
    """A histogram of each number that was measured, that of dropped values beside it."""
    numbers: dict[str, list[float]] = {}
    for row in kept:
        for name, value in row.items():
            if name not in _PLAIN and isinstance(value, int | float):
                numbers.setdefault(name, []).append(float(value))
    reasons = {(t.step, t.reason): t.signal for t in thresholds}
    lost: dict[str, list[float]] = {}
    for row in rejects:
        signal = reasons.get((row["step"], row["reason"]))
        value = None if signal is None else _as_number(row["value"])
        if signal is not None and value is not None:
            lost.setdefault(signal, []).append(value)
    order = dict.fromkeys(t.signal for t in thresholds)
    text = ""
    for name in [*order, *(n for n in sorted(numbers) if n not in order)]:
        values = numbers.get(name, [])
        series = [Series("kept", values)] if values else []
        if name in lost:
            series.append(Series("dropped for it", lost[name]))
        bounds = sorted({t.bound for t in thresholds if t.signal == name})
        if not series or (len(set(values)) < 2 and name not in lost):
            continue
        text += f"<h3>{safe(name)}</h3>" + figure(histogram(series, name, bounds), base)
        rules = [
            f"{t.step}:{t.reason} at {number(t.bound)}" for t in thresholds if t.signal == name
        ]
        if rules:
            text += f'<p class="soft">{safe("; ".join(rules))}</p>'
    return text or "<p>No step measured a number.</p>"


def _near_misses(
    kept: Sequence[Mapping[str, Any]], rejects: Sequence[Mapping[str, Any]],
    thresholds: Sequence[Threshold], base: str,
) -> str:  # fmt: skip
    """For each bound the documents that came closest to it, on either side, and what share would
    be kept with another bound."""
    text = ""
    for t in thresholds:
        passed = [
            (abs(float(row[t.signal]) - t.bound), str(row.get("url") or row["id"]), row[t.signal])
            for row in kept
            if isinstance(row.get(t.signal), int | float)
        ]
        lost = [
            (abs(value - t.bound), str(row["url"] or ""), value)
            for row in rejects
            if (row["step"], row["reason"]) == (t.step, t.reason)
            and (value := _as_number(row["value"])) is not None
        ]
        if not lost:
            continue
        text += f"<h3>{safe(t.step)}: {safe(t.reason)}</h3>"
        values = [float(v) for _, _, v in (*passed, *lost)]
        title = f"Share kept by the rule, against the bound of {t.signal}"
        said = f"{len(values)} documents: kept in the end, or dropped by this rule ({base})"
        text += figure(curve(values, t.bound, title, low=t.side == "low"), said)
        rows = [["kept", number(float(v)), name] for _, name, v in sorted(passed)[:_NEAR]]
        rows += [["dropped", number(v), name] for _, name, v in sorted(lost)[:_NEAR]]
        header = ["", f"{t.signal}, bound {number(t.bound)}", "document"]
        text += table(header, rows, left=2, prose=True)
    return text or "<p>No bound on a number dropped a document.</p>"


def _made_of(kept: Sequence[Mapping[str, Any]], base: str) -> str:
    text = ""
    for name, title in (
        ("host", "Hosts"), ("lang", "Languages"), ("page_type", "Types of page"),
        ("topic", "Topics"), ("format", "Formats"), ("quality_bucket", "Quality buckets"),
        ("licence", "Licences that pages state"), ("year", "Years of the crawl"),
        ("charset_rule", "How the charset was chosen"), ("extract_path", "How text was extracted"),
        ("cluster_size", "Near-duplicates of a document, itself included"),
    ):  # fmt: skip
        counts = Counter(v for row in kept if (v := _value(row, name)) is not None)
        if counts:
            top = sorted(counts.items(), key=lambda e: (-e[1], e[0]))[:15]
            rest = len(counts) - len(top)
            drawn = bars([(k, v, f"{v} ({v / len(kept):.1%})") for k, v in top], title)
            more = f"{base}; {rest} more values are not drawn" if rest > 0 else base
            text += f"<h3>{title}</h3>{figure(drawn, more)}"
    return text or "<p>Nothing is known of them.</p>"


def _value(row: Mapping[str, Any], name: str) -> str | None:
    if name == "year":
        return str(row["date"])[:4] if row.get("date") else None
    value = row.get(name)
    if name == "cluster_size" and isinstance(value, int) and value > 5:
        return "6 to 10" if value <= 10 else "11 to 100" if value <= 100 else "over 100"
    return None if value is None else str(value)


def _time(ledger: Mapping[str, Any]) -> str:
    rows = [(s["stage"], float(s["cpu_seconds"])) for s in ledger["stages"]]
    rows += [(p["product"], float(p["cpu_seconds"])) for p in ledger["products"]]
    rows.sort(key=lambda r: -r[1])
    drawn = bars([(n, v, f"{v:.3f} s") for n, v in rows if v > 0], "CPU seconds by step")
    return figure(drawn, "all tasks of the run, as they were when they were first done")


def _phases(run: RunFolder) -> str:
    """Tasks, CPU seconds and the largest task's memory of each phase that is done."""
    rows = []
    for phase in run.plan.phases:
        if not run.phase_folder(phase).seal().exists():
            continue
        counts = [commit["counts"] for commit in run.seal(phase.name).commits]
        spent = sum(float(s) for c in counts for s in c.get("cpu", {}).values())
        held = [int(c["memory"]) for c in counts if "memory" in c]
        most = human(max(held)) if held else "not told"
        rows.append([phase.name, phase.tasks, f"{spent:.1f}", most])
    note = '<p class="soft">Memory is that of the largest task, without its helper processes.</p>'
    return table(["phase", "tasks", "CPU s", "memory"], rows) + note


# -- parts -------------------------------------------------------------------------------------


def _page(plan: Plan, lock: Lock | None, sections: Sequence[tuple[str, str, str]]) -> str:
    digest = f"<br><code>{safe(lock.mix_id)}</code>" if lock is not None else ""
    head = f'<p class="soft">plan <code>{safe(plan.plan_id)}</code>{digest}</p>'
    return frame(f"{plan.recipe['name']} {plan.recipe['version']}", head, sections)


def _as_number(value: str | None) -> float | None:
    try:
        return None if value is None else float(value)
    except ValueError:
        return None


__all__ = ["html_report", "thresholds_of"]
