"""What to look at first, in words, from a run's numbers; and what its rules have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from .html_parts import safe, table
from .replay import READERS
from .report_rows import Drawn
from .samples import Overlap

MOST = 14
"""Sentences that are shown."""
MOST_HOSTS = 4


def looks(
    ledger: Mapping[str, Any], kept: Drawn, lost: Sequence[Drawn],
    overlaps: Sequence[Overlap] = (),
) -> str:  # fmt: skip
    """Sentences about what is out of the ordinary, the largest first, as a list. `lost` are the
    rejects of each phase."""
    said = [*_of_records(ledger), *_of_hosts(ledger, kept, lost), *_of_rules(overlaps)]
    said += _of_time(ledger)
    said.sort(key=lambda e: (-e[0], e[1]))
    if not said:
        return "<p>Nothing stands out.</p>"
    return "<ul>" + "".join(f"<li>{safe(text)}</li>" for _, text in said[:MOST]) + "</ul>"


def _of_records(ledger: Mapping[str, Any]) -> list[tuple[float, str]]:
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
    for stage in ledger["stages"]:
        lost = stage["in"] - stage["out"]
        if stage["in"] >= 20 and 0.5 <= lost / stage["in"] < 1 and stage["stage"] != "read":
            share = lost / stage["in"]
            said.append((
                share * lost / max(records["in"], 1),
                f"{stage['stage']} let {1 - share:.0%} of {stage['in']} documents pass.",
            ))  # fmt: skip
    return said


def _of_hosts(
    ledger: Mapping[str, Any], kept: Drawn, lost: Sequence[Drawn]
) -> list[tuple[float, str]]:
    taken = max(int(ledger["records"]["in"]), 1)
    said: list[tuple[float, str]] = []
    by_host: dict[str, dict[str, float]] = {}
    for drawn in lost:
        for row in drawn.rows:
            if row["step"] not in READERS:
                reasons = by_host.setdefault(_host(row["url"] or ""), {})
                rule = f"{row['step']}:{row['reason']}"
                reasons[rule] = reasons.get(rule, 0) + drawn.weight
    stays = Counter(str(row.get("host") or _host(str(row.get("url") or ""))) for row in kept.rows)
    about = "" if all(d.weight == 1 for d in (kept, *lost)) else "about "
    hosts: list[tuple[float, str]] = []
    for host, reasons in by_host.items():
        gone = sum(reasons.values())
        pages = gone + stays[host] * kept.weight
        share = gone / pages
        if host and gone >= 20 and share >= 0.9:
            reason, count = max(reasons.items(), key=lambda e: (e[1], e[0]))
            hosts.append((
                share * min(gone / taken * 20, 1.0),
                f"{host} lost {about}{share:.0%} of {about}{pages:.0f} pages, "
                f"{count / gone:.0%} of them by {reason}.",
            ))  # fmt: skip
    hosts.sort(key=lambda e: (-e[0], e[1]))
    said += hosts[:MOST_HOSTS]
    if len(hosts) > MOST_HOSTS:
        rest = len(hosts) - MOST_HOSTS
        said.append((hosts[MOST_HOSTS][0], f"{rest} more hosts lost 90 % or more of their pages."))
    for host, count in stays.most_common(1):
        if host and len(kept.rows) >= 20 and count / len(kept.rows) > 0.3:
            share = count / len(kept.rows)
            said.append((1.0, f"{about}{share:.0%} of the kept documents are from {host}."))
    return said


def _of_rules(overlaps: Sequence[Overlap]) -> list[tuple[float, str]]:
    said: list[tuple[float, str]] = []
    for one in overlaps:
        for rule, count in one.breaks.items():
            own = one.alone.get(rule, 0)
            if count >= 20 and own == 0:
                said.append((
                    0.1 + count / one.documents * 0.1,
                    f"{rule} could go without effect: all {count} documents that break it break "
                    "another rule of the same phase as well.",
                ))  # fmt: skip
            elif own >= 20 and own / one.documents >= 0.25 and len(one.breaks) > 1:
                share = own / one.documents
                said.append((
                    share * 0.5,
                    f"{rule} decides by itself: {share:.0%} of what {one.phase} drops breaks no "
                    "other rule of that phase.",
                ))  # fmt: skip
    return said


def _of_time(ledger: Mapping[str, Any]) -> list[tuple[float, str]]:
    spent = {s["stage"]: float(s["cpu_seconds"]) for s in ledger["stages"]}
    spent |= {p["product"]: float(p["cpu_seconds"]) for p in ledger["products"]}
    whole = sum(spent.values())
    if whole < 5:
        return []
    name, most = max(spent.items(), key=lambda e: (e[1], e[0]))
    return [(0.05, f"{name} took {most / whole:.0%} of the CPU time, {most:.0f} s.")]


def overlap_tables(overlaps: Sequence[Overlap]) -> str:
    """For each phase what each rule removes alone, and what it removes that no other does."""
    text = ""
    for one in overlaps:
        rows = [
            [rule, count, one.alone.get(rule, 0), f"{count / one.documents:.1%}"]
            for rule, count in sorted(one.breaks.items(), key=lambda e: (-e[1], e[0]))
        ]
        base = (
            f"All {one.total} documents"
            if one.documents == one.total
            else f"A sample of {one.documents} of {one.total} documents, by the keyed order,"
        )
        text += (
            f"<h3>Rules of {safe(one.phase)}, each alone and after all others</h3>"
            f'<p class="soft">{base} that its steps dropped, judged by every rule of the phase.</p>'
        )
        header = ["rule", "break it", "break no other", "of those dropped"]
        text += table(header, rows)
    return text


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0].lower()


__all__ = ["looks", "overlap_tables"]
