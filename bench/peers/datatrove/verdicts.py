"""Verdicts of datatrove's rule sets on the rows of a JSON Lines file. Run by the peer's Python.

    PYTHON verdicts.py TEXTS OUT [--words-given]

The filters are those of its FineWeb example with their defaults, each on every text, whatever the
others said: ``repetition``, ``quality``, ``c4`` (the paper's rules), ``c4_fineweb`` (without the
rule on line ends, as in the example), ``fineweb``, and ``after``, FineWeb's rules on the text as
``c4_fineweb`` left it (null where that dropped it). A verdict is ``keep`` or the reason. Writes
OUT/verdicts.jsonl with ``id``, the verdicts and digests of both edited texts, and OUT/result.json
with ``documents`` and ``cpu_seconds``, the first `WARM` texts done once before. With
``--words-given`` all texts are done once before, and their words and sentences looked up: what is
timed are the rules alone.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from pathlib import Path
from typing import Any

WARM = 20


def main() -> int:
    from datatrove.data import Document
    from datatrove.pipeline.filters import (
        C4QualityFilter,
        FineWebQualityFilter,
        GopherQualityFilter,
        GopherRepetitionFilter,
    )
    from datatrove.pipeline.filters.base_filter import get_filter_result

    texts, out = Path(sys.argv[1]), Path(sys.argv[2])
    given = sys.argv[3:] == ["--words-given"]
    if given:
        _remember_parts()
    blocks: dict[str, Any] = {
        "repetition": GopherRepetitionFilter(),
        "quality": GopherQualityFilter(),
        "c4": C4QualityFilter(),
        "c4_fineweb": C4QualityFilter(filter_no_terminal_punct=False),
        "fineweb": FineWebQualityFilter(),
    }

    def verdict(name: str, document: Any) -> str:
        try:
            kept, reason = get_filter_result(blocks[name].filter(document))
        except ZeroDivisionError:
            return "error"
        return "keep" if kept else str(reason)

    def judge(row: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {"id": row["id"], "after": None}
        for name in blocks:
            document = Document(text=row["text"], id=row["id"])
            found[name] = verdict(name, document)
            if name.startswith("c4") and found[name] == "keep":
                raw = document.text.encode("utf-8", "surrogatepass")
                found[f"{name}_text"] = hashlib.sha256(raw).hexdigest()[:16]
                if name == "c4_fineweb":
                    found["after"] = verdict("fineweb", document)
        return found

    with open(texts, encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    for row in rows if given else rows[:WARM]:
        judge(row)
    started = time.process_time()
    found = [judge(row) for row in rows]
    spent = time.process_time() - started
    with open(out / "verdicts.jsonl", "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in found)
    (out / "result.json").write_text(json.dumps({"documents": len(rows), "cpu_seconds": spent}))
    return 0


def _remember_parts() -> None:
    """Has datatrove cut each text into words, and into sentences, once only."""
    from datatrove.utils import text as module

    cut = module.split_into_parts
    known: dict[tuple[str, str], list[str]] = {}

    def remembered(text: str, mode: str, language: str) -> list[str]:
        if (text, mode) not in known:
            known[text, mode] = cut(text, mode=mode, language=language)
        return known[text, mode]

    module.split_into_parts = remembered


if __name__ == "__main__":
    sys.exit(main())
