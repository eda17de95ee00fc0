"""Arrays that take seconds to make from a file, kept for the next process that needs them.

A list of 4.6 million domains takes a CPU second to read and 0.05 to load again. The key is a
digest of everything that the arrays were made from: content of the files, parameters, and the
source of the code that makes them; so a cached array cannot be older than its origin. The folder
is ``CORPUSMILL_CACHE``, else ``corpusmill`` in ``XDG_CACHE_HOME`` or ``~/.cache``; it may be
removed at any time. Where it cannot be written to, arrays are made anew in each process.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Arrays = dict[str, npt.NDArray[Any]]
_KEPT = 8
"""Files of one kind that stay: lists that change daily must not fill a disk."""


def cache_folder() -> Path | None:
    """Where arrays are kept; None if nobody says where the home folder is."""
    if named := os.environ.get("CORPUSMILL_CACHE"):
        return Path(named)
    if named := os.environ.get("XDG_CACHE_HOME"):
        return Path(named) / "corpusmill"
    try:
        return Path.home() / ".cache" / "corpusmill"
    except RuntimeError:
        return None


def digest_of(parts: Iterable[str | bytes | Path]) -> str:
    """SHA-256 over strings, bytes and the content of files, each with its length. Raises OSError
    for a file that cannot be read."""
    whole = hashlib.sha256()
    for part in parts:
        if isinstance(part, Path):
            with part.open("rb") as file:
                one = hashlib.file_digest(file, "sha256").digest()
        else:
            data = part.encode() if isinstance(part, str) else part
            one = hashlib.sha256(data).digest()
        whole.update(one)
    return whole.hexdigest()


def cached(kind: str, key: str, make: Callable[[], Mapping[str, npt.NDArray[Any]]]) -> Arrays:
    """The one-dimensional arrays that `make` gives, from the cache if they are there.

    `kind` names the file for people, `key` is a `digest_of` all that they are made from. A file
    that is not whole is made again. The arrays are read-only.
    """
    folder = cache_folder()
    path = None if folder is None else folder / f"{kind}-{key[:32]}.arrays"
    found = None if path is None else _load(path, key)
    if found is None:
        found = {name: np.ascontiguousarray(array) for name, array in make().items()}
        for array in found.values():
            array.flags.writeable = False
        if path is not None:
            _store(path, _packed(key, found), kind)
    return found


def _packed(key: str, arrays: Arrays) -> Iterator[bytes | memoryview]:
    """A file's bytes in pieces: millions of numbers are not held twice."""
    body = hashlib.sha256()
    for part in _body(arrays):
        body.update(part)
    head = {
        "key": key,
        "body": body.hexdigest(),
        "arrays": [[name, a.dtype.str, len(a)] for name, a in arrays.items()],
    }
    first = json.dumps(head).encode() + b" "
    yield first + _blanks(len(first) + 1, 64) + b"\n"
    yield from _body(arrays)


def _body(arrays: Arrays) -> Iterator[bytes | memoryview]:
    for array in arrays.values():
        yield array.view(np.uint8).data
        yield _blanks(array.nbytes, 8)


def _blanks(size: int, multiple: int) -> bytes:
    """What fills `size` bytes up: numbers must lie at borders of words."""
    return b" " * (-size % multiple)


def _unpack(packed: bytes, key: str) -> Arrays | None:
    """The arrays, or None if any byte is not as it was written."""
    try:
        end = packed.index(b"\n")
        head = json.loads(packed[:end])
        at = end + 1
        whole = hashlib.sha256(memoryview(packed)[at:]).hexdigest() == head["body"]
        if head["key"] != key or not whole:
            return None
        found: Arrays = {}
        for name, kind, count in head["arrays"]:
            found[name] = np.frombuffer(packed, dtype=kind, count=count, offset=at)
            at += -(-found[name].nbytes // 8) * 8
    except (ValueError, KeyError, TypeError):
        return None
    return found


def _load(path: Path, key: str) -> Arrays | None:
    try:
        packed = path.read_bytes()
    except OSError:
        return None
    with contextlib.suppress(OSError):  # a cache that one may only read
        os.utime(path)  # used: it is not the next to go
    return _unpack(packed, key)


def _store(path: Path, packed: Iterable[bytes | memoryview], kind: str) -> None:
    """Writes the file under a name of its own and renames it: two processes may do so at once.
    A cache that cannot be written is no error: it only saves time."""
    half = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with half.open("wb") as file:
            file.writelines(packed)
        half.replace(path)
        others = sorted(path.parent.glob(f"{kind}-*.arrays"), key=lambda p: p.stat().st_mtime_ns)
        for old in others[:-_KEPT]:
            old.unlink(missing_ok=True)
    except OSError:
        with contextlib.suppress(OSError):
            half.unlink(missing_ok=True)


__all__ = ["Arrays", "cache_folder", "cached", "digest_of"]
