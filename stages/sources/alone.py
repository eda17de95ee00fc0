"""The records of a file that are plain: nothing is odd about them or about what lies around them.

Nearly all of a crawl is such records, and half of a reader's time goes into what it asks of each of
them. So they are read in one loop, and the first thing that is not as plain as can be (a member cut
short or corrupt, several records in one, bytes between two, a header without a length) is left to
`corpusmill.stages.sources.records`, which would have given the same of all before it.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Generator

from .libdeflate import Inflater
from .mapped import reader
from .raw import RawRecord, plain_header

Inflate = Callable[[bytes, int, int], bytes | None]
"""What a member holds that is all of ``data[start:stop]``; None for all else, broken or not."""

_LEAST, _USUAL, _MOST = 64 << 10, 128 << 10, 4 << 20
"""Bytes that are looked at together: few at first, so that a file in which plain records are rare
is not copied over and over; then so many that they and what is made of them stay in the cache;
most where a record is longer than usual."""


def _next_span(at: int, span: int) -> int:
    """Bytes of the next window; `at` is 0 where one of `span` bytes was too short for a record."""
    return min(max(span, _USUAL), 4 * _USUAL) if at else min(4 * span, _MOST)


def members(
    data: mmap.mmap | bytes, start: int, magic: bytes, inflate: Inflate, max_block: int
) -> Generator[RawRecord, None, int]:
    """The records of one compressed member after another, each with one plain record, from the
    member at `start` on. Ends at the first that is not such, and returns its offset."""
    size, read = len(data), reader(data)
    base, at, span = start, 0, _LEAST
    window = read(base, span)
    while window.startswith(magic, at):
        # The next magic is the next member's start, as a rule; where it is not, the member
        # cannot be inflated and is left to the other reader.
        hit = window.find(magic, at + 4)
        while hit < 0 and base + len(window) < size:
            if at == 0 and span == _MOST:
                return base
            base, at, span = base + at, 0, _next_span(at, span)
            window = read(base, span)
            hit = window.find(magic, 4)
        if hit < 0:
            hit = len(window)
        whole = inflate(window, at, hit)
        if whole is None:
            break
        place = base + at, hit - at
        record = _only_record(whole, memoryview(whole), len(whole), place, max_block)
        if record is None:
            break
        yield record
        at = hit
    return base + at


def gzip_members(
    data: mmap.mmap | bytes, start: int, magic: bytes, most: int, max_block: int
) -> Generator[RawRecord, None, int]:
    """`members` of a gzip file by libdeflate, which says where a member of up to `most` bytes
    ends, so that it need not be looked for."""
    size, read = len(data), reader(data)
    base, at, span, last = start, 0, _LEAST, 0
    window = read(base, span)
    inflater = Inflater(most)
    inflater.look_at(window)
    whole, content = inflater.whole, memoryview(inflater.whole)
    while True:
        to_come = base + len(window) < size
        # A member as long as the one before would go on behind the window: inflated for nothing.
        on = at > 0 and to_come and len(window) - at <= last
        packed = made = 0
        if not on:
            if not window.startswith(magic, at):
                break
            packed, made = inflater.inflate(at)
            if not packed and (
                not to_come or (at == 0 and span == _MOST) or window.find(magic, at + 4) >= 0
            ):
                break
        if not packed:
            base, at, span = base + at, 0, _next_span(at, span)
            window = read(base, span)
            inflater.look_at(window)
            continue
        record = _only_record(whole, content, made, (base + at, packed), max_block)
        if record is None:
            break
        yield record
        at += packed
        last = packed
    return base + at


def _only_record(
    whole: bytes | bytearray, content: memoryview, size: int, place: tuple[int, int], max_block: int
) -> RawRecord | None:
    """The record that the first `size` bytes of `whole` are, of a member at `place` (offset,
    length); None for all else. `content` has the same bytes."""
    header = plain_header(whole, content, 0)
    if header is None:
        return None
    headers, body, block = header
    stop = body + block
    if block > max_block or stop + 4 != size or not whole.startswith(b"\r\n\r\n", stop):
        return None
    held = bytes(content[body:stop])
    return RawRecord("warc", place[0], 0, place[1], headers, held, block)


def in_a_row(
    data: mmap.mmap | bytes, start: int, max_block: int
) -> Generator[RawRecord, None, int]:
    """The same for a file that is not compressed; what is behind a record must start another."""
    size, read = len(data), reader(data)
    base, at, span = start, 0, _LEAST
    window = read(base, span)
    while True:
        header = plain_header(window, window, at)
        if header is not None:
            headers, body, block = header
            stop = body + block
            if window.startswith(b"\r\n\r\nWARC/", stop) and block <= max_block:
                held = window[body:stop]
                stop += 4
                yield RawRecord("warc", base + at, 0, stop - at, headers, held, block)
                at = stop
                continue
            if stop + 9 <= len(window) or block > max_block:
                break
        if (at == 0 and span == _MOST) or base + len(window) >= size:
            break
        base, at, span = base + at, 0, _next_span(at, span)
        window = read(base, span)
    return base + at
