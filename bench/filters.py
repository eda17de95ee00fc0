"""The rule sets of FineWeb beside datatrove's filters: equal decisions, equal reasons, CPU time.

    python -m bench.filters [--quick] [--json] [--most N] [--cache DIR [--minutes N]]

Each text is judged by Gopher's repetition and quality rules, C4's (with and without the rule on
line ends) and FineWeb's (on the text, and on what C4 left of it), each rule set by itself, by
datatrove and by us in three ways (`bench.rule_sets`). Texts: with
``CORPUSMILL_DATA`` the pages of the crawl, extracted with the tier ``fast``, and the folders
``text_high`` and ``text_low`` without what is synthetic; with ``--quick``, or without the data, the
texts committed in ``tests/data/filters``; of each kind the first `MOST`, or ``--most`` (0: all).
``--cache`` keeps extracted texts and datatrove's verdicts between calls; with ``--minutes`` no part
is begun after so many, and the report is of those judged: call it again until it says that all are.

CPU time is that of the judging alone, in one process each: neither start nor reading is in it. Bars
that begin with ``i_`` are of the same words on both sides, ``i_kernels`` of the rules alone, with
the words of `KERNELS` texts of every kind given to both; those with ``ii_`` are of our own words
beside datatrove as shipped.
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
    wilson,
)
from .peer_datatrove import ENVIRONMENT, SCRIPTS
from .rule_sets import SETS, SIDES, TEXTS, comparable

COMMITTED = ROOT / "tests" / "data" / "filters" / "datatrove_verdicts.jsonl.gz"
PART = 1000
"""Texts a process judges; it keeps each call short."""
MOST = 4000
"""Texts of each kind that are judged: 18,000, which takes some 15 CPU minutes."""
KERNELS = 100
"""Texts of each kind on which the rules are timed without the words."""
ORDER = ("repetition", "quality", "c4_fineweb", "after")
"""Rule sets as FineWeb's example has them, one after the other."""
TOGETHER = "in order"
DISTRIBUTIONS = ("datatrove", "spacy")
REAL = ("openstax_sections", "wikitext2_sections", "moby_dick_chapters", "xquad_contexts",
        "instruction_like", "boilerplate", "sms_spam")  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    options = parser(__doc__ or "")
    options.add_argument("--cache", type=Path, help="folder for texts and datatrove's verdicts")
    options.add_argument("--most", type=int, default=MOST, help="texts of each kind; 0: all")
    options.add_argument("--minutes", type=float, help="begin no part after so many; needs --cache")
    args = options.parse_args(argv)
    return finish(lambda: measure(args), args.json)


def sets(folder: Path | None, most: int) -> dict[str, Iterator[str]]:
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


def parts(folder: Path | None, cache: Path, most: int) -> list[tuple[str, Path]]:
    """Files of at most `PART` texts, each with its kind, made where they are not there yet."""
    done = cache / f"texts-{most}.json"
    if not done.exists():
        listed: list[tuple[str, str]] = []
        for kind, content in sets(folder, most).items():
            number = 0
            while rows := [
                {"id": f"{kind}:{number}:{n}", "text": text}
                for text, n in zip(content, range(PART), strict=False)
            ]:
                path = texts.write(cache / f"{kind}-{most}-{number:03}.jsonl", rows)
                listed.append((kind, path.name))
                number += 1
            say(f"{kind}: {number} parts")
        done.write_text(json.dumps(listed))
    return [(kind, cache / name) for kind, name in json.loads(done.read_text())]


def verdicts(
    command: Sequence[str],
    part: Path,
    out: Path,
    environment: dict[str, str] | None = None,
    options: Sequence[str] = (),
) -> tuple[list[dict[str, Any]], float]:
    """The rows that a side wrote for a part, and its CPU seconds."""
    if not (out / "result.json").exists():
        out.mkdir(parents=True, exist_ok=True)
        timed([*command, str(part), str(out), *options], out / "log", environment)
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
    agreed: Counter[str] = field(default_factory=Counter)
    """Kind of text → texts on which all rule sets together decide alike."""
    equal_texts: int = 0
    seconds: float = 0.0

    def add(self, theirs: Mapping[str, Any], ours: Mapping[str, Any], kind: str = "") -> None:
        """Counts one text's verdicts."""
        self.equal_texts += all(theirs.get(name) == ours.get(name) for name in TEXTS)
        for rule_set in SETS:
            self._count(rule_set, theirs.get(rule_set), ours.get(rule_set))
        one, other = in_order(theirs), in_order(ours)
        self._count(TOGETHER, one, other)
        self.agreed[kind] += (one == "keep") == (other == "keep")

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


