"""Uncompressed bytes of an archive file, with the place of every byte in the file.

An archive is a row of frames: gzip members, zstd frames, or the one plain file. `Stream` hands
out their uncompressed bytes and knows where each frame starts and ends, so that a reader above
it can account for every byte of the file. What is broken ends its frame only: the stream goes on
at the next frame whose first bytes start a record.

FastWARC is not used here, though it is faster. It reports neither where a member ends nor a
member cut short, it stops for good at the first corrupt member, and it cannot tell the records of
a shared member apart; a reader that accounts for every byte needs all of these. Inflating is
native code either way (`zlib`, `zstandard`), and costs a small part of what extraction costs.

Formats: RFC 1952 (gzip), RFC 8878 (zstd, with skippable frames), and the dictionary frame of the
IIPC draft "WARC files with Zstandard compression" (a skippable frame 0x184D2A5D in front).
"""

from __future__ import annotations

import mmap
import re
import zlib
from collections.abc import Callable, Generator
from typing import Any, Literal

from . import libdeflate
from .alone import gzip_members, in_a_row, members
from .frames import MOST_WHOLE, Frame, PackedFrame, PlainFrame, WholeZstd, whole_gzip
from .raw import RawRecord

Packing = Literal["gzip", "zstd", "plain", "unknown"]

GZIP_MAGIC = b"\x1f\x8b\x08"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_ZSTD_DICTIONARY = b"\x5d\x2a\x4d\x18"

_GZIP_IN = 1 << 20
_GZIP_OUT = 4 << 20
_ZSTD_IN = 4 << 10  # a zstd block of 4 bytes may say 128 KiB: small bites bound the memory
_MISSES = 8  # members inflated for nothing in a row, after which none is
_PEEK = 8192  # a first line (ARC) or magic (WARC) fits

_LINE = (
    rb"(?:WARC/\d\.\d+[ \t\r]*\n"
    rb"|[A-Za-z][A-Za-z0-9+.\-]*:[^\r\n]{0,4096}? [0-9a-fA-F.:\-]+ \d{8,18} "
    rb"[^\r\n]{1,256} \S+\r?\n)"
)
RECORD_START = re.compile(_LINE)
"""What a record starts with: the WARC version line, or an ARC 1.0 or 2.0 header line."""
_RECORD_LINE = re.compile(rb"(?m)^" + _LINE)
_MAX_NAME = 4096
"""Longest file name or comment in the header of a gzip member that is looked for after damage:
without a bound each of many magics in garbage would be read to the file's end."""


MAX_REREAD = 4 << 30
"""Uncompressed bytes of one file that may be read a second time, some seconds of work: a file made
of lengths that lie could otherwise be read once for each of its lines."""


def sniff_packing(head: bytes) -> Packing:
    """The packing of a file that begins with `head` (8 KiB are enough)."""
    if head.startswith(b"\x1f\x8b"):
        return "gzip"
    if head.startswith(ZSTD_MAGIC) or (len(head) >= 8 and _skippable(head, 0)):
        return "zstd"
    return "plain" if RECORD_START.search(head) else "unknown"


def find_packing(data: mmap.mmap | bytes) -> Packing:
    """The packing of a file. One that begins with junk is searched for the first record."""
    packing = sniff_packing(data[:_PEEK])
    if packing != "unknown":
        return packing
    candidates: tuple[Packing, ...] = ("gzip", "zstd")
    for candidate in candidates:
        if Stream(data, candidate).find_frame(0) < len(data):
            return candidate
    return "plain" if _RECORD_LINE.search(data) else "unknown"


def _skippable(data: mmap.mmap | bytes, at: int) -> bool:
    magic = data[at : at + 4]
    return len(magic) == 4 and magic[1:] == b"\x2a\x4d\x18" and 0x50 <= magic[0] <= 0x5F


