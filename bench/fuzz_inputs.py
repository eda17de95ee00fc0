"""The inputs of `bench.fuzz`: seeds, and what is changed of them."""

from __future__ import annotations

import gzip
import itertools
import random
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "tests" / "data" / "fuzz"
"""Inputs that once were faults, or first ran some line: a folder for each target."""

WARC_WORDS = (
    b"WARC/1.0\r\n",
    b"\r\n\r\n",
    b"\n\n",
    b"Content-Length: 0\r\n",
    b"Content-Length: 99\r\n",
    b"\r\n ",
    b"content-length: 3\r\n",
    b"WARC-Type: response\r\n",
    b"http://a.example/ 1.1.1.1 20260101000000 a 9\n",
    b"filedesc://x 0.0.0.0 20260101000000 text/plain 5\n",
    b"\x1f\x8b\x08",
    b"\x28\xb5\x2f\xfd",
    b"\x50\x2a\x4d\x18\x04\0\0\0abcd",
    b"\x5d\x2a\x4d\x18\x04\0\0\0abcd",
    b"\0" * 40,
    b"\n\r\r\n",
    b"Content-Length: 99999\r\n",
    b"WARC-Type: revisit\r\n",
    b"WARC-Type: conversion\r\n",
    b"WARC-Type: resource\r\n",
    b"WARC-Target-URI: <http://a.example/robots.txt>\r\n",
    b"Content-Type: application/http; msgtype=response\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>",
    b"Content-Encoding: gzip\r\n",
    b"Transfer-Encoding: chunked\r\n",
)
BODY_WORDS = (
    b"5\r\n",
    b"0\r\n\r\n",
    b"ffffffff\r\n",
    b"\x1f\x8b\x08",
    b"\x78\x9c",
    b"\x28\xb5\x2f\xfd",
    b"<html>",
    b"\r\n",
    b"a;x=1\r\n",
)
PAGE_WORDS = (
    b"<html lang=de>",
    b"<!--",
    b"-->",
    b"<meta name=robots content=noai>",
    b"<script>",
    b"</script>",
    b'<script type="application/ld+json">{"license": "x"}</script>',
    b"<?xml version='1.0'?>",
    b"<rss>",
    b"HTTP/1.1 200 OK\r\n",
    b"ICY 200\r\n",
    b"Link: <a>; rel=license\r\n",
    b"\r\n\r\n",
    b"\0",
    b"\xff\xfe",
    b"<link rel=license href=x>",
    b"<a rel='license' href=y>",
    b"%PDF-",
    b"RIFF",
    b"....ftyp",
    b'{"a":1}',
    b"<div>" * 50,
    b"<table><tr><td>",
    b"<li>",
    b"<pre>",
    b"<svg>",
    b"<math><mi>",
    b"</p>",
    b"<p>",
    b"tdm-reservation: 1\r\n",
    b"content-language: en\r\n",
    b"<meta name='tdm-policy'>",
    b"<meta name='tdm-reservation' content=1>",
    b"<meta name=copyright content=x>",
    b"<meta http-equiv=content-language content=de>",
    b"Content-Type: text/html; charset=shift_jis\r\n",
    b"Content-Type: application/octet-stream\r\n",
    b"<meta charset=iso-2022-jp>",
    b"\xef\xbb\xbf",
    b"<?xml version='1.0'?><urlset>",
    b"\x1b$B",
)
INDEX_WORDS = (
    b" CDX N b a m s k r M S V g\n", b" CDX a V\n", b"- - ", b"\n", b" {", b"}", b'"offset": "',
    b'"length": ', b"\x1f\x8b\x08", b"99999999999999999999", b"0 ", b'"filename": "x"',
    b"!meta\n", b"null",
)  # fmt: skip
WAT_WORDS = (
    b'{"Envelope":', b'"WARC-Header-Metadata":{"WARC-Type":"response"}',
    b'"HTML-Metadata":{"Links":[', b'{"path":"A@/href","url":"u","text":"t"},', b"null", b"[", b"{",
    b"}", b"]", b'"', b",", b"1e999", b'"\\ud800"', b'"Status":"200"', b"\xff", b'"rel":"license"',
    b'"Head":{"Metas":[{"name":"robots","content":"noai"}]}',
    b'"Headers":{"Content-Language":"de"}', b'"http-equiv":"content-language"',
)  # fmt: skip


_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x5d\x2a\x4d\x18")
_LENGTH = re.compile(rb"(?<=Content-Length: )\d+")
_LINE = re.compile(rb"(?m)^[A-Za-z-]+:[^\n]*\n")


