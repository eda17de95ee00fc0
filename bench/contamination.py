"""Benchmark items found in texts, whole and altered, beside datatrove's n-gram block.

    python -m bench.contamination [--quick] [--json] [--items N] [--rounds N]

Items that the certificate calls visible are planted between two paragraphs of an encyclopedia, as
they are and changed in thirteen ways (`bench.contamination_items`); where ``CORPUSMILL_DATA`` has
them, also in the rewordings of a language model. A row has the share that each side finds: ours
with its default rules (``found``), with pieces of items too (``part``), the rule of GPT-3
(``gpt3``), and datatrove's filter with 13-grams. Our side must name the item; the others know
benchmarks only. False alarms are documents flagged among texts that hold no item, quotations that
are known left out (``stages/decontaminate/certificate.json``), with the upper end of the 95 %
interval. Speed is megabytes of text per CPU second of the whole command, start included, and of the
search in one process, index built, on documents that propose nothing.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from corpusmill.pipeline.progress import to_stderr as say
from corpusmill.stages.decontaminate.benchmarks import load
from corpusmill.stages.decontaminate.certificate import measurement, upper_95
from corpusmill.stages.decontaminate.index import ContaminationIndex
from corpusmill.stages.decontaminate.rules import HALF_ANYWHERE, METHODS, Rules
from corpusmill.stages.words import tokenise

from . import texts
from .contamination_items import (
    CHANGES,
    FORMAT,
    HALF,
    HALF_INSIDE,
    SHORT,
    Gpt3,
    planted_rows,
    shares,
)
from .harness import (
    Bar,
    BenchError,
    Report,
    Side,
    alternate,
    finish,
    median,
    parser,
    peer_python,
    peer_versions,
    timed,
)
from .peer_datatrove import ENVIRONMENT, JUDGE

ITEMS, QUICK_ITEMS = 60, 20
QUICK_EVERY = 6
BY_HALF = f"{HALF}, of items that it can tell"
ANYWHERE = f"{HALF_INSIDE}: half_anywhere"
"""With the rules that have a half count there."""
PEER_EVERY = 40
"""The peer judges one of so many of the clean documents: it takes minutes a hundred megabytes."""
PEER_PLANTED = 3
"""And one of so many of the planted ones."""
ROUNDS, QUICK_ROUNDS = 3, 1
SPEED_BYTES, QUICK_BYTES = 8_000_000, 1_000_000
SEARCH_BYTES, SEARCH_ROUNDS, BATCH = 20_000_000, 5, 256


def main(argv: Sequence[str] | None = None) -> int:
    options = parser(__doc__ or "")
    options.add_argument("--items", type=int, help=f"items of each benchmark (default {ITEMS})")
    options.add_argument("--rounds", type=int, help=f"runs of each side (default {ROUNDS})")
    args = options.parse_args(argv)
    return finish(lambda: measure(args), args.json)


def measure(args: argparse.Namespace) -> Report:
    """The whole measurement, in a scratch folder."""
    scratch = Path(tempfile.mkdtemp(prefix="bench-contamination-"))
    try:
        return _measure(args, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _measure(args: argparse.Namespace, scratch: Path) -> Report:
    python = peer_python("datatrove")
    folder = texts.data(args.quick)
    source = texts.SAMPLE / "benchmarks" if folder is None else folder / "benchmarks"
    benchmarks = load(source)
    clean = texts.clean(folder, QUICK_EVERY if args.quick else 1)
    paragraphs = clean["high" if folder is None else "wikitext2_sections"].values()
    filler = [text for text in paragraphs if 800 < len(text) < 2500]
    most = args.items or (QUICK_ITEMS if args.quick else ITEMS)
    planted = planted_rows(benchmarks, most, folder, filler)
    say(f"{len(planted)} planted items, {sum(map(len, clean.values()))} clean documents")
    items = texts.write(
        scratch / "items.jsonl",
        ({"task": b.name, "query": i.question, "label": i.answer}
         for b in benchmarks for i in b.items),
    )  # fmt: skip
    peer = Peer(python, items, scratch)
    index = ContaminationIndex.build(benchmarks, Rules(part_percent=40))
    gpt3 = Gpt3(benchmarks)
    rows = score(planted, index, gpt3, peer)
    flags, alarm_rows, documents = alarms(clean, index, gpt3, peer)
    anywhere = ContaminationIndex.build(benchmarks, Rules(**HALF_ANYWHERE))
    rows += halves_anywhere(planted, clean, anywhere)
    speed = speeds(args, scratch, clean, source, peer)
    search = search_speeds(ContaminationIndex.build(benchmarks), clean, SEARCH_ROUNDS)
    return Report(
        bench="contamination",
        versions={
            "corpusmill": version("corpusmill"),
            **{f"peer {k}": v for k, v in peer_versions(python, ["datatrove"]).items()},
        },
        rows=[*rows, *alarm_rows, *speed, *search],
        bars=bars_of(rows, flags, documents, speed, search, folder is not None),
        columns=(
            "row",
            "what",
            "n",
            "found",
            "part",
            "other",
            "gpt3",
            "datatrove",
            "mb_per_cpu_second",
        ),
        notes=[
            "found, part, datatrove: shares of planted items, or documents flagged; other: planted "
            "texts in which (also) another item was found.",
            f"datatrove: one planted text in {PEER_PLANTED}, one clean document in {PEER_EVERY}.",
        ],
    )


class Peer:
    """datatrove's filter, run as a process."""

    def __init__(self, python: Path, items: Path, scratch: Path) -> None:
        self._python, self._items, self._scratch = python, items, scratch
        self._calls = 0

    def command(self, source: Path, target: Path) -> list[str]:
        return [
            str(self._python), str(JUDGE), "contamination", "--items", str(self._items),
            "--input", str(source), "--out", str(target),
        ]  # fmt: skip

    def found(self, rows: Sequence[Mapping[str, Any]]) -> list[str | None]:
        self._calls += 1
        source = texts.write(self._scratch / f"peer-{self._calls}.jsonl", rows)
        target = source.with_suffix(".out")
        timed(self.command(source, target), source.with_suffix(".log"), ENVIRONMENT)
        return [row["found"] for row in texts.rows(target)]


