"""From WARC files to token shards, beside datatrove 0.10.1's FineWeb example.

    python -m bench.end_to_end [--quick] [--json] [--pages N] [--rounds N] [--keep DIR]

Both sides read the same WARC files of one language and do the same steps with the papers' numbers
(see `bench.ours.RECIPE` and ``bench/peers/datatrove/curate.py``); language identification is left
out on both, since datatrove's model would have to be downloaded. Speed is pages per CPU second of
the whole process tree, start of the interpreters to the last file, one worker. Quality is the F1
of the extracted main text on labelled pages. The headline is our fastest row whose text is as good
as the peer's: on every set of labelled pages within `EQUAL` of it or better, and not below it in
the mean over sets.

The pages are English ones of the crawl in ``CORPUSMILL_DATA``, else (and with ``--quick``) of the
embedded sample.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from corpusmill.pipeline.progress import to_stderr as say
from corpusmill.stages.extract.scoring import macro, word_bag

from . import crawl, ours
from . import peer_datatrove as datatrove
from .harness import (
    ROOT,
    Bar,
    BenchError,
    Report,
    alternate,
    finish,
    jaccard,
    median,
    parser,
    peer_python,
    peer_versions,
)

PAGES, QUICK_PAGES = 500, 80
ROUNDS, QUICK_ROUNDS = 3, 1
EQUAL = 0.01
"""F1 that is not told apart: the mean difference on the 102 pages of `news` has a standard error of
.014 (trafilatura as datatrove calls it, and our tier `quality`)."""
PEER = "datatrove"
OURS = ("corpusmill", "trafilatura", "lxml", "tokenizers", "fastwarc", "resiliparse")
MIB = 1 << 20


def main(argv: Sequence[str] | None = None) -> int:
    options = parser(__doc__ or "")
    options.add_argument("--pages", type=int, help=f"pages to run on (default {PAGES})")
    options.add_argument("--rounds", type=int, help=f"runs of each side (default {ROUNDS})")
    options.add_argument("--keep", type=Path, help="leave inputs and outputs in this new folder")
    args = options.parse_args(argv)
    return finish(lambda: measure(args), args.json)


def measure(args: argparse.Namespace) -> Report:
    """The whole measurement, in a scratch folder or in the one of ``--keep``."""
    if args.keep is not None:
        if args.keep.exists():
            raise BenchError(f"{args.keep} exists already", exit_code=2)
        return _measure(args, args.keep.resolve())
    scratch = Path(tempfile.mkdtemp(prefix="bench-end-to-end-"))
    try:
        return _measure(args, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _measure(args: argparse.Namespace, folder: Path) -> Report:
    python = peer_python("datatrove")
    datatrove.prove()
    data = None if args.quick else os.environ.get("CORPUSMILL_DATA")
    pages = args.pages or (QUICK_PAGES if args.quick else PAGES)
    rounds = args.rounds or (QUICK_ROUNDS if args.quick else ROUNDS)
    source, labels = inputs(Path(data) if data else None, pages, folder)
    say(f"{len(source.pages)} pages; {', '.join(f'{len(s.gold)} {s.name}' for s in labels)}")
    gold = [text for labelled in labels for text in labelled.gold.values()]
    tokenizer = ours.make_tokenizer(gold, folder / "tokenizer")
    peers = [PEER] if args.quick else list(datatrove.EXTRACTORS)
    sides = [datatrove.side(name, source.folder, tokenizer) for name in peers]
    block = datatrove.lists()
    sides += [ours.side(tier, source.folder, tokenizer, block) for tier in ours.tiers()]
    usages = alternate(sides, rounds, folder / "runs", say)
    rows = []
    for side in sides:
        place = folder / "runs" / side.name.replace(" ", "-") / "0"
        tier = side.name.removeprefix("corpusmill ")
        mine = side.name not in datatrove.EXTRACTORS
        usage = median(usages[side.name])
        found = (ours if mine else datatrove).outcome(place)
        say(f"scoring {side.name}")
        rows.append({
            "row": side.name,
            "pages_per_cpu_second": round(len(source.pages) / usage.cpu_seconds, 2),
            "cpu_seconds": round(usage.cpu_seconds, 2),
            "peak_mib": round(usage.peak_bytes / MIB),
            "runs_cpu_seconds": [round(u.cpu_seconds, 2) for u in usages[side.name]],
            "pages": len(source.pages),
            **{f"f1_{s.name}": _f1(tier if mine else side.name, mine, s, folder) for s in labels},
            **found,
        })  # fmt: skip
    agreement(rows, source.pages)
    bars = bars_of(rows, [f"f1_{s.name}" for s in labels])
    return Report(
        bench="end_to_end",
        versions={
            **{name: version(name) for name in OURS},
            **{
                f"peer {name}": v
                for name, v in peer_versions(python, datatrove.DISTRIBUTIONS).items()
            },
        },
        rows=rows,
        bars=bars,
        columns=(
            "row", "pages_per_cpu_second", "cpu_seconds", "peak_mib", "filtered", "kept",
            *(f"f1_{s.name}" for s in labels),
            "same_filtered", "same_kept_urls", "same_kept_families",
        ),
        notes=[*stage_lines(rows), "", *notes(labels)],
    )  # fmt: skip


def inputs(data: Path | None, pages: int, folder: Path) -> tuple[crawl.Crawl, list[crawl.Labelled]]:
    """The WARC files of the run and the labelled pages."""
    if data is not None:
        source = crawl.select(
            data / "crawl", data / "crawl/manifest.jsonl.gz", pages, folder / "crawl"
        )
        return source, crawl.full_labels(data, folder / "gold")
    sample = ROOT / "configs/sample/crawl"
    manifest = crawl.TESTS / "crawl_gold/manifest.jsonl.gz"
    source = crawl.select(sample, manifest, pages, folder / "crawl")
    return source, crawl.sample_labels(sample, folder / "gold")


def _f1(name: str, mine: bool, pages: crawl.Labelled, folder: Path) -> float | None:
    """Macro F1 of the bags of words; a page that gave no text scores 0. None where the tier
    has learned from these pages."""
    if mine and pages.name in ours.TRAINED_ON.get(name, ()):
        return None
    if mine:
        got = ours.texts(name, pages)
    else:
        got = datatrove.texts(name, pages, folder / "texts" / name.replace(" ", "-") / pages.name)
    return round(macro(word_bag(got.get(key, ""), text) for key, text in pages.gold.items()).f1, 4)


def agreement(rows: list[dict[str, Any]], pages: Mapping[str, Mapping[str, str]]) -> None:
    """Replaces the sets of record ids by counts and by their likeness (Jaccard) to the peer's:
    of records that passed the filters, of kept URLs, and of kept families of near-duplicates
    (which of a family stays is each side's own choice)."""

    def named(ids: set[str], what: str) -> set[str]:
        return {pages[i][what] for i in ids}

    peer = next(row for row in rows if row["row"] == PEER)
    filtered, kept = peer["filtered"], peer["kept"]
    for row in rows:
        row["same_filtered"] = round(jaccard(row["filtered"], filtered), 3)
        row["same_kept_urls"] = round(jaccard(named(row["kept"], "url"), named(kept, "url")), 3)
        row["same_kept_families"] = round(
            jaccard(named(row["kept"], "family"), named(kept, "family")), 3
        )
    for row in rows:
        row["filtered"], row["kept"] = len(row["filtered"]), len(row["kept"])


def headline(
    rows: Sequence[Mapping[str, Any]], peer: str, scores: Sequence[str]
) -> Mapping[str, Any] | None:
    """Our fastest row that is as good as the peer's (unscored sets do not count, but one must),
    or None."""
    other = next(row for row in rows if row["row"] == peer)

    def as_good(row: Mapping[str, Any]) -> bool:
        more = [row[s] - other[s] for s in scores if row[s] is not None]
        return bool(more) and min(more) >= -EQUAL and sum(more) >= 0.0

    good = [r for r in rows if r["row"] not in datatrove.EXTRACTORS and as_good(r)]
    return max(good, key=lambda r: r["pages_per_cpu_second"], default=None)


def bars_of(rows: Sequence[Mapping[str, Any]], scores: Sequence[str]) -> dict[str, Bar]:
    """Speed and memory of the headline row over each peer row; 0 where no row is as good."""
    bars: dict[str, Bar] = {}
    for peer in (r for r in rows if r["row"] in datatrove.EXTRACTORS):
        best = headline(rows, peer["row"], scores)
        key = peer["row"].replace(" ", "_")
        speed = best["pages_per_cpu_second"] / peer["pages_per_cpu_second"] if best else 0.0
        memory = peer["peak_mib"] / best["peak_mib"] if best else 0.0
        label = best["row"].replace(" ", "_") if best else "no_row"
        bars[f"speed_of_{label}_over_{key}"] = Bar(round(speed, 2), 1.0)
        bars[f"memory_of_{key}_over_{label}"] = Bar(round(memory, 2), 1.0)
    return bars


def stage_lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The breakdown of each row as one line, largest first."""
    lines = []
    for row in rows:
        parts = sorted(row["stages"].items(), key=lambda p: (-p[1], p[0]))
        told = ", ".join(f"{name} {seconds:.1f}" for name, seconds in parts if seconds >= 0.05)
        if "executors" not in row:
            told += f", elsewhere {row['cpu_seconds'] - sum(row['stages'].values()):.1f}"
        lines.append(f"{row['row']}, seconds: {told}")
    return lines


def notes(labels: Sequence[crawl.Labelled]) -> list[str]:
    sets = ", ".join(f"{s.name} ({len(s.gold)} pages)" for s in labels)
    return [
        f"F1: macro mean over {sets}; a tier is not scored on pages that it has learned from.",
        "same_…: Jaccard likeness to the row of datatrove, of the records that pass the filters, "
        "of kept URLs, of kept families of near-duplicates.",
        "datatrove's seconds by stage are its own, wall clock; ours are CPU seconds.",
    ]


if __name__ == "__main__":
    sys.exit(main())
