"""Inputs in an object store that speaks S3: listed once, fetched by ranges, hashed on the way.

A source's root may be ``s3://BUCKET/PREFIX``. Who we are and where the store is come from the
environment, never from the recipe, so that neither plan nor lock can hold them:

* ``AWS_ACCESS_KEY_ID``, ``AWS_SECRET_ACCESS_KEY``, ``AWS_SESSION_TOKEN``, profiles and instance
  roles, as the AWS tools read them; ``CORPUSMILL_S3_ANONYMOUS=1`` for public buckets;
* ``AWS_ENDPOINT_URL_S3`` or ``AWS_ENDPOINT_URL``: the address of another store than Amazon's;
* ``AWS_REGION`` or ``AWS_DEFAULT_REGION``; without them the bucket is asked, or ``us-east-1``.

An ETag is no digest (of an upload in parts it is not even a hash of the bytes), so an input's
identity is its sha256 here as everywhere. Size and time of change are planned; size, time and ETag
must be the same before and after a fetch, so that a change in mid-read cannot pass.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from typing import IO, Any

from .errors import ConfigError, InputError
from .params import shown

SCHEME = "s3://"
RANGE_BYTES = 8 << 20
"""Bytes of one request: long enough that its latency does not count, short enough to repeat."""

ATTEMPTS = 5
"""How often a request is made before its error is the input's (with growing pauses between)."""

_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._\-]{1,253}[A-Za-z0-9]")
_ASK_ONE_BY_ONE = 8
"""From more names than these in a folder, it is cheaper to list the folder."""

_SECOND = 1_000_000_000

Found = tuple[str, int, int]
"""(name below the root, bytes, time of the last change in nanoseconds)."""


def is_address(root: str) -> bool:
    """Whether a root names a place in an object store."""
    return root.startswith(SCHEME)


def check_address(root: str) -> None:
    """Raises ConfigError for an ``s3://`` root that names no bucket, or no place in one."""
    bucket, slash, prefix = root.removeprefix(SCHEME).partition("/")
    if not _BUCKET.fullmatch(bucket):
        raise ConfigError(f"{shown(root)} names no bucket", hint="s3://BUCKET/PREFIX")
    if slash and any(part in ("", ".", "..") for part in prefix.rstrip("/").split("/") if prefix):
        raise ConfigError(f"{shown(root)} is no place in a bucket", hint="s3://BUCKET/PREFIX")


