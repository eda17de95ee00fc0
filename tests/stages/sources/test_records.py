"""Every byte of an archive belongs to one record, whatever is wrong with it."""

from __future__ import annotations

import gzip
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.stages.sources import records as records_module
from corpusmill.stages.sources.packing import Stream, sniff_packing
from corpusmill.stages.sources.raw import RawRecord
from corpusmill.stages.sources.records import read_at, read_records

MAX = 32 << 20
Member = Callable[[bytes], bytes]
MakeRecord = Callable[..., bytes]


def read(data: bytes, max_block: int = MAX) -> list[RawRecord]:
    """All records, after checking what must hold for any input."""
    records = list(read_records(data, max_block))
    assert sum(r.length for r in records) == len(data)
    assert len({(r.offset, r.inner) for r in records}) == len(records)
    assert all(r.length >= 0 for r in records)
    for r in records:
        again = [x for x in read_at(data, r.offset, max_block) if x.inner == r.inner]
        assert again == [r]
    return records


def kinds(records: list[RawRecord]) -> dict[str, int]:
    names = (
        r.error or (r.headers.get("warc-type", "arc") if r.kind != "padding" else "padding")
        for r in records
    )
    return dict(Counter(names))


EXAMPLE = {"warcinfo": 2, "response": 1, "request": 2, "revisit": 1}

# Counted by hand in the unpacked files. Where FastWARC 2.0.1 or warcio 1.8.1 give another
# count, that stands behind the line.
COUNTS: dict[str, dict[str, int]] = {
    "derived/bit-rot-in-second-member.warc.gz": {  # FastWARC stops after 1 record
        "warcinfo": 1, "corrupt_member": 1, "response": 1, "request": 2, "revisit": 1,
    },
    "derived/cut-mid-member.warc.gz": {  # FastWARC gives the cut request as whole
        "warcinfo": 2, "response": 1, "request": 1, "revisit": 1, "truncated": 1,
    },
    "derived/empty.warc.gz": {},
    "derived/frame-per-record.warc.zst": EXAMPLE,
    "derived/garbage-between-members.warc.gz": {**EXAMPLE, "garbage": 1},  # FastWARC: 1 record
    # The line ends were changed and the lengths were not: each record ends before its length.
    "derived/lf-only-line-ends.warc": {"bad_length": 5, "truncated": 1},  # FastWARC: 3 records
    "derived/named-gz-but-plain.warc.gz": EXAMPLE,
    "derived/one-gzip-stream.warc.gz": EXAMPLE,  # warcio: 1 record
    "gowarc/corrupted-mid-record.warc.gz": {"response": 12, "garbage": 1},
    "gowarc/corrupted-trailing-bytes.warc.gz": {"response": 30, "garbage": 1},
    "gowarc/empty.warc.gz": {"padding": 1},
    "gowarc/good.warc.gz": {"response": 50},  # warcio: 1 record
    "gowarc/single-record.warc.gz": {"response": 1},
    "gowarc/skip-non-open.warc.gz": {"response": 10},
    "gowarc/test.warc.gz": {"warcinfo": 1, "request": 1, "response": 1},
    "jwarc/cc.warc.gz": {"response": 1},
    "jwarc/gzip_extra_sl.warc.gz": {"warcinfo": 1},
    "node_warc/books.toscrape.warc.gz": {"request": 30, "response": 30},
    "resiliparse/block-sized-records.warc": {"unknown": 3},
    "resiliparse/block-sized-records.warc.gz": {"unknown": 3},
    "warcio/bad.arc": {"bad_header": 3, "arc": 1},  # lengths "-1", "-1" and "abc"
    "warcio/example-bad-non-chunked.warc.gz": EXAMPLE,
    "warcio/example-digest.warc": {"request": 4},
    "warcio/example-iana.org-chunked.warc": {"warcinfo": 1, "response": 1, "request": 1},
    "warcio/example-resource.warc.gz": {"warcinfo": 2, "resource": 1},
    "warcio/example-space-in-target-uri.warc.gz": {"warcinfo": 1, "resource": 1},
    "warcio/example-space-in-url.arc": {"arc": 1, "truncated": 1},  # 1,579 of 1,591 bytes
    "warcio/example-trunc.warc": {"warcinfo": 2, "bad_length": 1, "request": 1},
    "warcio/example-wget-bad-target-uri.warc.gz": {
        "warcinfo": 1, "request": 1, "response": 1, "metadata": 1, "resource": 2,
    },
    "warcio/example-wrong-chunks.warc.gz": {"response": 1, "request": 1},  # one over 3 members
    "warcio/example.arc": {"arc": 2},  # FastWARC reads no ARC
    "warcio/example.arc.gz": {"arc": 2},
    "warcio/example.warc": EXAMPLE,
    "warcio/example.warc.gz": EXAMPLE,
    "warcio/post-test.warc.gz": {"response": 3, "request": 3},
    # The response's length is one byte short of its gzip body.
    "warcio_js/example-bad-length.warc": {
        "warcinfo": 2, "bad_length": 1, "request": 2, "revisit": 1,
    },
    "warcio_js/post-test-more.warc": {"response": 3, "request": 3},
    "warcio_js/redirect.warc": {"response": 1, "request": 1},
    "webarchive_commons/abcd.gz": {"garbage": 1},
    "webarchive_commons/double-single-inflate-error.gz": {"corrupt_member": 1},
    "webarchive_commons/empty.gz": {"padding": 1},
    "webarchive_commons/hi-2.gz": {"garbage": 1},
    "webarchive_commons/hi.gz": {"garbage": 1},
    "webarchive_commons/mutliple-headers.warc": {"response": 1},
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(COUNTS))
def test_public_archives(warcs: Path, name: str) -> None:
    assert kinds(read((warcs / name).read_bytes())) == COUNTS[name]