def score(
    planted: Sequence[Mapping[str, Any]], index: ContaminationIndex, gpt3: Gpt3, peer: Peer
) -> list[dict[str, Any]]:
    """One row a benchmark and change."""
    hits = index.find([row["text"] for row in planted])
    rule = gpt3.find([row["text"] for row in planted])
    some = range(0, len(planted), PEER_PLANTED)
    judged = peer.found([{"id": planted[n]["id"], "text": planted[n]["text"]} for n in some])
    theirs = dict(zip(some, judged, strict=True))
    groups: dict[tuple[str, str], list[int]] = {}
    for n, row in enumerate(planted):
        groups.setdefault((row["set"], row["change"]), []).append(n)
        if row["change"] == HALF and row["by_half"]:
            groups.setdefault((row["set"], BY_HALF), []).append(n)
    rows = []
    for (name, change), members in groups.items():
        right = [
            {h.method for h in hits[n] if h.name == f"{name}/{planted[n]['item']}"} for n in members
        ]
        wrong = [any(h.name != f"{name}/{planted[n]['item']}" for h in hits[n]) for n in members]
        rows.append({
            "row": name, "what": change, "n": len(members),
            "found": round(sum(bool(m - {"part"}) for m in right) / len(members), 4),
            "part": round(sum(bool(m) for m in right) / len(members), 4),
            "other": sum(wrong),
            "gpt3": round(sum(name in rule[n] for n in members) / len(members), 4),
            "datatrove": _share([theirs[n] == name for n in members if n in theirs]),
            "by_method": {m: sum(m in r for r in right) for m in METHODS},
        })  # fmt: skip
    return rows


def _share(found: Sequence[bool]) -> float | None:
    return round(sum(found) / len(found), 4) if found else None