class Store:
    """The objects below one ``s3://`` root. Names are relative to it, with ``/``."""

    def __init__(self, root: str) -> None:
        check_address(root)
        self.root = root.rstrip("/")
        self._base = self.root.removeprefix(SCHEME)
        self._files = _file_system(_settings(self._base.partition("/")[0]))

    def exists(self) -> bool:
        """Whether anything lies below the root. Raises ConfigError if it may not be asked."""
        import pyarrow.fs as fs

        try:
            return bool(self._files.get_file_info(self._base).type != fs.FileType.NotFound)
        except OSError as error:
            raise _config_error(self.root, error) from None

    def entries(self, below: str, *, deep: bool = False) -> Iterator[tuple[str, Found | None]]:
        """(name, what is there) of everything in the folder `below` the root ("" or ``a/b/``),
        with `deep` in its folders too, sorted; None stands for a folder."""
        import pyarrow.fs as fs

        place = f"{self._base}/{below}".rstrip("/")
        try:
            listed = self._files.get_file_info(
                fs.FileSelector(place, recursive=deep, allow_not_found=True)
            )
        except OSError as error:
            raise _config_error(f"{SCHEME}{place}", error) from None
        cut = len(self._base) + 1
        for info in sorted(listed, key=lambda i: i.path):
            name = info.path[cut:]
            if info.type == fs.FileType.File:
                yield name, (name, info.size, _whole_seconds(info.mtime_ns))
            else:
                yield name, None

    def stat(self, names: Sequence[str]) -> list[Found]:
        """Those of `names` that are objects, in their order. Raises ConfigError as `entries`."""
        folders: dict[str, list[str]] = {}
        for name in names:
            folders.setdefault(name.rpartition("/")[0], []).append(name)
        found: dict[str, Found] = {}
        for folder, inside in folders.items():
            if len(inside) > _ASK_ONE_BY_ONE:
                below = f"{folder}/" if folder else ""
                found |= {n: f for n, f in self.entries(below) if f is not None}
            else:
                found |= {f[0]: f for f in self._asked(inside)}
        return [found[name] for name in names if name in found]

    def _asked(self, names: list[str]) -> Iterator[Found]:
        import pyarrow.fs as fs

        try:
            told = self._files.get_file_info([f"{self._base}/{name}" for name in names])
        except OSError as error:
            raise _config_error(self.root, error) from None
        for name, info in zip(names, told, strict=True):
            if info.type == fs.FileType.File:
                yield name, info.size, _whole_seconds(info.mtime_ns)

    def fetch(
        self, name: str, size: int, token: int | None = None, into: IO[bytes] | None = None
    ) -> str:
        """The sha256 of an object, which is written into the file `into`. `token` is its planned
        time; without it any will do.

        Raises InputError where it cannot be read to its end, and where it is not the object that
        was planned, or becomes another one while it is read.
        """
        what = f"{self.root}/{name}"
        digest = hashlib.sha256()
        try:
            with self._files.open_input_file(f"{self._base}/{name}") as handle:
                tag = _tag(handle, size, token, what)
                for at in range(0, size, RANGE_BYTES):
                    piece = _range(handle, at, min(RANGE_BYTES, size - at), what)
                    digest.update(piece)
                    if into is not None:
                        _keep(into, piece)
        except OSError as error:
            raise _input_error(what, error) from None
        if self.tag(name, size, token) != tag:
            raise InputError(f"{what} was written anew while it was read", hint="run again")
        return digest.hexdigest()

    def tag(self, name: str, size: int, token: int | None) -> str:
        """The object's ETag. Raises InputError if size or time are not the planned ones."""
        what = f"{self.root}/{name}"
        try:
            with self._files.open_input_file(f"{self._base}/{name}") as handle:
                return _tag(handle, size, token, what)
        except OSError as error:
            raise _input_error(what, error) from None

    def fetch_part(
        self, name: str, size: int, ranges: list[tuple[int, int]], into: IO[bytes]
    ) -> None:
        """Makes a file of `size` bytes with holes, in which the bytes of `ranges` (first, behind
        the last) are those of the object. Raises InputError as `fetch` does."""
        what = f"{self.root}/{name}"
        into.truncate(size)
        try:
            with self._files.open_input_file(f"{self._base}/{name}") as handle:
                if handle.size() != size:
                    raise _changed(what, size, handle.size())
                for start, stop in ranges:
                    for at in range(start, min(stop, size), RANGE_BYTES):
                        piece = _range(handle, at, min(RANGE_BYTES, min(stop, size) - at), what)
                        into.seek(at)
                        _keep(into, piece)
        except OSError as error:
            raise _input_error(what, error) from None


@lru_cache(maxsize=64)
def store(root: str) -> Store:
    """The `Store` of a root, one a process."""
    return Store(root)


def _settings(bucket: str) -> tuple[tuple[str, Any], ...]:
    env = os.environ
    endpoint = env.get("AWS_ENDPOINT_URL_S3") or env.get("AWS_ENDPOINT_URL") or None
    if endpoint is not None and not endpoint.startswith(("http://", "https://")):
        raise ConfigError(f"AWS_ENDPOINT_URL is {shown(endpoint)}", hint="https://store.example")
    anonymous = env.get("CORPUSMILL_S3_ANONYMOUS", "")
    if anonymous not in ("", "0", "1"):
        raise ConfigError(f"CORPUSMILL_S3_ANONYMOUS is {shown(anonymous)}", hint="1, or not set")
    region = env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION")
    if not region and endpoint is not None:
        region = "us-east-1"
    return (
        ("anonymous", anonymous == "1"),
        ("endpoint_override", endpoint),
        ("region", region or bucket),
        ("ask_region", not region),
    )