def test_every_public_archive_is_in_the_table(warcs: Path) -> None:
    found = {str(p.relative_to(warcs)) for p in warcs.rglob("*") if p.is_file()}
    assert found - set(COUNTS) == {"NOTICE.md", "resiliparse/block-sized-records.warc.lz4"}


HEALTHY = [
    "derived/frame-per-record.warc.zst", "derived/one-gzip-stream.warc.gz", "gowarc/good.warc.gz",
    "node_warc/books.toscrape.warc.gz", "warcio/example.warc", "warcio/example.warc.gz",
    "resiliparse/block-sized-records.warc.gz", "gowarc/test.warc.gz",
]  # fmt: skip


@pytest.mark.parametrize("name", HEALTHY)
def test_blocks_and_headers_equal_fastwarc(warcs: Path, name: str) -> None:
    from fastwarc.warc import ArchiveIterator

    path = warcs / name
    theirs = [
        (r.headers.get("WARC-Record-ID"), r.stream_pos, r.reader.read())
        for r in ArchiveIterator(str(path), parse_http=False, auto_decode="none", fsspec_args=False)
    ]
    ours = [(r.headers.get("warc-record-id"), r.offset, r.block) for r in read(path.read_bytes())]
    assert [(i, b) for i, _, b in ours] == [(i, b) for i, _, b in theirs]
    if "stream" not in name and "good" not in name and "books" not in name:
        assert [o for _, o, _ in ours] == [o for _, o, _ in theirs]


def test_offsets_and_lengths_of_members(make_record: MakeRecord, member: Member) -> None:
    members = [member(make_record(b"a" * n)) for n in (10, 2000, 0)]
    records = read(b"".join(members))
    starts = [0, len(members[0]), len(members[0]) + len(members[1])]
    assert [(r.offset, r.inner, r.length) for r in records] == [
        (s, 0, len(m)) for s, m in zip(starts, members, strict=True)
    ]
    assert [r.block for r in records] == [b"a" * 10, b"a" * 2000, b""]


