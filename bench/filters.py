"""The rule sets of FineWeb beside datatrove's filters: equal decisions, equal reasons, CPU time.

    python -m bench.filters [--quick] [--json] [--cache DIR [--minutes N]]

Each text is judged by Gopher's repetition and quality rules, C4's (with and without the rule on
line ends) and FineWeb's (on the text, and on what C4 left of it), each rule set by itself, by
datatrove and by us in three ways (`bench.rule_sets`). Texts: with
``CORPUSMILL_DATA`` the pages of the crawl, extracted with the tier ``fast``, and the folders
``text_high`` and ``text_low`` without what is synthetic; with ``--quick``, or without the data, the
texts committed in ``tests/data/filters``. ``--cache`` keeps extracted texts and datatrove's
verdicts between calls; with ``--minutes`` no part is begun after so many, and the report is of
those judged: call it again until it says that all are.

CPU time is that of the judging alone, in one process each: neither start nor reading is in it.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from corpusmill.pipeline.progress import to_stderr as say

from . import texts
from .harness import (
    ROOT,
    Bar,
    BenchError,
    Report,
    finish,
    parser,
    peer_python,
    peer_versions,
    timed,
)
from .peer_datatrove import ENVIRONMENT, SCRIPTS
from .rule_sets import SETS, SIDES, TEXTS, comparable

COMMITTED = ROOT / "tests" / "data" / "filters" / "datatrove_verdicts.jsonl.gz"
PART = 1000
"""Texts a process judges; it keeps each call short."""
ORDER = ("repetition", "quality", "c4_fineweb", "after")
"""Rule sets as FineWeb's example has them, one after the other."""
TOGETHER = "in order"
REAL = ("openstax_sections", "wikitext2_sections", "moby_dick_chapters", "xquad_contexts",
        "instruction_like", "boilerplate", "sms_spam")  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    options = parser(__doc__ or "")
    options.add_argument("--cache", type=Path, help="folder for texts and datatrove's verdicts")
    options.add_argument("--most", type=int, help="judge so many texts of each kind only")
    options.add_argument("--minutes", type=float, help="begin no part after so many; needs --cache")
    args = options.parse_args(argv)
    return finish(lambda: measure(args), args.json)


def sets(folder: Path | None, most: int | None) -> dict[str, Iterator[str]]:
    """Kind → texts."""
    if folder is None:
        with gzip.open(COMMITTED, "rt", encoding="utf-8") as file:
            return {"committed": iter([json.loads(line)["text"] for line in file])}
    found: dict[str, Iterator[str]] = {
        "crawl": (text for _, text in texts.extracted(folder / "crawl"))
    }
    for group in ("text_high", "text_low"):
        for path in sorted((folder / group).glob("*.jsonl.gz")):
            name = path.name.partition(".")[0]
            if name in REAL:
                found[name] = (row["text"] for row in texts.rows(path))
    return {k: _first(v, most) for k, v in found.items()} if most else found


def _first(items: Iterator[str], most: int) -> Iterator[str]:
    return (item for item, _ in zip(items, range(most), strict=False))


def parts(folder: Path | None, cache: Path, most: int | None) -> list[tuple[str, Path]]:
    """Files of at most `PART` texts, each with its kind, made where they are not there yet."""
    done = cache / "texts.json"
    if not done.exists():
        listed: list[tuple[str, str]] = []
        for kind, content in sets(folder, most).items():
            number = 0
            while rows := [
                {"id": f"{kind}:{number}:{n}", "text": text}
                for text, n in zip(content, range(PART), strict=False)
            ]:
                path = texts.write(cache / f"{kind}-{number:03}.jsonl", rows)
                listed.append((kind, path.name))
                number += 1
            say(f"{kind}: {number} parts")
        done.write_text(json.dumps(listed))
    return [(kind, cache / name) for kind, name in json.loads(done.read_text())]


def verdicts(
    command: Sequence[str], part: Path, out: Path, environment: dict[str, str] | None = None
) -> tuple[list[dict[str, Any]], float]:
    """The rows that a side wrote for a part, and its CPU seconds."""
    if not (out / "result.json").exists():
        out.mkdir(parents=True, exist_ok=True)
        timed([*command, str(part), str(out)], out / "log", environment)
    result = json.loads((out / "result.json").read_text())
    return list(texts.rows(out / "verdicts.jsonl")), float(result["cpu_seconds"])


def in_order(row: Mapping[str, Any]) -> str:
    """What the four rule sets say together: ``keep``, or the first reason of a drop."""
    return next((row[name] for name in ORDER if row[name] != "keep"), "keep")


