"""Where a source's files are: below a folder, or below an ``s3://`` address.

Both list by the same patterns and raise the same errors. `opened` gives a reader a local file in
either case, with the sha256 of exactly the bytes that it reads: an object is copied to a temporary
file that has no name, so that nothing of it is left however a process ends.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO, Protocol

from .errors import ConfigError, InputError
from .identity import sha256_file
from .listing import list_files, list_names, stat_paths
from .object_store import Found, is_address, no_room, store
from .params import shown
from .places import resolve_path
from .stage import InputFile

_HEAD_BYTES = 64 << 10
_AROUND = 64 << 10
_LONG = 1 << 20  # of a record whose length is not known


class Tree(Protocol):
    """The files below one root."""

    root: str
    """An absolute path, or an ``s3://`` address."""

    def exists(self) -> bool:
        """Whether there is such a root."""

    def list_names(self, pattern: str) -> set[str]:
        """As `corpusmill.pipeline.listing.list_names`."""

    def list_files(self, pattern: str, without: Collection[str] = ()) -> list[Found]:
        """As `corpusmill.pipeline.listing.list_files`."""

    def stat_paths(self, names: Sequence[str]) -> list[Found]:
        """As `corpusmill.pipeline.listing.stat_paths`."""

    def beside(self, folder: str) -> list[Found]:
        """The files that lie in a folder below the root ("" or ``a/b/``)."""


class Folder:
    """A folder of this machine."""

    def __init__(self, path: Path) -> None:
        self.root = str(path)
        self._path = path

    def exists(self) -> bool:
        return self._path.is_dir()

    def list_names(self, pattern: str) -> set[str]:
        return list_names(self._path, pattern)

    def list_files(self, pattern: str, without: Collection[str] = ()) -> list[Found]:
        return list_files(self._path, pattern, without)

    def stat_paths(self, names: Sequence[str]) -> list[Found]:
        return stat_paths(self._path, names)

    def beside(self, folder: str) -> list[Found]:
        found = []
        with os.scandir(self._path / folder) as entries:
            for entry in entries:
                if entry.is_file():
                    status = entry.stat()
                    found.append((folder + entry.name, status.st_size, status.st_mtime_ns))
        return sorted(found)


class Objects:
    """The objects below an ``s3://`` address."""

    def __init__(self, root: str) -> None:
        self._store = store(root)
        self.root = self._store.root

    def exists(self) -> bool:
        return self._store.exists()

    def list_names(self, pattern: str) -> set[str]:
        return {name for name, _ in self._matches("", pattern.split("/"))}

    def list_files(self, pattern: str, without: Collection[str] = ()) -> list[Found]:
        found = {}
        for name, file in self._matches("", pattern.split("/")):
            if file is None or name in without:
                continue
            if any(part in ("", ".", "..") for part in name.split("/")):
                raise ConfigError(
                    f"{shown(name)} matches {shown(pattern)} and is no path below the root",
                    hint="rename the object, or name its folder under exclude:",
                )
            found[name] = file
        return [found[name] for name in sorted(found)]

    def stat_paths(self, names: Sequence[str]) -> list[Found]:
        found = self._store.stat(names)
        if len(found) < len(names):
            there = {name for name, _, _ in found}
            first = next(name for name in names if name not in there)
            raise ConfigError(
                f"{len(names) - len(found)} of {len(names)} listed paths are no objects in "
                f"{self.root}, {shown(first)} first",
                hint="upload them, or name them under exclude:",
            )
        return found

    def beside(self, folder: str) -> list[Found]:
        return [file for _, file in self._store.entries(folder) if file is not None]

    def _matches(self, below: str, parts: Sequence[str]) -> Iterator[tuple[str, Found | None]]:
        """What lies in the folder `below` and matches `parts`; folders have None."""
        part, rest = parts[0], parts[1:]
        if part == "**":
            for name, file in self._store.entries(below, deep=True):
                if _fits(name[len(below) :].split("/"), parts):
                    yield name, file
        elif any(c in part for c in "*?["):
            for name, file in self._store.entries(below):
                if fnmatchcase(name[len(below) :], part):
                    if not rest:
                        yield name, file
                    elif file is None:
                        yield from self._matches(f"{name}/", rest)
        elif rest:
            yield from self._matches(f"{below}{part}/", rest)
        else:
            yield from ((file[0], file) for file in self._store.stat([below + part]))


