"""One frame of an archive at a time: a gzip member, a zstd frame, or the one plain file.

What `corpusmill.stages.sources.packing` strings together. Formats: RFC 1952 (gzip), RFC 8878
(zstd).
"""

from __future__ import annotations

import mmap
import zlib
from typing import Any, Protocol

_PLAIN_IN = 1 << 20
MOST_WHOLE = 4 << 20
"""Longer members are inflated piece by piece."""


class Frame(Protocol):
    """One gzip member, zstd frame or plain file, being read."""

    start: int
    end: int  # file offset of the first byte behind the frame, once `done`
    done: bool
    error: tuple[str, str] | None  # (type, message): the frame can give no more

    def more(self) -> bytes:
        """The next uncompressed bytes; empty only where the frame is done or broken."""


class PlainFrame:
    """The one frame of a file that is not compressed, handed out in pieces of 1 MiB."""

    def __init__(self, data: mmap.mmap | bytes, start: int) -> None:
        self.start = start
        self.end = start
        self.done = False
        self.error: tuple[str, str] | None = None
        self._data = data

    def more(self) -> bytes:
        piece = self._data[self.end : self.end + _PLAIN_IN]
        self.end += len(piece)
        self.done = self.end >= len(self._data)
        return piece


class PackedFrame:
    """A frame behind a decompressor with the interface of `zlib.decompressobj`."""

    def __init__(
        self, data: mmap.mmap | bytes, start: int, decompressor: Any, magic: bytes,
        errors: tuple[type[Exception], ...], bite: int, out: int,
    ) -> None:  # fmt: skip
        self.start = start
        self.end = start
        self.done = False
        self.error: tuple[str, str] | None = None
        self._data = data
        self._next = start
        self._inflate = decompressor
        self._args = (out,) if out else ()
        self._magic = magic
        self._errors = errors
        self._bite = bite
        self._left = b""

    def more(self) -> bytes:
        while not (self.done or self.error):
            piece = self._left
            if not piece:
                if self._next >= len(self._data):
                    self.end = len(self._data)
                    self.error = ("truncated", "the file ends inside a compressed member")
                    return b""
                # Usually the next magic is the start of the next member: feed just up to it, so
                # that a whole member takes one call and nothing has to be copied back.
                stop = min(self._next + self._bite, len(self._data))
                hit = self._data.find(self._magic, self._next + 4, stop)
                piece = self._data[self._next : hit if hit > 0 else stop]
                self._next += len(piece)
            try:
                out: bytes = self._inflate.decompress(piece, *self._args)
            except self._errors as err:
                self.end = self._next
                self.error = ("corrupt_member", str(err))
                return b""
            self._left = getattr(self._inflate, "unconsumed_tail", b"")
            if self._inflate.eof:
                self.end = self._next - len(self._inflate.unused_data)
                self.done = True
            if out:
                return out
        return b""


def whole_gzip(data: bytes, start: int, stop: int) -> bytes | None:
    """What a gzip member holds that is the whole of ``data[start:stop]`` and inflates to no more
    than `MOST_WHOLE` bytes; None for all else, broken or not. With zlib, in twice the time of
    `corpusmill.stages.sources.libdeflate`."""
    inflate = zlib.decompressobj(31)
    try:
        out = inflate.decompress(memoryview(data)[start:stop], MOST_WHOLE)
    except zlib.error:
        return None
    return out if inflate.eof and not inflate.unused_data else None


class WholeZstd:
    """The same for zstd frames that say how long they are, with one decompressor for all."""

    def __init__(self, dictionary: Any) -> None:
        import zstandard

        self._inflate = zstandard.ZstdDecompressor(dict_data=dictionary)
        self._size, self._error = zstandard.frame_content_size, zstandard.ZstdError

    def inflate(self, data: bytes, start: int, stop: int) -> bytes | None:
        """What the frame holds that is ``data[start:stop]``, or None."""
        piece = memoryview(data)[start:stop]
        try:
            if not 0 < self._size(piece) <= MOST_WHOLE:
                return None
            out: bytes = self._inflate.decompress(piece, allow_extra_data=False)
        except self._error:
            return None
        return out
