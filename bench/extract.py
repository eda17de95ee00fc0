"""Main text by our tiers and by every extractor that installs, on pages with known text.

    python -m bench.extract [--quick] [--json] [--weights FOLDER] [--only ROW] [--pages N]
                            [--keep FOLDER] [--seconds N] [--asked]

Pages (``CORPUSMILL_DATA``): ``wcxb``, WCXB's development split (seven page types); ``news``, half
of the article-extraction-benchmark; ``manuals``, four pages of program documentation in each
language of the crawl; and eight formulas. ``--quick``: 24 manual pages and the formulas, no data.

Each side is a process; they take turns, ten pages at a time. CPU seconds are of the call alone,
without imports and first calls. A page over the limit of 20 CPU
seconds, or on which a side raises, counts as one without text. Slow sides read one page in 4, 20
or 50 (``pages``); what is compared with them is taken from those pages.

Columns: ``F1`` and ``shingles`` (`corpusmill.stages.extract.scoring`) are macro means, ``95 %``
the interval of a bootstrap over sites, ``own less it`` the difference by page to our tier ``own``
with its interval. ``short``: outputs under 50 words where the known text has as many.
``x trafilatura``: its CPU seconds over theirs on the same pages. Layout: as in `bench.layout`.

The weights of the tier ``own`` were trained on WCXB. ``--weights`` names a folder with those of a
cross-validation by site (`bench.layout` makes them); without it ``own`` has no figures there.
``--keep`` keeps what came out in a folder and goes on from there, ``--seconds`` stops in time, and
``--asked`` reports what is kept: so some sides may read more pages than others.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from corpusmill.stages.extract.scoring import Gold

from .extract_ours import UNSEEN
from .extract_pages import Page, probes, read_pages
from .extract_sides import Contestant, ask_all, ours, peers
from .harness import Bar, BenchError, Report, finish, parser
from .layout import PROBES
from .layout_gold import Gold as Layout
from .layout_gold import measure, read_gold

LIMIT = 20.0
SHORT = 50
ROUNDS = 2000
PAGES_A_SECOND = 220.0
OF_RESILIPARSE = PAGES_A_SECOND / 502
"""The same bar on any machine: where it was set, resiliparse made 502 a second."""
TYPES = ("article", "documentation", "service", "forum", "listing", "collection", "product")
LAYOUT = ("code_true", "indented_true", "items", "rows_true", "headings")
QUICK_PAGES = 40
ALL_TEXT = frozenset({
    "resiliparse, all text", "turbohtml, all text", "html-to-markdown", "html2text", "markdownify",
    "inscriptis", "innertext", "html-text", "beautifulsoup4", "selectolax",
})  # fmt: skip
"""Sides that choose nothing: no bar is set by them."""

COLUMNS = (
    "row", "pages", "F1", "95 %", "shingles", "own less it", "news F1", "news shingles", "manuals",
    "short", "failed", "pages/s", "x trafilatura", "worst s", "MiB",
)  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    options = parser(__doc__ or "")
    options.add_argument("--weights", type=Path, help="folder of cross-validation weights")
    options.add_argument("--only", action="append", metavar="ROW", help="this side (repeatable)")
    options.add_argument("--keep", type=Path, help="keep the answers here, and go on from there")
    options.add_argument("--asked", action="store_true", help="ask nothing: report what is kept")
    options.add_argument("--seconds", type=float, help="begin no page after so long")
    options.add_argument("--pages", type=int, help="so many pages, of all sets together")
    args = options.parse_args(argv)
    return finish(lambda: report(args), args.json)


def report(args: argparse.Namespace) -> Report:
    sides, missing = contestants(args)
    pages = read_pages(args.quick)[: args.pages or (QUICK_PAGES if args.quick else None)]
    pages += probes()
    if args.keep is not None:
        for side in sides:
            side.recall(args.keep)
    if args.asked:
        sides = [side for side in sides if side.answers]
    elif (done := ask_all(sides, pages, args.seconds)) < len(pages):
        raise BenchError(
            f"stopped after {done} of {len(pages)} pages",
            hint="the same command goes on from there; --pages 100 reports of the first 100",
        )
    found = {side.name: figures(side, pages) for side in sides}
    rows = table(found, pages)
    notes = [
        f"{len(pages) - len(PROBES)} pages, in the order of a keyed hash",
        *(f"not installed: {name}" for name in missing),
    ]
    if args.weights is None and any(page.group == "wcxb" for page in pages):
        notes.append("own has learnt from the pages of wcxb: no figures there without --weights")
    return Report(
        bench="extract",
        versions={"corpusmill": version("corpusmill"), **{s.name: s.version for s in sides}},
        rows=rows,
        bars=bars(found, rows, pages),
        columns=COLUMNS,
        more=(("row", *TYPES), ("row", *LAYOUT, "formulas")),
        notes=notes,
    )


def contestants(args: argparse.Namespace) -> tuple[list[Contestant], list[str]]:
    """The sides of this run, and what is not installed."""
    from corpusmill.stages.extract.tiers import ExtractTiers

    others, missing = peers(LIMIT)
    sides = [*ours(f"extract.tiers {ExtractTiers.version}", args.weights, LIMIT), *others]
    if args.only:
        known = [side.name for side in sides]
        unknown = [name for name in args.only if name not in known]
        if unknown:
            raise BenchError(f"no row {unknown[0]!r}", hint=f"one of {'; '.join(known)}")
        wanted = {*args.only, *([UNSEEN] if "own" in args.only else [])}
        return [side for side in sides if side.name in wanted], []
    return sides, missing


# -- figures -----------------------------------------------------------------------------------

Values = dict[str, dict[str, float]]
"""Figure → page → value."""


def figures(side: Contestant, pages: Sequence[Page]) -> Values:
    """What can be said of each answer."""
    found: Values = {name: {} for name in ("bag", "shingles", "short", "cpu", "failed", *LAYOUT)}
    found["formulas"] = {}
    for page in pages:
        answer = side.answers.get(page.key)
        if answer is None:
            continue
        if page.group == "probe":
            once = answer.text.count(page.gold.strip("$ .")) == 1
            found["formulas"][page.key] = float(page.gold in answer.text and once)
            continue
        found["failed"][page.key] = float(answer.error != "")
        found["cpu"][page.key] = answer.cpu if answer.cpu or not answer.error else LIMIT
        if page.group == "wcxb" and side.name == "own":
            continue
        gold, layout = gold_of(page)
        bag, ordered, n_words = gold.scores(answer.text)
        found["bag"][page.key], found["shingles"][page.key] = bag.f1, ordered.f1
        if gold.words.total() >= SHORT:
            found["short"][page.key] = float(n_words < SHORT)
        if page.markdown:
            shares = measure(page.html, layout, answer.text)
            for name in LAYOUT:
                right, of, _ = shares[name]
                if of:
                    found[name][page.key] = right / of
    found["mib"] = {"": float(([a.peak_mib for a in side.answers.values()] or [0])[-1])}
    return found


_GOLD: dict[str, tuple[Gold, Layout]] = {}


def gold_of(page: Page) -> tuple[Gold, Layout]:
    """The page's gold text and its layout, read once."""
    if page.key not in _GOLD:
        _GOLD[page.key] = Gold.of(page.gold), read_gold(page.markdown)
    return _GOLD[page.key]


