"""Text of three kinds, as much as a measurement wants, from what is installed on this machine.

``code`` (Python sources and C headers), ``prose`` (manual pages and documents, mostly English)
and ``other`` (message catalogues and manual pages in other languages), in the order of a hash of
the path. Nothing is fetched, so that a table says how much of what there was.
"""

from __future__ import annotations

import gzip
import hashlib
import struct
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

KINDS = ("code", "prose", "other")
MOST_CHARACTERS, FEWEST_CHARACTERS = 200_000, 200
_DOCUMENTS = {".gz", ".txt", ".md", ".rst", ".html", ".c", ".pl"}


def by_kind(megabytes: float) -> dict[str, list[str]]:
    """A third of `megabytes` of each kind, less of one that this machine has less of. No text
    comes twice."""
    seen: set[bytes] = set()
    return {kind: _some(kind, megabytes * 1e6 / len(KINDS), seen) for kind in KINDS}


def _some(kind: str, wanted: float, seen: set[bytes]) -> list[str]:
    found: list[str] = []
    size = 0.0
    for path, read in sorted(_paths(kind), key=lambda p: hashlib.sha256(bytes(p[0])).digest()):
        text = read(path)[:MOST_CHARACTERS]
        digest = hashlib.sha256(text.encode()).digest()
        if len(text) < FEWEST_CHARACTERS or digest in seen:
            continue
        seen.add(digest)
        found.append(text)
        size += len(text.encode())
        if size >= wanted:
            break
    return found


def _paths(kind: str) -> Iterator[tuple[Path, Callable[[Path], str]]]:
    share = Path("/usr/share")
    if kind == "code":
        for place in {sysconfig.get_paths()[k] for k in ("stdlib", "purelib")} | {"/usr/include"}:
            for suffix in ("py", "h", "pyi"):
                yield from ((p, plain) for p in Path(place).rglob(f"*.{suffix}"))
        return
    english = kind == "prose"
    for path in share.glob("man/**/*.gz"):
        if (path.parent.parent.name == "man") is english:
            yield path, plain
    if english:
        for path in share.glob("doc/**/*"):
            if path.suffix in _DOCUMENTS and path.is_file():
                yield path, plain
        return
    for root in (share / "locale", Path(sysconfig.get_paths()["purelib"])):
        yield from ((p, messages) for p in root.rglob("*.mo"))


def plain(path: Path) -> str:
    """The text of a file, unpacked; none if it is no text."""
    try:
        raw = path.read_bytes()
        return (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")
    except (OSError, UnicodeDecodeError, EOFError):
        return ""


def messages(path: Path) -> str:
    """The translations in a compiled message catalogue, one after the other."""
    raw = path.read_bytes()
    order = "<" if raw[:4] == b"\xde\x12\x04\x95" else ">"
    count, _, begin = struct.unpack(f"{order}III", raw[8:20])
    rows = struct.iter_unpack(f"{order}II", raw[begin : begin + 8 * count])
    parts = [raw[at : at + size].decode("utf-8", "ignore") for size, at in rows]
    return "\n".join(parts).replace("\0", "\n")