def alarms(
    clean: Mapping[str, Mapping[str, str]], index: ContaminationIndex, gpt3: Gpt3, peer: Peer
) -> tuple[dict[str, int], list[dict[str, Any]], int]:
    """Documents flagged by each method, known quotations left out; rows; number of documents."""
    known = _known()
    totals = dict.fromkeys(METHODS, 0)
    rows = []
    for name, documents in clean.items():
        ids, bodies = list(documents), list(documents.values())
        some = [{"id": i, "text": t} for i, t in zip(ids, bodies, strict=True)][::PEER_EVERY]
        theirs = sum(task is not None for task in peer.found(some))
        examples: list[str] = []
        found = part = rule = 0
        for at in range(0, len(bodies), 500):
            rule += sum(bool(names) for names in gpt3.find(bodies[at : at + 500]))
            for offset, hits in enumerate(index.find(bodies[at : at + 500])):
                wrong = [h for h in hits if (name, h.name) not in known]
                for method in {h.method for h in wrong}:
                    totals[method] += 1
                found += any(h.method != "part" for h in wrong)
                part += bool(wrong)
                examples += [f"{ids[at + offset]} {h.name} {h.method}" for h in wrong]
        rows.append({
            "row": f"clean {name}", "what": "documents flagged", "n": len(bodies), "found": found,
            "part": part, "gpt3": rule, "datatrove": f"{theirs} of {len(some)}",
            "examples": examples,
        })  # fmt: skip
        say(f"clean {name}: {found} of {len(bodies)}")
    return totals, rows, sum(map(len, clean.values()))


def halves_anywhere(
    planted: Sequence[Mapping[str, Any]], clean: Mapping[str, Mapping[str, str]],
    index: ContaminationIndex,
) -> list[dict[str, Any]]:  # fmt: skip
    """One row a benchmark, of its first halves in a line that goes on, and one of the false alarms
    of the method ``half``; `index` with the rules `HALF_ANYWHERE`."""
    inside = [row for row in planted if row["change"] == HALF_INSIDE]
    found: dict[str, list[bool]] = {}
    for row, hits in zip(inside, index.find([row["text"] for row in inside]), strict=True):
        name = f"{row['set']}/{row['item']}"
        found.setdefault(row["set"], []).append(any(h.name == name for h in hits))
    known = _known()
    flagged = 0
    for name, documents in clean.items():
        bodies = list(documents.values())
        for at in range(0, len(bodies), 500):
            flagged += sum(
                any(h.method == "half" and (name, h.name) not in known for h in hits)
                for hits in index.find(bodies[at : at + 500])
            )
    return [
        *({"row": name, "what": ANYWHERE, "n": len(them), "found": _share(them)}
          for name, them in found.items()),
        {"row": "clean", "what": "documents flagged: half_anywhere",
         "n": sum(map(len, clean.values())), "found": flagged},
    ]  # fmt: skip


def _known() -> set[tuple[str, str]]:
    """Quotations: of which texts, and which items."""
    return {(e["text"], item) for e in measurement()["passed_over"] for item in e["items"]}


