"""Every write of the engine goes through here: temporary name, fsync, rename, record last.

`fault_point` is called before each step that a crash could cut in two; the crash tests make it
kill the process at the n-th one.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import uuid
from collections.abc import Iterable
from pathlib import Path

FAULT_VARIABLE = "CORPUSMILL_FAULT"
"""``KIND:N``: SIGKILL this process at its N-th fault point of that kind (``any`` for all)."""

_seen: dict[str, int] = {}


def fault_point(kind: str) -> None:
    """A place where a crash is possible: ``open``, ``write``, ``fsync``, ``rename``, ``commit``,
    ``seal``, ``publish``, ``remove``."""
    wanted = os.environ.get(FAULT_VARIABLE)
    if wanted is None:
        return
    want_kind, _, count = wanted.partition(":")
    for name in (kind, "any"):
        _seen[name] = _seen.get(name, 0) + 1
        if want_kind == name and _seen[name] == int(count):
            os.kill(os.getpid(), signal.SIGKILL)


def new_attempt() -> str:
    """A name that no other attempt has: 12 hexadecimal digits, never part of a product."""
    return uuid.uuid4().hex[:12]


def sync_file(path: Path) -> None:
    """Flushes a finished file to the disk."""
    fault_point("fsync")
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sync_folder(path: Path) -> None:
    """Flushes a folder's entries to the disk."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems
            raise
    finally:
        os.close(fd)


def _write_temporary(path: Path, pieces: Iterable[bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.parent / f".{path.name}.{new_attempt()}.tmp"
    fault_point("open")
    with open(temporary, "xb") as f:
        fault_point("write")
        f.writelines(pieces)
        f.flush()
        fault_point("fsync")
        os.fsync(f.fileno())
    return temporary


def write_atomic(path: Path, data: bytes) -> None:
    """Puts `data` at `path`: readers see the old file or the new one, never a part."""
    write_pieces(path, (data,))


def write_pieces(path: Path, pieces: Iterable[bytes]) -> None:
    """`write_atomic` of bytes that come piece by piece. Where they end in an exception, `path`
    stays as it was."""
    temporary = _write_temporary(path, pieces)
    fault_point("rename")
    os.replace(temporary, path)
    sync_folder(path.parent)


def write_exclusive(path: Path, data: bytes, kind: str = "commit") -> bytes | None:
    """Creates `path` with `data` unless it exists; returns None, or the bytes that were there."""
    temporary = _write_temporary(path, (data,))
    try:
        fault_point(kind)
        os.link(temporary, path)
    except FileExistsError:
        return path.read_bytes()
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(path.parent)
    return None


def move_into_place(temporary: Path, final: Path) -> None:
    """Renames a finished, synced file to its final name."""
    final.parent.mkdir(parents=True, exist_ok=True)
    fault_point("rename")
    os.replace(temporary, final)
    sync_folder(final.parent)


def remove_tree(folder: Path) -> None:
    """Removes a folder that has a meaning: first its name, in one step, then its files. A crash
    leaves a ``.….tmp`` beside it, never a folder with half of its files."""
    aside = folder.parent / f".{folder.name}.{new_attempt()}.tmp"
    fault_point("rename")
    os.replace(folder, aside)
    fault_point("remove")
    shutil.rmtree(aside)


def link_or_copy(source: Path, target: Path) -> None:
    """Publishes a committed file under a second name: a hard link, or a copy across devices."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.parent / f".{target.name}.{new_attempt()}.tmp"
    fault_point("publish")
    try:
        os.link(source, temporary)
    except OSError:
        shutil.copyfile(source, temporary)
        sync_file(temporary)
    os.replace(temporary, target)
    temporary.unlink(missing_ok=True)  # os.replace of two links to one file leaves the old name
    sync_folder(target.parent)