def _fits(names: Sequence[str], parts: Sequence[str]) -> bool:
    if not parts:
        return not names
    if parts[0] == "**":
        return any(_fits(names[n:], parts[1:]) for n in range(len(names)))
    return bool(names) and fnmatchcase(names[0], parts[0]) and _fits(names[1:], parts[1:])


def tree(root: str, base: Path) -> Tree:
    """The files below the `root` of a recipe in the folder `base`. Raises ConfigError if it can be
    no place."""
    return Objects(root) if is_address(root) else Folder(resolve_path(root, base))


def place(root: str, relative: str) -> str:
    """Path or address of a file below a planned root."""
    return f"{root}/{relative}" if is_address(root) else str(Path(root) / relative)


@contextmanager
def opened(file: InputFile, token: int) -> Iterator[tuple[InputFile, str]]:
    """The file as a reader can open it, and its sha256. Raises InputError where it cannot be read
    and where it is not the file that was planned, before or after it was read."""
    if not is_address(file.path):
        _unchanged(file, token)
        try:
            digest = sha256_file(file.path)
        except OSError as error:
            raise InputError(f"{file.relative} cannot be read: {error.strerror}") from None
        yield file, digest
        _unchanged(file, token)
        return
    root, name = _parts(file)
    with _nameless() as copy:
        _reserve(copy, file.size)
        digest = store(root).fetch(name, file.size, token, copy)
        with _told_by(file, copy) as local:
            yield local, digest


@contextmanager
def reopened(
    file: InputFile, places: Sequence[tuple[int, int]] | None = None
) -> Iterator[InputFile]:
    """The file as a reader can open it later on, without its digest. With `places` (offset,
    length) only the records there may be read: of an object, only these are fetched, with some
    bytes around, and its first ones."""
    if not is_address(file.path):
        yield file
        return
    root, name = _parts(file)
    with _nameless() as copy:
        if places is None:
            store(root).fetch(name, file.size, None, copy)
        else:
            ranges = [(at, at + (length or _LONG) + _AROUND) for at, length in places]
            store(root).fetch_part(name, file.size, [(0, _HEAD_BYTES), *ranges], copy)
        with _told_by(file, copy) as local:
            yield local


def still_there(path: str, size: int) -> bool:
    """Whether a file or object of this size is at a planned place."""
    try:
        if not is_address(path):
            return Path(path).is_file() and Path(path).stat().st_size == size
        root, _, name = path.rpartition("/")
        return any(found[1] == size for found in store(root).stat([name]))
    except (OSError, ConfigError):
        return False


def _parts(file: InputFile) -> tuple[str, str]:
    """Root and name of an object; the root is what all files of a source share."""
    return file.path.removesuffix(f"/{file.relative}"), file.relative


@contextmanager
def _nameless() -> Iterator[IO[bytes]]:
    try:
        folder = tempfile.gettempdir()
    except OSError as error:
        raise InputError(
            f"there is no folder for copies of inputs: {error.strerror}", hint="TMPDIR names it"
        ) from None
    with tempfile.TemporaryFile(buffering=0, dir=folder) as copy:
        yield copy


def _reserve(copy: IO[bytes], size: int) -> None:
    """Takes the room for a copy before anything is fetched."""
    try:
        if size:
            os.posix_fallocate(copy.fileno(), 0, size)
    except OSError as error:
        raise no_room(error) from None


@contextmanager
def _told_by(file: InputFile, copy: IO[bytes]) -> Iterator[InputFile]:
    """`file` at the place of its copy; what a reader says of it is said of the original."""
    path = f"/proc/self/fd/{copy.fileno()}"
    try:
        yield replace(file, path=path)
    except InputError as error:
        raise InputError(error.message.replace(path, file.path), hint=error.hint) from None


def _unchanged(file: InputFile, token: int) -> None:
    try:
        status = os.stat(file.path)
    except OSError as error:
        raise InputError(f"{file.relative} cannot be read: {error.strerror}") from None
    if status.st_size != file.size or status.st_mtime_ns != token:
        raise InputError(
            f"{file.relative} is not the file that was planned (size {status.st_size}, planned "
            f"{file.size})",
            hint="the input changed after planning; run again to plan again",
        )
