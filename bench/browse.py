"""What an index costs, and how soon `browse` answers: made documents, a million of them by default.

    python -m bench.browse [--documents N] [--quick] [--json]

Each document has about 60 words, drawn so that the n-th commonest has a weight of 1/n, and 40
signals. Rows say how long the index took (CPU) and how large it is; a row a question says how
long its answer took, CPU and wall time, the median of three.
"""

from __future__ import annotations

import importlib.metadata
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from corpusmill.pipeline.browsing.bounds import Bound, effect
from corpusmill.pipeline.browsing.filters import read_query
from corpusmill.pipeline.browsing.store import Store
from corpusmill.pipeline.indexing import IndexWriter

from .harness import Bar, Report, finish, parser

DOCUMENTS, QUICK = 1_000_000, 50_000
SIGNALS = 40
_SLICE = 5000


def build(folder: Path, documents: int) -> dict[str, Any]:
    """Writes an index of made documents; what it cost."""
    drawn = random.Random(1)
    words = [f"{drawn.choice('bdfgklmnprst')}{drawn.choice('aeiou')}{n:x}" for n in range(200_000)]
    weights = [1 / (n + 1) for n in range(len(words))]
    total, cumulated = 0.0, []
    for weight in weights:
        total += weight
        cumulated.append(total)
    stream = drawn.choices(words, cum_weights=cumulated, k=2_000_000)
    names = [f"s{n:02d}" for n in range(SIGNALS)]
    writer = IndexWriter(folder, {name: "float" for name in names} | {"lang": "str"})
    spent, size = 0.0, 0
    for start in range(0, documents, _SLICE):
        count = min(_SLICE, documents - start)
        rows, texts = [], []
        for n in range(start, start + count):
            at = drawn.randrange(len(stream) - 80)
            texts.append(" ".join(stream[at : at + drawn.randrange(40, 80)]))
            signals = {name: round(drawn.random(), 6) for name in names}
            kept = signals["s00"] >= 0.5 and signals["s01"] >= 0.2
            broken = [r for r, s, b in (("a:x", "s00", 0.5), ("b:y", "s01", 0.2)) if signals[s] < b]
            step, _, reason = broken[0].partition(":") if broken else (None, "", None)
            rows.append({
                "id": f"{n:032x}", "source": "web", "url": f"https://h{n % 5000}.test/{n}",
                "host": f"h{n % 5000}.test", "state": "kept" if kept else "dropped", "step": step,
                "reason": reason, "broken": broken, "complete": True, "lang": f"l{n % 40}",
                **signals,
            })  # fmt: skip
        size += sum(map(len, texts))
        before = time.process_time()
        writer.add(rows, texts)
        spent += time.process_time() - before
    before = time.process_time()
    writer.close()
    spent += time.process_time() - before
    held = sum(p.stat().st_size for p in folder.iterdir())
    return {
        "what": "index", "cpu_seconds": spent, "documents_per_cpu_second": documents / spent,
        "text_bytes": size, "index_bytes": held, "index_per_text_byte": held / size,
    }  # fmt: skip


def questions(store: Store) -> Sequence[tuple[str, bool, Callable[[], Any]]]:
    """Name, whether words are searched, and the question."""

    def ask(**parameters: str) -> Callable[[], Any]:
        asked = {k.replace("__", "."): [v] for k, v in parameters.items()}
        return lambda: store.search(read_query(asked, store.columns))

    words = [str(row[0]) for row in store.texts.execute("select n from texts limit 1")]
    common, rare = (store.text(int(words[0])) or "a b").split()[:2]
    bound = Bound("a", "filters.threshold", "x", "s00", 0.5, "low", "min", (), False)
    histogram = read_query({"state": ["dropped"]}, store.columns)
    return [
        ("all, first page", False, ask()),
        ("two signals between bounds", False, ask(min__s03="0.2", max__s04="0.7")),
        ("sorted by a signal", False, ask(state="kept", sort="s05", desc="1")),
        ("part of the address", False, ask(url="h77.test")),
        ("page 10,000", False, ask(offset="250000")),
        ("distribution of a signal", False, lambda: store.histogram(histogram, "s06")),
        ("another bound", False, lambda: effect(store, bound, 0.4)),
        ("a common word", True, ask(q=common)),
        ("two words and a bound", True, ask(q=f"{common} {rare}", min__s03="0.5")),
        ("the commonest word, sorted", True, ask(q=_commonest(store), sort="s01")),
        ("a phrase", True, ask(q=f'"{common} {rare}"')),
    ]  # fmt: skip


def _commonest(store: Store) -> str:
    counts: dict[str, int] = {}
    for number in range(200):
        for word in set((store.text(number) or "").split()):
            counts[word] = counts.get(word, 0) + 1
    return max(counts, key=lambda w: (counts[w], w))


def measure(documents: int) -> Report:
    """Builds, opens, asks."""
    with tempfile.TemporaryDirectory(prefix="bench-browse-") as scratch:
        root = Path(scratch)
        rows = [build(root / "index", documents)]
        print(f"{documents} documents are indexed", file=sys.stderr)
        before, wall = time.process_time(), time.monotonic()
        store = Store(root)
        rows.append({
            "what": "open", "cpu_seconds": time.process_time() - before,
            "wall_seconds": time.monotonic() - wall,
        })  # fmt: skip
        slowest = {False: 0.0, True: 0.0}
        for name, searched, question in questions(store):
            cpu, walls = [], []
            for _ in range(3):
                before, wall = time.process_time(), time.monotonic()
                answer = question()
                cpu.append(time.process_time() - before)
                walls.append(time.monotonic() - wall)
            rows.append({
                "what": name, "cpu_seconds": statistics.median(cpu),
                "wall_seconds": statistics.median(walls), "found": answer.get("total"),
            })  # fmt: skip
            slowest[searched] = max(slowest[searched], statistics.median(cpu))
        store.close()
    return Report(
        "browse", {"duckdb": importlib.metadata.version("duckdb")}, rows,
        {
            "CPU seconds of the slowest filter": Bar(slowest[False], 1.0, at_most=True),
            "CPU seconds of the slowest search for words": Bar(slowest[True], 2.0, at_most=True),
        },
        ("what", "cpu_seconds", "wall_seconds", "found", "documents_per_cpu_second",
         "index_per_text_byte"),
        [f"{documents} made documents, {SIGNALS} signals each"],
    )  # fmt: skip


def main(argv: list[str] | None = None) -> int:
    options = parser(__doc__)
    options.add_argument("--documents", type=int, help=f"default {DOCUMENTS}, {QUICK} if quick")
    args = options.parse_args(argv)
    return finish(
        lambda: measure(args.documents or (QUICK if args.quick else DOCUMENTS)), args.json
    )


if __name__ == "__main__":
    sys.exit(main())
