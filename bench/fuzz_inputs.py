"""The inputs of `bench.fuzz`: seeds, and what is changed of them."""

from __future__ import annotations

import gzip
import random
import zlib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

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
)


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


def packed(draw: random.Random, data: bytes) -> bytes:
    """An archive packed in some way, and sometimes damaged behind that."""
    import zstandard

    parts = [b"WARC/" + p if n else p for n, p in enumerate(data.split(b"WARC/"))]
    kind = draw.randrange(7)
    level = draw.choice((1, 6))
    if kind == 0:
        out = data
    elif kind == 1:
        out = gzip.compress(data, level, mtime=0)
    elif kind in (2, 3):
        out = b"".join(gzip.compress(p, level, mtime=0) for p in parts if p or draw.random() < 0.1)
    elif kind == 4:
        out = b"".join(
            gzip.compress(data[at : at + 700], mtime=0) for at in range(0, len(data), 700)
        )
    elif kind == 5:
        out = b"".join(zstandard.ZstdCompressor(level).compress(p) for p in parts)
    else:
        words = zstandard.ZstdCompressionDict(data[:3000], dict_type=zstandard.DICT_TYPE_RAWCONTENT)
        pack = zstandard.ZstdCompressor(dict_data=words).compress
        raw = words.as_bytes()
        if draw.random() < 0.5:
            raw = zstandard.ZstdCompressor().compress(raw)
        out = b"\x5d\x2a\x4d\x18" + len(raw).to_bytes(4, "little") + raw
        out += b"".join(pack(p) for p in parts)
    return changed(draw, out, WARC_WORDS[10:15], [data]) if draw.random() < 0.4 else out


def seeds(name: str) -> list[bytes]:
    """Inputs to begin with."""
    archives = sorted((ROOT / "tests" / "data" / "warc").rglob("*.*arc*"))
    plain = [p.read_bytes()[:8000] for p in archives]
    pages = [
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Robots-Tag: noai\r\n\r\n"
        + p.read_bytes()[:12000]
        for p in sorted((ROOT / "configs" / "sample" / "own").glob("*.html"))[:12]
    ]
    if name == "records":
        long = b"WARC/1.0\r\nContent-Length: 5000\r\n\r\n" + b"y" * 4990 + b"\r\nWARC/1.0\r\n" * 3
        record = (
            b"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 30\r\n\r\n"
            + b"x" * 30
            + b"\r\n\r\n"
        )
        opened = [gzip.decompress(p) for p in plain if p.startswith(b"\x1f\x8b") and _whole(p)]
        return [
            record * 3,
            long + record,
            b"WARC/1.0\r\nContent-Length: 99999\r\n\r\n" + b"z" * 300 + b"\r\n\r\n" + record,
            record + bytes(512) + record,
            gzip.compress(record) + bytes(512) + gzip.compress(record),
            *map(_wrong_length, range(8)),
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
            gzip.compress(bytes(900_000)),
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
