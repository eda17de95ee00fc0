"""Personal data found by Presidio and by scrubadub on the same texts as by us.

    python -m bench.pii_peers [--quick] [--json] [--texts N]

Texts: those of `bench.pii` with labels, and the places of real technical pages that were read; of
each set one in so many that at most N (default 300) are left, since Presidio takes seconds a
hundred pages. Recall and precision as in `bench.pii`. Speed is megabytes of text a CPU second of
the finding alone, in memory, over manual pages; ours has eight types.
Presidio runs without a model for names (see ``bench/peers/pii/sides.py``).
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from corpusmill.pipeline.progress import to_stderr as say
from corpusmill.stages.clean.pii import find
from corpusmill.stages.clean.spans import SCANNED

from . import texts
from .harness import ROOT, Bar, Report, finish, parser, peer_python, peer_versions, timed
from .pii import Labels, labelled, rates, score

PEERS: Final = ("presidio", "scrubadub")
COMPARED: Final = ("email", "ip", "card", "iban", "ssn", "phone")
TEXTS, PAGES, ROUNDS = 300, 60, 15
READ: Final = "read places"


def main(argv: Sequence[str] | None = None) -> int:
    options = parser(__doc__ or "")
    options.add_argument("--texts", type=int, default=TEXTS, help="most texts of a set")
    args = options.parse_args(argv)
    return finish(lambda: measure(args), args.json)


def measure(args: argparse.Namespace) -> Report:
    """The whole measurement, in a scratch folder."""
    scratch = Path(tempfile.mkdtemp(prefix="bench-pii-peers-"))
    try:
        return _measure(args, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _measure(args: argparse.Namespace, scratch: Path) -> Report:
    python = peer_python("pii")
    folder = texts.data(args.quick)
    rows: list[dict[str, Any]] = []
    every = {**labelled(folder), READ: [(row["text"], label_of(row)) for row in read()]}
    sets = {name: some(content, args.texts) for name, content in every.items()}
    for name, content in sets.items():
        bodies = [text for text, _ in content]
        found = {"": ours(bodies)[0]}
        found |= {f"{peer}_": judged(python, peer, bodies, scratch)[0] for peer in PEERS}
        if name == READ:
            found = {side: at_places(spans, args.texts) for side, spans in found.items()}
        counts = {side: score(content, spans) for side, spans in found.items()}
        rows += [
            {"row": name, "type": t, "n": counts[""][t][0],
             **{k: v for side in found for k, v in rates(side, counts[side].get(t)).items()}}
            for t in COMPARED if t in counts[""]
        ]  # fmt: skip
        say(f"{name}: {len(bodies)} texts")
    pages = manuals(folder)
    size = sum(len(page.encode("utf-8", "replace")) for page in pages) / 1e6
    # Hundredths of a second, so several times; the peers take seconds.
    speed = {"corpusmill": size / statistics.median(ours(pages)[1] for _ in range(ROUNDS))}
    speed |= {peer: size / judged(python, peer, pages, scratch)[1] for peer in PEERS}
    rows += [
        {"row": f"speed of {name}", "type": "", "n": len(pages), "mb_per_cpu_second": round(mb, 3)}
        for name, mb in speed.items()
    ]
    return Report(
        bench="pii_peers",
        versions={
            "corpusmill": version("corpusmill"),
            **{f"peer {k}": v for k, v in
               peer_versions(python, ["presidio-analyzer", "scrubadub"]).items()},
        },
        rows=rows,
        bars={"speed_over_both": Bar(
            round(speed["corpusmill"] / max(speed[peer] for peer in PEERS), 2), 1.0
        )},
        columns=(
            "row", "type", "n", "recall", "precision", "presidio_recall", "presidio_precision",
            "scrubadub_recall", "scrubadub_precision", "mb_per_cpu_second",
        ),
    )  # fmt: skip


def ours(bodies: Sequence[str]) -> tuple[list[Labels], float]:
    """The spans of each text, and the CPU seconds of finding them."""
    find("")
    began = time.process_time()
    found = [[(s.type, s.start, s.end) for s in find(text, SCANNED)] for text in bodies]
    return found, time.process_time() - began


def judged(
    python: Path, peer: str, bodies: Sequence[str], scratch: Path
) -> tuple[list[Labels], float]:
    """The same by a peer."""
    source = texts.write(scratch / "texts.jsonl", ({"text": t} for t in bodies))
    target = scratch / f"{peer}.jsonl"
    script = ROOT / "bench" / "peers" / "pii" / "sides.py"
    timed([str(python), str(script), peer, str(source), str(target)], scratch / "log", {})
    *lines, last = texts.rows(target)
    spans: list[Any] = lines
    return [[(t, a, b) for t, a, b in line] for line in spans], float(last["cpu_seconds"])


def manuals(folder: Path | None) -> list[str]:
    """Texts of manual pages, or of the sample."""
    sample = texts.SAMPLE / "labels" / "high.jsonl.gz"
    path = folder / "html_gold" / "doc_containers.jsonl.gz" if folder else sample
    return some([row["text"] for row in texts.rows(path)], PAGES)


def some(content: Sequence[Any], most: int) -> list[Any]:
    """At most `most` of `content`, spread over it."""
    return list(content[:: -(-len(content) // most)])


def read() -> list[dict[str, Any]]:
    """The places of real technical pages, but for addresses at domains set aside for examples."""
    path = ROOT / "tests" / "data" / "pii" / "read.jsonl"
    return [row for row in texts.rows(path) if row["kind"] != "reserved"]


def label_of(row: dict[str, Any]) -> Labels:
    """An address is labelled, what only looks like one is not."""
    return [(row["type"], row["start"], row["end"])] if row["kind"] == "address" else []


def at_places(found: Sequence[Labels], most: int) -> list[Labels]:
    """Of the spans found in read texts those that lie at the place that was read."""
    return [
        [s for s in spans if s[0] == row["type"] and s[1] < row["end"] and row["start"] < s[2]]
        for row, spans in zip(some(read(), most), found, strict=True)
    ]


if __name__ == "__main__":
    sys.exit(main())
