"""The sides of `bench.dedup` that run in our own environment, a process each.

    python -m bench.dedup_sides corpusmill|datasketch TEXTS OUT

Like ``bench/peers/datatrove/signatures.py``: from texts in memory to what the next step reads.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

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
    sides: dict[str, Any] = {"corpusmill": corpusmill, "datasketch": datasketch}
    name, source, folder = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    with open(source, encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    (folder / "warm").mkdir()
    sides[name](texts[:WARM])(folder / "warm")
    (folder / "out").mkdir()
    work = sides[name](texts)
    started = time.process_time()
    work(folder / "out")
    spent = time.process_time() - started
    written = sum(path.stat().st_size for path in (folder / "out").iterdir())
    (folder / "result.json").write_text(
        json.dumps({"cpu_seconds": spent, "documents": len(texts), "bytes": written})
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
