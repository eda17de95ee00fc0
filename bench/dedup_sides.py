"""The sides of `bench.dedup` that run in our own environment, a process each.

    python -m bench.dedup_sides corpusmill|parquet|datasketch|lines TEXTS OUT

Like ``bench/peers/datatrove/signatures.py``: from texts in memory to what the next step reads;
``parquet`` from texts in a file; ``lines`` counts lines like ``bench/peers/dedup/sides.py``.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .harness import BenchError

WARM = 20
_BATCH = 1024


def corpusmill(texts: Sequence[str]) -> Callable[[Path], None]:
    """The table ``bands`` of `dedup.minhash` with its defaults, as Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from corpusmill.pipeline.document import Document, document_id
    from corpusmill.stages.dedup.minhash import STAGE, MinhashParams

    stage = STAGE(MinhashParams())
    stage.setup()
    docs = [Document(document_id("b", "t", 1, n), text, "b") for n, text in enumerate(texts)]

    def work(out: Path) -> None:
        batches = range(0, len(docs), _BATCH)
        tables = [stage.emit(docs[at : at + _BATCH])["bands"][0] for at in batches]
        pq.write_table(
            pa.concat_tables(tables), out / "bands.parquet", compression="zstd", compression_level=3
        )

    return work


def parquet(texts: Sequence[str]) -> Callable[[Path], None]:
    """The keys and sides of texts in a Parquet file (zstd), as arrays."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from corpusmill.stages.dedup.bands import Sketcher

    sketches = Sketcher(14, 8, 5, 1)
    raw = pa.BufferOutputStream()
    table = pa.table({"text": pa.array(texts, pa.large_string())})
    pq.write_table(table, raw, compression="zstd", row_group_size=8192)
    source = raw.getvalue()

    def work(out: Path) -> None:
        with pq.ParquetFile(pa.BufferReader(source)) as file:
            batches = file.iter_batches(_BATCH, use_threads=False)
            made = [sketches.column(batch["text"]).keys for batch in batches]
        if sum(map(len, made)) != len(texts):
            raise BenchError("texts are missing")

    return work


def lines(texts: Sequence[str]) -> Callable[[Path], None]:
    """How many lines there are and how many different ones, as `dedup.lines` compares them."""
    import numpy as np

    from corpusmill.stages.dedup.lines import STAGE, LinesParams

    stage = STAGE(LinesParams())
    stage.setup()

    def work(out: Path) -> None:
        found = [stage.hashes(texts[at : at + 128])[1] for at in range(0, len(texts), 128)]
        hashes = np.sort(np.concatenate(found))
        distinct = len(hashes) and 1 + int(np.count_nonzero(hashes[1:] != hashes[:-1]))
        counts = {"lines": len(hashes), "distinct": distinct}
        (out / "lines.json").write_text(json.dumps(counts))

    return work


def datasketch(texts: Sequence[str]) -> Callable[[Path], None]:
    """Words split at white space in lower case, `MinHash` with its defaults and 112 permutations,
    inserted into a `MinHashLSH` of 14 x 8."""
    from datasketch import MinHash, MinHashLSH

    def work(out: Path) -> None:
        index = MinHashLSH(num_perm=112, params=(14, 8))
        for number, text in enumerate(texts):
            words = text.lower().split()
            grams = {" ".join(words[n : n + 5]) for n in range(max(1, len(words) - 4))}
            sketch = MinHash(num_perm=112)
            sketch.update_batch([gram.encode() for gram in grams])
            index.insert(number, sketch)

    return work


def main() -> int:
    sides: dict[str, Any] = {
        "corpusmill": corpusmill, "parquet": parquet, "datasketch": datasketch, "lines": lines,
    }  # fmt: skip
    name, source, folder = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    with open(source, encoding="utf-8") as rows:
        texts = [json.loads(row)["text"] for row in rows]
    (folder / "warm").mkdir()
    sides[name](texts[:WARM])(folder / "warm")
    (folder / "out").mkdir()
    work = sides[name](texts)
    started = time.process_time()
    work(folder / "out")
    spent = time.process_time() - started
    found = folder / "out" / "lines.json"
    counts = json.loads(found.read_text()) if found.exists() else {}
    written = sum(path.stat().st_size for path in (folder / "out").iterdir())
    (folder / "result.json").write_text(
        json.dumps({"cpu_seconds": spent, "documents": len(texts), "bytes": written, **counts})
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
