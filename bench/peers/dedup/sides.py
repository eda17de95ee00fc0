"""Sides of `bench.dedup` in an environment of their own, a process each.

    PYTHON sides.py rensa|text-dedup|polars|dolma TEXTS OUT
    PYTHON sides.py --prove

From texts in memory to a filled index: ``rensa`` (words split at white space in lower case, runs
of five, `RMinHash` of 112, inserted into an `RMinHashLSH` of 14 bands) and ``text-dedup`` (its own
function for one text, with its defaults but for 112 permutations, 14 x 8 and runs of five, and
its tables). From texts to which lines are repeated: ``polars`` (lines without white space at their
ends, and how many different ones there are, by their hashes) and ``dolma`` (its paragraph
deduper by a Bloom filter, one false positive in ten thousand, from and to files of its own form).
Writes OUT/result.json: ``cpu_seconds`` and ``documents``, and ``lines`` and ``distinct`` for lines.
"""

from __future__ import annotations

import gzip
import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from functools import lru_cache
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

WARM = 20
BANDS, ROWS, NGRAM = 14, 8, 5
WIDTH = BANDS * ROWS
Work = Callable[[], dict[str, Any]]


def rensa(texts: list[str], folder: Path) -> Work:
    from rensa import RMinHash, RMinHashLSH

    def work() -> dict[str, Any]:
        index = RMinHashLSH(threshold=0.7, num_perm=WIDTH, num_bands=BANDS)
        for number, text in enumerate(texts):
            words = text.lower().split()
            grams = [" ".join(words[n : n + NGRAM]) for n in range(max(1, len(words) - NGRAM + 1))]
            sketch = RMinHash(num_perm=WIDTH, seed=1)
            sketch.update(grams)
            index.insert(number, sketch)
        return {}

    return work


def text_dedup(texts: list[str], folder: Path) -> Work:
    import numpy as np
    from text_dedup.minhash import SIGNATURE_COLUMN, embed_func
    from text_dedup.utils import sha1_hash

    prime, most = np.uint64((1 << 61) - 1), np.uint32((1 << 32) - 1)
    draw = np.random.RandomState(42)
    permutations = tuple(draw.randint(n, prime, size=WIDTH, dtype=np.uint64) for n in (1, 0))
    ranges = [(band * ROWS, (band + 1) * ROWS) for band in range(BANDS)]

    def work() -> dict[str, Any]:
        tables: list[dict[bytes, set[int]]] = [defaultdict(set) for _ in range(BANDS)]
        for number, text in enumerate(texts):
            made = embed_func(
                text, number, num_perm=WIDTH, ngram_size=NGRAM, min_length=NGRAM,
                hashranges=ranges, permutations=permutations, hash_func=sha1_hash,
                dtype=np.uint64, max_hash=most, modulo_prime=prime,
            )  # fmt: skip
            for table, key in zip(tables, made[SIGNATURE_COLUMN], strict=True):
                table[key].add(number)
        return {"buckets": sum(len(key) > 1 for table in tables for key in table.values())}

    return work


def polars(texts: list[str], folder: Path) -> Work:
    import polars as pl

    def work() -> dict[str, Any]:
        lines = pl.Series(texts).str.split("\n").explode().str.strip_chars()
        lines = lines.filter(lines.str.len_bytes() > 0)
        return {"lines": len(lines), "distinct": lines.hash().n_unique()}

    return work


@lru_cache(maxsize=1)
def dolma_deduper() -> Callable[[str], None]:
    """The compiled deduper alone: the package around it imports a fastText without wheels."""
    (library,) = (found for p in sys.path for found in Path(p).glob("dolma/dolma.*.so"))
    loader = ExtensionFileLoader("dolma", str(library))
    module = module_from_spec(ModuleSpec("dolma", loader, origin=str(library)))
    loader.exec_module(module)
    return module.deduper_entrypoint


def dolma(texts: list[str], folder: Path) -> Work:
    deduper = dolma_deduper()
    source = folder / "documents" / "texts.jsonl.gz"
    source.parent.mkdir(parents=True)
    with gzip.open(source, "wt", compresslevel=1, encoding="utf-8") as out:
        for number, text in enumerate(texts):
            out.write(json.dumps({"id": str(number), "text": text, "source": "s"}) + "\n")
    count = sum(1 for text in texts for line in text.split("\n") if line.strip())
    config = {
        "documents": [str(source)],
        "dedupe": {
            "name": "lines", "skip_empty": True, "min_length": 0, "min_words": 0,
            "num_partitions": 1, "partition_index": 0, "file_partition": False,
            "document_dir": "documents",
            "paragraphs": {
                "attribute_name": "lines", "paragraph_separator": "\n", "by_ngram": None,
            },
        },
        "bloom_filter": {
            "file": str(folder / "filter.bin"), "read_only": False, "size_in_bytes": 0,
            "estimated_doc_count": count, "desired_false_positive_rate": 1e-4,
        },
        "is_s3_volume": False, "processes": 1,
        "work_dir": {"input": str(folder / "in"), "output": str(folder / "out")},
        "compression": {"input": None, "output": None},
    }  # fmt: skip

    def work() -> dict[str, Any]:
        deduper(json.dumps(config))
        found = folder / "attributes" / "lines" / source.name
        with gzip.open(found, "rt", encoding="utf-8") as rows:
            repeated = sum(len(json.loads(row)["attributes"]["lines"]) for row in rows)
        return {"lines": count, "distinct": count - repeated}

    return work


SIDES = {"rensa": rensa, "text-dedup": text_dedup, "polars": polars, "dolma": dolma}


def prove() -> None:
    """Raises SystemExit for a side that does not find what there is."""
    lines = ["one two three four five six\nseven", "one two three four five six\n eight "]
    wanted = {"lines": 4, "distinct": 3}
    for name, side in SIDES.items():
        with TemporaryDirectory() as folder:
            found = side(lines, Path(folder))()
        if "lines" in found and found != wanted:
            raise SystemExit(f"{name} finds {found}")
    with TemporaryDirectory() as folder:
        found = text_dedup([lines[0], lines[0].upper()], Path(folder))()
    if found["buckets"] != BANDS:
        raise SystemExit(f"text-dedup finds {found}")


def main() -> int:
    if sys.argv[1:] == ["--prove"]:
        prove()
        return 0
    side, source, out = SIDES[sys.argv[1]], Path(sys.argv[2]), Path(sys.argv[3])
    with open(source, encoding="utf-8") as rows:
        texts = [json.loads(row)["text"] for row in rows]
    with TemporaryDirectory(dir=out) as warm, TemporaryDirectory(dir=out) as folder:
        side(texts[:WARM], Path(warm))()
        work = side(texts, Path(folder))
        started = time.process_time()
        found = work()
        spent = time.process_time() - started
    result = {"cpu_seconds": spent, "documents": len(texts), "bytes": 0, **found}
    (out / "result.json").write_text(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