def mean(values: Mapping[str, float]) -> float | None:
    """The mean, four decimals; None of nothing."""
    return round(sum(values.values()) / len(values), 4) if values else None


def interval(values: Mapping[str, float], site: Mapping[str, str]) -> tuple[float, float] | None:
    """The 95 % interval of the mean by a bootstrap over sites (2,000 rounds, fixed seed)."""
    if not values:
        return None
    names = sorted({site[key] for key in values})
    place = {name: n for n, name in enumerate(names)}
    total, count = np.zeros(len(names)), np.zeros(len(names))
    for key, value in values.items():
        total[place[site[key]]] += value
        count[place[site[key]]] += 1
    drawn = np.random.default_rng(1).integers(0, len(names), (ROUNDS, len(names)))
    means = np.sort(total[drawn].sum(axis=1) / count[drawn].sum(axis=1))
    low, high = means[round(0.025 * ROUNDS)], means[round(0.975 * ROUNDS) - 1]
    return round(float(low), 4), round(float(high), 4)


def less(left: Mapping[str, float], right: Mapping[str, float]) -> dict[str, float]:
    """The difference on every page that both have."""
    return {key: value - right[key] for key, value in left.items() if key in right}


def table(found: Mapping[str, Values], pages: Sequence[Page]) -> list[dict[str, Any]]:
    """A row a side. What ``own`` has on pages that it learnt from is that of `UNSEEN`."""
    site = {page.key: page.site for page in pages}
    group = {page.key: page.group for page in pages}
    kind = {page.key: page.kind for page in pages if page.group == "wcxb"}
    merged = merge(found)

    def of(values: Mapping[str, float], keep: Callable[[str], bool]) -> dict[str, float]:
        return {key: value for key, value in values.items() if keep(key)}

    rows = []
    main_set = "wcxb" if "wcxb" in group.values() else "manuals"
    for name, values in merged.items():
        first = of(values["bag"], lambda key: group[key] == main_set)
        cpu = values["cpu"]
        row: dict[str, Any] = {
            "row": name,
            "pages": len(first),
            "F1": mean(first),
            "95 %": shown(interval(first, site)),
            "shingles": mean(of(values["shingles"], lambda key: group[key] == main_set)),
        }
        if "own" in merged and name != "own":
            gap = less(of(merged["own"]["bag"], lambda key: group[key] == main_set), first)
            row["own less it"] = f"{mean(gap)} {shown(interval(gap, site))}" if gap else None
        for key, figure, where in (
            ("news F1", "bag", "news"), ("news shingles", "shingles", "news"),
            ("manuals", "shingles", "manuals"),
        ):  # fmt: skip
            some = {k: v for k, v in values[figure].items() if group[k] == where}
            row[key] = mean(some)
            row[f"{key} 95 %"] = shown(interval(some, site))
        row["short"] = mean(of(values["short"], lambda key: group[key] == main_set))
        row["failed"] = int(sum(values["failed"].values()))
        spent = sum(cpu.values())
        row["pages/s"] = len(cpu) / spent if spent else None
        row["mean_html_bytes"] = round(
            sum(len(page.html.encode()) for page in pages if page.key in cpu) / max(1, len(cpu))
        )
        beside = merged.get("trafilatura", {}).get("cpu", {})
        both = [key for key in cpu if key in beside]
        if both:
            theirs = sum(beside[key] for key in both)
            row["x trafilatura"] = theirs / sum(cpu[key] for key in both)
        row["worst s"] = max(cpu.values(), default=None)
        row["MiB"] = int(values["mib"][""])
        for wanted in TYPES:
            some = {key: v for key, v in first.items() if kind.get(key) == wanted}
            row[wanted] = mean(some)
            row[f"{wanted} 95 %"] = shown(interval(some, site))
        for figure in LAYOUT:
            row[figure] = mean(values[figure])
            row[f"{figure} 95 %"] = shown(interval(values[figure], site))
        if values["formulas"]:
            row["formulas"] = int(sum(values["formulas"].values()))
        rows.append(row)
    return rows