def changed(draw: random.Random, data: bytes, words: Sequence[bytes], others: list[bytes]) -> bytes:
    """`data` with one to four changes."""
    out = bytearray(data)
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(out) + 1)
        kind = draw.randrange(7)
        if kind == 0 and out:
            out[at % len(out)] ^= 1 << draw.randrange(8)
        elif kind == 1:
            del out[at : at + draw.choice((1, 2, 9, 200, 5000))]
        elif kind == 2:
            out[at:at] = draw.choice(words)
        elif kind == 3:
            word = draw.choice(words)
            out[at : at + len(word)] = word
        elif kind == 4:
            other = draw.choice(others)
            start = draw.randrange(len(other) + 1)
            out[at:at] = other[start : start + draw.choice((10, 300, 4000))]
        elif kind == 5:
            del out[at:]
        else:
            out[at:at] = bytes([draw.randrange(256)]) * draw.choice((1, 4, 9000))
    return bytes(out[:60_000])


def reshaped(draw: random.Random, data: bytes) -> bytes:
    """An archive, not packed, with a length or a header line of it written in another way."""
    out = data
    for _ in range(draw.randint(0, 3)):
        pattern = _LENGTH if draw.random() < 0.4 else _LINE
        found = list(pattern.finditer(out))[:200]
        if not found:
            continue
        m = draw.choice(found)
        new = _other_length(draw, m[0]) if pattern is _LENGTH else _other_line(draw, m[0])
        out = out[: m.start()] + new + out[m.end() :]
    return out


def _other_length(draw: random.Random, digits: bytes) -> bytes:
    number = int(digits[:9])
    by = draw.choice((-4, -2, -1, 1, 2, 4, 40, number, 9 * number, 10**17))
    return str(max(0, number + by)).encode()


def _other_line(draw: random.Random, line: bytes) -> bytes:
    name, _, value = line.partition(b":")
    return draw.choice((
        line + line, b"", name.lower() + b":" + value, name.upper() + b":" + value,
        name + b" :" + value, name + b":\r\n" + value, name + b": \xc3\xa9" + value,
        line.replace(b"\r\n", b"\n"), line.replace(b"\n", b"\r\n"), line + b"\r\n", b" " + line,
        line.rstrip(), name + b": \xff" + value, name.lower() + b": 1\r\n" + line,
    ))  # fmt: skip


def packed(draw: random.Random, data: bytes) -> bytes:
    """An archive packed in some way, and sometimes damaged behind that; a packed one as it is."""
    if data.startswith(_PACKED):
        return data
    data = reshaped(draw, data)
    parts = [b"WARC/" + p if n else p for n, p in enumerate(data.split(b"WARC/"))]
    kind = draw.randrange(8)
    if kind == 0:
        out = data
    elif kind == 1:
        out = _member(draw, data)
    elif kind in (2, 3):
        out = b"".join(_member(draw, p) for p in parts if p or draw.random() < 0.1)
    elif kind == 4:
        out = b"".join(_member(draw, p) for p in _cut(draw, data))
    elif kind == 5:
        out = b"".join(_frame(draw, p) for p in parts)
    elif kind == 6:
        out = b"".join(_frame(draw, p) for p in _cut(draw, data))
    else:
        out = _with_dictionary(draw, data[:3000], parts)
    return changed(draw, out, WARC_WORDS[10:15], [data]) if draw.random() < 0.4 else out


def _cut(draw: random.Random, data: bytes) -> list[bytes]:
    """Pieces whose borders lie anywhere, in blocks, lines and line ends."""
    places = sorted(
        {0, len(data), *(draw.randrange(len(data) + 1) for _ in range(draw.randint(1, 9)))}
    )
    return [data[a:b] for a, b in itertools.pairwise(places)]


def _member(draw: random.Random, data: bytes) -> bytes:
    """A gzip member, now and then with the fields that few write, or with a wrong end."""
    out = gzip.compress(data, draw.choice((0, 1, 6, 9)), mtime=draw.choice((0, 0, 7)))
    if draw.random() < 0.15:
        flags, fields = draw.choice((
            (4, b"\4\0abcd"), (8, b"name\0"), (16, b"comment\0"), (2, b"\0\0"), (8, b"no end"),
            (12, b"\xff\xff"), (0xE0, b""),
        ))  # fmt: skip
        out = out[:3] + bytes([flags]) + out[4:10] + fields + out[10:]
    if draw.random() < 0.1:
        out = draw.choice((
            out + bytes(9), out + b"\0" + out[1:], out + out[-8:], out[:-1], out[:-8] + bytes(8),
            out[:-4] + b"\xff\xff\0\0", out + out[5:], out + b"\x1f\x8b\x08",
            gzip.compress(b"", mtime=0) + out,
        ))  # fmt: skip
    return out


