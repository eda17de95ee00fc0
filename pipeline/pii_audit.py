"""What a run's `clean.pii` did where: offsets, types and policies, without the text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .durable import write_atomic
from .engine import RunFolder
from .errors import ConfigError, TaskError
from .ledger import sealed_docs_phases
from .planning import Plan

_COLUMN = "pii_spans"


def write_spans(root: Path, out: Path) -> dict[str, Any]:
    """Writes one JSON row for each kept document with personal data: ``id``, ``url``, ``sha256`` of
    the text before the first step that edited it, and ``spans``, ``[type, start, end, policy]``.

    Returns ``{"documents": n, "spans": {type: {policy: n}}}``. With the source at hand a row proves
    what was removed; without it, it gives nothing away but places. Raises TaskError where the run
    has no documents yet, ConfigError where its `clean.pii` wrote no spans.
    """
    run = RunFolder(root, Plan.load(root / "plan.json"))
    phases = sealed_docs_phases(run)
    if not phases:
        raise TaskError(f"{root} has no documents yet", hint="run its recipe first")
    steps = [s for s in run.plan.recipe["steps"] if s["stage"] == "clean.pii"]
    if not any(s.get("params", {}).get("audit") for s in steps):
        raise ConfigError(
            f"the run in {root} wrote no spans", hint="clean.pii: {audit: true} in its recipe"
        )
    counts: dict[str, dict[str, int]] = {}
    lines = []
    columns = ("id", "url", "text_sha256_raw", _COLUMN)
    for piece in run.pieces(phases[-1].name, "docs", None, columns):
        for row in piece.to_pylist():
            if not row[_COLUMN]:
                continue
            spans = json.loads(row[_COLUMN])
            for type_, _, _, policy in spans:
                of_type = counts.setdefault(type_, {})
                of_type[policy] = of_type.get(policy, 0) + 1
            entry = {"id": row["id"], "url": row["url"], "sha256": row["text_sha256_raw"],
                     "spans": spans}  # fmt: skip
            lines.append(json.dumps(entry, ensure_ascii=False) + "\n")
    write_atomic(out, "".join(lines).encode())
    return {"documents": len(lines), "spans": {t: counts[t] for t in sorted(counts)}}
