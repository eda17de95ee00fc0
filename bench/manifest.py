"""The lock at scale: many sources and shards, written, read back, added up and compared.

    python -m bench.manifest [--quick] [--json] [--sources N] [--shards N]

No shard is written: the list of files and the lock are made as for a finished run, with figures
from a hash, and put through what `verify` and `diff` do with them before they look at files.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from corpusmill.pipeline.identity import fingerprint, pretty, sha256_hex
from corpusmill.pipeline.lock import LOCK_SCHEMA, Lock, diff, seal_lock
from corpusmill.pipeline.peak import peak_bytes
from corpusmill.pipeline.publish import listing_bytes

from .harness import Bar, BenchError, Report, finish, parser

SOURCES, QUICK_SOURCES = 10_000, 100
SHARDS, QUICK_SHARDS = 1_000_000, 10_000
TOKENS = 1 << 27


def main(argv: Sequence[str] | None = None) -> int:
    options = parser(__doc__ or "")
    options.add_argument("--sources", type=int, help=f"sources (default {SOURCES})")
    options.add_argument("--shards", type=int, help=f"token shards (default {SHARDS})")
    args = options.parse_args(argv)
    return finish(lambda: measure(args), args.json)


def measure(args: argparse.Namespace) -> Report:
    """One row a step."""
    sources = args.sources or (QUICK_SOURCES if args.quick else SOURCES)
    shards = args.shards or (QUICK_SHARDS if args.quick else SHARDS)
    scratch = Path(tempfile.mkdtemp(prefix="bench-manifest-"))
    rows: list[dict[str, Any]] = []

    def step(name: str, started: float, size: int = 0) -> None:
        peak = peak_bytes() or 0
        rows.append({
            "step": name, "CPU s": round(time.process_time() - started, 2),
            "MB": round(size / 1e6, 1), "peak MB so far": round(peak / 1e6),
        })  # fmt: skip

    try:
        started = time.process_time()
        sizes = [write(scratch / n, sources, shards, weight) for n, weight in (("a", 1), ("b", 2))]
        step("write two", started, sum(sizes[0]))
        started = time.process_time()
        locks = [Lock.load(scratch / n) for n in ("a", "b")]
        step("read both locks", started, sizes[0][0])
        started = time.process_time()
        listed = locks[0].rows()
        step("read a list, with its digest", started, sizes[0][1])
        started = time.process_time()
        total = sum(r["tokens"] for r in listed)
        if (
            total != locks[0].data["outputs"]["tokens"]
            or len({r["path"] for r in listed}) != shards
        ):
            raise BenchError("the list is not what was written")
        step("add up", started)
        started = time.process_time()
        lines = diff(*locks)
        step(f"diff ({len(lines)} lines)", started)
        peak = rows[-1]["peak MB so far"]
    finally:
        shutil.rmtree(scratch)
    return Report(
        "manifest", {"corpusmill": version("corpusmill")}, rows,
        {"lock in MB": Bar(round(sizes[0][0] / 1e6, 2), 10.0, at_most=True),
         "peak in MB": Bar(peak, 4000.0, at_most=True)},
        tuple(rows[0]), notes=[f"{sources} sources, {shards} shards"],
    )  # fmt: skip


def write(folder: Path, sources: int, shards: int, weight: int) -> tuple[int, int]:
    """A lock and its list; the bytes of both. `weight` changes one source's weight."""
    folder.mkdir()
    listing = listing_bytes(list(_rows(sources, shards)))
    (folder / "x.files.jsonl").write_bytes(listing)
    identity = {
        "name": "x", "version": "1", "seed": 1, "sample": None,
        "sources": [_step(f"s{i}", {"weight": weight if i == 7 else 1}) for i in range(sources)],
        "steps": [_step("exact", {})], "products": [_step("shards", {})],
        "inputs": [{"source": f"s{i}", "files": 100, "bytes": 10**9, "sha256": _digest(i),
                    "licence": "CC0-1.0"} for i in range(sources)],
    }  # fmt: skip
    body = {
        "schema": LOCK_SCHEMA, "name": "x", "version": "1", "recipe_id": _digest(0),
        "identity": identity, "mix_id": f"sha256:{fingerprint(identity)}",
        "outputs": {
            "files": "x.files.jsonl", "files_sha256": sha256_hex(listing), "kept": {},
            "shards": shards, "tokens": shards * TOKENS, "documents": shards * 1000,
            "bytes": shards * TOKENS * 2,
        },
        "licences": [{"name": f"s{i}", "licence": "CC0-1.0"} for i in range(sources)],
        "funnel": {"in": 1, "kept": 1, "dropped": {}, "errors": {}}, "checks": [],
        "provenance": {"package": "0", "python": "3", "finished": "2026-11-30T00:00:00Z"},
    }  # fmt: skip
    raw = pretty(seal_lock(body))
    (folder / "x.lock.json").write_bytes(raw)
    return len(raw), len(listing)


def _rows(sources: int, shards: int) -> Iterator[dict[str, Any]]:
    for i in range(shards):
        domain = f"s{i % sources}"
        yield {
            "path": f"shards/{domain}/{domain}-{i // sources:05d}.bin", "bytes": TOKENS * 2,
            "sha256": _digest(i), "role": "shard", "stream": domain, "domain": domain,
            "tokens": TOKENS, "documents_ended": 1000, "pieces": 1001,
        }  # fmt: skip


def _step(name: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"id": name, "stage": "sources.warc", "version": 1, "pins": {}, "params": params}


def _digest(number: int) -> str:
    return hashlib.sha256(str(number).encode()).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
