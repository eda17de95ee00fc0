"""The page of `report A --against B --html`."""

from __future__ import annotations

from collections.abc import Callable

from .comparing import KEPT, Change, Comparison
from .engine import RunFolder
from .html_parts import frame, safe, table, word_diff
from .ledger import sealed_docs_phases
from .masking import Masking
from .samples import COMPARED, excerpt, texts_of


def comparison_page(now: RunFolder, before: RunFolder, found: Comparison) -> str:
    """The page: recipes, numbers, and of each change some documents with their texts."""
    names = [f"{r.plan.recipe['name']} {r.plan.recipe['version']}" for r in (now, before)]
    head = "".join(
        f'<p class="soft">{what}: plan <code>{safe(run.plan.plan_id)}</code></p>'
        for what, run in (("now", now), ("before", before))
    )
    sections = [
        ("recipe", "What differs in the recipes", _recipe(found)),
        ("numbers", "Numbers", _numbers(found)),
        ("changes", "Documents with another fate", _changes(now, before, found)),
    ]
    return frame(f"{names[0]} against {names[1]}", head, sections)


def _recipe(found: Comparison) -> str:
    if not found.recipe:
        return "<p>Nothing.</p>"
    return "<ul>" + "".join(f"<li>{safe(line)}</li>" for line in found.recipe) + "</ul>"


def _numbers(found: Comparison) -> str:
    keys = ("before", "now", "in_both", "kept_before", "kept_now")
    rows = [[name, *(figures[k] for k in keys)] for name, figures in found.sources.items()]
    text = '<p class="soft">All records of both runs.</p>'
    text += table(["source", "read before", "read now", "in both", "kept before", "kept now"], rows)
    changes = [[c.source, c.kind, c.before, c.now, c.documents] for c in found.changes]
    if changes:
        text += table(["source", "change", "before", "now", "documents"], changes, left=4)
    return text


def _changes(now: RunFolder, before: RunFolder, found: Comparison) -> str:
    """Texts come from the run that kept the document, masked as its recipe says."""
    sides: list[tuple[dict[str, str], Callable[[str], str]]] = []
    for run, mine in (
        (now, [c for c in found.changes if c.now == KEPT]),
        (before, [c for c in found.changes if c.before == KEPT]),
    ):
        wanted = {e.id for c in mine for e in c.examples}
        held = texts_of(run, sealed_docs_phases(run)[-1], wanted) if wanted else {}
        sides.append((held, Masking(run.plan) if held else str))
    texts = [{k: mask(v)[:COMPARED] for k, v in held.items()} for held, mask in sides]
    text = "".join(_change(c, *texts) for c in found.changes)
    return text or "<p>None.</p>"


def _change(change: Change, now: dict[str, str], before: dict[str, str]) -> str:
    text = f"<h3>{safe(change.kind)}: {safe(change.before)} → {safe(change.now)}</h3>"
    shown = len(change.examples)
    text += (
        f'<p class="soft">{shown} of {change.documents} documents of {safe(change.source)}, those '
        "with the smallest ids</p>"
    )
    for one in change.examples:
        values = " → ".join(v for v in (one.value_before, one.value_now) if v)
        inner = f'<p class="soft"><code>{safe(one.id)}</code></p>'
        if change.text and one.id in now and one.id in before:
            inner += f"<pre>{word_diff(before[one.id], now[one.id])}</pre>"
        else:
            whole = now.get(one.id) or before.get(one.id)
            inner += f"<pre>{safe(excerpt(whole))}</pre>" if whole else ""
        value = f" ({safe(values)})" if values else ""
        text += f"<details><summary>{safe(one.url or one.id)}{value}</summary>{inner}</details>"
    return text


__all__ = ["comparison_page"]
