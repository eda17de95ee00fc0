"""The structure of published shards, from their own files alone: what digests cannot say.

A list of files and a lock can be made anew over shards that someone changed. Here the shards are
read against their manifest and tokenizer: sizes, ids, pieces that tile the stream, an end-of-text
after every document and nowhere else; and against the keyed order, in which every copy of a
document has one place, so that a shard that is missing, doubled or swapped shows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .errors import CorpusmillError, IntegrityError
from .order import order_keys
from .registry import room_module

MANIFEST = "shards/manifest.json"
_FIGURES = ("stream", "domain", "tokens", "documents_ended", "pieces", "bytes")


def check_shards(root: Path, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Faults of the shards below `root`; `rows` are the listed files. No shards, no faults."""
    streams = {str(r["path"]): r for r in rows if _is_stream(r)}
    if not streams and not (root / MANIFEST).exists():
        return []
    try:
        manifest = json.loads((root / MANIFEST).read_bytes())
        shards = {str(s["name"]): s for s in manifest["shards"]}
        encoder = room_module("tokenizers.encode").load(root / "tokenizer")
        faults = _compare_totals(manifest, shards, streams)
    except (CorpusmillError, OSError, LookupError, TypeError, ValueError) as error:
        return [f"{root / MANIFEST} and the tokenizer cannot be read: {_said(error)}"]
    by_domain: dict[str, list[str]] = {}
    for name in sorted(shards):
        by_domain.setdefault(name.rsplit("/", 1)[0], []).append(name)
    for names in by_domain.values():
        order = _Order(int(manifest["seed"]))
        for number, name in enumerate(names):
            if not name.endswith(f"-{number:05d}"):
                faults.append(f"{root / name}: shard {number} of its domain is missing")
                break
            try:
                _check_files(root, name, shards[name], encoder)
                order.follow(room_module("tokenizers.formats").read_pieces(root / f"{name}.bin"))
            except (CorpusmillError, OSError, LookupError, TypeError, ValueError) as error:
                faults.append(f"{root / name}: {_said(error)}")
                break  # what follows in this domain hangs on it
        else:
            if order.open is not None:
                faults.append(f"{root / names[-1]}: its last document has no end in any shard")
    return faults


def _said(error: Exception) -> str:
    return (
        error.message if isinstance(error, CorpusmillError) else f"{type(error).__name__} {error}"
    )


def _is_stream(row: Mapping[str, Any]) -> bool:
    return row["role"] == "shard" and str(row["path"]).endswith(".bin")


def _compare_totals(
    manifest: Mapping[str, Any], shards: Mapping[str, Any], streams: Mapping[str, Any]
) -> list[str]:
    faults = []
    for name in sorted(shards.keys() | {p.removesuffix(".bin") for p in streams}):
        said, listed = shards.get(name), streams.get(f"{name}.bin")
        if said is None or listed is None:
            where = "the manifest" if said is None else "the list of files"
            faults.append(f"{name}: the shard is not in {where}")
        elif any(said.get(k) != listed.get(k) for k in _FIGURES):
            faults.append(f"{name}: manifest and list of files have other counts")
    for key, rung in (("tokens", False), ("ladder_tokens", True)):
        mine = [s for s in shards.values() if str(s["stream"]).startswith("scale-") == rung]
        total = sum(int(s["tokens"]) for s in mine)
        if manifest[key] != total:
            faults.append(f"{MANIFEST}: {manifest[key]} {key}, its shards sum to {total}")
    for share in manifest["domains"]:
        mine = [s for s in shards.values() if s["stream"] == share["stream"]]
        for key, of in (("taken", "tokens"), ("copies", "documents_ended")):
            found = sum(int(s[of]) for s in mine)
            if share[key] != found:
                faults.append(
                    f"{MANIFEST}: domain {share['stream']}: {key} {share[key]}, its shards have "
                    f"{found}"
                )
    return faults


def _check_files(root: Path, name: str, said: Mapping[str, Any], encoder: Any) -> None:
    suffixes = room_module("tokenizers.formats").SUFFIXES
    paths = {s: root / f"{name}{s}" for s in suffixes}
    size = paths[".bin"].stat().st_size
    if size != said["bytes"]:
        raise IntegrityError(f"{size} bytes, the manifest says {said['bytes']}")
    room_module("tokenizers.audit").check_shard(name, paths, said, encoder)


class _Order:
    """Follows one domain's documents through its shards; `open` is the document that has begun
    and not ended."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.open: tuple[str, int, int] | None = None
        self._last: tuple[int, int, str, int] | None = None

    def follow(self, pieces: Any) -> None:
        """The pieces of the next shard. Raises IntegrityError where one is out of place."""
        names = ("id", "copy", "start", "end", "doc_offset", "doc_tokens")
        ids, *numbers = (pieces.column(n).to_pylist() for n in names)
        for doc, copy, start, end, offset, whole in zip(ids, *numbers, strict=True):
            begun = (doc, copy, offset) if offset else None
            if begun != self.open:
                raise IntegrityError(
                    f"token {start}: a piece of {doc} follows where another document should go on "
                    "or begin: a shard is missing, swapped or doubled"
                )
            if not offset:
                self._place(doc, copy, start)
            done = offset + (end - start)
            self.open = (doc, copy, done) if done < whole else None

    def _place(self, doc: str, copy: int, start: int) -> None:
        high, low = order_keys(self.seed, [doc], copy, "place")[0].tolist()
        place = (high, low, doc, copy)
        if self._last is not None and place <= self._last:
            raise IntegrityError(
                f"token {start}: document {doc} stands after one that the keyed order puts behind "
                "it: a shard is swapped or doubled"
            )
        self._last = place
