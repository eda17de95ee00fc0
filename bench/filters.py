"""The rule sets of FineWeb beside datatrove's filters: equal decisions, equal reasons, CPU time.

    python -m bench.filters [--quick] [--json] [--cache DIR]

Each text is judged by Gopher's repetition and quality rules, C4's (with and without the rule on
line ends) and FineWeb's (on the text, and on what C4 left of it), each rule set by itself, by
datatrove and by us in the dialects ``datatrove`` and ``corpusmill``. Texts: with
``CORPUSMILL_DATA`` the pages of the crawl, extracted with the tier ``fast``, and the folders
``text_high`` and ``text_low`` without what is synthetic; with ``--quick``, or without the data, the
texts committed in ``tests/data/filters``. ``--cache`` keeps extracted texts and datatrove's
verdicts between calls.

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
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from corpusmill.pipeline.errors import CorpusmillError
from corpusmill.pipeline.progress import to_stderr as say

from . import texts
from .harness import ROOT, Bar, Report, finish, parser, peer_python, peer_versions, timed
from .peer_datatrove import ENVIRONMENT, SCRIPTS
from .rule_sets import SETS, TEXTS, comparable

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
    args = options.parse_args(argv)
    return finish(lambda: measure(args), args.json)


def pages(folder: Path) -> Iterator[str]:
    """The text of each response of the crawl, by the tier ``fast``; empty ones left out."""
    from fastwarc.warc import ArchiveIterator, WarcRecordType

    from corpusmill.stages.extract import extract

    for path in sorted(folder.rglob("*.warc.gz")):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, record_types=WarcRecordType.response):
                url = record.headers["WARC-Target-URI"]
                try:
                    text = extract(record.reader.read(), url=url, tier="fast").text
                except CorpusmillError:  # over a budget: no text to judge
                    continue
                if text:
                    yield text


def sets(folder: Path | None, most: int | None) -> dict[str, Iterator[str]]:
    """Kind → texts."""
    if folder is None:
        with gzip.open(COMMITTED, "rt", encoding="utf-8") as file:
            return {"committed": iter([json.loads(line)["text"] for line in file])}
    found = {"crawl": pages(folder / "crawl")}
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


def measure(args: argparse.Namespace) -> Report:
    """The whole measurement; with `--cache` what is there already is not done again."""
    scratch = Path(tempfile.mkdtemp(prefix="bench-filters-"))
    try:
        return _measure(args, args.cache or scratch, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _measure(args: argparse.Namespace, cache: Path, scratch: Path) -> Report:
    python = peer_python("datatrove")
    folder = texts.data(args.quick)
    cache.mkdir(parents=True, exist_ok=True)
    total: Counter[str] = Counter()
    decisions: dict[str, Counter[str]] = {d: Counter() for d in ("datatrove", "corpusmill")}
    reasons: dict[str, Counter[str]] = {d: Counter() for d in decisions}
    edited: Counter[str] = Counter()
    moved: dict[str, Counter[str]] = {name: Counter() for name in (*SETS, TOGETHER)}
    seconds = dict.fromkeys(("peer", *decisions), 0.0)
    documents: Counter[str] = Counter()
    for kind, part in parts(folder, cache, args.most):
        name = f"{part.stem}-{hashlib.sha256(part.read_bytes()).hexdigest()[:12]}"
        peer = [str(python), str(SCRIPTS / "verdicts.py")]
        theirs, spent = verdicts(peer, part, cache / "peer" / name, ENVIRONMENT)
        seconds["peer"] += spent
        documents[kind] += len(theirs)
        for dialect in decisions:
            own = [sys.executable, "-m", "bench.rule_sets", dialect]
            ours, spent = verdicts(own, part, scratch / dialect / name)
            seconds[dialect] += spent
            for row, mine in zip(theirs, ours, strict=True):
                wanted = comparable(row)
                for verdict in (wanted, mine):
                    verdict[TOGETHER] = in_order(verdict)
                for rule_set in (*SETS, TOGETHER):
                    a, b = wanted.get(rule_set), mine.get(rule_set)
                    total[rule_set] += dialect == "datatrove" and a is not None
                    if a is None or b is None:
                        continue  # `after`, where one of the two dropped the text before
                    reasons[dialect][rule_set] += a != b
                    decisions[dialect][rule_set] += (a == "keep") != (b == "keep")
                    if dialect == "corpusmill" and a != b:
                        moved[rule_set][f"{a} > {b}"] += 1
                if dialect == "datatrove":
                    edited["equal"] += all(wanted.get(t) == mine.get(t) for t in TEXTS)
        say(f"{part.name}: {sum(documents.values())} texts")
    n = sum(documents.values())
    rows: list[dict[str, Any]] = [
        {
            "row": rule_set,
            "n": total[rule_set],
            "decisions_differ": decisions["datatrove"][rule_set],
            "reasons_differ": reasons["datatrove"][rule_set],
            "own_decisions_differ": decisions["corpusmill"][rule_set],
            "own_reasons_differ": reasons["corpusmill"][rule_set],
            "moved": dict(moved[rule_set].most_common()),
        }
        for rule_set in (*SETS, TOGETHER)
    ]
    differ = sum(reasons["datatrove"].values())
    return Report(
        bench="filters",
        versions={
            "corpusmill": version("corpusmill"),
            **{f"peer {k}": v for k, v in peer_versions(python, ["datatrove", "spacy"]).items()},
        },
        rows=rows,
        bars={
            "texts": Bar(n, 50 if folder is None else 10_000),
            "equal_verdicts": Bar(round(1 - differ / max(1, sum(total.values())), 6), 1.0),
            "own_dialect_agrees_in_order": Bar(
                round(1 - decisions["corpusmill"][TOGETHER] / max(1, n), 4), 0.95
            ),
            "equal_edited_texts": Bar(round(edited["equal"] / max(1, n), 6), 1.0),
            "speed_over_datatrove": Bar(round(seconds["peer"] / seconds["datatrove"], 2), 10.0),
            "own_dialect_over_datatrove": Bar(
                round(seconds["peer"] / seconds["corpusmill"], 2), 10.0
            ),
        },
        columns=("row", "n", "decisions_differ", "reasons_differ", "own_decisions_differ",
                 "own_reasons_differ"),
        notes=[
            "texts: " + ", ".join(f"{k} {v}" for k, v in documents.items()),
            "CPU seconds: " + ", ".join(f"{k} {v:.1f}" for k, v in seconds.items()),
            "columns own_…: the dialect corpusmill; what it moves stands in --json",
        ],
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
