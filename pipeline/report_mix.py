"""What the report says of a finished run's products: the mix as wanted and as it came out, shards,
the search for benchmark items in them, licences."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .html_parts import safe, table
from .identity import canonical
from .lock import Lock


def mix_section(lock: Lock | None, root: Path) -> str:
    """The section; `root` is the run folder, `lock` None where the run is not finished."""
    if lock is None:
        return "<p>The run is not finished: there is no lock yet.</p>"
    outputs = [
        [name, canonical(value).decode() if isinstance(value, dict | list) else value]
        for name, value in sorted(lock.data["outputs"].items())
    ]
    text = table(["what", "value"], outputs, prose=True)
    path = root / "shards" / "manifest.json"
    manifest = json.loads(path.read_bytes()) if path.is_file() else None
    text += "" if manifest is None else _shares(manifest)
    text += _decontaminated(lock)
    text += "" if manifest is None else _certificate(manifest)
    licences = Counter(str(s["licence"]) for s in lock.data["identity"]["inputs"])
    rows = [[count, licence] for licence, count in sorted(licences.items())]
    return (
        text + "<h3>Licences of the sources</h3>" + table(["sources", "licence"], rows, prose=True)
    )


def _shares(manifest: Mapping[str, Any]) -> str:
    """What was wanted of each domain, in each phase of the mix, and what its shards hold."""
    shards = Counter(shard["stream"] for shard in manifest["shards"])
    rows = [
        [
            share["stream"], share["documents"], share["available"], share["wanted"],
            share["taken"], share["shortfall"], f"{float(share['epochs']):.2f}", share["copies"],
            shards[share["stream"]],
        ]
        for share in manifest["domains"]
    ]  # fmt: skip
    text = "<h3>The mix: wanted and got, in tokens</h3>" + table(
        ["domain", "documents", "available", "wanted", "got", "short", "epochs",
         "copies of documents", "shards"], rows,
    )  # fmt: skip
    return text + "".join(f"<p>{safe(str(warning))}</p>" for warning in manifest["warnings"])


def _decontaminated(lock: Lock) -> str:
    """What was done about benchmark items before the text was encoded."""
    text = ""
    for step, rows in lock.decontaminated():
        text += f"<h3>Benchmark items found by {safe(step)}</h3>"
        text += table(["benchmark of the first in a document", "done", "documents"], rows)
    return text


def _certificate(manifest: Mapping[str, Any]) -> str:
    """What of each benchmark was found in the decoded shards, and what the search can tell."""
    text = "<h3>Benchmark items in the shards</h3>"
    if not manifest["contamination_searched"]:
        return text + "<p>They were not looked for: tokenizers.shards has no benchmarks.</p>"
    rows = []
    for name, found in sorted(manifest["contamination"].items()):
        alarms = found.get("false_alarms", {}).values()
        most = max((float(a["upper_95"]) for a in alarms), default=None)
        rows.append([
            name, found["items"], found["visible"], found["found"], found["documents"],
            "not known" if most is None else f"{most:.2%}",
        ])  # fmt: skip
    text += table(
        ["benchmark", "items", "items that the search sees", "items found", "documents with them",
         "false alarms of one method, at most"], rows,
    )  # fmt: skip
    for name, found in sorted(manifest["contamination"].items()):
        for other, count in found.get("also_in", {}).items():
            text += f"<p>{count} items of {safe(name)} are items of {safe(other)} too.</p>"
    return text


__all__ = ["mix_section"]
