"""What became of each kind of page: a run folder against a manifest of gold labels.

    python -m bench.kinds RUN MANIFEST.jsonl.gz [--examples N]

The manifest has one JSON object a response with ``file``, ``offset`` and ``kind``. Prints a
Markdown table (a row a kind: pages, kept, and the steps and reasons of what left), checks that
every response of the manifest ended in the run exactly once, and exits 1 if not. With
``--examples`` also the URLs and first words of N pages of each kind and end, to read.
"""

from __future__ import annotations

import argparse
import collections
import gzip
import json
import sys
from pathlib import Path
from typing import Any


def ends(run: Path) -> dict[tuple[str, int], dict[str, Any]]:
    """How each record ended: (file, offset) to step, reason, value, and the last text seen."""
    import pyarrow.parquet as pq

    from corpusmill.pipeline.engine import RunFolder
    from corpusmill.pipeline.planning import Plan

    folder = RunFolder(run, Plan.load(run / "plan.json"))
    phases = [p for p in folder.plan.phases if p.kind == "docs"]
    found: dict[tuple[str, int], dict[str, Any]] = {}
    texts: dict[str, str] = {}
    for phase in phases:
        root = folder.phase_folder(phase).root
        seal = folder.seal(phase.name)
        for entry in seal.tables("rejects"):
            for row in pq.read_table(root / entry["path"]).to_pylist():
                key = (row["file"], row["offset"])
                if key in found:
                    raise SystemExit(f"{key} ended twice")
                found[key] = row | {"text": texts.get(row["id"], "")}
        for entry in seal.tables("docs"):
            columns = ["id", "url", "file", "offset", "text"]
            for row in pq.read_table(root / entry["path"], columns=columns).to_pylist():
                texts[row["id"]] = row["text"][:300]
                if phase is phases[-1]:
                    key = (row["file"], row["offset"])
                    if key in found:
                        raise SystemExit(f"{key} ended twice")
                    found[key] = row | {"step": "", "reason": "kept", "value": None}
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("manifest", type=Path)
    parser.add_argument("--examples", type=int, default=0)
    options = parser.parse_args()
    found = ends(options.run)
    counts: dict[str, collections.Counter[str]] = {}
    pages: dict[tuple[str, str], list[dict[str, Any]]] = {}
    missing = 0
    with gzip.open(options.manifest, "rt", encoding="utf-8") as lines:
        for line in lines:
            gold = json.loads(line)
            end = found.get((gold["file"], gold["offset"]))
            if end is None:
                missing += 1
                continue
            how = "kept" if end["reason"] == "kept" else f"{end['step']}:{end['reason']}"
            counts.setdefault(gold["kind"], collections.Counter())[how] += 1
            pages.setdefault((gold["kind"], how), []).append(end)
    print("| kind | pages | kept | what the others ended as |")
    print("| --- | ---: | ---: | --- |")
    for kind, ways in sorted(counts.items(), key=lambda c: -c[1].total()):
        rest = ", ".join(f"{how} {n}" for how, n in ways.most_common() if how != "kept")
        print(f"| {kind} | {ways.total()} | {ways['kept']} | {rest} |")
    print(
        f"\n{sum(c.total() for c in counts.values())} responses of the manifest, {missing} missing"
    )
    if options.examples:
        for (kind, how), rows in sorted(pages.items()):
            print(f"\n## {kind}: {how}")
            for row in rows[:: max(1, len(rows) // options.examples)][: options.examples]:
                print(f"- {row['url']} {row['value'] or ''}\n  {row.get('text', '')[:160]!r}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