@lru_cache(maxsize=16)
def _file_system(settings: tuple[tuple[str, Any], ...]) -> Any:
    import pyarrow.fs as fs

    chosen = dict(settings)
    if chosen.pop("ask_region"):
        try:
            chosen["region"] = fs.resolve_s3_region(chosen["region"])
        except OSError as error:
            raise _config_error(SCHEME + chosen["region"], error) from None
    try:
        return fs.S3FileSystem(
            **chosen, connect_timeout=10, request_timeout=60,
            retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS),
        )  # fmt: skip
    except (OSError, ValueError) as error:
        raise ConfigError(f"the object store cannot be used: {error}") from None


def _tag(handle: Any, size: int, token: int | None, what: str) -> str:
    told = {k.lower(): v.decode("latin-1") for k, v in handle.metadata().items()}
    length = int(handle.size())
    time = _http_time(told.get("last-modified", ""))
    if length != size or (token is not None and time not in (None, token)):
        raise _changed(what, size, length)
    return str(told.get("etag", ""))


def _range(handle: Any, at: int, want: int, what: str) -> bytearray:
    """`want` bytes from `at` on. pyarrow says that all came also where the store sent fewer, and
    hands out whatever lay in its memory: so the end is painted first, and may not stay as it is.
    (Bytes that are the paint are read again under another.)"""
    for paint in (b"\x5a" * min(16, want), b"\xa5" * min(16, want)):
        piece = bytearray(want)
        piece[-len(paint) :] = paint
        handle.seek(at)
        got = handle.readinto(piece)
        if got == want and not piece.endswith(paint):
            return piece
    raise InputError(f"{what}: fewer than the {want} bytes that were asked for at {at} came")


def _keep(into: IO[bytes], piece: bytearray) -> None:
    view = memoryview(piece)
    try:
        while view:
            view = view[into.write(view) :]
    except OSError as error:
        raise no_room(error) from None


def no_room(error: OSError) -> InputError:
    """What is said where a copy cannot be written."""
    return InputError(
        f"no room for a copy of the input: {error.strerror}",
        hint="TMPDIR names the folder in which inputs lie while they are read",
    )


def _whole_seconds(mtime_ns: int | None) -> int:
    """Times in whole seconds: a listing may tell more of a time than the object itself does."""
    return 0 if mtime_ns is None else mtime_ns // _SECOND * _SECOND


def _http_time(value: str) -> int | None:
    """Nanoseconds of a ``Last-Modified`` as pyarrow spells it (``2026-11-30T00:52:04Z``)."""
    try:
        return int(datetime.fromisoformat(value).timestamp()) * _SECOND
    except ValueError:
        return None


def _changed(what: str, planned: int, size: int) -> InputError:
    return InputError(
        f"{what} is not the object that was planned (size {size}, planned {planned})",
        hint="the input changed after planning; run again to plan again",
    )


def _reason(error: OSError) -> str:
    return str(error).replace("\n", " ")[:500]


_DENIED = ("ACCESS_DENIED", "HTTP RESPONSE CODE 403", "CREDENTIAL", "SIGNATURE", "ACCESS_KEY")


def _hint(error: OSError) -> str:
    text = str(error).upper()
    if any(word in text for word in _DENIED):
        return "AWS_ACCESS_KEY_ID and the like, or CORPUSMILL_S3_ANONYMOUS=1 for a public bucket"
    if "NETWORK_CONNECTION" in text or "CURL" in text:
        return "is AWS_ENDPOINT_URL right, and can this machine reach it?"
    return "check the address, AWS_ENDPOINT_URL and AWS_REGION"


def _config_error(what: str, error: OSError) -> ConfigError:
    return ConfigError(f"{shown(what)} cannot be listed: {_reason(error)}", hint=_hint(error))


def _input_error(what: str, error: OSError) -> InputError:
    return InputError(f"{what} cannot be read: {_reason(error)}", hint=_hint(error))


__all__ = [
    "ATTEMPTS",
    "RANGE_BYTES",
    "SCHEME",
    "Store",
    "check_address",
    "is_address",
    "no_room",
    "store",
]
