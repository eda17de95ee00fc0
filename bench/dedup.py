"""Deduplication: speed beside other libraries; recall, precision, growth.

    python -m bench.dedup [--quick] [--json] [--texts N] [--chars N] [--rounds N] [--only PART]

Within five minutes on an idle machine, within one with ``--quick``.

- ``speed``: texts per CPU second from text to what the next step reads: our table of band keys,
  datatrove 0.10.1's sorted signature files, the filled index of datasketch, rensa and text-dedup;
  and from a Parquet file to band keys. Lines per CPU second from texts to the number of different
  ones, beside polars and dolma (``bench/peers/dedup/sides.py``). One process each, timed by its own
  CPU clock after a warm-up, alternating, the median of the rounds. The texts are those of the
  crawl in ``CORPUSMILL_DATA``, else (and with ``--quick``) of the embedded sample, extracted by
  resiliparse, each cut after `--chars` characters. Sides that make some hundred texts a second read
  every so manieth. Peers other than datatrove are left out where ``make peers`` has not installed
  them.
- ``truth``: pairs of known similarity, see `bench.dedup_truth`. The same in every run.
- ``sameness``: what is kept, for several numbers of partitions and orders of documents.
- ``index``: what the index of known documents takes.
- ``growth``: what follows the keys, for more and more documents, see `bench.dedup_growth`.
- ``budget``: the same with a budget of memory, whatever the size of the partition.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

from corpusmill.pipeline.progress import to_stderr as say

from .dedup_growth import (
    BUDGET_SIZES,
    GROWTH_COLUMNS,
    QUICK_BUDGET_SIZES,
    QUICK_ROWS,
    QUICK_SIZES,
    ROWS,
    SIZES,
    growth,
    within_budget,
)
from .dedup_truth import PAIRS, index_size, kept, recall, sameness
from .harness import (
    PEERS,
    ROOT,
    Bar,
    BenchError,
    Report,
    Side,
    alternate,
    finish,
    parser,
    peer_python,
    peer_versions,
)

TEXTS, QUICK_TEXTS = 10_000, 1000
FEW, QUICK_FEW = 500, 100
"""Texts of a slow side, evenly from all."""
CHARS = 3200
"""With it the crawl's texts have 2,200 characters on average, as have those that the bar of 30,000
texts a second was set on."""
ROUNDS, QUICK_ROUNDS = 3, 1
SEEDS, QUICK_SEEDS = 10, 1
KEPT_PAIRS, QUICK_KEPT_PAIRS = 2000, 100
PEER = "datatrove"
OTHERS = PEERS / "dedup" / "bin" / "python"
SLOW = (PEER, "datasketch", "text-dedup")
OURS = ("corpusmill", "numba", "numpy", "pyarrow", "datasketch")
PARTS = ("speed", "truth", "sameness", "index", "growth", "budget")


def main(argv: Sequence[str] | None = None) -> int:
    options = parser(__doc__ or "")
    options.add_argument("--texts", type=int, help=f"texts to time on (default {TEXTS})")
    options.add_argument(
        "--chars", type=int, default=CHARS, help=f"of a text at most (default {CHARS})"
    )
    options.add_argument("--rounds", type=int, help=f"runs of each side (default {ROUNDS})")
    options.add_argument(
        "--sizes", type=int, nargs="+", help=f"documents of growth (default {SIZES})"
    )
    options.add_argument("--only", choices=PARTS, help="one part (default: all)")
    args = options.parse_args(argv)
    return finish(lambda: measure(args), args.json)


def measure(args: argparse.Namespace) -> Report:
    """The whole measurement, in a scratch folder."""
    rows: list[dict[str, Any]] = []
    bars: dict[str, Bar] = {}
    notes: list[str] = []
    versions = {n: version(n) for n in OURS}

    def take(found: tuple[list[dict[str, Any]], dict[str, Bar]]) -> None:
        rows.extend(found[0])
        bars.update(found[1])

    if args.only in (None, "speed"):
        python = peer_python(PEER)
        versions |= peer_versions(python, [PEER, "spacy"])
        if OTHERS.exists():
            versions |= peer_versions(OTHERS, ["rensa", "text-dedup", "polars", "dolma"])
        scratch = Path(tempfile.mkdtemp(prefix="bench-dedup-"))
        try:
            timed, speed_bars, notes = speeds(args, python, scratch)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        take((timed, speed_bars))
    if args.only in (None, "truth"):
        take(recall(PAIRS, QUICK_SEEDS if args.quick else SEEDS))
        take(kept(QUICK_KEPT_PAIRS if args.quick else KEPT_PAIRS))
    if args.only in (None, "sameness"):
        take(sameness(QUICK_KEPT_PAIRS))
    if args.only in (None, "index"):
        take(index_size(QUICK_KEPT_PAIRS))
    if args.only in (None, "growth"):
        sizes = args.sizes or (QUICK_SIZES if args.quick else SIZES)
        take(growth(sizes, QUICK_ROWS if args.quick else ROWS))
    if args.only in (None, "budget"):
        take(within_budget(QUICK_BUDGET_SIZES if args.quick else BUDGET_SIZES))
    columns = ("what", "value", "theory", "bytes a text", "pairs")
    more = (GROWTH_COLUMNS,) if args.only in (None, "growth", "budget") else ()
    return Report("dedup", versions, rows, bars, columns, notes, more=more)


# -- speed -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts in a file of JSON lines."""

    path: Path
    count: int
    chars: int


