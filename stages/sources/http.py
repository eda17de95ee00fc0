"""An HTTP response as a WARC or ARC block holds it: status, headers, and what its body is.

Parsing is lenient: LF line ends, folded lines, lines without a colon, a missing or odd status
line (``ICY 200 OK``, ``HTTP/2``, ``HTTP/1.1 200``), no header at all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .raw import MAX_HEADER, header_end

_STATUS = re.compile(
    rb"(?:HTTP(?:/\d+(?:\.\d+)?)?|ICY|[A-Z]{2,10}/\d\.\d)[ \t]+(\d{3})(?!\d)[^\n]*\n?"
)
_HEADER = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,256}[ \t]*:")


@dataclass(frozen=True, slots=True)
class Response:
    """A parsed response. `status` is None where no status line was found."""

    status: int | None
    headers: dict[str, str]
    """Names in lower case; values as sent (Latin-1), of repeated ones joined by ``, ``."""
    body: bytes
    """As sent: codings not removed."""


def parse_response(block: bytes) -> Response:
    """The response in a block. Never raises: what is no header is body."""
    status = None
    at = 0
    m = _STATUS.match(block)
    if m is not None:
        status = int(m[1])
        at = m.end()
    elif not _HEADER.match(block):
        return Response(None, {}, block)
    if block[at : at + 1] == b"\n":
        return Response(status, {}, block[at + 1 :])
    if block[at : at + 2] == b"\r\n":
        return Response(status, {}, block[at + 2 :])
    end, start = header_end(block, at, at + MAX_HEADER)
    if end < 0:
        end = start = min(len(block), at + MAX_HEADER)
    return Response(status, _headers(block[at:end]), block[start:])


def _headers(raw: bytes) -> dict[str, str]:
    headers: dict[str, str] = {}
    last = ""
    for line in raw.decode("latin-1").split("\n"):
        line = line.rstrip("\r")
        if line[:1] in (" ", "\t"):
            if last:
                headers[last] = f"{headers[last]} {line.strip()}"
            continue
        name, colon, value = line.partition(":")
        if not colon:
            continue
        last = name.strip().lower()
        value = value.strip()
        headers[last] = f"{headers[last]}, {value}" if last in headers else value
    return headers


_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"%PDF-", "application/pdf"),
    (b"%!PS-Adobe-", "application/postscript"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"BM", "image/bmp"),
    (b"\x00\x00\x01\x00", "image/x-icon"),
    (b"PK\x03\x04", "application/zip"),
    (b"PK\x05\x06", "application/zip"),
    (b"Rar!\x1a\x07", "application/x-rar-compressed"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"\x1f\x8b", "application/gzip"),
    (b"BZh", "application/x-bzip2"),
    (b"\xfd7zXZ\x00", "application/x-xz"),
    (b"OggS\x00", "application/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"fLaC", "audio/flac"),
    (b"\x1aE\xdf\xa3", "video/webm"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"OTTO", "font/otf"),
    (b"\x00\x01\x00\x00", "font/ttf"),
    (b"FWS", "application/x-shockwave-flash"),
    (b"CWS", "application/x-shockwave-flash"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (b"\x7fELF", "application/x-executable"),
    (b"MZ\x90\x00", "application/x-msdownload"),
    (b"\x00asm", "application/wasm"),
    (b"{\\rtf", "application/rtf"),
    (b"SQLite format 3\x00", "application/x-sqlite3"),
)
_HTML = re.compile(
    rb"<(?:!doctype\s+html|html|head|body|title|meta|script|style|link|iframe|h1|h2|div|table|font|a|"
    rb"br|p|b|center|frameset|noscript)[\s/>]",
    re.I,
)
_XML = re.compile(rb"\s*<\?xml[^>]{0,512}\?>")
_XML_ROOT = re.compile(rb"<([A-Za-z_][\w.\-:]*)")
_SPACE = re.compile(rb"\s*")
_DECLARATION = re.compile(rb"<[?!][^>]{0,2048}>")
_ANY_TAG = re.compile(rb"<[A-Za-z!/]")
_JSON = re.compile(rb"\s*(?:\{\s*(?:\"|\})|\[\s*(?:[\[{\"\]]|-?\d|true|false|null))")
_HTML_TYPES = frozenset({"text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml"})
_VAGUE_TYPES = frozenset({"", "application/octet-stream", "unknown/unknown", "application/unknown"})
HTML = frozenset({"text/html", "application/xhtml+xml"})


def sniff_mime(body: bytes, declared: str) -> str:
    """The type of a body by its first bytes, with the declared type as the second witness.

    `declared` is a Content-Type header as sent. Signatures after the WHATWG MIME Sniffing
    Standard (sections 6 and 7.1). Bytes that contradict the header win; a type that the header
    alone can tell (``text/plain`` that looks like markup is source code being shown) stays.
    """
    kind = declared.partition(";")[0].partition(",")[0].strip().lower()
    head = body[:8192]
    text = head
    if head[:3] == b"\xef\xbb\xbf":
        text = head[3:]
    elif head[:2] in (b"\xff\xfe", b"\xfe\xff") or head[1:2] == b"\0" or head[:1] == b"\0":
        wide = head.replace(b"\0", b"").lstrip(b"\xff\xfe")
        if _is_html(wide) or (kind in _HTML_TYPES and _ANY_TAG.search(wide)):
            return "application/xhtml+xml" if kind == "application/xhtml+xml" else "text/html"
    for magic, mime in _SIGNATURES:
        if head.startswith(magic) and (
            len(magic) > 2 or magic == b"\x1f\x8b" or b"\0" in head[:64]
        ):
            return mime
    if head[:4] == b"RIFF":
        return {b"WEBP": "image/webp", b"AVI ": "video/avi", b"WAVE": "audio/wave"}.get(
            head[8:12], "application/octet-stream"
        )
    if head[4:8] == b"ftyp":
        return "video/mp4"
    if _is_binary(text, kind):
        return "application/octet-stream"
    root = _xml_root(text)
    if root not in (b"", b"html") and not _is_html(text):
        return {
            b"rss": "application/rss+xml", b"feed": "application/atom+xml", b"svg": "image/svg+xml",
            b"urlset": "application/xml", b"rdf:rdf": "application/rdf+xml",
        }.get(root, "application/xml")  # fmt: skip
    if kind in _HTML_TYPES or kind in _VAGUE_TYPES:
        if _is_html(text):
            return kind if kind in HTML else "text/html"
        if _JSON.match(text) and not re.match(rb"\s*\[[^\]]{0,200}\]\s*<", text):
            return "application/json"
        if kind in _HTML_TYPES:
            return kind if kind in HTML else "application/xhtml+xml"
        return "text/html" if _ANY_TAG.search(text) else "text/plain"
    return kind


def _is_html(text: bytes) -> bool:
    return _HTML.match(text, _prolog_end(text, 0, b"<?")) is not None


def _xml_root(text: bytes) -> bytes:
    """The name of the root element in lower case, behind an XML declaration; else empty."""
    m = _XML.match(text)
    root = _XML_ROOT.match(text, _prolog_end(text, m.end(), b"<!")) if m is not None else None
    return root[1].lower() if root is not None else b""


def _prolog_end(text: bytes, at: int, declaration: bytes) -> int:
    """Where comments, processing instructions, space (and ``<!`` declarations, if asked) end.

    Not one regular expression: a nested repetition takes time without end where it fails.
    """
    while True:
        m_space = _SPACE.match(text, at)
        at = m_space.end() if m_space is not None else at
        if text.startswith(b"<!--", at):
            end = text.find(b"-->", at + 4)
            if end < 0:
                return at
            at = end + 3
            continue
        m = _DECLARATION.match(text, at) if text.startswith((b"<?", declaration), at) else None
        if m is None:
            return at
        at = m.end()


def _is_binary(head: bytes, kind: str) -> bool:
    """Control bytes that no text has: more than 1 in 20, or 1 in 100 where HTML is not claimed.
    (An HTML page with a few stray NULs is still a page.)"""
    if not head:
        return False
    control = len(head) - len(head.translate(None, _CONTROL))
    return control * (20 if kind in _HTML_TYPES else 100) > len(head)


_CONTROL = bytes(b for b in range(32) if b not in b"\t\n\r\f\v\x1b\x08")
