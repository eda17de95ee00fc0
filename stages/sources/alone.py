"""The records of a file that are plain: nothing is odd about them or about what lies around them.

Nearly all of a crawl is such records, and half of a reader's time goes into what it asks of each of
them. So they are read in one loop, and the first thing that is not as plain as can be (a member cut
short or corrupt, several records in one, bytes between two, a header without a length) is left to
`corpusmill.stages.sources.records`, which would have given the same of all before it.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator

from .mapped import reader
from .raw import MAX_HEADER, RawRecord, plain_headers

Inflate = Callable[[memoryview], "bytes | bytearray | None"]
"""What a member holds whose bytes are all of those given; None for all else, broken or not."""

_LEAST, _USUAL, _MOST = 64 << 10, 512 << 10, 4 << 20
"""Bytes that are looked at together: few at first, so that a file in which plain records are rare
is not copied over and over; most where a record is longer than usual."""


def _next_span(at: int, span: int) -> int:
    """Bytes of the next window; `at` is 0 where one of `span` bytes was too short for a record."""
    return min(span * 4, _USUAL if at else _MOST)


def members(
    data: mmap.mmap | bytes, start: int, magic: bytes, inflate: Inflate, max_block: int
) -> Iterator[tuple[int, RawRecord]]:
    """(offset of the next member, record) of one compressed member after another, each with one
    plain record, from the member at `start` on; ends at the first that is not."""
    size, read = len(data), reader(data)
    base, at, span = start, 0, _LEAST
    window = read(base, span)
    view = memoryview(window)
    while window.startswith(magic, at):
        # The next magic is the next member's start, as a rule; where it is not, the member
        # cannot be inflated and is left to the other reader.
        hit = window.find(magic, at + 4)
        while hit < 0 and base + len(window) < size:
            if at == 0 and span == _MOST:
                return
            base, at, span = base + at, 0, _next_span(at, span)
            window = read(base, span)
            view = memoryview(window)
            hit = window.find(magic, 4)
        if hit < 0:
            hit = len(window)
        whole = inflate(view[at:hit])
        if whole is None:
            return
        end = whole.find(b"\r\n\r\n", 0, MAX_HEADER)
        if end < 0 or not whole.startswith(b"WARC/"):
            return
        content = memoryview(whole)
        headers = plain_headers(bytes(content[:end]))
        if headers is None:
            return
        block = headers.length()
        stop = end + 4 + block
        if not 0 <= block <= max_block or len(whole) != stop + 4 or not whole.endswith(b"\r\n\r\n"):
            return
        held = bytes(content[end + 4 : stop])
        yield base + hit, RawRecord("warc", base + at, 0, 0, headers, held, block)
        at = hit


def in_a_row(
    data: mmap.mmap | bytes, start: int, max_block: int
) -> Iterator[tuple[int, RawRecord]]:
    """The same for a file that is not compressed; what is behind a record must start another."""
    size, read = len(data), reader(data)
    base, at, span = start, 0, _LEAST
    window = read(base, span)
    while True:
        end = window.find(b"\r\n\r\n", at, at + MAX_HEADER)
        stop, block, headers = -1, 0, None
        if end >= 0 and window.startswith(b"WARC/", at):
            headers = plain_headers(window[at:end])
            if headers is None:
                return
            block = headers.length()
            stop = end + 4 + block
            if not 0 <= block <= max_block:
                return
        if headers is None or stop + 9 > len(window):
            if (at == 0 and span == _MOST) or base + len(window) >= size:
                return
            base, at, span = base + at, 0, _next_span(at, span)
            window = read(base, span)
            continue
        if not window.startswith(b"\r\n\r\nWARC/", stop):
            return
        record = RawRecord("warc", base + at, 0, 0, headers, window[end + 4 : stop], block)
        at = stop + 4
        yield base + at, record
