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

from corpusmill.stages.sources import alone, frames, libdeflate
from corpusmill.stages.sources.mapped import map_file
from corpusmill.stages.sources.packing import Stream
from corpusmill.stages.sources.raw import (
    AsciiHeaders,
    RawRecord,
    header_lines,
    is_length,
    parse_header_lines,
    plain_header,
)
from corpusmill.stages.sources.records import read_records

MakeRecord = Callable[..., bytes]
PACKS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes, "gzip": lambda r: gzip.compress(r, mtime=0),
    "zstd": zstandard.ZstdCompressor().compress,
}  # fmt: skip


def careful(data: bytes, max_block: int = 1 << 25) -> list[RawRecord]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stream, "may_be_alone", lambda stream: False)
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
    assert stream.may_be_alone()
    found = list(stream.alone(1 << 25))
    assert len(found) == (59 if pack == "plain" else 60)  # behind the last plain one is nothing
    assert [r.block for r in found] == [b"x" * n for n in range(len(found))]


WHOLE = gzip.compress(b"text" * 999, mtime=0)
BROKEN = WHOLE[:15] + bytes([WHOLE[15] ^ 4]) + WHOLE[16:]
NO_MEMBERS = (
    b"", WHOLE[:3], WHOLE[:5], WHOLE[:-1], WHOLE[:-8], WHOLE[:-8] + bytes(8), BROKEN, WHOLE[1:],
    WHOLE[:-4] + b"\1\0\0\0", WHOLE[:-4] + b"\xff" * 4,
    WHOLE[:-8] + zlib.crc32(b"other").to_bytes(4, "little") + WHOLE[-4:],
)  # fmt: skip
TAILS = (b"\0", b"junk", bytes(8), WHOLE[-8:], WHOLE[1:], WHOLE)


def test_a_member_is_the_whole_piece_or_nothing() -> None:
    assert frames.whole_gzip(b"ab" + WHOLE + b"c", 2, 2 + len(WHOLE)) == b"text" * 999
    for piece in (*NO_MEMBERS, *(WHOLE + tail for tail in TAILS)):
        assert frames.whole_gzip(piece, 0, len(piece)) is None
    large = gzip.compress(bytes((4 << 20) + 1), 1, mtime=0)
    assert frames.whole_gzip(large, 0, len(large)) is None


def test_libdeflate_says_where_a_member_ends() -> None:
    assert libdeflate.installed()
    inflater = libdeflate.Inflater(4000)
    for tail in (b"", *TAILS):
        inflater.look_at(b"ab" + WHOLE + tail)
        assert inflater.inflate(2) == (len(WHOLE), 3996)
        assert inflater.whole[:3996] == b"text" * 999
        assert inflater.inflate(1) == (0, 0)
    for piece in NO_MEMBERS:
        inflater.look_at(piece)
        assert inflater.inflate(0) == (0, 0)
    for size, taken in ((4000, True), (4001, False)):
        inflater.look_at(member := gzip.compress(bytes(size), mtime=0))
        assert inflater.inflate(0) == ((len(member), size) if taken else (0, 0))


