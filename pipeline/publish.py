"""From a finished run to its products: tokenizer, shards, the list of files, and last the lock."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .checkout import checkout
from .durable import link_or_copy, write_atomic
from .engine import RunFolder
from .identity import canonical, fingerprint, hex128, pretty, sha256_hex
from .lock import LOCK_SCHEMA, seal_lock
from .planning import Plan


def product_files(folder: RunFolder) -> list[tuple[str, Path, dict[str, Any]]]:
    """``(path in the run folder, committed file, entry)`` of every product, sorted by path."""
    found = []
    for phase in folder.plan.phases:
        if phase.kind != "aux" or phase.step not in ("tokenizer", "shards"):
            continue
        root = folder.phase_folder(phase).root
        for name, entry in folder.seal(phase.name).files().items():
            room = name if name.startswith("shards/") else f"{phase.step}/{name.split('/')[-1]}"
            found.append((room, root / entry["path"], entry))
    return sorted(found, key=lambda f: f[0])


def run_sources(plan: Plan) -> dict[str, dict[str, Any]]:
    """The finished runs among a plan's sources, by the source's name."""
    return {entry["name"]: entry["run"] for entry in plan.data["inputs"] if "run" in entry}


def input_rows(folder: RunFolder) -> list[dict[str, Any]]:
    """Every input file with its digest, sorted by source and path. Tables of finished runs are
    none: the lock says what is in them, however they are cut."""
    first = folder.seal(folder.plan.phases[0].name)
    runs = run_sources(folder.plan)
    rows = [dict(i) for c in first.commits for i in c["inputs"] if i["source"] not in runs]
    return sorted(rows, key=lambda r: (r["source"], r["path"]))


def kept_digest(folder: RunFolder) -> dict[str, Any]:
    """Documents kept at the end: their number, id checksum and order-free content digest."""
    last = [p for p in folder.plan.phases if p.kind == "docs"][-1]
    seal = folder.seal(last.name)
    content = sum(int(f["content"], 16) for f in seal.tables("docs"))
    ids = sum(int(c["counts"]["out_ids"], 16) for c in seal.commits)
    return {
        "documents": sum(int(c["counts"]["out"]) for c in seal.commits),
        "ids": hex128(ids),
        "content": hex128(content),
    }


def lock_identity(folder: RunFolder) -> dict[str, Any]:
    """What determines the bytes: the recipe's identity and the digests of the inputs."""
    inputs = []
    rows = input_rows(folder)
    runs = run_sources(folder.plan)
    for source in folder.plan.recipe["sources"]:
        if (run := runs.get(source["name"])) is not None:
            inputs.append({"source": source["name"], "run": run, "licence": source["licence"]})
            continue
        mine = [r for r in rows if r["source"] == source["name"]]
        listing = [[r["path"], r["bytes"], r["sha256"]] for r in mine]
        inputs.append({
            "source": source["name"], "files": len(mine),
            "bytes": sum(r["bytes"] for r in mine), "sha256": fingerprint(listing),
            "licence": source["licence"],
        })  # fmt: skip
    return {**folder.plan.data["identity"], "inputs": inputs}


def shard_figures(folder: RunFolder) -> dict[str, dict[str, Any]]:
    """What the writing phase noted of each shard, by the shard's path without suffix."""
    figures: dict[str, dict[str, Any]] = {}
    for phase in folder.plan.phases:
        if phase.step == "shards" and phase.aux == "write":
            for note in folder.seal(phase.name).notes():
                for shard in note.get("shards", ()):
                    figures[str(shard["name"])] = dict(shard)
    return figures


def check_notes(folder: RunFolder) -> list[dict[str, Any]]:
    """What the check of the finished shards noted, one entry a task."""
    found: list[dict[str, Any]] = []
    for phase in folder.plan.phases:
        if phase.step == "shards" and phase.aux == "check":
            found.extend(n for n in folder.seal(phase.name).notes() if n)
    return found