@dataclass
class Differences:
    """How the verdicts of one of our sides differ from datatrove's, counted by rule set."""

    total: Counter[str] = field(default_factory=Counter)
    decisions: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    moved: dict[str, Counter[str]] = field(default_factory=dict)
    """Rule set → ``theirs > ours`` of verdicts that differ."""
    equal_texts: int = 0
    seconds: float = 0.0

    def add(self, theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> None:
        """Counts one text's verdicts."""
        self.equal_texts += all(theirs.get(name) == ours.get(name) for name in TEXTS)
        for rule_set in SETS:
            self._count(rule_set, theirs.get(rule_set), ours.get(rule_set))
        self._count(TOGETHER, in_order(theirs), in_order(ours))

    def _count(self, rule_set: str, theirs: str | None, ours: str | None) -> None:
        if theirs is None:
            return
        self.total[rule_set] += 1
        if ours is None:
            return  # `after`, where we dropped the text before
        self.decisions[rule_set] += (theirs == "keep") != (ours == "keep")
        self.reasons[rule_set] += theirs != ours
        if theirs != ours:
            self.moved.setdefault(rule_set, Counter())[f"{theirs} > {ours}"] += 1

    def classes(self) -> str:
        """The other decisions of the rule sets together, by reason, the most frequent first."""
        found = {
            pair: n
            for pair, n in self.moved.get(TOGETHER, Counter()).items()
            if "keep" in pair.split(" > ")
        }
        return ", ".join(f"{k} {n}" for k, n in sorted(found.items(), key=lambda i: (-i[1], i[0])))


def measure(args: argparse.Namespace) -> Report:
    """The whole measurement; with `--cache` what is there already is not done again."""
    if args.minutes is not None and args.cache is None:
        raise BenchError("--minutes without --cache would begin anew each time", exit_code=2)
    scratch = Path(tempfile.mkdtemp(prefix="bench-filters-"))
    try:
        return _measure(args, args.cache or scratch, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _measure(args: argparse.Namespace, cache: Path, scratch: Path) -> Report:
    until = None if args.minutes is None else time.monotonic() + 60 * args.minutes
    python = peer_python("datatrove")
    folder = texts.data(args.quick)
    cache.mkdir(parents=True, exist_ok=True)
    sides: dict[str, Differences] = {name: Differences() for name in SIDES}
    theirs_seconds = 0.0
    documents: Counter[str] = Counter()
    judged = 0
    all_parts = parts(folder, cache, args.most)
    for kind, part in all_parts:
        if judged and until is not None and time.monotonic() > until:
            break
        name = f"{part.stem}-{hashlib.sha256(part.read_bytes()).hexdigest()[:12]}"
        peer = [str(python), str(SCRIPTS / "verdicts.py")]
        rows, spent = verdicts(peer, part, cache / "peer" / name, ENVIRONMENT)
        theirs = [comparable(row) for row in rows]
        theirs_seconds += spent
        documents[kind] += len(theirs)
        for side, differences in sides.items():
            own = [sys.executable, "-m", "bench.rule_sets", side]
            ours, spent = verdicts(own, part, scratch / side / name)
            differences.seconds += spent
            for wanted, found in zip(theirs, ours, strict=True):
                differences.add(wanted, found)
        judged += 1
        say(f"{part.name}: {sum(documents.values())} texts")
    n = max(1, sum(documents.values()))
    same = sides["datatrove"]
    return Report(
        bench="filters",
        versions={
            "corpusmill": version("corpusmill"),
            **{f"peer {k}": v for k, v in peer_versions(python, ["datatrove", "spacy"]).items()},
        },
        rows=[_row(rule_set, sides) for rule_set in (*SETS, TOGETHER)],
        bars={
            "texts": Bar(sum(documents.values()), 50 if folder is None else 10_000),
            "parts_judged": Bar(judged, len(all_parts)),
            "equal_verdicts": Bar(
                round(1 - sum(same.reasons.values()) / max(1, sum(same.total.values())), 6), 1.0
            ),
            "equal_edited_texts": Bar(round(same.equal_texts / n, 6), 1.0),
            "speed_over_datatrove": Bar(round(theirs_seconds / same.seconds, 2), 10.0),
            **_own_bars(sides, theirs_seconds, n),
        },
        columns=("row", "n", *(f"{side}_decisions" for side in SIDES), "datatrove_reasons"),
        notes=[
            "texts: " + ", ".join(f"{k} {v}" for k, v in documents.items()),
            f"CPU seconds: peer {theirs_seconds:.1f}, "
            + ", ".join(f"{side} {d.seconds:.1f}" for side, d in sides.items()),
            "columns: verdicts of each of our sides that differ from datatrove's, keep or drop, or "
            "also the reason; all that they move stands in --json",
            *(f"{side}, in order, theirs > ours: {sides[side].classes()}" for side in SIDES[1:]),
        ],
    )


def _row(rule_set: str, sides: Mapping[str, Differences]) -> dict[str, Any]:
    row: dict[str, Any] = {"row": rule_set, "n": sides["datatrove"].total[rule_set]}
    for side, differences in sides.items():
        row[f"{side}_decisions"] = differences.decisions[rule_set]
        row[f"{side}_reasons"] = differences.reasons[rule_set]
        row[f"{side}_moved"] = dict(differences.moved.get(rule_set, Counter()).most_common())
    return row


def _own_bars(
    sides: Mapping[str, Differences], theirs_seconds: float, documents: int
) -> dict[str, Bar]:
    """Agreement with datatrove as shipped, and speed beside it, of our own words."""
    found = {}
    for side in SIDES[1:]:
        share = sides[side].decisions[TOGETHER] / documents
        found[f"{side}_agrees_in_order"] = Bar(round(1 - share, 4), 0.95)
        found[f"{side}_over_datatrove"] = Bar(round(theirs_seconds / sides[side].seconds, 2), 10.0)
    return found


if __name__ == "__main__":
    sys.exit(main())
