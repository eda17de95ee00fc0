"""`report --html`: one self-contained page about a run, made from its ledger and data files.

The page loads nothing and runs nothing: plots are static SVG, and its content security policy
forbids scripts even where a page of the crawl should get one past the escaping.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from .engine import RunFolder
from .errors import TaskError
from .identity import canonical
from .ledger import build_ledger, sealed_docs_phases
from .lock import Lock
from .planning import Plan
from .plots import Series, bars, histogram, number
from .registry import build
from .report import human, report_lines
from .samples import Sample, by_reason, dropped_samples, kept_samples, survivors
from .stage import Side, Stage

MOST_ROWS = 200_000
"""Documents whose signals are drawn; of more, those of the first partitions, which are a sample by
the hash of the id."""
_KEPT, _EACH = 12, 3
_PLAIN = {
    "id", "text", "source", "url", "url_canonical", "host", "date", "file", "offset", "length",
    "record_id", "licence", "licence_where", "title", "text_sha256_raw", "cluster", "family",
    "mime_sniffed", "content_type", "charset_declared", "lang_declared", "robots", "tdm",
}  # fmt: skip
_CONTROLS = {c: "\ufffd" for c in (*range(9), 11, 12, *range(14, 32), *range(127, 160))}
_STYLE = """
:root{color-scheme:light dark;--ink:#1c2024;--soft:#5d666f;--line:#d5dae0;--page:#fff;--bar:#2f6f9f;
--other:#b4530f}
@media(prefers-color-scheme:dark){:root{--ink:#e4e7ea;--soft:#a3adb7;--line:#3a4148;--page:#15181b;
--bar:#6aa9d8;--other:#e59a5a}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--page);max-width:62rem;
margin:0 auto;padding:1rem}
h1{font-size:1.5rem}h2{font-size:1.2rem;margin-top:2.2rem;border-bottom:1px solid var(--line)}
h3{font-size:1rem;margin-bottom:.3rem}nav a{margin-right:.9rem}a{color:var(--bar)}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem}
th,td{padding:.15rem .6rem;text-align:right;border-bottom:1px solid var(--line);vertical-align:top;
white-space:nowrap}
th:first-child,td:first-child,td.l,th.l{text-align:left}
svg{width:100%;max-width:40rem;height:auto;font-size:11px}svg text{fill:var(--ink)}
.bar,.series0{fill:var(--bar)}.series1{fill:var(--other)}polygon{fill-opacity:.55}
.bound{stroke:var(--other);stroke-width:2;stroke-dasharray:4 3}.axis{stroke:var(--soft)}
details{border:1px solid var(--line);border-radius:4px;padding:.3rem .7rem;margin:.4rem 0}
summary{cursor:pointer;overflow-wrap:anywhere}pre{white-space:pre-wrap;overflow-wrap:anywhere;
font-size:.85rem}.soft{color:var(--soft)}code{overflow-wrap:anywhere}
"""


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
    if not sealed_docs_phases(run):
        raise TaskError(f"{root} has no documents yet", hint="run its recipe first")
    ledger = build_ledger(run)
    lock_path = root / f"{plan.recipe['name']}.lock.json"
    lock = Lock.load(lock_path) if lock_path.exists() else None
    kept = _kept_rows(run)
    rejects = _reject_rows(run)
    thresholds = thresholds_of(plan)
    dropped = dropped_samples(run, _EACH)
    sections = [
        ("look", "What to look at first", _first_looks(ledger, kept, rejects)),
        ("flow", "From records to the kept set", _waterfall(ledger)),
        ("reasons", "Reasons", _reasons(ledger)),
        ("signals", "Signals", _signals(kept, rejects, thresholds)),
        ("near", "Near misses", _near_misses(kept, rejects, thresholds)),
        ("made-of", "What the kept set is made of", _made_of(kept)),
        ("kept", "Kept pages to read", _kept_samples(kept_samples(run, _KEPT))),
        ("dropped", "Dropped pages to read", _dropped_samples(dropped, survivors(dropped, run))),
        ("mix", "Mix and shards", _mix(lock, root)),
        ("time", "Time", _time(ledger)),
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


def _kept_rows(run: RunFolder) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    phase = sealed_docs_phases(run)[-1]
    for piece in run.pieces(phase.name, "docs", None, None):
        rows += piece.drop_columns("text").slice(0, MOST_ROWS - len(rows)).to_pylist()
        if len(rows) >= MOST_ROWS:
            break
    return rows


def _reject_rows(run: RunFolder) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    columns = ("url", "step", "outcome", "reason", "value")
    for phase in sealed_docs_phases(run):
        for piece in run.pieces(phase.name, "rejects", None, columns):
            rows += piece.slice(0, max(MOST_ROWS - len(rows), 0)).to_pylist()
    return rows


# -- sections ----------------------------------------------------------------------------------


def _first_looks(
    ledger: Mapping[str, Any], kept: Sequence[Mapping[str, Any]],
    rejects: Sequence[Mapping[str, Any]],
) -> str:  # fmt: skip
    """Sentences about what is out of the ordinary, the largest first."""
    records = ledger["records"]
    said: list[tuple[float, str]] = []
    errors = sum(records["errors"].values())
    if errors:
        most = max(records["errors"], key=lambda k: int(records["errors"][k]))
        said.append((2.0, f"{errors} records ended as errors, most of them {most}."))
    for name, count in records["dropped"].items():
        share = count / max(records["in"], 1)
        if share >= 0.2:
            said.append((share, f"{name} dropped {count} records, {share:.0%} of all that came."))
    by_host: dict[str, Counter[str]] = {}
    for row in rejects:
        if row["step"] not in ("read", "sample"):
            by_host.setdefault(_host(row["url"]), Counter())[f"{row['step']}:{row['reason']}"] += 1
    stays = Counter(str(row.get("host") or _host(str(row.get("url") or ""))) for row in kept)
    for host, reasons in by_host.items():
        lost = sum(reasons.values())
        share = lost / (lost + stays[host])
        if host and lost >= 20 and share >= 0.9:
            reason, count = max(reasons.items(), key=lambda e: (e[1], e[0]))
            said.append((
                share * min(lost / max(records["in"], 1) * 20, 1.0),
                f"{host} lost {share:.0%} of {lost + stays[host]} pages, "
                f"{count / lost:.0%} of them by {reason}.",
            ))  # fmt: skip
    for host, count in stays.most_common(1):
        if host and len(kept) >= 20 and count / len(kept) > 0.3:
            said.append((1.0, f"{count / len(kept):.0%} of the kept documents are from {host}."))
    said.sort(key=lambda e: (-e[0], e[1]))
    if not said:
        return "<p>Nothing stands out.</p>"
    return "<ul>" + "".join(f"<li>{_safe(text)}</li>" for _, text in said[:12]) + "</ul>"


def _waterfall(ledger: Mapping[str, Any]) -> str:
    records = ledger["records"]
    dropped, errors = sum(records["dropped"].values()), sum(records["errors"].values())
    text = (
        f"<p>{records['in']} records read = {records['kept']} kept + {dropped} dropped + {errors} "
        "errors: the account balances, in numbers and in id checksums.</p>"
    )
    stages = ledger["stages"]
    text += bars(
        [(s["stage"], s["out"], f"{s['out']} of {s['in']}") for s in stages],
        "Documents that are left after each step",
    )
    for source, entry in ledger["sources"].items():
        rows = [
            [s["stage"], s["in"], s["out"], human(s["bytes_in"]), human(s["bytes_out"])]
            for s in entry["stages"]
        ]
        text += f"<h3>Source {_safe(source)}</h3>"
        text += _table(["step", "in", "out", "bytes in", "bytes out"], rows)
        if entry.get("excluded"):
            text += f"<p>Excluded by the recipe: {_safe(', '.join(entry['excluded']))}</p>"
    return text


def _reasons(ledger: Mapping[str, Any]) -> str:
    rows: list[list[Any]] = []
    for stage in ledger["stages"]:
        for kind in ("dropped", "errors"):
            for reason, count in stage[kind].items():
                rows.append([
                    stage["stage"], reason if kind == "dropped" else f"error {reason}", count,
                    f"{count / max(stage['in'], 1):.1%}",
                ])  # fmt: skip
    return _table(["step", "reason", "documents", "of those that came"], rows, left=2)


def _signals(
    kept: Sequence[Mapping[str, Any]], rejects: Sequence[Mapping[str, Any]],
    thresholds: Sequence[Threshold],
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
        text += f"<h3>{_safe(name)}</h3>" + histogram(series, name, bounds)
        rules = [
            f"{t.step}:{t.reason} at {number(t.bound)}" for t in thresholds if t.signal == name
        ]
        if rules:
            text += f'<p class="soft">{_safe("; ".join(rules))}</p>'
    return text or "<p>No step measured a number.</p>"


def _near_misses(
    kept: Sequence[Mapping[str, Any]], rejects: Sequence[Mapping[str, Any]],
    thresholds: Sequence[Threshold],
) -> str:  # fmt: skip
    """For each bound the documents that came closest to it, on either side: what a small change of
    the bound would change."""
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
        rows = [["kept", number(float(v)), name] for _, name, v in sorted(passed)[:_EACH]]
        rows += [["dropped", number(v), name] for _, name, v in sorted(lost)[:_EACH]]
        text += f"<h3>{_safe(t.step)}: {_safe(t.reason)}</h3>"
        text += _table(["", f"{t.signal}, bound {number(t.bound)}", "document"], rows, left=3)
    return text or "<p>No bound on a number dropped a document.</p>"


def _made_of(kept: Sequence[Mapping[str, Any]]) -> str:
    text = ""
    for name, title in (
        ("host", "Hosts"), ("lang", "Languages"), ("licence", "Licences that pages state"),
        ("charset_rule", "How the charset was chosen"), ("extract_path", "How text was extracted"),
    ):  # fmt: skip
        counts = Counter(str(row[name]) for row in kept if row.get(name) is not None)
        if counts:
            top = sorted(counts.items(), key=lambda e: (-e[1], e[0]))[:15]
            rest = len(counts) - len(top)
            text += f"<h3>{title}</h3>"
            text += bars([(k, v, f"{v} ({v / len(kept):.1%})") for k, v in top], title)
            if rest > 0:
                text += f'<p class="soft">and {rest} more</p>'
    return text or "<p>Nothing is known of them.</p>"


def _kept_samples(samples: Iterable[Sample]) -> str:
    return "".join(
        f"<details><summary>{_safe(s.url or s.id)}</summary>"
        f'<p class="soft"><code>{_safe(s.id)}</code></p>'
        f"<pre>{_safe(s.text or '')}</pre></details>"
        for s in samples
    )


def _dropped_samples(samples: Sequence[Sample], kin: Mapping[str, str]) -> str:
    text = ""
    for step, reason, group in by_reason(samples):
        text += f"<h3>{_safe(step)}: {_safe(reason)}</h3>"
        for s in group:
            value = f" ({_safe(s.value)})" if s.value else ""
            inner = f"<pre>{_safe(s.text)}</pre>" if s.text is not None else ""
            if s.note:
                inner += f'<p class="soft">{_safe(s.note)}</p>'
            if s.value in kin:
                inner += f"<p>Kept in its place:</p><pre>{_safe(kin[s.value])}</pre>"
            text += (
                f"<details><summary>{_safe(s.url or s.id)}{value}</summary>"
                f'<p class="soft"><code>{_safe(s.id)}</code></p>{inner}</details>'
            )
    return text or "<p>Nothing was dropped.</p>"


def _mix(lock: Lock | None, root: Path) -> str:
    if lock is None:
        return "<p>The run is not finished: there is no lock yet.</p>"
    outputs = lock.data["outputs"]
    rows = [
        [name, canonical(value).decode() if isinstance(value, dict | list) else value]
        for name, value in sorted(outputs.items())
    ]
    lines = report_lines(root)
    start = next((n for n, line in enumerate(lines) if line.startswith("domain ")), None)
    text = _table(["what", "value"], rows, left=2)
    if start is not None:
        end = next((n for n in range(start, len(lines)) if not lines[n]), len(lines))
        text += f"<pre>{_safe(chr(10).join(lines[start:end]))}</pre>"
    hits = next((n for n, line in enumerate(lines) if line.startswith("benchmark items")), None)
    if hits is not None:
        end = next((n for n in range(hits, len(lines)) if not lines[n]), len(lines))
        text += f"<pre>{_safe(chr(10).join(lines[hits:end]))}</pre>"
    licences = Counter(str(s["licence"]) for s in lock.data["identity"]["inputs"])
    text += "<h3>Licences of the sources</h3>"
    return text + _table(["licence", "sources"], [[k, v] for k, v in sorted(licences.items())])


def _time(ledger: Mapping[str, Any]) -> str:
    rows = [(s["stage"], float(s["cpu_seconds"])) for s in ledger["stages"]]
    rows += [(p["product"], float(p["cpu_seconds"])) for p in ledger["products"]]
    rows.sort(key=lambda r: -r[1])
    return bars([(n, v, f"{v:.3f} s") for n, v in rows if v > 0], "CPU seconds by step")


# -- parts -------------------------------------------------------------------------------------


def _table(header: Sequence[str], rows: Sequence[Sequence[Any]], left: int = 1) -> str:
    def cells(tag: str, values: Sequence[Any]) -> str:
        return "".join(
            f"<{tag}{' class=l' if n < left else ''}>{_safe(str(v))}</{tag}>"
            for n, v in enumerate(values)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return (
        f'<div class="scroll"><table><thead><tr>{cells("th", header)}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _page(plan: Plan, lock: Lock | None, sections: Sequence[tuple[str, str, str]]) -> str:
    name = f"{plan.recipe['name']} {plan.recipe['version']}"
    links = "".join(f'<a href="#{key}">{title}</a>' for key, title, _ in sections)
    body = "".join(f'<section id="{k}"><h2>{t}</h2>{text}</section>' for k, t, text in sections)
    digest = f"<br><code>{_safe(lock.mix_id)}</code>" if lock is not None else ""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{_safe(name)}</title><style>{_STYLE}</style></head><body>"
        f"<h1>{_safe(name)}</h1>"
        f'<p class="soft">plan <code>{_safe(plan.plan_id)}</code>{digest}</p>'
        f"<nav>{links}</nav>{body}</body></html>\n"
    )


def _safe(text: str) -> str:
    """For the page: markup escaped, control characters shown as what they are not."""
    return escape(text.translate(_CONTROLS))


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0].lower()


def _as_number(value: str | None) -> float | None:
    try:
        return None if value is None else float(value)
    except ValueError:
        return None


__all__ = ["html_report", "thresholds_of"]