@dataclass
class Judged:
    """What was judged so far."""

    sides: dict[str, Differences] = field(
        default_factory=lambda: {name: Differences() for name in SIDES}
    )
    kinds: Counter[str] = field(default_factory=Counter)
    """Kind of text → texts."""
    parts: int = 0
    seconds: float = 0.0
    """CPU time of datatrove."""

    @property
    def texts(self) -> int:
        return sum(self.kinds.values())


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
    folder = texts.data(args.quick)
    cache.mkdir(parents=True, exist_ok=True)
    all_parts = parts(folder, cache, args.most)
    kernels = _kernels(all_parts, scratch)
    judged = Judged()
    for kind, part in all_parts:
        if judged.parts and until is not None and time.monotonic() > until:
            break
        _judge(kind, part, cache, scratch, judged)
        say(f"{part.name}: {judged.texts} texts")
    same = judged.sides["datatrove"]
    least = 50 if folder is None else 10_000
    return Report(
        bench="filters",
        versions={
            "corpusmill": version("corpusmill"),
            **{f"peer {k}": v for k, v in peer_versions(_python(), DISTRIBUTIONS).items()},
        },
        rows=[_row(rule_set, judged.sides) for rule_set in (*SETS, TOGETHER)],
        bars={
            "texts": Bar(judged.texts, least),
            "parts_judged": Bar(judged.parts, len(all_parts)),
            "i_equal_verdicts": Bar(
                round(1 - sum(same.reasons.values()) / max(1, sum(same.total.values())), 6), 1.0
            ),
            "i_equal_edited_texts": Bar(round(same.equal_texts / judged.texts, 6), 1.0),
            "i_kernels_over_datatrove": Bar(kernels, 5.0),
            "i_with_words_over_datatrove": Bar(round(judged.seconds / same.seconds, 2), 5.0),
            **_own_bars(judged),
        },
        columns=("row", "n", *(f"{side}_decisions" for side in SIDES), "datatrove_reasons"),
        notes=_notes(judged),
    )


def _python() -> Path:
    return peer_python("datatrove")


def _theirs(part: Path, out: Path, *options: str) -> tuple[list[dict[str, Any]], float]:
    command = [str(_python()), str(SCRIPTS / "verdicts.py")]
    rows, spent = verdicts(command, part, out, ENVIRONMENT, options)
    return [comparable(row) for row in rows], spent


def _ours(side: str, part: Path, out: Path, *options: str) -> tuple[list[dict[str, Any]], float]:
    return verdicts([sys.executable, "-m", "bench.rule_sets", side], part, out, None, options)


def _judge(kind: str, part: Path, cache: Path, scratch: Path, judged: Judged) -> None:
    """Adds all verdicts on a part."""
    name = f"{part.stem}-{hashlib.sha256(part.read_bytes()).hexdigest()[:12]}"
    theirs, spent = _theirs(part, cache / "peer" / name)
    judged.seconds += spent
    judged.kinds[kind] += len(theirs)
    judged.parts += 1
    for side, differences in judged.sides.items():
        ours, spent = _ours(side, part, scratch / side / name)
        differences.seconds += spent
        for wanted, found in zip(theirs, ours, strict=True):
            differences.add(wanted, found, kind)


def _kernels(all_parts: Sequence[tuple[str, Path]], scratch: Path) -> float:
    """How many times the CPU time of our rules datatrove's take, where both have the words."""
    first = {kind: part for kind, part in reversed(all_parts)}
    rows = [row for part in first.values() for row in list(texts.rows(part))[:KERNELS]]
    part = texts.write(scratch / "kernels.jsonl", rows)
    theirs, their_seconds = _theirs(part, scratch / "kernels-peer", "--words-given")
    ours, our_seconds = _ours("datatrove", part, scratch / "kernels", "--words-given")
    if any(theirs[i][k] != ours[i][k] for i in range(len(rows)) for k in theirs[i]):
        raise BenchError("with the words given, the verdicts differ")
    return round(their_seconds / our_seconds, 2)


def _notes(judged: Judged) -> list[str]:
    seconds = {"peer": judged.seconds, **{k: d.seconds for k, d in judged.sides.items()}}
    notes = [
        "texts: " + ", ".join(f"{k} {v}" for k, v in judged.kinds.items()),
        "CPU seconds (texts a second, six rule sets): "
        + ", ".join(f"{k} {v:.1f} ({judged.texts / v:.0f})" for k, v in seconds.items()),
        "columns: verdicts of each of our sides that differ from datatrove's, keep or drop, or "
        "also the reason; all that they move stands in --json",
    ]
    for side in SIDES[1:]:
        differences = judged.sides[side]
        shares = [
            f"{kind} {_share(differences.agreed[kind], n)}" for kind, n in judged.kinds.items()
        ]
        notes.append(f"{side} agrees, in order: {', '.join(shares)}")
        notes.append(f"{side}, in order, theirs > ours: {differences.classes()}")
    return notes


def _share(right: int, of: int) -> str:
    low, high = wilson(right, of)
    return f"{right / of:.3f} ({low:.3f} to {high:.3f})"


def _row(rule_set: str, sides: Mapping[str, Differences]) -> dict[str, Any]:
    row: dict[str, Any] = {"row": rule_set, "n": sides["datatrove"].total[rule_set]}
    for side, differences in sides.items():
        row[f"{side}_decisions"] = differences.decisions[rule_set]
        row[f"{side}_reasons"] = differences.reasons[rule_set]
        row[f"{side}_moved"] = dict(differences.moved.get(rule_set, Counter()).most_common())
    return row


def _own_bars(judged: Judged) -> dict[str, Bar]:
    """Agreement with datatrove as shipped, and speed beside it, of our own words."""
    found = {}
    for side in SIDES[1:]:
        differences = judged.sides[side]
        agreed = differences.agreed.total() / judged.texts
        found[f"ii_{side}_agrees"] = Bar(round(agreed, 4), 0.95)
        times = judged.seconds / differences.seconds
        found[f"ii_{side}_over_datatrove"] = Bar(round(times, 2), 10.0)
    return found


if __name__ == "__main__":
    sys.exit(main())
