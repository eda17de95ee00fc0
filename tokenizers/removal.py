"""Which shards hold a document, a page or a host; and shards without some documents.

Both work on published shards alone: neither the run's phases nor its inputs are needed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from corpusmill.pipeline.errors import ConfigError, IntegrityError
from corpusmill.pipeline.identity import pretty

from . import formats
from .emitters import Shards

if TYPE_CHECKING:
    import pyarrow as pa

Wanted = Callable[[Mapping[str, Any]], bool]
"""Whether a row of a shard's ``.docs.parquet`` is meant."""


def host_of(url: str) -> str:
    """The host of a URL in lower case, "" if it has none."""
    try:
        return (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return ""


def wanted(
    hosts: tuple[str, ...] = (), urls: tuple[str, ...] = (), ids: tuple[str, ...] = ()
) -> Wanted:
    """A test for the documents of these hosts (their subdomains too), URLs or ids. Raises
    ConfigError if there are none, or one is no host or id."""
    names = tuple(h.lower().rstrip(".") for h in hosts)
    for name in names:
        if not name or "/" in name or " " in name:
            raise ConfigError(f"{name!r} is no host", hint="as example.org, without http://")
    for id_ in ids:
        if len(id_) != 32 or not set(id_) <= set("0123456789abcdef"):
            raise ConfigError(f"{id_!r} is no document id", hint="32 hexadecimal digits")
    if not (names or urls or ids):
        raise ConfigError("nothing is named", hint="--host, --url or --id")
    below = tuple(f".{n}" for n in names)
    exact, pages, known = set(names), set(urls), set(ids)

    def test(row: Mapping[str, Any]) -> bool:
        if row["id"] in known:
            return True
        url = row["url"]
        if url is None:
            return False
        if url in pages:
            return True
        host = host_of(url) if names else ""
        return host in exact or (bool(below) and host.endswith(below))

    return test


def find(shards: Shards, test: Wanted) -> Iterator[dict[str, Any]]:
    """The rows of all pieces that are meant, each with its ``shard``, in the manifest's order."""
    for names in shards.streams().values():
        for name in names:
            for row in shards.table(name).to_pylist():
                if test(row):
                    yield {"shard": f"{name}.bin", **row}


def rewrite(shards: Shards, test: Wanted, out: Path) -> dict[str, Any]:
    """Writes the shards without the documents that are meant below `out`, and their manifest.

    Shards keep their borders: those that hold none of them are the same bytes as before, the
    others are shorter. One that would be empty is left out, and those behind it move up. Returns
    what was removed: documents (copies), tokens, distinct ids, and the shards that changed.
    """
    manifest: dict[str, Any] = dict(shards.manifest)
    gone: set[str] = set()
    summary: dict[str, Any] = {"copies": 0, "tokens": 0, "changed": []}
    rows = {s["name"]: s for s in manifest["shards"]}
    new_rows: list[dict[str, Any]] = []
    lost: dict[str, dict[str, int]] = {}
    for stream, names in shards.streams().items():
        lost[stream] = {"taken": 0, "copies": 0}
        number = 0
        for name in names:
            table = shards.table(name)
            keep = np.array([not test(r) for r in table.to_pylist()], dtype=np.bool_)
            begun = table.column("doc_offset").to_numpy() == 0
            gone.update(table.filter(~keep).column("id").to_pylist())
            lost[stream]["copies"] += int(np.count_nonzero(begun & ~keep))
            if not keep.any():
                lost[stream]["taken"] += rows[name]["tokens"]
                summary["changed"].append(name)
                continue
            stem = name.rsplit("-", 1)[0]
            target = f"{stem}-{number:05d}"
            row = {**rows[name], "name": target, "number": number}
            files = {s: out / f"{target}{s}" for s in formats.SUFFIXES}
            files[".bin"].parent.mkdir(parents=True, exist_ok=True)
            if keep.all():
                for suffix, path in files.items():
                    path.write_bytes((shards.root / f"{name}{suffix}").read_bytes())
            else:
                row |= _without(shards, name, table, keep, files)
                lost[stream]["taken"] += rows[name]["tokens"] - row["tokens"]
                summary["changed"].append(name)
            new_rows.append(row)
            number += 1
    for key in ("taken", "copies"):
        summary["tokens" if key == "taken" else key] = sum(n[key] for n in lost.values())
    summary["ids"] = sorted(gone)
    manifest["shards"] = sorted(new_rows, key=lambda r: str(r["name"]))
    manifest["domains"] = [
        {**s, **{k: s[k] - n for k, n in lost.get(s["stream"], {}).items()}}
        for s in manifest["domains"]
    ]
    for key, rung in (("tokens", False), ("ladder_tokens", True)):
        manifest[key] -= sum(n["taken"] for s, n in lost.items() if s.startswith("scale-") == rung)
    manifest["forgotten"] = {
        "documents": len(gone), "copies": summary["copies"], "tokens": summary["tokens"],
        "ids_sha256": hashlib.sha256("\n".join(summary["ids"]).encode()).hexdigest(),
    }  # fmt: skip
    told = out / "shards/manifest.json"
    told.parent.mkdir(parents=True, exist_ok=True)
    told.write_bytes(pretty(manifest))
    return summary


def _without(
    shards: Shards, name: str, table: pa.Table, keep: Any, files: Mapping[str, Path]
) -> dict[str, Any]:
    """One shard without the pieces that are not to be kept; the new figures of its row."""
    import pyarrow as pa

    tokens, ends = shards.pieces(name)
    if not np.array_equal(table.column("end").to_numpy(), ends.astype(np.int64)):
        raise IntegrityError(f"{name}: its side files do not agree", hint="corpusmill verify")
    starts = np.concatenate([np.zeros(1, np.int64), ends[:-1].astype(np.int64)])
    lengths = ends.astype(np.int64) - starts
    mask = np.repeat(keep, lengths)
    left = table.filter(pa.array(keep))
    new_ends = np.cumsum(lengths[keep])
    for column, values in (("start", new_ends - lengths[keep]), ("end", new_ends)):
        left = left.set_column(left.column_names.index(column), column, pa.array(values))
    writer = formats.ShardWriter(files, shards.dtype)
    writer.add(tokens[mask].astype(np.uint32), left)
    return writer.close()
