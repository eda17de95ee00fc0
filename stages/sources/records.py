"""Records of a WARC 1.x or ARC 1.x file, each with its place, and every byte accounted for.

The rules, which the tests hold for every broken file they know:

* The `length` of a record is the bytes of the file from the end of the record before it to its
  own end. The lengths of all records sum to the file's size.
* A record alone in its compressed member (the normal case) has the member's offset and length.
  Of several records in one member all have the member's `offset`; they differ in `inner`, the
  uncompressed bytes into the member; the last one has the member's `length`, the others 0.
* A record whose member is cut short or corrupt is an error, however complete it looks: its
  checksum could not be checked. Reading goes on at the next member that starts a record.
* A record that does not end where its Content-Length says is an error (``bad_length``); reading
  goes on at the next line that looks like a record's first (behind the block, in a file that has
  been read again for so many lengths that `packing.MAX_REREAD` is reached).
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator

from corpusmill.pipeline.errors import IntegrityError

from .packing import RECORD_START, Stream, find_packing
from .raw import MAX_HEADER, RawRecord, header_end, header_lines, is_length, plain_header

_PIECE = 1 << 20
_BLANK = 4  # the longest blank line that ends a header
_LINE_ENDS = re.compile(rb"[\r\n]*")

ERRORS = (
    "bad_header", "bad_length", "corrupt_member", "garbage", "truncated",
)  # fmt: skip


_ARC_LINE = re.compile(
    r"(?P<url>\S.*?) (?P<ip>[0-9a-fA-F.:\-]+) (?P<date>\d{8,18}) (?P<rest>.*?) ?(?P<size>\S+)"
)


def read_records(data: mmap.mmap | bytes, max_block: int) -> Iterator[RawRecord]:
    """All records of a file, in file order. Blocks longer than `max_block` are skipped over.

    Raises IntegrityError if the lengths do not sum to the file's size (a bug, not bad input).
    """
    if not data:
        return iter(())
    packing = find_packing(data)
    if packing == "unknown":
        kind = "no WARC, ARC, gzip or zstd file"
        return iter([RawRecord("bad", 0, 0, len(data), error="garbage", message=kind)])
    return _records(Stream(data, packing), max_block)


def read_at(data: mmap.mmap | bytes, offset: int, max_block: int) -> Iterator[RawRecord]:
    """The records of the member at `offset` (one, in most files), as `read_records` gives them.
    Not all where a member begins inside a record: what is an error because of the member before
    may be another one here, and a record whose first line ends in the next member is not found."""
    if not 0 <= offset < len(data):
        return
    packing = find_packing(data)
    if packing == "unknown":
        if offset == 0:
            yield from read_records(data, max_block)
        return
    stream = Stream(data, packing)
    stream.start_at(offset)
    for record in _records(stream, max_block):
        if record.offset == offset:
            yield record
        elif record.offset > offset:
            return


def _records(stream: Stream, max_block: int) -> Iterator[RawRecord]:
    told = stream.closed()
    while True:
        if stream.at < len(stream.buf) or stream.more():
            record = _quick(stream, max_block) or _one(stream, max_block)
            told = _measured(record, stream, told)
            yield record
            continue
        if stream.closed() > told:  # a frame with nothing in it that a record could claim
            record = _empty_frame(stream)
            told = _measured(record, stream, told)
            yield record
        start, skipped = stream.skip_padding()
        if skipped:
            record = RawRecord("padding", start, 0, message="zstd skippable frame")
            told = _measured(record, stream, told)
            yield record
        if stream.may_be_alone() and stream.took((yield from stream.alone(max_block))):
            told = stream.closed()
            continue
        step = stream.next_frame()
        if step == "end":
            break
        if step == "gap":
            record = _gap(stream)
            told = _measured(record, stream, told)
            yield record
    if told != len(stream.data):
        raise IntegrityError(f"accounted for {told} of {len(stream.data)} bytes")


def _measured(record: RawRecord, stream: Stream, told: int) -> int:
    """Gives a record just taken the bytes of the file from `told` on; returns their end."""
    closed = stream.closed()
    record.length = closed - told
    return closed


def _empty_frame(stream: Stream) -> RawRecord:
    place = stream.place(stream.position)
    if stream.error:
        kind, message = stream.error
        return RawRecord("bad", *place, error=kind, message=message)
    return RawRecord("padding", *place, message="empty member")


def _quick(stream: Stream, max_block: int) -> RawRecord | None:
    """`_one` for the plain case: a record that lies in the buffer with another behind it."""
    if stream.position < stream.no_blank:
        return None
    header = plain_header(stream.buf, stream.buf, stream.at)
    if header is None:
        return None
    headers, body, size = header
    stop = body + size
    if size > max_block or not stream.buf.startswith(b"\r\n\r\nWARC/", stop):
        return None
    offset, inner = stream.place(stream.position)
    stream.at = stop + 4
    return RawRecord("warc", offset, inner, 0, headers, stream.buf[body:stop], size)


def _gap(stream: Stream) -> RawRecord:
    start, stop = stream.gap
    pieces = (stream.data[at : min(at + _PIECE, stop)] for at in range(start, stop, _PIECE))
    if not any(piece.strip(b"\0") for piece in pieces):
        return RawRecord("padding", start, 0, message="zero bytes")
    return RawRecord("bad", start, 0, error="garbage", message="bytes that start no member")


def _one(stream: Stream, max_block: int) -> RawRecord:
    """The record at `stream.at`, whose bytes (and line ends behind it) are taken."""
    begin = stream.position
    offset, inner = stream.place(begin)
    newlines = _newlines(stream)
    if newlines and stream.at >= len(stream.buf):
        if stream.error:
            return RawRecord("bad", offset, inner, error=stream.error[0], message=stream.error[1])
        return RawRecord("padding", offset, inner, message="line ends")
    start = stream.position
    offset, inner = stream.place(begin if stream.packing == "plain" else start)
    record = RawRecord("bad", offset, inner)
    taken = _header(stream, record)
    if taken < 0:
        stream.find_record(at_line=False)
        return _with_stream_error(record, stream)
    body = start + taken
    if record.size > max_block:
        stream.at += taken
        whole = ends = stream.skip(record.size)
    else:
        whole = stream.need(taken + record.size)
        ends = whole and _may_end(stream, taken + record.size)
        if ends:
            at = stream.at + taken
            record.block = stream.buf[at : at + record.size]
            stream.at = at + record.size
    if ends and _border(stream):
        if stream.error and stream.at >= len(stream.buf):
            record.kind = "bad"
            record.block = None
        return _with_stream_error(record, stream)
    # The block is not what its length says. Whatever follows is looked for from its start.
    available = stream.position if record.size > max_block else stream.base + len(stream.buf)
    if stream.packing == "plain":
        available = len(stream.data)
    record.kind, record.block = "bad", None
    if body >= stream.base and body <= stream.base + len(stream.buf):
        stream.at = body - stream.base
    elif stream.may_rewind(inner + taken, body):
        stream.rewind(offset, inner + taken, body)
    found = stream.find_record(at_line=True)
    if found or whole:
        record.error = "bad_length"
        record.message = f"Content-Length {record.size}, but the block does not end there"
    else:
        record.error = "truncated"
        record.message = f"Content-Length {record.size}, but only {available - body} bytes are left"
    return record if found else _with_stream_error(record, stream)


def _with_stream_error(record: RawRecord, stream: Stream) -> RawRecord:
    """`record`, with what is wrong with its member, if it is the last thing in it."""
    if stream.error and stream.at >= len(stream.buf):
        record.kind, record.block = "bad", None
        record.error, record.message = stream.error
    return record


def _newlines(stream: Stream) -> int:
    """Takes the line ends at `at`, in this frame. Returns how many bytes."""
    count = 0
    while True:
        m = _LINE_ENDS.match(stream.buf, stream.at)
        at = m.end() if m is not None else stream.at
        count += at - stream.at
        stream.at = at
        if at < len(stream.buf) or not stream.more():
            return count


def _may_end(stream: Stream, size: int) -> bool:
    """Whether a record could end `size` bytes behind `at`, told without a copy of its block."""
    end = stream.at + size
    return (
        len(stream.buf) - end < 8192
        or stream.buf[end] in b"\r\n"
        or RECORD_START.match(stream.buf, end) is not None
    )


def _border(stream: Stream) -> bool:
    """Takes the line ends behind a block. Whether a record can end here: at the member's end,
    before another record, or with an empty line."""
    before = stream.position
    _newlines(stream)
    if stream.at >= len(stream.buf):
        return True
    if stream.position - before >= 4:
        return True
    while len(stream.buf) - stream.at < 8192 and stream.more():
        pass
    return RECORD_START.match(stream.buf, stream.at) is not None


def _header(stream: Stream, record: RawRecord) -> int:
    """Reads the header at `stream.at` into `record`; its length, or -1 with `record.error` set."""
    stream.need(5)
    if stream.buf.startswith(b"WARC/", stream.at):
        return _warc_header(stream, record)
    while (have := len(stream.buf) - stream.at) < 8192 and b"\n" not in stream.buf[stream.at :]:
        if not stream.need(have + 1):
            break
    if RECORD_START.match(stream.buf, stream.at):
        return _arc_header(stream, record)
    record.error = "garbage"
    record.message = f"starts with {stream.buf[stream.at : stream.at + 8]!r}"
    return -1


def _warc_header(stream: Stream, record: RawRecord) -> int:
    while True:
        buf, at = stream.buf, stream.at
        start = max(at, stream.no_blank - stream.base)
        end, stop = header_end(buf, start, at + MAX_HEADER)
        if end >= 0:
            break
        have = len(buf) - at
        stream.no_blank = stream.base + min(len(buf), at + MAX_HEADER) - _BLANK
        if have > MAX_HEADER or not stream.need(have + 1):
            record.error, record.message = "bad_header", "no end of the header"
            return -1
    headers = record.headers = header_lines(buf[at:stop])
    length = headers.get("content-length", "")
    if not is_length(length):
        record.error, record.message = "bad_header", f"Content-Length {length[:40]!r}"
        return -1
    record.kind = "warc"
    record.size = int(length)
    return stop - at


def _arc_header(stream: Stream, record: RawRecord) -> int:
    end = stream.buf.find(b"\n", stream.at)
    line = stream.buf[stream.at : end].rstrip(b"\r")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        text = line.decode("latin-1")
    m = _ARC_LINE.fullmatch(text)
    if m is None or not is_length(m["size"]):
        record.error, record.message = "bad_header", f"ARC header line {text[:120]!r}"
        return -1
    record.kind = "arc"
    record.size = int(m["size"])
    record.headers = {
        "warc-target-uri": m["url"],
        "warc-date": m["date"],
        "warc-ip-address": m["ip"],
        "content-type": m["rest"].split(" ")[0],
    }
    return end + 1 - stream.at