def test_an_inflater_gives_its_decompressor_back(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[int] = []
    made = libdeflate._library()
    free = made.libdeflate_free_decompressor

    def freed(pointer: int) -> None:
        given.append(pointer)
        free(pointer)

    monkeypatch.setattr(made, "libdeflate_free_decompressor", freed)
    inflater = libdeflate.Inflater(9)
    pointer = inflater._arguments[0].value
    assert not given
    del inflater
    assert given == [pointer]


@pytest.mark.parametrize("seed", range(40))
def test_damaged_files_are_read_alike(make_record: MakeRecord, seed: int) -> None:
    drawn = random.Random(seed)
    parts = [make_record(drawn.randbytes(drawn.randrange(2000))) for _ in range(12)]
    data = bytearray(b"".join(gzip.compress(part, mtime=0) for part in parts))
    for _ in range(drawn.randrange(1, 4)):
        at = drawn.randrange(len(data))
        if drawn.random() < 0.5:
            data[at] ^= 1 << drawn.randrange(8)
        else:
            data[at:at] = data[at : at + drawn.randrange(30)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(alone, "_LEAST", 500)
        patch.setattr(alone, "_USUAL", 3000)
        found = list(read_records(bytes(data), 1 << 25))
        patch.setattr(libdeflate, "_library", lambda: None)
        assert list(read_records(bytes(data), 1 << 25)) == found
    assert [(r.offset, r.length, r.block, r.error) for r in careful(bytes(data))] == [
        (r.offset, r.length, r.block, r.error) for r in found
    ]


def test_the_checksum_of_a_members_header_counts(make_record: MakeRecord) -> None:
    member = gzip.compress(make_record(b"x" * 30), mtime=0)
    head = member[:3] + b"\x02" + member[4:10]
    good = head + (zlib.crc32(head) & 0xFFFF).to_bytes(2, "little") + member[10:]
    bad = head + b"\0\0" + member[10:]
    for library in (libdeflate._library(), None):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(libdeflate, "_library", lambda library=library: library)
            errors = [r.error for r in read_records(good + bad + member, 1 << 25)]
        assert errors == ["", "corrupt_member", ""]


def test_without_libdeflate_the_records_are_the_same(make_record: MakeRecord) -> None:
    data = b"".join(gzip.compress(make_record(b"x" * n), mtime=0) for n in range(30))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(libdeflate, "_library", lambda: None)
        assert not libdeflate.installed()
        slow = list(read_records(data, 1 << 25))
    assert list(read_records(data, 1 << 25)) == slow


def test_a_member_behind_a_damaged_copy_of_it_is_not_passed_over(make_record: MakeRecord) -> None:
    member = gzip.compress(make_record(b"x" * 30), mtime=0)
    found = list(read_records(member + b"\0" + member[1:] + member, 1 << 25))
    assert [(r.error, r.length) for r in found] == [
        ("", len(member)), ("garbage", len(member)), ("", len(member)),
    ]  # fmt: skip


NAMES = ("WARC-Type", "warc-type", "Content-Length", "CONTENT-LENGTH", "X", "WARC-Type ", "A:B", "")


@settings(derandomize=True, deadline=None, max_examples=150)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(NAMES),
            st.sampled_from([":", ": ", ":  ", " :", ":\t", "", ":x:"]),
            st.text(st.sampled_from("ab12_+ \té\x0b\x1c:/"), max_size=6),
            st.sampled_from(["\r\n", "\r\n", "\r\n", "\r\n", "\n", "\r\n ", "\r\r\n", "\n\t"]),
        ),
        max_size=6,
    )
)
def test_headers_cut_out_one_by_one(lines: list[tuple[str, str, str, str]]) -> None:
    raw = ("WARC/1.0\r\n" + "".join(a + b + c + d for a, b, c, d in lines)).encode().rstrip()
    parsed = parse_header_lines(raw)
    whole = raw + b"\r\n\r\n"
    headers = header_lines(whole)
    assert isinstance(headers, AsciiHeaders) == raw.isascii()
    for name in {*parsed, "warc-type", "content-length", "x", "a", "none"} - {""}:
        assert headers.get(name) == parsed.get(name), name
        assert headers.get(name, "?") == parsed.get(name, "?")
    assert headers == parsed
    assert len(headers) == len(parsed)
    length = parsed.get("content-length", "")
    found = plain_header(b"." + whole, b"." + whole, 1)
    if not is_length(length):
        assert found is None
    elif b"\n\n" not in whole and b"\n\r\n" not in raw:
        assert found == (parsed, len(whole) + 1, int(length))


def test_of_repeated_headers_the_usual_spelling_counts() -> None:
    lines = b"WARC/1.0\r\ncontent-length: 1\r\nContent-Length: 2\r\nContent-Length: 3\r\n 4"
    assert parse_header_lines(lines) == {"content-length": "2"}
    assert header_lines(lines + b"\r\n\r\n").get("content-length") == "2"
    folded = parse_header_lines(b"WARC/1.0\r\nX: a\r\n b: c\r\nx: d\r\n e: f")
    assert folded == {"x": "a b: c"}


@pytest.mark.parametrize(
    "head", [
        b"WARC/1.0\nContent-Length: 7\n\n", b"WARC/1.0\r\nContent-Length: 7\n\r\n",
        b"WARC/1.0\r\ncontent-length:7\r\n\r\n", b"WARC/1.1\r\nContent-Length: \r\n 7\r\n\r\n",
        "WARC/1.0\r\nX: é\r\nContent-Length: 7 \r\n\r\n".encode(),
    ],
)  # fmt: skip
def test_a_header_ends_at_its_first_blank_line(head: bytes) -> None:
    found = plain_header(head + b"block\r\n\r\n", head, 0)
    assert found is not None
    assert found[1:] == (len(head), 7)


@pytest.mark.parametrize(
    "lines", [
        b"Content-Length: 7\r\n 8", b"Content-Length:x\r\nContent-Length: 7",
        b"Content-Length: +7", b"Content-Length: 1_0", b"X: Content-Length: 7",
        b"Content-Length: 1234567890123456789",
    ],
)  # fmt: skip
def test_what_is_no_length(lines: bytes) -> None:
    head = b"WARC/1.0\r\n" + lines + b"\r\n\r\n"
    assert not is_length(parse_header_lines(head.rstrip()).get("content-length", ""))
    assert plain_header(head, head, 0) is None


def test_ordinary_headers_are_cut_out_one_by_one(make_record: MakeRecord) -> None:
    record = make_record(b"")
    head = record.partition(b"\r\n\r\n")[0]
    headers = header_lines(head + b"\r\n\r\n")
    assert headers.get("content-length") == "0"
    assert headers.get("warc-date") == "2026-01-02T03:04:05Z"
    assert headers["warc-type"] == "response"
    assert repr(headers) == repr(parse_header_lines(head))