def test_records_that_share_a_member(make_record: MakeRecord, member: Member) -> None:
    parts = [make_record(b"x" * n) for n in (5, 6, 7)]
    one = member(b"".join(parts))
    first = member(make_record(b"first"))
    records = read(first + one)
    at = len(first)
    inner = [0, len(parts[0]), len(parts[0]) + len(parts[1])]
    assert [(r.offset, r.inner, r.length) for r in records] == [
        (0, 0, at), (at, 0, 0), (at, inner[1], 0), (at, inner[2], len(one)),
    ]  # fmt: skip


def test_a_record_over_several_members(make_record: MakeRecord, member: Member) -> None:
    """Block-wise gzip (bgzip) cuts where it likes; an empty member ends the file."""
    whole = make_record(b"y" * 500) + make_record(b"z" * 500)
    blocks = [member(whole[i : i + 300]) for i in range(0, len(whole), 300)]
    records = read(b"".join(blocks) + member(b""))
    assert [r.block for r in records if r.kind == "warc"] == [b"y" * 500, b"z" * 500]
    assert kinds(records) == {"response": 2, "padding": 1}


@pytest.mark.parametrize("cut", [1, 9, 40, 200])
def test_cut_in_the_last_member(make_record: MakeRecord, member: Member, cut: int) -> None:
    """Also where only the checksum is missing and the record looks whole."""
    block = bytes(range(256)) * 4
    data = member(make_record(b"ok")) + member(make_record(block))
    records = read(data[:-cut])
    assert kinds(records) == {"response": 1, "truncated": 1}
    assert records[1].block is None


def test_wrong_checksum(make_record: MakeRecord, member: Member) -> None:
    middle = bytearray(member(make_record(b"middle")))
    middle[-8] ^= 1
    data = member(make_record(b"first")) + bytes(middle) + member(make_record(b"last"))
    assert [r.error or r.block for r in read(data)] == [b"first", "corrupt_member", b"last"]


