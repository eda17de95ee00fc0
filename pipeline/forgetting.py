"""`forget`: a result without some documents, with the proof; and where documents lie."""

from __future__ import annotations

import shutil
import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .by_address import ids_of
from .durable import write_atomic
from .errors import ConfigError, IntegrityError
from .identity import fingerprint, pretty, sha256_file, sha256_hex
from .lock import Lock, seal_lock
from .mix_verbs import compare, diff_lines
from .publish import listing_bytes
from .registry import room_module
from .verifying import verify


def test_of(options: Namespace) -> Any:
    """The test for the documents that the options name."""
    found = ids_of(Path(options.run), options.email_hash)
    if options.email_hash and not found:
        raise ConfigError("no kept document of the run holds such an address")
    return room_module("tokenizers.removal").wanted(
        tuple(options.host), tuple(options.url), (*options.id, *found)
    )


def places(root: Path, test: Any) -> Iterator[dict[str, Any]]:
    """Where in the shards below `root` the documents lie that are meant."""
    shards = room_module("tokenizers.emitters").Shards.open(root)
    yield from room_module("tokenizers.removal").find(shards, test)


def forget(root: Path, out: Path, test: Any) -> dict[str, Any]:
    """Makes, at `out`, the result at `root` without the documents that are meant: tokenizer,
    shards, list of files and a lock, which names the lock it came from. Checked by `verify` and by
    looking for the documents again. Returns what was removed.

    The tokenizer stays: what it learnt from them cannot be told from what it learnt elsewhere. The
    run's own folder is not touched; `corpusmill clean` or its removal is up to the caller.
    """
    if out.exists() and any(out.iterdir()):
        raise ConfigError(f"{out} is not empty", hint="name a new folder")
    old = Lock.load(root)
    shards = room_module("tokenizers.emitters").Shards.open(root)
    removal = room_module("tokenizers.removal")
    summary: dict[str, Any] = removal.rewrite(shards, test, out)
    if not summary["ids"]:
        shutil.rmtree(out)
        raise ConfigError("no document in the shards is meant", hint="corpusmill trace --host …")
    for row in old.rows():
        if row["role"] == "tokenizer":
            target = out / row["path"]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((root / row["path"]).read_bytes())
    _lock(old, out, summary)
    found = next(places(out, test), None)
    if found is not None:
        raise IntegrityError(f"{found['shard']} still holds {found['id']}")
    verify(out, raise_on_fault=True)
    return summary


def _lock(old: Lock, out: Path, summary: dict[str, Any]) -> None:
    """List of files and lock of the new result."""
    shards = room_module("tokenizers.emitters").Shards.open(out)
    figures = {s["name"]: s for s in shards.manifest["shards"]}
    rows = []
    for path in sorted(p for p in out.rglob("*") if p.is_file()):
        name = path.relative_to(out).as_posix()
        row: dict[str, Any] = {
            "path": name, "bytes": path.stat().st_size, "sha256": sha256_file(path),
            "role": "tokenizer" if name.startswith("tokenizer/") else "shard",
        }  # fmt: skip
        if name.endswith(".bin"):
            kept = ("stream", "domain", "tokens", "documents_ended", "pieces")
            row |= {k: figures[name.removesuffix(".bin")][k] for k in kept}
        rows.append(row)
    rows += [r for r in old.rows() if r["role"] == "input"]
    listing = listing_bytes(rows)
    streams = [r for r in rows if str(r["path"]).endswith(".bin") and r["role"] == "shard"]
    identity = {
        **old.data["identity"],
        "forget": {
            "lock": old.mix_id, "files_sha256": old.files_sha256,
            **shards.manifest["forgotten"],
        },
    }  # fmt: skip
    body = {k: v for k, v in old.data.items() if k not in ("seal", "provenance")}
    body |= {
        "identity": identity, "mix_id": f"sha256:{fingerprint(identity)}",
        "outputs": {
            **old.data["outputs"], "files_sha256": sha256_hex(listing), "shards": len(streams),
            "tokens": sum(r["tokens"] for r in streams),
            "documents": sum(r["documents_ended"] for r in streams),
            "bytes": sum(r["bytes"] for r in streams),
        },
    }  # fmt: skip
    from importlib.metadata import version

    provenance = {
        "package": version("corpusmill"), "python": ".".join(map(str, sys.version_info[:3])),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }  # fmt: skip
    write_atomic(out / str(old.data["outputs"]["files"]), listing)
    write_atomic(out / old.path.name, pretty(seal_lock({**body, "provenance": provenance})))


def forget_verb(options: Namespace) -> int:
    from .verbs import show_json, show_lines

    root, out = Path(options.run), Path(options.out)
    summary = forget(root, out, test_of(options))
    if options.json:
        show_json({**summary, "lock": Lock.load(out).mix_id, "out": str(out)})
        return 0
    print(
        f"removed {len(summary['ids'])} documents ({summary['copies']} copies, "
        f"{summary['tokens']} tokens) from {len(summary['changed'])} shards"
    )
    show_lines(diff_lines(root, out, compare(root, out)))
    print(f"{out}: verified; none of them is found in it")
    return 0


def places_verb(root: Path, options: Namespace) -> int:
    """``trace --host|--url|--id``: the shards that hold such documents."""
    from .verbs import show_json, show_lines

    rows = list(places(root, test_of(options)))
    if options.json:
        show_json(rows)
        return 0
    show_lines(f"{r['shard']}:{r['start']}..{r['end']}  {r['id']}  {r['url']}" for r in rows)
    shards = {r["shard"] for r in rows}
    tokens = sum(r["end"] - r["start"] for r in rows)
    print(f"{len({r['id'] for r in rows})} documents, {tokens} tokens, in {len(shards)} shards")
    return 0


VERBS = {"forget": forget_verb}
