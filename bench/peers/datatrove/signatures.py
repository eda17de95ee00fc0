"""MinHash signatures of the texts of a JSON Lines file, by datatrove's first MinHash step.

    PYTHON signatures.py TEXTS OUT

Its defaults are FineWeb's: word 5-grams, 14 x 8 minima of 64 bits. A first pass over `WARM` texts
loads what loads lazily and is not counted. Writes OUT/result.json: ``cpu_seconds`` and
``documents`` of the second pass, ``bytes`` on disk.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

WARM = 20


def main() -> int:
    from datatrove.data import Document
    from datatrove.pipeline.dedup import MinhashDedupSignature

    texts, out = Path(sys.argv[1]), Path(sys.argv[2])
    with open(texts, encoding="utf-8") as lines:
        docs = [Document(text=json.loads(line)["text"], id=str(n)) for n, line in enumerate(lines)]
    step = MinhashDedupSignature(output_folder=str(out / "warm"))
    step.run(iter(docs[:WARM]))
    step.output_folder = type(step.output_folder)(str(out / "signatures"))
    started = time.process_time()
    step.run(iter(docs))
    spent = time.process_time() - started
    written = sum(p.stat().st_size for p in (out / "signatures").rglob("*") if p.is_file())
    (out / "result.json").write_text(
        json.dumps({"cpu_seconds": spent, "documents": len(docs), "bytes": written})
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