def _frame(draw: random.Random, data: bytes) -> bytes:
    """A zstd frame, with or without its size and checksum, or with a skippable one in front."""
    import zstandard

    out = zstandard.ZstdCompressor(
        draw.choice((1, 6)),
        write_checksum=draw.random() < 0.5,
        write_content_size=draw.random() < 0.8,
    ).compress(data)
    if draw.random() < 0.15:
        skippable = bytes([draw.randrange(0x50, 0x60)]) + b"\x2a\x4d\x18" + draw.choice((
            b"\4\0\0\0abcd", b"\0\0\0\0", b"\xff\0\0\0short", b"\4\0",
        ))  # fmt: skip
        out = draw.choice((skippable + out, out + skippable, out[:-1], out + b"\0" + out[1:]))
    return out


def _with_dictionary(draw: random.Random, words: bytes, parts: list[bytes]) -> bytes:
    import zstandard

    made = zstandard.ZstdCompressionDict(words, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    pack = zstandard.ZstdCompressor(dict_data=made).compress
    raw = made.as_bytes()
    if draw.random() < 0.5:
        raw = zstandard.ZstdCompressor().compress(raw)
    head = b"\x5d\x2a\x4d\x18" + len(raw).to_bytes(4, "little") + raw
    return head + b"".join(pack(p) for p in parts)


def coded(draw: random.Random, data: bytes) -> bytes:
    """A body whose codings are put on it anew: the first byte is what its headers claim."""
    first, body = data[:1], data[1:]
    for _ in range(draw.randint(0, 2)):
        body = draw.choice(_CODERS)(draw, body)
    return first + body


def _chunked(draw: random.Random, body: bytes) -> bytes:
    out = b""
    for piece in _cut(draw, body):
        size = len(piece) + draw.choice((0, 0, 0, 0, 0, 0, 1, -1, 99))
        extra = draw.choice((b"", b"", b" ", b";a=b", b'; q="x"', b"\t", b"g"))
        out += f"{max(0, size):{draw.choice(('x', 'X', '08x'))}}".encode() + extra
        out += (
            draw.choice((b"\r\n", b"\r\n", b"\n"))
            + piece
            + draw.choice((b"\r\n", b"\r\n", b"\n", b""))
        )
    return out + draw.choice((b"0\r\n\r\n", b"0\r\nX: y\r\n\r\n", b"0", b"", b"\r\n"))


def _deflated(draw: random.Random, body: bytes) -> bytes:
    pack = zlib.compressobj(draw.choice((0, 1, 6)), wbits=draw.choice((15, -15, 9, 31)))
    return pack.compress(body) + pack.flush()


def _brotli(draw: random.Random, body: bytes) -> bytes:
    import brotli

    made: bytes = brotli.compress(body, quality=draw.choice((1, 5)))
    return made


_CODERS: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    _chunked, _deflated, _brotli, _frame, _member,
    lambda draw, body: body[: draw.randrange(len(body) + 1)],
)  # fmt: skip


def kept(name: str) -> list[bytes]:
    """The inputs of a target in `KEPT`."""
    return [path.read_bytes() for path in sorted((KEPT / name).glob("*"))]


def seeds(name: str) -> list[bytes]:
    """Inputs to begin with."""
    return [*kept(name), *_made(name)]


def _kinds() -> Iterator[bytes]:
    """A record of each kind that sources treat in a way of its own."""
    page = b"<!doctype html><html lang=de><title>t</title><p>text"
    http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
    shut = b"Content-Encoding: gzip\r\n\r\n"
    for kind, more, block in (
        ("conversion", "Content-Type: text/plain\r\n", b"some text"),
        ("conversion", "", b" "),
        ("conversion", "", b"\xff"),
        ("resource", "Content-Type: text/html\r\n", page),
        ("resource", "Content-Type: text/css\r\n", b"a {}"),
        ("response", "WARC-Truncated: length\r\n", http + b"\r\n" + page),
        ("response", "", http + shut + gzip.compress(page, mtime=0)),
        ("response", "", http + shut + b"\x1f\x8b\x08" + b"\xff" * 9),
        ("response", "", http + shut + gzip.compress(bytes(900_000), mtime=0)),
        ("response", "", http + b"\r\n"),
        ("response", "", http.replace(b"200", b"301") + b"\r\n"),
        ("response", "", http.replace(b"200", b"404") + b"\r\n"),
        ("response", "", http + b"\r\n%PDF-1.4"),
        ("response", "Content-Type: text/dns\r\n", b"a.example. IN A 192.0.2.1"),
        ("revisit", "WARC-Profile: http://a.example/identical\r\n", b""),
        ("unheard-of", "", b""),
    ):
        head = f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: http://a.example/\r\n{more}"
        yield f"{head}Content-Length: {len(block)}\r\n\r\n".encode() + block + b"\r\n\r\n"


def large(name: str) -> list[bytes]:
    """Inputs that are fed once, as they are: changes of them would take too long."""
    return [_wrong_length(n) for n in range(8)] if name == "records" else []


