"""Canonical bytes and digests: what may bear an identity, and how it is written.

`canonical` refuses whatever has no single spelling (floats, sets, unknown objects), so that a
digest cannot depend on how a number happened to print.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from .errors import CorpusmillError, IntegrityError

SUM_MODULUS = 1 << 128
"""Order-free sums of ids and row hashes are taken modulo this."""


_SCALARS = frozenset({str, int, bool, type(None)})
_TEXT = frozenset({str})
_LISTS = frozenset({list, tuple})


def _is_plain(value: Any) -> bool:
    """Whether `value` is made of dicts with keys of text, lists, tuples and scalars alone. Quick:
    a plan of a whole crawl is a million values, and is hashed by every process that reads it."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        kind = type(item)
        if kind is dict:
            if not _TEXT.issuperset(map(type, item)):
                return False
            inside = item.values()
        elif kind is list or kind is tuple:
            inside = item
        elif kind in _SCALARS:
            continue
        else:
            return False
        if _SCALARS.issuperset(map(type, inside)):
            continue
        rows = _LISTS.issuperset(map(type, inside))
        if not (rows and _SCALARS.issuperset(map(type, chain.from_iterable(inside)))):
            waiting.extend(inside)
    return True


def _plain(value: Any, place: str) -> Any:
    """`value` as dicts, lists and scalars. Raises CorpusmillError for what has no single spelling,
    with its place."""
    if place == "value" and _is_plain(value):
        return value
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Mapping):
        out = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise CorpusmillError(f"{place}: key {key!r} is not text and cannot be hashed")
            out[key] = item if type(item) in _SCALARS else _plain(item, f"{place}.{key}")
        return out
    if isinstance(value, list | tuple):
        return [
            item if type(item) in _SCALARS else _plain(item, f"{place}[{i}]")
            for i, item in enumerate(value)
        ]
    raise CorpusmillError(
        f"{place}: {type(value).__name__} {value!r} has no single spelling and cannot be hashed",
        hint="write fractions as decimal strings",
    )


def canonical(value: Any) -> bytes:
    """Compact canonical JSON: UTF-8, sorted keys, no spaces. Raises on floats and objects."""
    plain = _plain(value, "value")
    text = json.dumps(plain, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text.encode("utf-8")


def pretty(value: Any) -> bytes:
    """The same for files that people read: two-space indent, LF, one newline at the end."""
    plain = _plain(value, "value")
    return (json.dumps(plain, ensure_ascii=False, sort_keys=True, indent=2) + "\n").encode("utf-8")


def sha256_hex(data: bytes) -> str:
    """64 hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def fingerprint(value: Any) -> str:
    """sha256 of the canonical form, 64 hexadecimal digits."""
    return sha256_hex(canonical(value))


def sha256_file(path: Path | str) -> str:
    """sha256 of a file's bytes, read in 1 MiB pieces."""
    h = hashlib.sha256()
    with open(path, "rb") as f:
        while piece := f.read(1 << 20):
            h.update(piece)
    return h.hexdigest()


def sha256_tree(folder: Path) -> tuple[str, int]:
    """Digest and total bytes of a folder: of its sorted (path, size, sha256) lines."""
    rows: list[list[str | int]] = []
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        name = path.relative_to(folder).as_posix()
        if "__pycache__" in name:
            continue
        rows.append([name, path.stat().st_size, sha256_file(path)])
    return fingerprint(rows), sum(int(r[1]) for r in rows)


def sum_ids(ids: Iterable[str]) -> int:
    """Order-free checksum of document ids: their sum modulo 2**128."""
    return sum(int(i, 16) for i in ids) % SUM_MODULUS


def hex128(value: int) -> str:
    """A checksum as 32 hexadecimal digits."""
    return f"{value % SUM_MODULUS:032x}"


def row_hash(doc_id: str, text: str, rest: Mapping[str, Any]) -> int:
    """128-bit hash of one document row; `rest` holds its other values that are not null."""
    h = hashlib.blake2b(digest_size=16, person=b"corpusmill-row")
    h.update(doc_id.encode("ascii"))
    raw = text.encode("utf-8", "surrogatepass")
    h.update(len(raw).to_bytes(8, "little"))
    h.update(raw)
    h.update(
        json.dumps(rest, ensure_ascii=True, sort_keys=True, separators=(",", ":")).encode("ascii")
    )
    return int.from_bytes(h.digest(), "big")


def is_sha256(value: Any) -> bool:
    """Whether the value is a full lower-case sha256."""
    return isinstance(value, str) and len(value) == 64 and set(value) <= set("0123456789abcdef")


def require_sha256(value: Any, place: str) -> str:
    """The value, or IntegrityError naming `place`."""
    if not is_sha256(value):
        raise IntegrityError(f"{place}: {value!r} is not a sha256 (64 hexadecimal digits)")
    return str(value)
