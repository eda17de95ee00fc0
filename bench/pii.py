"""Personal data found in labelled texts, beside datatrove's PII formatter.

    python -m bench.pii [--quick] [--json] [--rounds N]

Recall: labelled spans that a found span of the same type overlaps. Precision: found spans that
overlap a labelled one of their type. The sets: those committed in ``tests/data/pii``, texts made
here (`bench.pii_made`), and with ``CORPUSMILL_DATA`` the sentences of presidio-research and the
contact pages of the sample crawl.
The last rows are technical pages without labels: spans found, and how many texts the second pass
of each side still changes, or changes in another way after other texts. Speed is megabytes of text
per CPU second of the whole command, start included.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from corpusmill.pipeline.document import Document
from corpusmill.pipeline.progress import to_stderr as say
from corpusmill.stages.clean.pii import Pii, PiiParams, find, replace
from corpusmill.stages.clean.spans import DEFAULT_TYPES, SCANNED, TYPES
from corpusmill.stages.decontaminate.certificate import upper_95

from . import pii_made, texts
from .harness import (
    ROOT,
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

ROUNDS, QUICK_ROUNDS = 3, 1
PAGES, QUICK_PAGES = 3000, 300
MADE, QUICK_MADE = 600, 40
PEER_TYPES = ("email", "ip")

Labels = list[tuple[str, int, int]]


def main(argv: Sequence[str] | None = None) -> int:
    options = parser(__doc__ or "")
    options.add_argument("--rounds", type=int, help=f"runs of each side (default {ROUNDS})")
    args = options.parse_args(argv)
    return finish(lambda: measure(args), args.json)


def labelled(folder: Path | None) -> dict[str, list[tuple[str, Labels]]]:
    """Set → texts with their labelled spans."""
    found: dict[str, list[tuple[str, Labels]]] = {}
    for name in ("labelled", "labelled_more", "streets"):
        found[f"own {name}"] = [
            (row["text"], [(s["type"], s["start"], s["end"]) for s in row["spans"]])
            for row in texts.rows(ROOT / "tests" / "data" / "pii" / f"{name}.jsonl")
        ]
    if folder is not None:
        found["presidio synthetic"] = list(_presidio(folder))
        found["crawl contact pages"] = list(_contacts(folder))
    return found


def _presidio(folder: Path) -> Iterator[tuple[str, Labels]]:
    import gzip
    import json

    names = {
        "EMAIL_ADDRESS": "email", "IP_ADDRESS": "ip", "CREDIT_CARD": "card", "IBAN_CODE": "iban",
        "US_SSN": "ssn", "PHONE_NUMBER": "phone",
    }  # fmt: skip
    with gzip.open(folder / "pii" / "presidio_synth_v2.json.gz", "rt", encoding="utf-8") as file:
        for row in json.load(file):
            yield (
                row["full_text"],
                [
                    (names[s["entity_type"]], s["start_position"], s["end_position"])
                    for s in row["spans"]
                    if s["entity_type"] in names
                ],
            )


def _contacts(folder: Path) -> Iterator[tuple[str, Labels]]:
    names = {"email": "email", "phone": "phone", "credit_card": "card", "iban": "iban", "ip": "ip"}
    for row in texts.rows(folder / "crawl" / "synthetic_gold.jsonl.gz"):
        if "spans" in row:
            yield (
                row["text"],
                [
                    (names[s["kind"]], s["start"], s["end"])
                    for s in row["spans"]
                    if s["kind"] in names and (s["kind"] != "ip" or s["is_global"])
                ],
            )


def score(
    rows: Sequence[tuple[str, Labels]], found: Sequence[Labels]
) -> dict[str, tuple[int, int, int, int]]:
    """Type → labelled, recalled, found, right."""
    counts: dict[str, Counter[str]] = {k: Counter() for k in ("gold", "recalled", "found", "right")}
    for (_, gold), spans in zip(rows, found, strict=True):
        for t, a, b in gold:
            counts["gold"][t] += 1
            counts["recalled"][t] += any(x == t and c < b and a < d for x, c, d in spans)
        for t, a, b in spans:
            counts["found"][t] += 1
            counts["right"][t] += any(x == t and c < b and a < d for x, c, d in gold)
    used = sorted(set(counts["gold"]) | set(counts["found"]), key=TYPES.index)
    return {t: tuple(c[t] for c in counts.values()) for t in used}  # type: ignore[misc]


class Peer:
    """datatrove's formatter, run as a process."""

    def __init__(self, python: Path, scratch: Path) -> None:
        self._python, self._scratch, self._calls = python, scratch, 0

    def command(self, source: Path, target: Path) -> list[str]:
        return [str(self._python), str(JUDGE), "pii", "--input", str(source), "--out", str(target)]

    def seconds(self, bodies: Sequence[str], rounds: int) -> float:
        """CPU seconds of the formatter alone over the texts, the best of some rounds."""
        source = texts.write(
            self._scratch / "alone.jsonl", ({"id": str(n), "text": t} for n, t in enumerate(bodies))
        )
        target = source.with_suffix(".out")
        command = [*self.command(source, target), "--rounds", str(rounds)]
        timed(command, source.with_suffix(".log"), ENVIRONMENT)
        return float(next(texts.rows(target))["cpu_seconds"])

    def judged(self, bodies: Sequence[str]) -> list[dict[str, Any]]:
        self._calls += 1
        source = self._scratch / f"peer-{self._calls}.jsonl"
        texts.write(source, ({"id": str(n), "text": t} for n, t in enumerate(bodies)))
        target = source.with_suffix(".out")
        timed([*self.command(source, target), "--spans"], source.with_suffix(".log"), ENVIRONMENT)
        return list(texts.rows(target))