def _made(name: str) -> list[bytes]:
    archives = sorted((ROOT / "tests" / "data" / "warc").rglob("*.*arc*"))
    plain = [p.read_bytes()[:8000] for p in archives]
    pages = [
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Robots-Tag: noai\r\n\r\n"
        + p.read_bytes()[:12000]
        for p in sorted((ROOT / "configs" / "sample" / "own").glob("*.html"))[:12]
    ]
    if name == "index":
        return _INDEXES
    if name == "wat":
        return _WATS
    if name in ("records", "sources"):
        long = b"WARC/1.0\r\nContent-Length: 5000\r\n\r\n" + b"y" * 4990 + b"\r\nWARC/1.0\r\n" * 3
        record = (
            b"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 30\r\n\r\n"
            + b"x" * 30
            + b"\r\n\r\n"
        )
        opened = [gzip.decompress(p) for p in plain if p.startswith(b"\x1f\x8b") and _whole(p)]
        return [
            *([b"".join(_kinds())] if name == "sources" else []),
            record * 3,
            long + record,
            b"WARC/1.0\r\nContent-Length: 99999\r\n\r\n" + b"z" * 300 + b"\r\n\r\n" + record,
            record + bytes(512) + record,
            gzip.compress(record, mtime=0) + bytes(512) + gzip.compress(record, mtime=0),
            b"no archive",
            *(p[:8000] for p in plain if not p.startswith(b"\x1f\x8b")),
            *opened,
        ]
    if name == "bodies":
        import brotli
        import zstandard

        text = b"<html><p>" + b"some text of a page " * 40
        chunks = b"5\r\n<html\r\n4;a=b\r\n><p>\r\n0\r\nTrailer: x\r\n\r\n"
        deflate = zlib.compressobj(wbits=-15)
        bodies = [
            text,
            chunks,
            gzip.compress(text, mtime=0),
            zlib.compress(text),
            brotli.compress(text),
            deflate.compress(text) + deflate.flush(),
            zstandard.compress(text),
            gzip.compress(bytes(900_000), mtime=0),
            zlib.compress(bytes(900_000)),
            brotli.compress(bytes(900_000)),
            zstandard.compress(bytes(900_000)),
            gzip.compress(text, mtime=0) * 2,
            b"3f\r\n" + gzip.compress(text, mtime=0) + b"\r\n0\r\n\r\n",
        ]
        return [bytes([first]) + body for body in bodies for first in (*range(10), 64, 65, 129)]
    return pages


def _wrong_length(number: int) -> bytes:
    """A packed block of more than a reader holds, which does not end where it says."""
    head = b"WARC/1.0\r\nContent-Length: 2500000\r\n\r\n"
    return gzip.compress(head + bytes(2_400_000 + number) + b"\r\nWARC/1.0\r\n" * 3, mtime=0)


def _whole(data: bytes) -> bool:
    try:
        gzip.decompress(data)
    except (OSError, EOFError, zlib.error):
        return False
    return True


_INDEXES = [
    b" CDX N b a m s k r M S V g\n"
    b"com,a)/ 20260101000000 http://a.example/ text/html 200 K - - 99 160 x\n",
    b"com,a)/ 20260101000000 http://a.example/ text/html 200 K - 160 x\n" * 3,
    b'com,a)/ 20260101000000 {"url": "u", "offset": "160", "length": "155", "filename": "x"}\n',
    b'!OpenWayback-CDXJ 1.0\ncom,a)/ 20260101000000 {"offset": 0}\n',
    b"", b"nothing", gzip.compress(b"com,a)/ 2026 {}\n", mtime=0),
]  # fmt: skip
_WATS = [
    b'{"Envelope":{"WARC-Header-Metadata":{"WARC-Type":"response"},"Payload-Metadata":{'
    b'"HTTP-Response-Metadata":{"Response-Message":{"Status":"200"},"Headers":{"Content-Type":"text/html",'
    b'"X-Robots-Tag":"noai","Content-Language":"de"},"HTML-Metadata":{"Head":{"Title":"T","Metas":['
    b'{"name":"robots","content":"noindex"},{"http-equiv":"content-language","content":"fr"}],'
    b'"Link":[{"rel":"license","url":"l"}]},"Links":[{"path":"A@/href","url":"u","text":"a b"},'
    b'{"path":"IMG@/src","url":"i","alt":"x"},{"path":"A@/href","href":"v","rel":"license"}]}}}}}',
    b'{"Envelope":{"WARC-Header-Metadata":{"WARC-Type":"request"}}}',
    b'{"Envelope":{"WARC-Header-Metadata":{"WARC-Type":"response"},"Payload-Metadata":{}}}',
    b"[]", b"{}", b"[" * 300,
]  # fmt: skip
