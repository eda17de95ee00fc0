"""Near-duplicates: speed beside datatrove and datasketch, recall and precision against the truth.

    python -m bench.dedup [--quick] [--json] [--texts N] [--rounds N]

Speed is texts per CPU second from text to what the next step reads: our table of band keys,
datatrove 0.10.1's sorted signature files, datasketch's filled index. One process each, timed by
its own CPU clock after a warm-up, alternating, the median of the rounds. The texts are those of
the crawl in ``CORPUSMILL_DATA``, else (and with ``--quick``) of the embedded sample, extracted by
resiliparse.

Recall is the share of planted pairs of a known Jaccard similarity that meet in a bucket, beside
what theory says, 1 - (1 - s⁸)¹⁴. Precision is the share of accepted pairs whose similarity,
counted on sets of words, is .68 or more for a threshold of .7, on pairs planted about it: as we
accept them, by the estimate from 112 minima, and without a check. All but the speed is the same
in every run.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from corpusmill.pipeline.progress import to_stderr as say

from .harness import (
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

TEXTS, QUICK_TEXTS = 10_000, 400
ROUNDS, QUICK_ROUNDS = 3, 1
PAIRS, QUICK_PAIRS = 4000, 1000
LEVELS = (0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)
ABOUT = (0.60, 0.62, 0.64, 0.66, 0.68, 0.70, 0.72, 0.74, 0.76, 0.78, 0.80)
THRESHOLD, SLACK = 0.7, 0.02
NGRAM = 5
PEER = "datatrove"
OURS = ("corpusmill", "numba", "numpy", "pyarrow", "datasketch")


def main(argv: Sequence[str] | None = None) -> int:
    options = parser(__doc__ or "")
    options.add_argument("--texts", type=int, help=f"texts to time on (default {TEXTS})")
    options.add_argument("--rounds", type=int, help=f"runs of each side (default {ROUNDS})")
    args = options.parse_args(argv)
    return finish(lambda: measure(args), args.json)


def measure(args: argparse.Namespace) -> Report:
    """The whole measurement, in a scratch folder."""
    python = peer_python(PEER)
    scratch = Path(tempfile.mkdtemp(prefix="bench-dedup-"))
    try:
        speed, bars, notes = speeds(args, python, scratch)
        found, recall_bar = recall(QUICK_PAIRS if args.quick else PAIRS)
        accepted, precision_bar = precision(QUICK_PAIRS // 4 if args.quick else PAIRS // 4)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return Report(
        "dedup",
        {**{n: version(n) for n in OURS}, **peer_versions(python, [PEER, "spacy"])},
        [*speed, *found, *accepted],
        {**bars, "recall less theory, worst level": recall_bar,
         f"accepted pairs of J >= {THRESHOLD - SLACK:.2f}": precision_bar},
        ("what", "value", "theory", "bytes a text", "pairs"),
        notes,
    )  # fmt: skip


# -- speed -------------------------------------------------------------------------------------


def speeds(
    args: argparse.Namespace, python: Path, folder: Path
) -> tuple[list[dict[str, Any]], dict[str, Bar], list[str]]:
    """A row a side, the bars, and a note on the texts."""
    wanted = args.texts or (QUICK_TEXTS if args.quick else TEXTS)
    source = folder / "texts.jsonl"
    count = chars = 0
    with open(source, "w", encoding="utf-8") as out:
        for text in texts(None if args.quick else os.environ.get("CORPUSMILL_DATA")):
            out.write(json.dumps({"text": text}) + "\n")
            count, chars = count + 1, chars + len(text)
            if count == wanted:
                break
    results: dict[str, list[dict[str, float]]] = {}

    def side(name: str, command: list[str]) -> Side:
        def check(place: Path) -> None:
            try:
                result = json.loads((place / "result.json").read_text())
            except (OSError, ValueError) as error:
                raise BenchError(f"{name} gave no result: {error}") from None
            if result["documents"] != count:
                raise BenchError(f"{name} read {result['documents']} of {count} texts")
            results.setdefault(name, []).append(result)

        return Side(name, lambda place: [*command, str(source), str(place)], check, ONE_THREAD)

    own = [sys.executable, "-m", "bench.dedup_sides"]
    script = ROOT / "bench" / "peers" / "datatrove" / "signatures.py"
    sides = [
        side("corpusmill", [*own, "corpusmill"]),
        side(PEER, [str(python), str(script)]),
        side("datasketch", [*own, "datasketch"]),
    ]
    alternate(sides, args.rounds or (QUICK_ROUNDS if args.quick else ROUNDS), folder / "runs", say)
    rows = []
    rate: dict[str, float] = {}
    for name, runs in results.items():
        spent = sorted(r["cpu_seconds"] for r in runs)
        rate[name] = count / spent[len(spent) // 2]
        rows.append({
            "what": f"texts a CPU second, {name}", "value": rate[name],
            "bytes a text": runs[0]["bytes"] / count or None,
            "cpu_seconds": spent, "million_chars_a_second": rate[name] * chars / count / 1e6,
        })  # fmt: skip
    bars = {
        f"speed, times {PEER}": Bar(rate["corpusmill"] / rate[PEER], 50.0),
        "bytes a text, share of datatrove's saved": Bar(
            1 - results["corpusmill"][0]["bytes"] / results[PEER][0]["bytes"], 0.5
        ),
    }
    return rows, bars, [f"{count} texts of {chars / count:.0f} characters on average"]


ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}


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


# -- recall and precision ----------------------------------------------------------------------


def words(r: random.Random, count: int) -> list[str]:
    return [f"{r.choice('abcdé')}{r.randrange(10**9)}" for _ in range(count)]


def planted(r: random.Random, jaccard: float, count: int = 204) -> tuple[list[str], list[str]]:
    """Two texts with a common beginning whose shingle sets have about this similarity."""
    shingles = count - NGRAM + 1
    shared = round(2 * shingles * jaccard / (1 + jaccard))
    one = words(r, count)
    if shared == shingles:
        return one, list(one)
    head = shared + NGRAM - 1
    return one, one[:head] + words(r, count - head)


def similarity(one: Sequence[str], other: Sequence[str]) -> float:
    """Jaccard similarity of the sets of word 5-grams."""
    a, b = (
        {tuple(text[n : n + NGRAM]) for n in range(len(text) - NGRAM + 1)} for text in (one, other)
    )
    return len(a & b) / len(a | b)


def theory(jaccard: float) -> float:
    """The chance that a pair of this similarity shares one of 14 bands of 8 minima."""
    return float(1 - (1 - jaccard**8) ** 14)


def recall(pairs: int) -> tuple[list[dict[str, Any]], Bar]:
    """A row a level, and the worst of recall less theory at the similarity that pairs have."""
    from corpusmill.stages.dedup.bands import Sketcher

    sketches = Sketcher(14, 8, NGRAM, 1)
    rows = []
    worst = 1.0
    for level in LEVELS:
        r = random.Random(int(level * 1000))
        met = 0
        expected = 0.0
        for _ in range(0, pairs, 500):
            some = [planted(r, level) for _ in range(500)]
            keys = sketches([" ".join(text) for pair in some for text in pair]).keys
            met += int((keys[::2] == keys[1::2]).any(axis=1).sum())
            expected += 500 * theory(similarity(*some[0]))
        value, chance = met / pairs, expected / pairs
        worst = min(worst, value - chance)
        rows.append({"what": f"recall at J = {level}", "value": value, "theory": chance,
                     "pairs": pairs})  # fmt: skip
    return rows, Bar(round(worst, 4), -0.02)


def precision(pairs: int) -> tuple[list[dict[str, Any]], Bar]:
    """What each way of accepting candidates lets through, of pairs about the threshold."""
    from corpusmill.pipeline.context import MemoryContext, hash_of_ids
    from corpusmill.pipeline.document import Document, document_id
    from corpusmill.stages.dedup.minhash import STAGE, MinhashParams
    from corpusmill.stages.dedup.verb import documents

    r = random.Random(3)
    made = [planted(r, level) for level in ABOUT for _ in range(pairs)]
    truth = [similarity(*pair) for pair in made]
    docs = [Document(document_id("b", "p", 1, n), " ".join(text), "b")
            for n, text in enumerate(text for pair in made for text in pair)]  # fmt: skip
    stage = STAGE(MinhashParams(min_jaccard=THRESHOLD, floor=THRESHOLD))
    stage.setup()
    sketch = stage.sketches([doc.text for doc in docs])
    met = (sketch.keys[::2] == sketch.keys[1::2]).any(axis=1)
    estimate = (sketch.minima[::2] == sketch.minima[1::2]).mean(axis=1)
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        ctx = MemoryContext(Path(scratch))
        for name, (table, hashes) in stage.emit(docs).items():
            ctx.write(name, table, hashes)
        ctx.write("docs", documents(docs), hash_of_ids([doc.id for doc in docs]))
        ctx.run_phases(stage)
        family = {v["id"]: v["family"] for v in ctx.read("verdicts").to_pylist()}
    joined = [
        one.id in family and family[one.id] == family.get(other.id)
        for one, other in zip(docs[::2], docs[1::2], strict=True)
    ]
    rows = []
    share = {}
    for name, accepted in (
        ("as we accept", joined),
        ("by 112 minima", (met & (estimate >= THRESHOLD)).tolist()),
        ("without a check", met.tolist()),
    ):
        found = [j for j, yes in zip(truth, accepted, strict=True) if yes]
        share[name] = sum(j >= THRESHOLD - SLACK for j in found) / len(found)
        rows.append({"what": f"pairs of J >= {THRESHOLD - SLACK:.2f}, {name}",
                     "value": share[name], "pairs": len(found)})  # fmt: skip
    return rows, Bar(share["as we accept"], 0.98)


if __name__ == "__main__":
    sys.exit(main())