def written(path: Path, some: Sequence[str]) -> Texts:
    """Writes the file."""
    with open(path, "w", encoding="utf-8") as out:
        for text in some:
            out.write(json.dumps({"text": text}) + "\n")
    return Texts(path, len(some), sum(map(len, some)))


def speeds(
    args: argparse.Namespace, python: Path, folder: Path
) -> tuple[list[dict[str, Any]], dict[str, Bar], list[str]]:
    """A row a side, the bars, and a note on the texts."""
    wanted = args.texts or (QUICK_TEXTS if args.quick else TEXTS)
    found = texts(None if args.quick else os.environ.get("CORPUSMILL_DATA"))
    cut = [text[: args.chars] for text in islice(found, wanted)]
    every = written(folder / "texts.jsonl", cut)
    few = written(
        folder / "few.jsonl", cut[:: max(1, wanted // (QUICK_FEW if args.quick else FEW))]
    )
    results: dict[str, list[dict[str, float]]] = {}

    def side(name: str, command: list[str]) -> Side:
        given = few if name in SLOW else every

        def check(place: Path) -> None:
            try:
                result = json.loads((place / "result.json").read_text())
            except (OSError, ValueError) as error:
                raise BenchError(f"{name} gave no result: {error}") from None
            if result["documents"] != given.count:
                raise BenchError(f"{name} read {result['documents']} of {given.count} texts")
            results.setdefault(name, []).append(result)

        return Side(name, lambda place: [*command, str(given.path), str(place)], check, ONE_THREAD)

    own = [sys.executable, "-m", "bench.dedup_sides"]
    script = ROOT / "bench" / "peers" / "datatrove" / "signatures.py"
    sides = [
        side("corpusmill", [*own, "corpusmill"]),
        side(PEER, [str(python), str(script)]),
        side("datasketch", [*own, "datasketch"]),
        side("corpusmill, from Parquet", [*own, "parquet"]),
        side("corpusmill, lines", [*own, "lines"]),
    ]
    if OTHERS.exists():
        at = str(ROOT / "bench" / "peers" / "dedup" / "sides.py")
        sides += [
            side("rensa", [str(OTHERS), at, "rensa"]),
            side("text-dedup", [str(OTHERS), at, "text-dedup"]),
            side("polars, lines", [str(OTHERS), at, "polars"]),
            side("dolma, lines", [str(OTHERS), at, "dolma"]),
        ]
    alternate(sides, args.rounds or (QUICK_ROUNDS if args.quick else ROUNDS), folder / "runs", say)
    rows = []
    rate: dict[str, float] = {}
    for name, runs in results.items():
        spent = sorted(r["cpu_seconds"] for r in runs)
        what = "lines" if "lines" in runs[0] else "documents"
        rate[name] = runs[0][what] / spent[len(spent) // 2]
        given = few if name in SLOW else every
        unit = "lines" if what == "lines" else "texts"
        row: dict[str, Any] = {
            "what": f"{unit} a CPU second, {name}", "value": rate[name], "cpu_seconds": spent,
            "million_chars_a_second": given.chars / spent[len(spent) // 2] / 1e6,
        }  # fmt: skip
        if unit == "texts":
            row["bytes a text"] = runs[0]["bytes"] / given.count or None
        row |= {key: runs[0][key] for key in ("lines", "distinct") if key in runs[0]}
        rows.append(row)
    bars = {
        f"speed, times {PEER}": Bar(rate["corpusmill"] / rate[PEER], 50.0),
        "texts a CPU second, from Parquet to band keys": Bar(
            rate["corpusmill, from Parquet"], 30_000
        ),
        "bytes a text, share of datatrove's saved": Bar(
            1 - _bytes_a_text(results["corpusmill"]) / _bytes_a_text(results[PEER]), 0.5
        ),
    }
    if "polars, lines" in rate:
        bars["lines, times polars"] = Bar(rate["corpusmill, lines"] / rate["polars, lines"], 1.0)
    notes = [
        f"{given.count} texts of {given.chars / given.count:.0f} characters on average{who}"
        for given, who in ((every, ""), (few, f" for {', '.join(SLOW)}"))
    ]
    return rows, bars, notes


def _bytes_a_text(runs: Sequence[dict[str, float]]) -> float:
    return runs[0]["bytes"] / runs[0]["documents"]


ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
    "PYTHONPATH": str(ROOT),
}


def texts(data: str | None) -> Iterator[str]:
    """Texts of HTML responses, over and over, copies marked by a word at the end."""
    made = [text for text in _pages(data) if len(text) > 200]
    if not made:
        raise BenchError("no page has a text", exit_code=2)
    for copy in range(1_000_000):
        for text in made:
            yield f"{text}\ncopy{copy}" if copy else text


def _pages(data: str | None) -> Iterator[str]:
    from fastwarc.warc import ArchiveIterator, WarcRecordType
    from resiliparse.extract.html2text import extract_plain_text

    folder = Path(data) / "crawl" if data else ROOT / "configs" / "sample"
    for path in sorted(folder.rglob("*.warc.gz"))[: None if data is None else 4]:
        with open(path, "rb") as stream:
            for record in ArchiveIterator(stream, record_types=WarcRecordType.response):
                body = record.reader.read(500_000)
                yield extract_plain_text(body.decode("utf-8", "replace"))


if __name__ == "__main__":
    sys.exit(main())
