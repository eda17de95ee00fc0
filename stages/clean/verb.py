"""PII removal alone, over plain JSONL: what ``corpusmill pii --jsonl IN OUT`` calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from corpusmill.stages.json_rows import RowWriter, read_rows, text_of

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
    with RowWriter(out_path) as out:
        for number, row in read_rows(in_path):
            text = text_of(row, f"{in_path}: line {number}")
            spans, row["clean_text"] = stage.clean(text)
            row["pii"] = [{"type": s.type, "start": s.start, "end": s.end} for s in spans]
            out.write(row)
            rows += 1
            touched += bool(spans)
            for span in spans:
                counts[span.type] += 1
    return {"rows": rows, "rows_with_pii": touched, "spans": counts}
