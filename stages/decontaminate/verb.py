"""Contamination alone, over plain JSONL: ``corpusmill contamination --jsonl IN OUT``."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, Final, cast

from corpusmill.pipeline.errors import InputError

from .benchmarks import load
from .certificate import certify
from .index import ContaminationIndex, Hit

BATCH_CHARS: Final = 4_000_000
"""Characters of text that are looked through at once."""


def contamination_jsonl(
    in_path: str | Path, out_path: str | Path, benchmarks_dir: str | Path
) -> dict[str, Any]:
    """Reads rows with a field ``text`` and writes each, in order, with one field more.

    ``contamination``: a list, empty where clean, of ``{"benchmark", "item", "method", "coverage",
    "start", "end", "text"}``, ``text`` being the matched characters ``start:end``. All else passes
    through. A path that ends in ``.gz`` is compressed. Returns ``{"rows", "contaminated",
    "benchmarks": [{"benchmark", "version", "items", "visible", "found", "by_method",
    "false_alarms"}]}``, the last two as in `corpusmill.stages.decontaminate.certificate`. Raises
    InputError for a row that is no object or has no text, AssetError for the benchmarks.
    """
    benchmarks = load(benchmarks_dir)
    index = ContaminationIndex.build(benchmarks)
    every: list[Hit] = []
    rows = contaminated = 0
    with _open(in_path, "rt") as source, _open(out_path, "wt") as target:
        for batch in _batches(source, str(in_path)):
            found = index.find([row["text"] for row in batch])
            for row, hits in zip(batch, found, strict=True):
                row["contamination"] = [
                    {**asdict(h), "text": row["text"][h.start : h.end]} for h in hits
                ]
                target.write(_dumps(row) + "\n")
                rows += 1
                contaminated += bool(hits)
                every += hits
    report = [
        {"benchmark": c.benchmark, "version": c.version, **c.plain()}
        for c in certify(benchmarks, every)
    ]
    return {"rows": rows, "contaminated": contaminated, "benchmarks": report}


def _batches(source: IO[str], place: str) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    size = 0
    for number, line in enumerate(source, 1):
        if not line.strip():
            continue
        row = _row(line, f"{place}:{number}")
        batch.append(row)
        size += len(row["text"])
        if size >= BATCH_CHARS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _open(path: str | Path, mode: str) -> IO[str]:
    how: Any = gzip.open if str(path).endswith(".gz") else open
    try:
        return cast("IO[str]", how(path, mode, encoding="utf-8", newline="\n"))
    except OSError as e:
        raise InputError(f"{path}: {e.strerror or e}") from e


def _row(line: str, place: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError as e:
        raise InputError(f"{place}: not JSON: {e}") from e
    if not isinstance(row, dict) or not isinstance(row.get("text"), str):
        raise InputError(
            f"{place}: a row without a text", hint='rows look like {"id": "1", "text": "…"}'
        )
    return row


def _dumps(row: dict[str, Any]) -> str:
    written = json.dumps(row, ensure_ascii=False)
    try:
        written.encode("utf-8")
    except UnicodeEncodeError:  # a lone surrogate: only an escape can carry it
        return json.dumps(row)
    return written
