"""Removes transfer and content codings from an HTTP body, whatever the headers claim.

Crawls hold bodies that are not what their headers say: crawlers that decode a body and keep the
header, servers that announce a coding and send none, connections cut in the middle. Each claim is
tried; where the bytes contradict it, the bytes win, and the repair is told by name. Nothing is
guessed beyond that, and no body may inflate past a cap.

Codings: RFC 9112 (chunked), RFC 9110 section 8.4.1 (gzip, deflate), RFC 7932 (br), RFC 8878
(zstd). ``deflate`` means zlib, and raw deflate is what some servers send.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

DEFAULT_CAP = 32 << 20
"""Default of the cap on a decoded body: 32 MiB, 300 times the mean page; pages above it are data
dumps and decompression bombs."""

_CHUNK = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]{0,4096})?\r?\n")
_TOKEN = re.compile(r"[a-z0-9\-]+")
_IN = 16 << 10
_OUT = 1 << 20
_GZIP_MAGIC = b"\x1f\x8b\x08"


class BodyTooLarge(Exception):
    """The decoded body is longer than the cap."""


class BodyUnreadable(Exception):
    """A declared coding was really used, and nothing of the body could be decoded."""


@dataclass(frozen=True, slots=True)
class Body:
    """A decoded body and what had to be repaired: ``not_gzip`` (announced, not used),
    ``cut_gzip`` (ends early; what came is kept), ``bad_gzip`` (corrupt from some byte on; what
    came before is kept), ``undeclared_gzip``, and the like for the other codings."""

    data: bytes
    repairs: tuple[str, ...] = ()


def decode_body(raw: bytes, headers: Mapping[str, str], cap: int = DEFAULT_CAP) -> Body:
    """`raw` without its codings. `headers` have lower-case names.

    Raises BodyTooLarge and BodyUnreadable.
    """
    repairs: list[str] = []
    data = raw
    transfer = _TOKEN.findall(headers.get("transfer-encoding", "").lower())
    content = _TOKEN.findall(headers.get("content-encoding", "").lower())
    # Applied in the order listed, so removed from the last to the first; chunked is outermost.
    for coding in [*reversed(transfer), *reversed(content)][:8]:
        if not data:
            break
        if coding == "chunked":
            data, fault = _dechunk(data)
        elif coding in ("gzip", "x-gzip"):
            coding = "gzip"
            data, fault = _gunzip(data, cap)
        elif coding == "deflate":
            data, fault = _inflate(data, cap)
        elif coding == "br":
            data, fault = _unbrotli(data, cap)
        elif coding == "zstd":
            data, fault = _unzstd(data, cap)
        else:  # identity, a charset, a typing error: no coding that exists
            continue
        if fault:
            repairs.append(f"{fault}_{coding}")
    if data[:3] == _GZIP_MAGIC and "gzip" not in headers.get("content-type", ""):
        try:
            plain, fault = _gunzip(data, cap)
        except BodyUnreadable:  # a damaged download: it stays what it is
            plain, fault = b"", "bad"
        if plain and not fault:
            data = plain
            repairs.append("undeclared_gzip")
    if len(data) > cap:
        raise BodyTooLarge(f"{len(data)} bytes")
    return Body(data, tuple(repairs))


def _dechunk(data: bytes) -> tuple[bytes, str]:
    parts: list[bytes] = []
    at = 0
    while True:
        m = _CHUNK.match(data, at)
        if m is None:
            if not parts:
                return data, "not"
            rest = data[at:]  # no size where one must be: keep what is left, as it is
            if rest.strip():
                parts.append(rest)
                return b"".join(parts), "bad"
            return b"".join(parts), "cut"
        size = int(m[1], 16)
        start = m.end()
        if size == 0:
            # A first chunk of size 0 in front of more than trailers is text, not a chunk.
            if not parts and data[start:].strip() and b":" not in data[start : start + 256]:
                return data, "not"
            return b"".join(parts), ""
        if start + size > len(data):
            parts.append(data[start:])
            return b"".join(parts), "cut"
        parts.append(data[start : start + size])
        at = start + size
        if data[at : at + 2] == b"\r\n":
            at += 2
        elif data[at : at + 1] == b"\n":
            at += 1
        elif len(parts) == 1 and at < len(data):
            return data, "not"  # a first line that only looks like a size


def _zlib(data: bytes, wbits: int, cap: int) -> tuple[bytes, bool, bool]:
    """(inflated bytes, reached the end, met an error). What came before an error is given."""
    parts: list[bytes] = []
    have = 0
    at = 0
    out = b""
    inflate = zlib.decompressobj(wbits)
    while at < len(data) or len(out) == _OUT:  # a full output may leave some inside
        # Up to the next magic, which as a rule is the next member's start: what lies behind a
        # member's end is handed back as a copy, and that copy must not be the rest of the body.
        stop = min(at + _IN, len(data))
        hit = data.find(_GZIP_MAGIC, at + 4, stop) if wbits == 31 else -1
        piece = data[at : hit if hit > 0 else stop]
        before = inflate.copy()
        try:
            out = inflate.decompress(piece, _OUT)
        except zlib.error:
            return b"".join([*parts, _before_error(before, piece, cap - have)]), False, True
        parts.append(out)
        have += len(out)
        if have > cap:
            raise BodyTooLarge(f"inflates past {cap} bytes")
        at += len(piece) - len(inflate.unconsumed_tail) - len(inflate.unused_data)
        if inflate.eof:
            if wbits != 31 or not data.startswith(_GZIP_MAGIC, at):
                return b"".join(parts), True, False
            inflate = zlib.decompressobj(wbits)  # the next gzip member
    return b"".join(parts), False, False


def _before_error(inflate: Any, piece: bytes, cap: int) -> bytes:
    """What can be inflated of `piece` before its first error. (A call that fails gives nothing,
    so the stretch is fed again byte by byte.)"""
    parts: list[bytes] = []
    have = 0
    try:
        for i in range(len(piece)):
            parts.append(inflate.decompress(piece[i : i + 1]))
            have += len(parts[-1])
            if have > cap:
                raise BodyTooLarge("inflates past the cap")
    except zlib.error:
        pass  # expected: this is where the error lies
    return b"".join(parts)


def _gunzip(data: bytes, cap: int) -> tuple[bytes, str]:
    if data[:2] != b"\x1f\x8b":
        return data, "not"
    plain, whole, bad = _zlib(data, 31, cap)
    return _result(plain, whole, bad, "gzip")


def _inflate(data: bytes, cap: int) -> tuple[bytes, str]:
    if data[:2] == b"\x1f\x8b":  # said deflate, sent gzip
        return _gunzip(data, cap)
    tries: list[tuple[bytes, bool, bool]] = []
    if len(data) > 1 and data[0] & 15 == 8 and (data[0] * 256 + data[1]) % 31 == 0:
        tries.append(_zlib(data, 15, cap))
    if not tries or tries[0][2]:
        tries.append(_zlib(data, -15, cap))
    best = max(tries, key=lambda t: (t[1], not t[2], len(t[0])))
    if best[2] and (b"<" in data[:512] or not best[0]):
        return data, "not"
    return _result(*best, "deflate")


def _result(plain: bytes, whole: bool, bad: bool, coding: str) -> tuple[bytes, str]:
    if whole:
        return plain, ""
    if not plain:
        raise BodyUnreadable(f"{coding}: nothing could be decoded")
    return plain, "bad" if bad else "cut"


def _unbrotli(data: bytes, cap: int) -> tuple[bytes, str]:
    import brotli

    # Brotli has no magic, and its decoder takes a while to trip over text: so ask the text.
    if _texty(data):
        return data, "not"
    inflate = brotli.Decompressor()
    parts: list[bytes] = []
    have = 0
    try:
        for at in range(0, len(data), 65536):
            piece = inflate.process(data[at : at + 65536], output_buffer_limit=_OUT)
            while piece:
                parts.append(piece)
                have += len(piece)
                if have > cap:
                    raise BodyTooLarge(f"inflates past {cap} bytes")
                piece = (
                    b"" if inflate.is_finished() else inflate.process(b"", output_buffer_limit=_OUT)
                )
            if inflate.is_finished():
                return b"".join(parts), ""
    except brotli.error:
        return _result(b"".join(parts), False, True, "br")
    return _result(b"".join(parts), False, False, "br")


def _unzstd(data: bytes, cap: int) -> tuple[bytes, str]:
    import zstandard

    if data[:4] != b"\x28\xb5\x2f\xfd":
        return data, "not"
    inflate = zstandard.ZstdDecompressor().decompressobj()
    parts: list[bytes] = []
    have = 0
    try:
        for at in range(0, len(data), 1024):  # small bites bound the output of one call
            piece = inflate.decompress(data[at : at + 1024])
            parts.append(piece)
            have += len(piece)
            if have > cap:
                raise BodyTooLarge(f"inflates past {cap} bytes")
            if inflate.eof:
                return b"".join(parts), ""
    except zstandard.ZstdError:
        return _result(b"".join(parts), False, True, "zstd")
    return _result(b"".join(parts), False, False, "zstd")


def _texty(data: bytes) -> bool:
    """Whether bytes are markup or text rather than compressed: few control bytes."""
    head = data[:1024]
    control = sum(1 for b in head if b < 32 and b not in b"\t\n\r\f\x1b")
    return control * 50 <= len(head)
