"""Contamination alone, over plain JSONL: ``corpusmill contamination --jsonl IN OUT``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from corpusmill.stages.json_rows import Fields, RowWriter, batches, read_rows, text_of

from .benchmarks import load
from .certificate import certify
from .index import ContaminationIndex, Hit
from .rules import HALF_ANYWHERE, Rules

BATCH_CHARS: Final = 4_000_000
"""Characters of text that are looked through at once."""


def contamination_jsonl(
    in_path: str | Path, out_path: str | Path, benchmarks_dir: str | Path,
    half_anywhere: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Reads rows with a field ``text`` and writes each, in order, with one field more.

    ``contamination``: a list, empty where clean, of ``{"benchmark", "item", "method", "coverage",
    "start", "end", "text"}``, ``text`` being the matched characters ``start:end``, empty
    where the benchmark is private. All else passes through. With `half_anywhere` a first half
    counts where its line goes on, too. A path that ends in ``.gz`` is compressed. Returns
    ``{"rows", "contaminated",
    "benchmarks": [{"benchmark", "version", "items", "visible", "found", "by_method",
    "false_alarms", "also_in"?}]}``, the last three as in
    `corpusmill.stages.decontaminate.certificate`. Raises InputError for a row that is no object or
    has no text, AssetError for the benchmarks.
    """
    benchmarks = load(benchmarks_dir)
    rules = Rules(**HALF_ANYWHERE) if half_anywhere else Rules()
    index = ContaminationIndex.build(benchmarks, rules)
    private = {b.name for b in benchmarks if b.private}
    every: list[Hit] = []
    rows = contaminated = 0
    with RowWriter(out_path) as out:
        for batch in batches(_rows(in_path), BATCH_CHARS):
            found = index.find([row["text"] for row in batch])
            for row, hits in zip(batch, found, strict=True):
                row["contamination"] = [
                    {
                        **asdict(h),
                        "text": "" if h.benchmark in private else row["text"][h.start : h.end],
                    }
                    for h in hits
                ]
                out.write(row)
                rows += 1
                contaminated += bool(hits)
                every += hits
    report = [
        {"benchmark": c.benchmark, "version": c.version, **c.plain()}
        for c in certify(benchmarks, every, rules)
    ]
    return {"rows": rows, "contaminated": contaminated, "benchmarks": report}


def _rows(path: str | Path) -> Iterator[Fields]:
    for number, row in read_rows(path):
        text_of(row, f"{path}: line {number}")
        yield row
