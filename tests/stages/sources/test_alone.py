"""The loop over plain records gives what the careful reader gives, at every border of its windows."""

from __future__ import annotations

import gzip
import random
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.stages.sources import alone, frames
from corpusmill.stages.sources.mapped import map_file
from corpusmill.stages.sources.packing import Stream
from corpusmill.stages.sources.raw import (
    RawRecord,
    is_length,
    parse_header_lines,
    plain_headers,
)
from corpusmill.stages.sources.records import read_records

MakeRecord = Callable[..., bytes]
PACKS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes, "gzip": lambda r: gzip.compress(r, mtime=0),
    "zstd": zstandard.ZstdCompressor().compress,
}  # fmt: skip


def careful(data: bytes, max_block: int = 1 << 25) -> list[RawRecord]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stream, "alone", lambda stream, max_block: iter(()))
        return list(read_records(data, max_block))


@pytest.mark.parametrize("pack", list(PACKS))
@pytest.mark.parametrize("usual", [50, 333, 1000, 5000])
def test_windows_of_every_size(
    make_record: MakeRecord, tmp_path: Path, pack: str, usual: int
) -> None:
    parts = [make_record(bytes([65 + n % 26]) * (n * 37 % 900)) for n in range(40)]
    parts[20] = make_record(random.Random(1).randbytes(9000))  # longer than a window, packed too
    data = b"".join(PACKS[pack](part) for part in parts)
    (tmp_path / "x").write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(alone, "_LEAST", 50)
        patch.setattr(alone, "_USUAL", usual)
        patch.setattr(alone, "_MOST", 8000)
        mapped = map_file(str(tmp_path / "x"))
        assert list(read_records(mapped, 1 << 25)) == careful(data)
        assert list(read_records(data, 1 << 25)) == careful(data)


@pytest.mark.parametrize("pack", list(PACKS))
def test_plain_records_are_all_read_by_the_loop(make_record: MakeRecord, pack: str) -> None:
    parts = [make_record(b"x" * n) for n in range(60)]
    stream = Stream(b"".join(PACKS[pack](part) for part in parts), pack)  # type: ignore[arg-type]
    found = list(stream.alone(1 << 25))
    assert len(found) == (59 if pack == "plain" else 60)  # behind the last plain one is nothing
    assert [r.block for r in found] == [b"x" * n for n in range(len(found))]


@pytest.mark.parametrize("fast", [True, False])
def test_a_member_is_the_whole_piece_or_nothing(fast: bool) -> None:
    whole = gzip.compress(b"text" * 999, mtime=0)
    tail = whole[-8:]
    with pytest.MonkeyPatch.context() as patch:
        if not fast:
            patch.setattr(frames, "_libdeflate", None)
        assert fast == (frames._libdeflate is not None)
        assert frames.whole_gzip(memoryview(whole)) == b"text" * 999
        broken = bytearray(whole)
        broken[15] ^= 4
        for piece in (
            b"", whole[:5], whole[:-1], whole[:-8], whole + b"\0", whole + b"junk", whole + bytes(8),
            whole[:-8] + bytes(8), whole[:-4] + b"\1\0\0\0", whole[:-4] + b"\xff" * 4, bytes(broken),
            whole + zlib.crc32(b"other").to_bytes(4, "little") + tail[4:],
        ):  # fmt: skip
            assert frames.whole_gzip(memoryview(piece)) is None
        large = gzip.compress(bytes((4 << 20) + 1), 1, mtime=0)
        assert frames.whole_gzip(memoryview(large)) is None


def test_without_libdeflate_the_records_are_the_same(make_record: MakeRecord) -> None:
    data = b"".join(gzip.compress(make_record(b"x" * n), mtime=0) for n in range(30))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frames, "_libdeflate", None)
        slow = list(read_records(data, 1 << 25))
    assert list(read_records(data, 1 << 25)) == slow


NAMES = ("WARC-Type", "warc-type", "Content-Length", "CONTENT-LENGTH", "X", "WARC-Type ", "A:B", "")


@settings(derandomize=True, deadline=None, max_examples=100)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(NAMES),
            st.sampled_from([":", ": ", ":  ", " :", ":\t", "", ":x:"]),
            st.text(st.sampled_from("ab12_+ \té\x0b\x85:/"), max_size=6),
            st.sampled_from(["\r\n", "\r\n", "\r\n", "\r\n", "\n", "\r\n ", "\r\r\n"]),
        ),
        max_size=6,
    )
)
def test_headers_cut_out_one_by_one(lines: list[tuple[str, str, str, str]]) -> None:
    raw = ("WARC/1.0\r\n" + "".join(a + b + c + d for a, b, c, d in lines)).encode()
    raw = raw.removesuffix(b"\r\n")
    headers = plain_headers(raw)
    if headers is None:
        return
    parsed = parse_header_lines(raw)
    for name in {*parsed, "warc-type", "content-length", "x", "a", "none"} - {""}:
        assert headers.get(name) == parsed.get(name), name
        assert headers.get(name, "?") == parsed.get(name, "?")
    length = parsed.get("content-length", "")
    assert headers.length() == (int(length) if is_length(length) else -1)
    assert headers == parsed
    assert len(headers) == len(parsed)


def test_ordinary_headers_are_cut_out_one_by_one(make_record: MakeRecord) -> None:
    head = make_record(b"").partition(b"\r\n\r\n")[0]
    headers = plain_headers(head)
    assert headers is not None
    assert headers.get("content-length") == "0"
    assert headers.get("warc-date") == "2026-01-02T03:04:05Z"
    assert headers["warc-type"] == "response"
    assert repr(headers) == repr(parse_header_lines(head))
