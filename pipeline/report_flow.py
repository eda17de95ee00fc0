"""The account in the report: documents, bytes and tokens of every step and source, and the reasons.

Tokens are counted where texts are encoded. Before that they are the bytes of text at a step, by the
tokens that a byte of the source's encoded texts has, and marked as such.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .html_parts import figure, safe, table
from .planning import Plan
from .plots import bars
from .registry import stage_class
from .report import human

_ABOUT = "≈ "


def waterfall(ledger: Mapping[str, Any], plan: Plan) -> str:
    """What is left after each step, of all records and of each source."""
    records = ledger["records"]
    dropped, errors = sum(records["dropped"].values()), sum(records["errors"].values())
    text = (
        f"<p>{records['in']} records read = {records['kept']} kept + {dropped} dropped + {errors} "
        "errors: the account balances, in numbers and in id checksums.</p>"
    )
    drawn = bars(
        [(s["stage"], s["out"], f"{s['out']} of {s['in']}") for s in ledger["stages"]],
        "Documents that are left after each step",
    )
    text += figure(drawn, f"all {records['in']} records")
    for source, entry in ledger["sources"].items():
        text += f"<h3>Source {safe(source)}</h3>" + _of_source(entry, _first_text(plan, source))
        if entry.get("excluded"):
            text += f"<p>Excluded by the recipe: {safe(', '.join(entry['excluded']))}</p>"
    return text


def _of_source(entry: Mapping[str, Any], first_text: str | None) -> str:
    """The table of one source; `first_text` is the first step that gives out texts."""
    encoded = entry.get("encoded")
    share = encoded["tokens"] / encoded["bytes"] if encoded and encoded["bytes"] else None
    rows: list[list[Any]] = []
    texts = False
    for s in entry["stages"]:
        texts = texts or s["stage"] == first_text
        tokens = "" if share is None or not texts else _ABOUT + human(int(s["bytes_out"] * share))
        rows.append([
            s["stage"], s["in"], s["out"], human(s["bytes_in"]), human(s["bytes_out"]), tokens,
            _lost(s),
        ])  # fmt: skip
    if encoded:
        sizes = [human(encoded["bytes"])] * 2
        counts = [encoded["documents"]] * 2
        rows.append(["encoded", *counts, *sizes, human(encoded["tokens"]), ""])
    header = ["step", "in", "out", "bytes in", "bytes out", "tokens out", "dropped or failed"]
    if share is None:
        rows, header = [row[:5] + row[6:] for row in rows], header[:5] + header[6:]
    text = table(header, rows, prose=True)
    if share is None:
        return text
    return (
        f'{text}<p class="soft">Tokens are counted where texts are encoded, with the end-of-text '
        f"of each; {_ABOUT.strip()} marks bytes of text by {share:.4f} tokens a byte, which the "
        "encoded texts of this source have.</p>"
    )


def _first_text(plan: Plan, source: str) -> str | None:
    """The first step of a source whose bytes are those of texts: reading, or the last that takes
    pages."""
    recipe = plan.recipe
    (stage,) = (s["stage"] for s in recipe["sources"] if s["name"] == source)
    if stage_class(stage).gives == "document":
        return "read"
    taking = [s["id"] for s in recipe["steps"] if _takes_pages(s["stage"])]
    return taking[-1] if taking else None


def _takes_pages(stage: str) -> bool:
    return getattr(stage_class(stage), "takes", "document") == "page"


def _lost(stage: Mapping[str, Any]) -> str:
    lost = {**stage["dropped"], **{f"error {k}": v for k, v in stage["errors"].items()}}
    return ", ".join(f"{code} {count}" for code, count in lost.items())


def reasons(ledger: Mapping[str, Any]) -> str:
    """Every reason of every step, with its share of what came there."""
    rows: list[list[Any]] = []
    for stage in ledger["stages"]:
        for kind in ("dropped", "errors"):
            for reason, count in stage[kind].items():
                rows.append([
                    stage["stage"], reason if kind == "dropped" else f"error {reason}", count,
                    f"{count / max(stage['in'], 1):.1%}",
                ])  # fmt: skip
    return table(["step", "reason", "documents", "of those that came"], rows, left=2)


__all__ = ["reasons", "waterfall"]
