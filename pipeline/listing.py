"""Input files by pattern, below a root: every match is read, or the plan stops.

Patterns are those of `pathlib` (``*`` within a name, ``**`` for any folders), matched here because
`pathlib` passes over folders that it may not list and, from one Python to the next, differs in
what ``**`` means.
"""

from __future__ import annotations

import gzip
import os
import stat
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path

from .errors import ConfigError
from .params import shown


def check_pattern(pattern: str) -> None:
    """Raises ConfigError for a pattern that can name no file below a root."""
    parts = pattern.split("/")
    if "\0" in pattern or any(part in ("", ".", "..") for part in parts):
        raise ConfigError(
            f"{shown(pattern)} is no path below the root", hint="write it relative to the root"
        )
    if parts[-1] == "**" or any("**" in part and part != "**" for part in parts):
        raise ConfigError(
            f"{shown(pattern)}: ** stands for whole folders only", hint='write "**/*.warc.gz"'
        )


def list_names(root: Path, pattern: str) -> set[str]:
    """The paths below `root` that `pattern` matches, whatever lies there. Raises ConfigError where
    a folder cannot be listed."""
    with _listing(pattern):
        return set(_matches(root, "", pattern.split("/")))


def list_files(
    root: Path, pattern: str, without: Collection[str] = ()
) -> list[tuple[str, int, int]]:
    """(path below `root` with ``/``, bytes, modification time in nanoseconds) of every file that
    `pattern` matches, sorted. Folders that match and paths in `without` are passed over.

    Raises ConfigError where a folder cannot be listed, and for a match that is no file that can
    be read by its place: a link to nowhere, a pipe, a name that is not UTF-8.
    """
    found: dict[str, tuple[int, int]] = {}
    with _listing(pattern):
        for name in _matches(root, "", pattern.split("/")):
            if name in without:
                continue
            status = os.stat(root / name)
            if stat.S_ISDIR(status.st_mode):
                continue
            if not stat.S_ISREG(status.st_mode):
                raise ConfigError(f"{shown(name)} matches {shown(pattern)} and is no regular file")
            found[name] = (status.st_size, status.st_mtime_ns)
    for name in found:
        try:
            name.encode("utf-8")
        except UnicodeEncodeError:
            raise ConfigError(
                f"the file name {name!a} is not UTF-8",
                hint="rename it: names stand in the account",
            ) from None
    return [(name, *found[name]) for name in sorted(found)]


def read_paths(path: Path, root: str = "") -> list[str]:
    """The lines of a list of paths, gzip or plain, without empty ones. Those that begin with `root`
    (``s3://BUCKET/…``) are cut to what is below it.

    Raises ConfigError for a list that cannot be read or is empty, for a path that stands in it
    twice and for one that leads out of the root.
    """
    try:
        data = path.read_bytes()
        if data.startswith(b"\x1f\x8b"):
            data = gzip.decompress(data)
        lines = [line.strip() for line in data.decode("utf-8").splitlines()]
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise ConfigError(f"the list of paths {path} cannot be read: {error}") from None
    names = [line.removeprefix(f"{root}/") for line in lines if line]
    if not names:
        raise ConfigError(f"the list of paths {path} names no file")
    seen: set[str] = set()
    for name in names:
        parts = name.split("/")
        if "\0" in name or any(part in ("", ".", "..") for part in parts):
            raise ConfigError(
                f"{shown(name)} in {path} is no path below the root",
                hint="addresses that do not begin with root: cut their front off",
            )
        if name in seen:
            raise ConfigError(f"{shown(name)} stands twice in {path}")
        seen.add(name)
    return names


def stat_paths(root: Path, names: Sequence[str]) -> list[tuple[str, int, int]]:
    """As `list_files` for exact paths. Raises ConfigError if any is no regular file, with their
    number."""
    found, missing = [], []
    for name in names:
        try:
            status = os.stat(root / name)
        except OSError:
            missing.append(name)
            continue
        if stat.S_ISREG(status.st_mode):
            found.append((name, status.st_size, status.st_mtime_ns))
        else:
            missing.append(name)
    if missing:
        raise ConfigError(
            f"{len(missing)} of {len(names)} listed paths are no files in {root}, "
            f"{shown(missing[0])} first",
            hint="fetch them, or name them under exclude:",
        )
    return found


@contextmanager
def _listing(pattern: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = f"{shown(str(error.filename))}: " if error.filename else ""
        raise ConfigError(
            f"{shown(pattern)} cannot be listed: {where}{error.strerror or error}",
            hint="remove what cannot be read, or name it under exclude:",
        ) from None


def _matches(root: Path, below: str, parts: Sequence[str]) -> Iterator[str]:
    """Names below `root` that match `parts`, starting in its folder `below`."""
    part, rest = parts[0], parts[1:]
    if part == "**":
        yield from _matches(root, below, rest)
        for entry in _entries(root, below):
            if entry.is_dir(follow_symlinks=False):
                yield from _matches(root, below + entry.name + "/", parts)
        return
    if any(c in part for c in "*?["):
        for entry in _entries(root, below):
            if fnmatchcase(entry.name, part):
                if not rest:
                    yield below + entry.name
                elif entry.is_dir():
                    yield from _matches(root, f"{below}{entry.name}/", rest)
    elif not rest:
        if os.path.lexists(root / (below + part)):
            yield below + part
    elif os.path.isdir(root / (below + part)):
        yield from _matches(root, f"{below}{part}/", rest)


def _entries(root: Path, below: str) -> list[os.DirEntry[str]]:
    with os.scandir(root / below) as entries:
        return sorted(entries, key=lambda e: e.name)
