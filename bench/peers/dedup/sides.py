"""Sides of `bench.dedup` in an environment of their own, a process each.

    PYTHON sides.py rensa|polars TEXTS OUT
    PYTHON sides.py --prove

``rensa``: words split at white space in lower case, runs of five, `RMinHash` of 112, inserted into
an `RMinHashLSH` of 14 bands. ``polars``: the texts' lines without white space at their ends, and
how many different ones there are, by their hashes. Writes OUT/result.json: ``cpu_seconds`` and
``documents``, and ``lines`` and ``distinct`` for lines.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

WARM = 20


def rensa(texts: list[str]) -> dict[str, Any]:
    from rensa import RMinHash, RMinHashLSH

    index = RMinHashLSH(threshold=0.7, num_perm=112, num_bands=14)
    for number, text in enumerate(texts):
        words = text.lower().split()
        grams = [" ".join(words[n : n + 5]) for n in range(max(1, len(words) - 4))]
        sketch = RMinHash(num_perm=112, seed=1)
        sketch.update(grams)
        index.insert(number, sketch)
    return {}


def polars(texts: list[str]) -> dict[str, Any]:
    import polars as pl

    lines = pl.Series(texts).str.split("\n").explode().str.strip_chars()
    lines = lines.filter(lines.str.len_bytes() > 0)
    return {"lines": len(lines), "distinct": lines.hash().n_unique()}


SIDES = {"rensa": rensa, "polars": polars}


def main() -> int:
    if sys.argv[1:] == ["--prove"]:
        texts = ["one two three four five six\nseven", "one two three four five six\n eight "]
        found = polars(texts)
        if found != {"lines": 4, "distinct": 3}:
            raise SystemExit(f"polars finds {found}")
        rensa(texts)
        return 0
    side, source, out = SIDES[sys.argv[1]], Path(sys.argv[2]), Path(sys.argv[3])
    with open(source, encoding="utf-8") as rows:
        texts = [json.loads(row)["text"] for row in rows]
    side(texts[:WARM])
    started = time.process_time()
    found = side(texts)
    spent = time.process_time() - started
    result = {"cpu_seconds": spent, "documents": len(texts), "bytes": 0, **found}
    (out / "result.json").write_text(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