def publish(folder: RunFolder, ledger: Mapping[str, Any]) -> Path:
    """Puts the products at their public places and writes ``NAME.files.jsonl`` and the lock.

    Files of an earlier lock that are no longer made are removed. Returns the lock's path.
    """
    root, plan = folder.root, folder.plan
    name = plan.recipe["name"]
    lock_path = root / f"{name}.lock.json"
    lock_path.unlink(missing_ok=True)  # no lock while its files change
    products = product_files(folder)
    wanted = {room for room, _, _ in products}
    for room in ("tokenizer", "shards"):
        for path in sorted((root / room).rglob("*")) if (root / room).is_dir() else []:
            if path.is_file() and path.relative_to(root).as_posix() not in wanted:
                path.unlink()
    for room, path, _ in products:
        target = root / room
        if not (target.exists() and target.samefile(path)):
            link_or_copy(path, target)
    rows = file_rows(folder)
    listing = listing_bytes(rows)
    write_atomic(root / f"{name}.files.jsonl", listing)
    body = lock_body(folder, ledger, rows, listing)
    provenance = {
        "package": _package_version(),
        "python": ".".join(map(str, sys.version_info[:3])),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        **checkout(),
    }
    write_atomic(lock_path, pretty(seal_lock({**body, "provenance": provenance})))
    return lock_path


def file_rows(folder: RunFolder) -> list[dict[str, Any]]:
    """The list of files: products by path, with the shards' figures, then the inputs."""
    figures = shard_figures(folder)
    rows: list[dict[str, Any]] = []
    for room, _, entry in product_files(folder):
        row: dict[str, Any] = {
            "path": room, "bytes": entry["bytes"], "sha256": entry["sha256"],
            "role": "tokenizer" if room.startswith("tokenizer/") else "shard",
        }  # fmt: skip
        stem = room.removesuffix(".bin")
        if room.endswith(".bin") and stem in figures:
            kept = ("stream", "domain", "tokens", "documents_ended", "pieces")
            row |= {k: figures[stem][k] for k in kept if k in figures[stem]}
        rows.append(row)
    for entry in input_rows(folder):
        rows.append({
            "path": f"{entry['source']}/{entry['path']}", "bytes": entry["bytes"],
            "sha256": entry["sha256"], "role": "input",
        })  # fmt: skip
    return rows


def listing_bytes(rows: list[dict[str, Any]]) -> bytes:
    """The bytes of ``NAME.files.jsonl``."""
    return b"".join(canonical(row) + b"\n" for row in rows)


def lock_body(
    folder: RunFolder, ledger: Mapping[str, Any], rows: list[dict[str, Any]], listing: bytes
) -> dict[str, Any]:
    """All that a lock says and that follows from the run's records: no provenance, no seal."""
    plan: Plan = folder.plan
    identity = lock_identity(folder)
    name = plan.recipe["name"]
    shards = [r for r in rows if r["role"] == "shard" and r["path"].endswith(".bin")]
    return {
        "schema": LOCK_SCHEMA,
        "name": name,
        "version": plan.recipe["version"],
        "recipe_id": plan.data["recipe_id"],
        "identity": identity,
        "mix_id": f"sha256:{fingerprint(identity)}",
        "outputs": {
            "files": f"{name}.files.jsonl",
            "files_sha256": sha256_hex(listing),
            "kept": kept_digest(folder),
            "shards": len(shards),
            "tokens": sum(int(r.get("tokens", 0)) for r in shards),
            "documents": sum(int(r.get("documents_ended", 0)) for r in shards),
            "bytes": sum(int(r["bytes"]) for r in shards),
        },
        "licences": [
            {k: s[k] for k in ("name", "licence", "licence_text", "accept_unlicensed") if s.get(k)}
            for s in plan.recipe["sources"]
        ],
        "funnel": ledger["records"],
        "checks": check_notes(folder),
        **_decontaminated(plan, ledger),
    }


def _decontaminated(plan: Plan, ledger: Mapping[str, Any]) -> dict[str, Any]:
    """What was done about items of evaluation sets before the text was encoded: for each step that
    looks for them its action, and by set the documents that it was done to (a document counts for
    the first item in it). Nothing where no step does."""
    steps = [
        {"step": s["id"], "action": s["params"]["action"],
         "documents": ledger["found"].get(s["id"], {})}
        for s in plan.recipe["steps"] if s["stage"] == "decontaminate.ngram"
    ]  # fmt: skip
    return {"decontaminated": steps} if steps else {}


def _package_version() -> str:
    from importlib.metadata import version

    return version("corpusmill")
