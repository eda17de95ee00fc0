"""PII removal alone, over plain JSONL: what ``corpusmill pii --jsonl IN OUT`` calls."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import IO, Any, cast

from corpusmill.pipeline.errors import InputError

from .pii import Pii, PiiParams


def pii_jsonl(in_path: str | Path, out_path: str | Path) -> dict[str, Any]:
    """Reads rows with a field ``text`` and writes each, in order, with two fields more.

    ``pii``: ``[{"type", "start", "end"}]``, sorted, offsets in characters of ``text``.
    ``clean_text``: the text with every span replaced by its tag. All else passes through. A path
    that ends in ``.gz`` is compressed. Returns ``{"rows": n, "rows_with_pii": n, "spans":
    {type: n}}``. Raises InputError for a row that is no object or has no text.
    """
    stage = Pii(PiiParams())
    stage.setup()
    counts: dict[str, int] = dict.fromkeys(stage.types, 0)
    rows = touched = 0
    with _open(in_path, "rt") as source, _open(out_path, "wt") as target:
        for number, line in enumerate(source, 1):
            if not line.strip():
                continue
            row = _row(line, f"{in_path}:{number}")
            spans, row["clean_text"] = stage.clean(row["text"])
            row["pii"] = [{"type": s.type, "start": s.start, "end": s.end} for s in spans]
            target.write(_dumps(row) + "\n")
            rows += 1
            touched += bool(spans)
            for span in spans:
                counts[span.type] += 1
    return {"rows": rows, "rows_with_pii": touched, "spans": counts}


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