def test_reading_goes_on_inside_a_broken_member(make_record: MakeRecord, member: Member) -> None:
    """A member cut in the middle with whole ones behind it, as two joined files have it."""
    whole = member(make_record(bytes(range(256)) * 8))
    data = whole[: len(whole) // 2] + member(make_record(b"next"))
    records = read(data)
    assert [r.error or r.block for r in records] == ["corrupt_member", b"next"]
    assert records[1].offset == len(whole) // 2


def test_zero_bytes_behind_the_last_member(make_record: MakeRecord, member: Member) -> None:
    records = read(member(make_record(b"a")) + b"\0" * 512)
    assert [(r.kind, r.length) for r in records][1] == ("padding", 512)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_length_too_large(make_record: MakeRecord, pack: Callable[[bytes], bytes]) -> None:
    data = make_record(b"one", length=4000) + make_record(b"two") + make_record(b"three")
    assert [r.error or r.block for r in read(pack(data))] == ["bad_length", b"two", b"three"]


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_length_too_small(make_record: MakeRecord, pack: Callable[[bytes], bytes]) -> None:
    data = make_record(b"<p>one two three", length=5) + make_record(b"four")
    assert [r.error or r.block for r in read(pack(data))] == ["bad_length", b"four"]


def test_length_past_the_file(make_record: MakeRecord) -> None:
    records = read(make_record(b"one") + make_record(b"two", length=10**15))
    assert [r.error or r.block for r in records] == [b"one", "truncated"]
    records = read(make_record(b"one", length=10**15) + make_record(b"two"))
    assert [r.error or r.block for r in records] == ["bad_length", b"two"]


@pytest.mark.parametrize("length", ["", "-1", "12a", "9" * 5000])
def test_no_usable_length(make_record: MakeRecord, length: str) -> None:
    bad = make_record(b"x").replace(b"Content-Length: 1", f"Content-Length: {length}".encode())
    records = read(bad + make_record(b"two"))
    assert [r.error or r.block for r in records] == ["bad_header", b"two"]


def test_a_block_that_holds_an_archive(make_record: MakeRecord, member: Member) -> None:
    inner = make_record(b"inner") + make_record(b"inner 2")
    for pack in (bytes, member):
        records = read(pack(make_record(inner)) + pack(make_record(b"after")))
        assert [r.block for r in records] == [inner, b"after"]


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_long_blocks_are_stepped_over(
    make_record: MakeRecord, pack: Callable[[bytes], bytes]
) -> None:
    data = pack(make_record(b"a" * 3_000_000) + make_record(b"after"))
    records = read(data, max_block=1000)
    assert [(r.size, r.block) for r in records] == [(3_000_000, None), (5, b"after")]


def test_long_url_and_folded_header(make_record: MakeRecord) -> None:
    url = "http://example.test/" + "x" * 70_000
    record = make_record(b"b", url=url, WARC_Truncated="length\r\n and more")
    (read_back,) = read(record)
    assert read_back.headers["warc-target-uri"] == url
    assert read_back.headers["warc-truncated"] == "length and more"


def test_doubled_carriage_returns() -> None:
    data = b"WARC/1.0\r\r\nWARC-Type: response\r\r\nContent-Length: 2\r\r\n\r\r\nab\r\r\n\r\r\n"
    assert [r.block for r in read(data)] == [b"ab"]


def test_zstd_with_dictionary_and_skippable_frames(make_record: MakeRecord) -> None:
    records = [make_record(f"block number {i} of the same kind".encode()) for i in range(40)]
    dictionary = zstandard.train_dictionary(2048, [*records * 20])
    compress = zstandard.ZstdCompressor(dict_data=dictionary, write_content_size=True)
    raw = zstandard.ZstdCompressor().compress(dictionary.as_bytes())
    frame = b"\x5d\x2a\x4d\x18" + len(raw).to_bytes(4, "little") + raw
    skip = b"\x50\x2a\x4d\x18" + (3).to_bytes(4, "little") + b"abc"
    data = frame + b"".join(compress.compress(r) for r in records) + skip
    back = read(data)
    assert kinds(back) == {"padding": 2, "response": 40}
    assert back[7].block == b"block number 6 of the same kind"
    assert (back[0].length, back[-1].length) == (len(frame), len(skip))


def test_not_an_archive() -> None:
    assert sniff_packing(b"<!doctype html>") == "unknown"
    (record,) = read(b"<!doctype html>")
    assert (record.error, record.length) == ("garbage", 15)


def test_arc_2_header_line() -> None:
    line = b"http://example.test/ 192.0.2.1 20010203040506 text/html 200 - - 0 x.arc.gz 4\n"
    (record,) = read(line + b"body\n")
    assert record.block == b"body"
    assert record.headers["content-type"] == "text/html"
    assert record.headers["warc-date"] == "20010203040506"


@st.composite
def _damage(draw: st.DrawFn) -> Callable[[bytes], bytes]:
    kind = draw(st.sampled_from(["flip", "cut", "insert", "remove", "double"]))
    where = draw(st.floats(0, 1))
    junk = draw(st.binary(min_size=1, max_size=40))

    def apply(data: bytes) -> bytes:
        at = int(where * len(data))
        if kind == "flip":
            return data[:at] + bytes(b ^ 0x5A for b in data[at : at + len(junk)]) + data[at + 40 :]
        if kind == "cut":
            return data[:at]
        if kind == "insert":
            return data[:at] + junk + data[at:]
        if kind == "remove":
            return data[:at] + data[at + len(junk) :]
        return data[:at] + data[max(0, at - 300) :]

    return apply


@pytest.mark.parametrize(
    "name",
    ["warcio/example.warc.gz", "derived/one-gzip-stream.warc.gz", "warcio/example.warc",
     "derived/frame-per-record.warc.zst", "warcio/example.arc.gz"],
)  # fmt: skip
@settings(derandomize=True, deadline=None, max_examples=60)
@given(damage=st.lists(_damage(), min_size=1, max_size=3))
def test_any_damage_is_accounted_for(name: str, damage: list[Callable[[bytes], bytes]]) -> None:
    data = (Path(__file__).resolve().parents[2] / "data" / "warc" / name).read_bytes()
    for apply in damage:
        data = apply(data)
    if data:
        read(data)


def test_members_that_are_whole_survive_any_damage_elsewhere(
    make_record: MakeRecord, member: Member
) -> None:
    members = [member(make_record(f"record {i}".encode() * 20)) for i in range(6)]
    for victim in range(6):
        for step in range(0, len(members[victim]), 7):
            broken = bytearray(members[victim])
            broken[step] ^= 0xFF
            data = b"".join([*members[:victim], bytes(broken), *members[victim + 1 :]])
            good = [r.block for r in read(data) if r.kind == "warc"]
            for i in range(6):
                if i != victim:
                    assert f"record {i}".encode() * 20 in good


def test_a_bomb_does_not_fill_the_memory(make_record: MakeRecord) -> None:
    compress = zlib.compressobj(9, wbits=31)
    parts = [compress.compress(make_record(b"", length=60_000_000)[:-4])]
    parts += [compress.compress(bytes(1 << 20)) for _ in range(57)]
    parts += [compress.compress(bytes(60_000_000 - (57 << 20)) + b"\r\n\r\n"), compress.flush()]
    (record,) = list(read_records(b"".join(parts), 1000))
    assert (record.size, record.block, record.error) == (60_000_000, None, "")


def by_the_long_way(data: bytes, max_block: int = 1 << 25) -> list[RawRecord]:
    """`read_records` without its short cuts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records_module, "_quick", lambda stream, max_block: None)
        patch.setattr(Stream, "may_be_alone", lambda stream: False)
        return list(read_records(data, max_block))


@pytest.mark.parametrize("max_block", [1 << 25, 100])
def test_short_cuts_give_what_the_long_way_gives(warcs: Path, max_block: int) -> None:
    for name in COUNTS:
        data = (warcs / name).read_bytes()[:50_000]  # the long ones are cut
        for part in (data, data[7:], data + data, data + b"\0" * 9):
            assert list(read_records(part, max_block)) == by_the_long_way(part, max_block), name


@settings(derandomize=True, deadline=None, max_examples=40)
@given(
    blocks=st.lists(st.sampled_from([b"", b"\r\n", b"ab", b"\r\n\r\n", b"WARC/1.0\r\n"]), max_size=5),
    lengths=st.lists(st.sampled_from([None, None, None, 0, 3, 4, 90]), max_size=5),
    tails=st.lists(st.sampled_from([b"\r\n\r\n", b"\n\n", b"", b"\r\n", b"\r\n\r\n\n", b"abcd"]), max_size=5),
    pack=st.sampled_from([bytes, gzip.compress, zstandard.ZstdCompressor().compress]),
    together=st.booleans(),
)  # fmt: skip
def test_short_cuts_on_records_that_end_oddly(
    blocks: list[bytes], lengths: list[int | None], tails: list[bytes],
    pack: Callable[[bytes], bytes], together: bool,
) -> None:  # fmt: skip
    parts = []
    for block, length, tail in zip(blocks, lengths, tails, strict=False):
        size = len(block) if length is None else length
        head = f"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: {size}\r\n\r\n".encode()
        parts.append(head + block + tail)
    data = pack(b"".join(parts)) if together else b"".join(pack(part) for part in parts)
    assert list(read_records(data, 1 << 20)) == by_the_long_way(data, 1 << 20)


@pytest.mark.parametrize("raw", [b"\x28\xb5\x2f\xfd damaged", b"\x37\xa4\x30\xec damaged", b""])
def test_a_dictionary_that_cannot_be_read_costs_the_members_that_need_it(
    make_record: MakeRecord, raw: bytes
) -> None:
    words = zstandard.ZstdCompressionDict(b"WARC/1.0 and other words" * 20)
    head = b"\x5d\x2a\x4d\x18" + len(raw).to_bytes(4, "little") + raw
    with_it = zstandard.ZstdCompressor(dict_data=words).compress(make_record(b"a" * 50))
    without = zstandard.ZstdCompressor().compress(make_record(b"b" * 50))
    records = read(head + without + with_it + without)
    assert [r.block for r in records if r.block] == [b"b" * 50, b"b" * 50]
    assert sum(bool(r.error) for r in records) == 1