class Stream:
    """The uncompressed bytes of one file. `buf[at:]` is what has been read and not yet taken.

    A position counts uncompressed bytes from the start of the file. `place` turns a position
    into (file offset of the frame it lies in, bytes into that frame).
    """

    def __init__(self, data: mmap.mmap | bytes, packing: Packing) -> None:
        self.data = data
        self.packing = packing
        self.buf = b""
        self.at = 0
        self.base = 0  # position of buf[0]
        self.frame: Frame | None = None
        self._pending: tuple[Frame, bytes] | None = None
        self._joined = b""
        self.gap = (0, 0)
        self._next = 0  # file offset where the next frame should start
        self._starts: list[tuple[int, int]] = []  # (position, file offset) of frame starts
        self._ends: list[tuple[int, int]] = []  # (position, file offset) of frame ends
        self._closed = 0
        self._open: Callable[[int], Frame] = {
            "gzip": self._open_gzip, "zstd": self._open_zstd, "plain": self._open_plain,
        }.get(packing, self._open_plain)  # fmt: skip
        self._dictionary: Any = None
        self._whole: WholeZstd | None = None
        self._misses = 0  # how often `whole_member` was in vain since it was not
        self._reread = 0
        self.no_blank = 0
        """Position up to which no blank line starts, as far as a header was looked for."""

    # -- where things lie ----------------------------------------------------------------------

    @property
    def position(self) -> int:
        return self.base + self.at

    def place(self, position: int) -> tuple[int, int]:
        """(file offset of the frame that holds `position`, bytes into the frame)."""
        if self.packing == "plain":
            return position, 0
        while len(self._starts) > 1 and self._starts[1][0] <= position:
            self._starts.pop(0)
        start, offset = self._starts[0]
        return offset, position - start

    def closed(self) -> int:
        """File offset up to which every byte belongs to what has been taken."""
        if self.packing == "plain":
            return self.position
        while self._ends and self._ends[0][0] <= self.position:
            self._closed = self._ends.pop(0)[1]
        return self._closed

    # -- reading -------------------------------------------------------------------------------

    @property
    def error(self) -> tuple[str, str] | None:
        """What is wrong with the frame at hand, once all its good bytes have been read."""
        return self.frame.error if self.frame is not None else None

    def next_frame(self) -> Literal["frame", "gap", "end"]:
        """Goes to the next frame (all of `buf` must be taken). "gap": the bytes
        `gap` lie between, belong to no frame, and are skipped."""
        self.base += len(self.buf)
        self.buf, self.at = b"", 0
        self.frame = None
        if self._pending is not None:
            frame, piece = self._pending
            self._pending = None
            self._enter(frame, piece)
            return "frame"
        if self._next >= len(self.data):
            return "end"
        if not self._frame_at(self._next):
            start, self._next = self._next, self.find_frame(self._next + 1)
            self.gap = (start, self._next)
            self._closed = self._next
            return "gap"
        frame = self._open(self._next)
        self._enter(frame, self._first(frame))
        return "frame"

    def alone(self, max_block: int) -> Generator[RawRecord, None, int]:
        """The plain records from the next frame on (all before it must be taken), with their
        lengths; returns where they end, for `took`. See `corpusmill.stages.sources.alone`."""
        if self.packing == "plain":
            return in_a_row(self.data, self._next, max_block)
        if self.packing == "gzip" and libdeflate.installed():
            return gzip_members(self.data, self._next, GZIP_MAGIC, MOST_WHOLE, max_block)
        if self.packing == "gzip":
            return members(self.data, self._next, GZIP_MAGIC, whole_gzip, max_block)
        if self._whole is None:
            self._whole = WholeZstd(self._dictionary)
        return members(self.data, self._next, ZSTD_MAGIC, self._whole.inflate, max_block)

    def may_be_alone(self) -> bool:
        """Whether plain records may be looked for: not where there were none for so often."""
        return self._pending is None and self._misses <= _MISSES

    def took(self, end: int) -> bool:
        """Goes on behind the plain records that end at `end`; False if there were none."""
        if end == self._next:
            self._misses += 1
            return False
        self._misses = 0
        self._next = self._closed = end
        self.base = end if self.packing == "plain" else self.base + len(self.buf)
        self.buf, self.at = b"", 0
        self.frame = None
        self._starts.clear()
        self._ends.clear()
        return True

    def more(self) -> bool:
        """Reads on in the frame at hand. False where it has no more."""
        if self.frame is None or self.frame.done or self.frame.error:
            return False
        piece = self.frame.more()
        self.buf = self.buf + piece if self.at < len(self.buf) else self._fresh(piece)
        self._ended()
        return bool(piece)

    def need(self, n: int) -> bool:
        """Makes `n` bytes lie behind `at`. Goes on into the next frame where that does not start
        a record of its own (block-wise gzip). False: there are fewer than `n`."""
        if len(self.buf) - self.at >= n:
            return True
        if self._no_more(n):
            return False
        pieces = [self.buf[self.at :]] if self.at < len(self.buf) else []
        have = sum(map(len, pieces))
        self.base += len(self.buf) - have
        self.at = 0
        self.buf = b""
        while have < n:
            frame = self.frame
            if frame is not None and not (frame.done or frame.error):
                piece = frame.more()
                pieces.append(piece)
                have += len(piece)
                self._ended(self.base + have)
                continue
            if frame is None or frame.error or not self._join(self.base + have):
                break
            if self._joined:
                pieces.append(self._joined)
                have += len(self._joined)
        self.buf = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        return have >= n

    def skip(self, n: int) -> bool:
        """Takes `n` bytes without keeping them; as `need` otherwise."""
        if self.packing == "plain" and n > len(self.buf) - self.at:
            return self._jump(n)
        while n:
            take = min(n, 1 << 20)
            if not self.need(take):
                self.at = len(self.buf)
                return False
            self.at += take
            n -= take
        return True

    def _no_more(self, n: int) -> bool:
        """Whether it is known, without reading on, that fewer than `n` bytes are left."""
        if self.packing == "plain":
            return self.position + n > len(self.data)
        frame = self.frame
        if frame is None or frame.error:
            return True
        return frame.done and (self._pending is not None or self._next >= len(self.data))

    def _jump(self, n: int) -> bool:
        """`skip` in a plain file, where nothing has to be read for it."""
        target = min(self.position + n, len(self.data))
        whole = target == self.position + n
        self.base, self.buf, self.at = target, b"", 0
        self.frame = PlainFrame(self.data, target)
        self.frame.done = target >= len(self.data)
        self._next = len(self.data)
        return whole

    def may_rewind(self, inner: int, position: int) -> bool:
        """Whether `rewind` may still be used: what is read twice is bounded for each file."""
        if self.packing != "plain":
            self._reread += inner + self.position - position
        return self._reread <= MAX_REREAD

    def rewind(self, frame_offset: int, inner: int, position: int) -> None:
        """Goes back to `inner` bytes into the frame at `frame_offset`, which is `position`."""
        self._pending = None
        self._ends.clear()
        self.buf, self.at = b"", 0
        if self.packing == "plain":
            self.base = position
            self._enter(PlainFrame(self.data, position), b"")
            return
        self._starts.clear()
        self.base = position - inner
        frame = self._open(frame_offset)
        self._enter(frame, self._first(frame))
        self.skip(inner)

    def find_record(self, *, at_line: bool) -> bool:
        """Moves `at` to the next record start at a line's start, in this frame; else to its end.
        With `at_line` the line that starts at `at` counts too."""
        while True:
            for m in _RECORD_LINE.finditer(self.buf, self.at if at_line else self.at + 1):
                if m.start() > 0 or at_line:
                    self.at = m.start()
                    return True
            keep = max(self.at, len(self.buf) - _PEEK)
            at_line = at_line and keep == self.at
            self.base += keep
            self.buf, self.at = self.buf[keep:], 0
            if not self.more():
                self.at = len(self.buf)
                return False

    # -- frames --------------------------------------------------------------------------------

    def find_frame(self, at: int) -> int:
        """File offset of the first frame from `at` on that starts a record; else the file's end."""
        if self.packing == "plain":
            return len(self.data)
        magic = GZIP_MAGIC if self.packing == "gzip" else ZSTD_MAGIC
        while True:
            at = self.data.find(magic, at)
            if at < 0:
                return len(self.data)
            if self._may_start(at) and RECORD_START.match(
                self._first(self._open(at)).lstrip(b"\r\n")
            ):
                return at
            at += 1

    def _may_start(self, at: int) -> bool:
        """Whether a gzip header at `at` is one (RFC 1952, section 2.3); True for other packings."""
        if self.packing != "gzip":
            return True
        data = self.data
        header = data[at : at + 12]
        if len(header) < 12 or header[3] & 0xE0:
            return False
        flags = header[3]
        end = at + 10
        if flags & 4:
            end += 2 + int.from_bytes(header[10:12], "little")
        for flag in (8, 16):
            if flags & flag:
                end = data.find(b"\0", end, end + _MAX_NAME) + 1
                if end == 0:
                    return False
        return True

    def _first(self, frame: Frame) -> bytes:
        """The frame's first bytes: enough to see whether they start a record."""
        piece = frame.more()
        while len(piece) < _PEEK and not (frame.done or frame.error):
            piece += frame.more()
        return piece

    def _join(self, position: int) -> bool:
        """Opens the next frame as the continuation of the record at hand, if it is one."""
        self._joined = b""
        if self._pending is not None or self._next >= len(self.data):
            return False
        if not self._frame_at(self._next):
            return False
        frame = self._open(self._next)
        piece = self._first(frame)
        if RECORD_START.match(piece) or (not piece and not frame.done):
            self._pending = (frame, piece)
            return False
        self.frame = frame
        self._joined = piece
        self._starts.append((position, frame.start))
        self._ended(position + len(piece))
        return True

    def _enter(self, frame: Frame, piece: bytes) -> None:
        self.frame = frame
        self._starts.append((self.base, frame.start))
        self.buf, self.at = piece, 0
        self._ended()

    def _fresh(self, piece: bytes) -> bytes:
        self.base += len(self.buf)
        self.at = 0
        return piece

    def _ended(self, position: int | None = None) -> None:
        """Notes the end of the frame at hand, if it was reached."""
        frame = self.frame
        if frame is None or not (frame.done or frame.error):
            return
        if frame.error:
            frame.end = self.find_frame(frame.start + 1)
        self._next = frame.end
        at = self.base + len(self.buf) if position is None else position
        self._ends.append((at, frame.end))

    def _frame_at(self, at: int) -> bool:
        if self.packing == "gzip":
            return self.data[at : at + 3] == GZIP_MAGIC
        if self.packing == "zstd":
            return self.data[at : at + 4] == ZSTD_MAGIC
        return self.packing == "plain"

    def _open_plain(self, at: int) -> Frame:
        return PlainFrame(self.data, at)

    def _open_gzip(self, at: int) -> Frame:
        return PackedFrame(
            self.data, at, zlib.decompressobj(31), GZIP_MAGIC, (zlib.error,), _GZIP_IN, _GZIP_OUT
        )

    def _open_zstd(self, at: int) -> Frame:
        import zstandard

        inflate = zstandard.ZstdDecompressor(dict_data=self._dictionary).decompressobj()
        return PackedFrame(self.data, at, inflate, ZSTD_MAGIC, (zstandard.ZstdError,), _ZSTD_IN, 0)

    def skip_padding(self) -> tuple[int, int]:
        """Steps over zstd skippable frames where a frame should start, loading a dictionary
        among them. Returns their (file offset, length in bytes)."""
        start = self._next
        while self.packing == "zstd" and _skippable(self.data, self._next):
            size = int.from_bytes(self.data[self._next + 4 : self._next + 8], "little")
            stop = self._next + 8 + size
            if stop > len(self.data):
                break
            if self.data[self._next : self._next + 4] == _ZSTD_DICTIONARY and self._next == 0:
                self._load_dictionary(self.data[8:stop])
            self._next = stop
        if self._next > start:
            self._closed = self._next
        return start, self._next - start

    def start_at(self, offset: int) -> None:
        """Begins at the frame (or, in a plain file, the byte) at `offset`."""
        if self.packing == "zstd":
            self.skip_padding()
        self._next = self._closed = offset
        if self.packing == "plain":
            self.base = offset

    def _load_dictionary(self, raw: bytes) -> None:
        import zstandard

        try:
            if raw.startswith(ZSTD_MAGIC):
                raw = zstandard.ZstdDecompressor().decompressobj().decompress(raw)
            made = zstandard.ZstdCompressionDict(raw)
            zstandard.ZstdDecompressor(dict_data=made).decompressobj()
        except zstandard.ZstdError:
            return  # without it every frame that needs it is a corrupt member
        self._dictionary, self._whole = made, None