def merge(found: Mapping[str, Values]) -> dict[str, Values]:
    """The figures by row, those of `UNSEEN` in ``own``'s, but for its speed."""
    merged = {name: values for name, values in found.items() if name != UNSEEN}
    if "own" in merged and UNSEEN in found:
        merged["own"] = {
            name: values if name in ("cpu", "failed", "mib") else {**values, **found[UNSEEN][name]}
            for name, values in found["own"].items()
        }
    return merged


def shown(limits: tuple[float, float] | None) -> str | None:
    """An interval as text."""
    return f"({limits[0]:.3f} to {limits[1]:.3f})" if limits is not None else None


def bars(
    found: Mapping[str, Values], rows: Sequence[Mapping[str, Any]], pages: Sequence[Page]
) -> dict[str, Bar]:
    """What the tier ``own`` should reach, of what was measured."""
    row = next((row for row in rows if row["row"] == "own"), None)
    if row is None:
        return {}
    made = {
        name: Bar(row[figure], least)
        for name, figure, least in (
            ("F1", "F1", 0.88), ("news shingles", "news shingles", 0.955),
            ("times trafilatura", "x trafilatura", 7.0), ("code", "code_true", 0.95),
            ("indented code", "indented_true", 0.97), ("list items", "items", 0.93),
            ("rows of tables", "rows_true", 0.90), ("formulas", "formulas", len(PROBES)),
        )
        if row.get(figure) is not None
    }  # fmt: skip
    rate = row["pages/s"] * row["mean_html_bytes"] / 110_000
    made["pages of 110 kB a second"] = Bar(rate, PAGES_A_SECOND)
    peer = next((other for other in rows if other["row"] == "resiliparse"), None)
    if peer is not None:
        made["speed, of resiliparse's"] = Bar(row["pages/s"] / peer["pages/s"], OF_RESILIPARSE)
    made["half a second over the worst page"] = Bar(0.5 / row["worst s"], 1.0)
    if row["short"] is not None:
        made["pages not short"] = Bar(round(1 - row["short"], 4), 0.995)
    level = types_level(found, rows, pages)
    if level is not None:
        made["page types level with the best library"] = Bar(level, len(TYPES))
    return made


def types_level(
    found: Mapping[str, Values], rows: Sequence[Mapping[str, Any]], pages: Sequence[Page]
) -> int | None:
    """On how many page types ``own`` is not below the best library by more than the interval."""
    site = {page.key: page.site for page in pages}
    merged = merge(found)
    all_pages = max(row["pages"] for row in rows)
    level = 0
    for wanted in TYPES:
        others = [
            row for row in rows
            if row["row"] not in {"own", "quality", "default", "fast", *ALL_TEXT}
            and row["pages"] == all_pages and row[wanted] is not None
        ]  # fmt: skip
        if not others:
            return None
        best = max(others, key=lambda row: (row[wanted], row["row"]))["row"]
        kind = {page.key for page in pages if page.kind == wanted}
        gap = {
            key: value
            for key, value in less(merged["own"]["bag"], merged[best]["bag"]).items()
            if key in kind
        }
        limits = interval(gap, site)
        level += limits is not None and limits[1] >= 0
    return level


if __name__ == "__main__":
    sys.exit(main())