def speeds(
    args: argparse.Namespace, scratch: Path, clean: Mapping[str, Mapping[str, str]],
    benchmarks: Path, peer: Peer,
) -> list[dict[str, Any]]:  # fmt: skip
    """Megabytes per CPU second of both commands on the same rows, a mix of all clean texts."""
    room = QUICK_BYTES if args.quick else SPEED_BYTES
    every = [(name, text) for name, found in clean.items() for text in found.values()]
    step = max(1, sum(len(text) for _, text in every) // room)
    chosen = [{"id": str(n), "text": t} for n, (_, t) in enumerate(every[::step])]
    source = texts.write(scratch / "speed.jsonl", chosen)
    size = sum(len(row["text"].encode("utf-8", "replace")) for row in chosen)

    def check(folder: Path) -> None:
        if sum(1 for _ in texts.rows(folder / "out.jsonl")) != len(chosen):
            raise BenchError(f"{folder}: not every row was judged")

    sides = [
        Side(
            "corpusmill",
            lambda to: [
                sys.executable, "-P", "-m", "corpusmill.pipeline", "contamination", "--jsonl",
                str(source), str(to / "out.jsonl"), "--benchmarks", str(benchmarks),
            ],
            check,
        ),
        Side("datatrove", lambda to: peer.command(source, to / "out.jsonl"), check, ENVIRONMENT),
    ]  # fmt: skip
    rounds = args.rounds or (QUICK_ROUNDS if args.quick else ROUNDS)
    usages = alternate(sides, rounds, scratch / "runs", say)
    return [
        {
            "row": name, "what": "speed", "n": len(chosen), "megabytes": round(size / 1e6, 1),
            "cpu_seconds": round(median(runs).cpu_seconds, 2),
            "mb_per_cpu_second": round(size / 1e6 / median(runs).cpu_seconds, 3),
        }
        for name, runs in usages.items()
    ]  # fmt: skip


def search_speeds(
    index: ContaminationIndex, clean: Mapping[str, Mapping[str, str]], rounds: int
) -> list[dict[str, Any]]:
    """Megabytes per CPU second of the search in one process, index built, on `SEARCH_BYTES` of
    documents in which nothing is found and no n-grams propose anything: the median of `rounds`, and
    beside it that of finding their words."""
    every = [text for found in clean.values() for text in found.values()]
    step = max(1, sum(map(len, every)) // SEARCH_BYTES)
    batches: list[list[str]] = []
    for at in range(0, len(every[::step]), BATCH):
        batch = every[::step][at : at + BATCH]
        judged = zip(batch, index.find(batch), index.proposed(batch), strict=True)
        batches.append([text for text, hits, proposed in judged if not hits and not proposed])
    size = sum(len(t.encode("utf-8", "replace")) for batch in batches for t in batch)
    seconds: dict[str, list[float]] = {"words": [], "search, words known": [], "search": []}
    for _ in range(rounds):
        start = time.process_time()
        tables = [tokenise(batch) for batch in batches]
        words = time.process_time()
        for batch, table in zip(batches, tables, strict=True):
            index.find(batch, table)
        known = time.process_time()
        for batch in batches:
            index.find(batch)
        for own, used in zip(
            seconds.values(),
            (words - start, known - words, time.process_time() - known),
            strict=True,
        ):
            own.append(used)
    return [
        {
            "row": name, "what": "speed", "n": sum(map(len, batches)),
            "megabytes": round(size / 1e6, 1),
            "mb_per_cpu_second": round(size / 1e6 / statistics.median(own), 3),
        }
        for name, own in seconds.items()
    ]  # fmt: skip


def bars_of(
    rows: Sequence[Mapping[str, Any]], flags: Mapping[str, int], documents: int,
    speed: Sequence[Mapping[str, Any]], search: Sequence[Mapping[str, Any]], full: bool,
) -> dict[str, Bar]:  # fmt: skip
    def share(change: str, column: str = "found", name: str = "") -> float:
        return shares(rows, change, column, name)

    ours, theirs = (row["mb_per_cpu_second"] for row in speed)
    bars = {
        "least_of_format_edits": Bar(
            min((r["found"] for r in rows if r["what"] in FORMAT), default=0.0), 1.0
        ),
        "short_with_answer": Bar(share(SHORT), 1.0),
        "numbers_changed": Bar(share("numbers changed"), 0.97),
        "sentences_reordered": Bar(share("sentences reordered"), 0.97),
        "gsm8k_numbers_changed": Bar(share("numbers changed", name="gsm8k"), 0.97),
        "gsm8k_sentences_reordered": Bar(share("sentences reordered", name="gsm8k"), 0.97),
        "least_first_half": Bar(
            min((r["found"] for r in rows if r["what"] == HALF), default=0.0), 0.9
        ),
        "least_first_half_anywhere": Bar(
            min((r["found"] for r in rows if r["what"] == ANYWHERE), default=0.0), 0.9
        ),
        "least_first_half_of_items_that_it_can_tell": Bar(
            min((r["found"] for r in rows if r["what"] == BY_HALF), default=0.0), 0.9
        ),
        "gsm8k_words_dropped": Bar(share("words dropped", name="gsm8k"), 0.9),
        "documents_free_of_paraphrase_alarms": Bar(
            round(1 - upper_95(flags["paraphrase"], documents), 6), 0.999 if full else 0.99
        ),
        "speed_over_datatrove": Bar(round(ours / theirs, 2), 1.0),
    }
    if full:
        _, known, alone = (row["mb_per_cpu_second"] for row in search)
        bars["megabytes_a_cpu_second_words_known"] = Bar(known, 100.0)
        bars["megabytes_a_cpu_second_alone"] = Bar(alone, 40.0)
        bars["gsm8k_reworded"] = Bar(share("reworded", name="gsm8k"), 0.5)
        committed = measurement()["false_alarms"]
        agree = all(flags[m] == committed[m] for m in METHODS)
        (anywhere,) = (r["found"] for r in rows if r["what"].endswith("flagged: half_anywhere"))
        agree &= anywhere == measurement()["half_anywhere"]
        bars["false_alarms_as_committed"] = Bar(float(agree), 1.0)
    return bars


__all__ = ["CHANGES", "alarms", "bars_of", "main", "measure", "planted_rows", "score", "speeds"]


if __name__ == "__main__":
    sys.exit(main())