def measure(args: argparse.Namespace) -> Report:
    """The whole measurement, in a scratch folder."""
    scratch = Path(tempfile.mkdtemp(prefix="bench-pii-"))
    try:
        return _measure(args, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _measure(args: argparse.Namespace, scratch: Path) -> Report:
    python = peer_python("datatrove")
    peer = Peer(python, scratch)
    folder = texts.data(args.quick)
    rows: list[dict[str, Any]] = []
    for name, content in labelled(folder).items():
        bodies = [text for text, _ in content]
        types = {"own labelled": DEFAULT_TYPES, "own streets": TYPES}.get(name, SCANNED)
        ours = [[(s.type, s.start, s.end) for s in find(t, types, spelled=True)] for t in bodies]
        theirs = [
            [(s["type"], s["start"], s["end"]) for s in row["pii"]] for row in peer.judged(bodies)
        ]
        peers = score(content, theirs)
        for type_, counts in score(content, ours).items():
            rows.append({
                "row": name, "type": type_, "n": counts[0], **rates("", counts),
                **rates("datatrove_", peers.get(type_) if type_ in PEER_TYPES else None),
            })  # fmt: skip
        say(f"{name}: {len(bodies)} texts")
    rows += read_places()
    clean = texts.clean(folder)
    paragraphs = clean["high" if folder is None else "wikitext2_sections"].values()
    rows += made_rows(list(paragraphs), QUICK_MADE if args.quick else MADE)
    pages = technical(folder, clean["crawl"], QUICK_PAGES if args.quick else PAGES)
    real = list(clean["labelled_pages"].values()) if folder is not None else []
    alone = blocks(args, pages, real, peer)
    rows += second_pass(pages, peer)
    speed = speeds(args, scratch, pages, peer)
    first = [
        r
        for r in rows
        if r["n"] and "recall" in r and not r["row"].startswith(("made", "read places"))
    ]
    ours_mb, theirs_mb = (r["mb_per_cpu_second"] for r in speed)
    return Report(
        bench="pii",
        versions={
            "corpusmill": version("corpusmill"),
            **{f"peer {k}": v for k, v in peer_versions(python, ["datatrove"]).items()},
        },
        rows=[*rows, *speed, *alone],
        bars={
            "least_recall": Bar(min(r["recall"] for r in first), 0.99),
            "least_precision": Bar(min(r["precision"] for r in first), 0.98),
            "speed_over_datatrove": Bar(round(ours_mb / theirs_mb, 2), 1.0),
            **bars_of(rows, alone),
        },
        columns=(
            "row", "type", "n", "recall", "at_least", "precision", "datatrove_recall",
            "datatrove_precision", "found", "datatrove_found", "mb_per_cpu_second",
        ),
        notes=[
            "All types (for the first set those on by default, addresses of streets on their set "
            "alone) and e-mail in words; datatrove has "
            "e-mail and public IPv4.",
            "at_least: the lower end of the one-sided 95 % interval of recall. Read places: real "
            "pages. Made: values in paragraphs of an encyclopedia. Stage: the block alone, "
            "texts in memory; datatrove's does two types, ours eight.",
        ],
    )  # fmt: skip


def read_places() -> list[dict[str, Any]]:
    """E-mail and IP on the places of real technical pages that were read."""
    found: dict[str, Counter[str]] = {"email": Counter(), "ip": Counter()}
    for row in texts.rows(ROOT / "tests" / "data" / "pii" / "read.jsonl"):
        hit = any(
            s.start < row["end"] and row["start"] < s.end
            for s in find(row["text"], (row["type"],))
        )  # fmt: skip
        if row["kind"] == "address":
            found[row["type"]]["gold"] += 1
            found[row["type"]]["recalled"] += hit
        if row["kind"] != "reserved":
            found[row["type"]]["found"] += hit
    return [
        {
            "row": "read places", "type": type_, "n": c["gold"],
            **rates("", (c["gold"], c["recalled"], c["found"], c["recalled"])),
            "at_least": least(c["recalled"], c["gold"]),
        }
        for type_, c in found.items()
    ]  # fmt: skip


def made_rows(paragraphs: Sequence[str], n: int) -> list[dict[str, Any]]:
    """Recall on generated texts, with its lower bound; telephone numbers by country."""
    carriers = [t for t in paragraphs if 600 < len(t) < 4000]
    drawn = {(t, t): draw for t, draw in pii_made.DRAWN.items()}
    for region in pii_made.REGIONS:
        drawn["phone", f"phone {region}"] = pii_made.phone(region)
        drawn["phone", f"phone {region}, no word"] = pii_made.phone(region, word=False)
    rows = []
    total = Counter[str]()
    for (type_, name), draw in drawn.items():
        size = n if type_ == name else max(20, n // 10)
        made = pii_made.planted(type_, draw, carriers, size)
        spans = [[(s.type, s.start, s.end) for s in find(text)] for text, _ in made]
        gold, recalled, found, right = score(made, spans)[type_]
        kind = name if type_ == name else "phone, no word" if "no word" in name else "phone"
        total.update({f"{kind} gold": gold, f"{kind} recalled": recalled})
        rows.append({
            "row": "made", "type": name, "n": gold, **rates("", (gold, recalled, found, right)),
            "at_least": least(recalled, gold),
        })  # fmt: skip
    for kind in ("phone", "phone, no word"):
        gold, recalled = total[f"{kind} gold"], total[f"{kind} recalled"]
        rows.append({
            "row": "made, all countries", "type": kind, "n": gold,
            "recall": round(recalled / gold, 4), "at_least": least(recalled, gold),
        })  # fmt: skip
    return rows


def least(recalled: int, gold: int) -> float | None:
    """The lower end of the one-sided 95 % interval of a recall; none of a low one."""
    return round(1 - upper_95(gold - recalled, gold), 4) if 2 * recalled > gold else None


def blocks(
    args: argparse.Namespace, pages: Sequence[str], real: Sequence[str], peer: Peer
) -> list[dict[str, Any]]:
    """Megabytes per CPU second of both blocks alone: on technical pages, and on the main text of
    labelled pages of real sites."""
    sets = {"technical pages": pages, "main text of real sites": real}
    rows = []
    rounds = args.rounds or (QUICK_ROUNDS if args.quick else ROUNDS)
    for name, bodies in sets.items():
        if not bodies:
            continue
        size = sum(len(t.encode("utf-8", "replace")) for t in bodies) / 1e6
        ours = size / min(_stage_seconds(bodies) for _ in range(rounds))
        theirs = size / peer.seconds(bodies, rounds)
        for side, rate in (("corpusmill", ours), ("datatrove", theirs)):
            rows.append({
                "row": f"{side}: stage, {name}", "type": "speed", "n": len(bodies),
                "mb_per_cpu_second": round(rate, 3),
            })  # fmt: skip
    return rows


def _stage_seconds(bodies: Sequence[str]) -> float:
    stage = Pii(PiiParams())
    stage.setup()
    batches = [
        [Document(id="0" * 32, text=t, source="s") for t in bodies[at : at + 64]]
        for at in range(0, len(bodies), 64)
    ]
    began = time.process_time()
    for batch in batches:
        stage.apply(batch)
    return time.process_time() - began


def bars_of(rows: Sequence[dict[str, Any]], alone: Sequence[dict[str, Any]]) -> dict[str, Bar]:
    """What the rows of read places and made texts, and the blocks alone, must reach."""
    read = {r["type"]: r for r in rows if r["row"] == "read places"}
    made = {r["type"]: r for r in rows if r["row"] == "made" and not r["type"].startswith("phone")}
    bars = {
        "read_email_precision": Bar(read["email"]["precision"], 0.98),
        "read_ip_precision": Bar(read["ip"]["precision"], 0.95),
        "made_least_recall": Bar(min(r["recall"] for r in made.values()), 0.99),
    }
    rates_ = [r["mb_per_cpu_second"] for r in alone]
    bars["stage_over_datatrove"] = Bar(
        round(min(a / b for a, b in zip(rates_[::2], rates_[1::2], strict=True)), 2), 1.0
    )
    return bars


def rates(prefix: str, counts: tuple[int, int, int, int] | None) -> dict[str, float | None]:
    if counts is None:
        return {f"{prefix}recall": None, f"{prefix}precision": None}
    gold, recalled, found, right = counts
    return {
        f"{prefix}recall": round(recalled / gold, 4) if gold else None,
        f"{prefix}precision": round(right / found, 4) if found else None,
    }


def technical(folder: Path | None, pages: Mapping[str, str], most: int) -> list[str]:
    """Texts of natural pages of the crawl, the planted ones left out."""
    labels = texts.GOLD if folder is None else folder / "crawl"
    made = {row["url"] for row in texts.rows(labels / "synthetic_gold.jsonl.gz")}
    natural = [text for key, text in pages.items() if key.partition(" ")[2] not in made]
    return natural[:: max(1, len(natural) // most)][:most]


def second_pass(pages: Sequence[str], peer: Peer) -> list[dict[str, Any]]:
    """Spans by type on pages without labels, and texts that a second pass changes."""
    spans = [find(t) for t in pages]
    ours = Counter(s.type for found in spans for s in found)
    once = [replace(t, found) for t, found in zip(pages, spans, strict=True)]
    first = peer.judged(pages)
    theirs = Counter(s["type"] for row in first for s in row["pii"])
    peer_once = [row["clean_text"] for row in first]
    peer_twice = [row["clean_text"] for row in peer.judged(peer_once)]
    turned = [row["clean_text"] for row in peer.judged(list(pages)[::-1])][::-1]
    rows: list[dict[str, Any]] = [
        {
            "row": "technical pages",
            "type": t,
            "n": 0,
            "found": ours[t],
            "datatrove_found": theirs[t],
        }
        for t in TYPES
        if ours[t] or theirs[t]
    ]
    rows.append({
        "row": "changed by a second pass", "type": "texts", "n": 0,
        "found": sum(bool(find(t)) for t in once),
        "datatrove_found": sum(a != b for a, b in zip(peer_once, peer_twice, strict=True)),
    })  # fmt: skip
    rows.append({
        "row": "depend on the texts before", "type": "texts", "n": 0,
        "found": sum(replace(t, find(t)) != a for t, a in zip(pages[::-1], once[::-1], strict=True)
        ),
        "datatrove_found": sum(a != b for a, b in zip(peer_once, turned, strict=True)),
    })  # fmt: skip
    return rows


def speeds(
    args: argparse.Namespace, scratch: Path, pages: Sequence[str], peer: Peer
) -> list[dict[str, Any]]:
    """Megabytes per CPU second of both commands on the same rows."""
    source = texts.write(
        scratch / "speed.jsonl", ({"id": str(n), "text": t} for n, t in enumerate(pages))
    )
    size = sum(len(t.encode("utf-8", "replace")) for t in pages)

    def check(folder: Path) -> None:
        if sum(1 for _ in texts.rows(folder / "out.jsonl")) != len(pages):
            raise BenchError(f"{folder}: not every row was judged")

    sides = [
        Side(
            "corpusmill",
            lambda to: [
                sys.executable, "-P", "-m", "corpusmill.pipeline", "pii", "--jsonl", str(source),
                str(to / "out.jsonl"),
            ],
            check,
        ),
        Side("datatrove", lambda to: peer.command(source, to / "out.jsonl"), check, ENVIRONMENT),
    ]  # fmt: skip
    rounds = args.rounds or (QUICK_ROUNDS if args.quick else ROUNDS)
    return [
        {
            "row": name, "type": "speed", "n": len(pages),
            "cpu_seconds": round(median(runs).cpu_seconds, 2),
            "mb_per_cpu_second": round(size / 1e6 / median(runs).cpu_seconds, 3),
        }
        for name, runs in alternate(sides, rounds, scratch / "runs", say).items()
    ]  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
