"""Lenient HTTP parsing, and the type of a body by its bytes."""

from __future__ import annotations

import pytest

from corpusmill.stages.sources.http import parse_response, sniff_mime


@pytest.mark.parametrize(
    ("line", "status"),
    [(b"HTTP/1.1 200 OK\r\n", 200), (b"HTTP/1.0 404\r\n", 404), (b"HTTP/2 301 \r\n", 301),
     (b"HTTP/1.1 200\n", 200), (b"ICY 200 OK\r\n", 200), (b"HTTP 200 OK\r\n", 200), (b"", None)],
)  # fmt: skip
def test_status_lines(line: bytes, status: int | None) -> None:
    response = parse_response(line + b"Content-Type: text/html\r\n\r\nbody")
    assert (response.status, response.body) == (status, b"body")
    assert response.headers == {"content-type": "text/html"}


def test_odd_headers() -> None:
    block = (
        b"HTTP/1.1 200 OK\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nno colon here\r\n"
        b"X-Folded: one\r\n\t two\r\nX-Latin: caf\xe9\r\nX-Empty:\r\n\r\n\r\nbody"
    )
    response = parse_response(block)
    assert response.headers == {
        "set-cookie": "a, b", "x-folded": "one two", "x-latin": "café", "x-empty": "",
    }  # fmt: skip
    assert response.body == b"\r\nbody"


def test_lf_only_and_mixed_line_ends() -> None:
    assert parse_response(b"HTTP/1.1 200 OK\nA: b\n\nx\r\n\r\ny").body == b"x\r\n\r\ny"
    assert parse_response(b"HTTP/1.1 200 OK\nA: b\n\r\nx").body == b"x"
    assert parse_response(b"HTTP/1.1 200 OK\r\n\r\nx").body == b"x"
    assert parse_response(b"HTTP/1.1 200 OK\n\nx").body == b"x"


def test_headers_without_an_end() -> None:
    response = parse_response(b"HTTP/1.1 301 Moved\r\nLocation: /x\r\n")
    assert (response.headers, response.body) == ({"location": "/x"}, b"")


def test_no_header_at_all() -> None:
    response = parse_response(b"<html>\n\n<p>a: b")
    assert (response.status, response.headers, response.body) == (None, {}, b"<html>\n\n<p>a: b")


def test_a_long_header() -> None:
    response = parse_response(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\nbody")
    assert response.body == b"body"


PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


@pytest.mark.parametrize(
    ("body", "declared", "mime"),
    [
        (b"<!DOCTYPE html><p>", "text/html; charset=utf-8", "text/html"),
        (b"  <!-- c -->\n<HTML>", "", "text/html"),
        (b"<html>", "application/octet-stream", "text/html"),
        (b"\xef\xbb\xbf<html>", "", "text/html"),
        ("\ufeff<html><p>".encode("utf-16le"), "text/html", "text/html"),
        ("<html><body>".encode("utf-16be"), "", "text/html"),
        (b'<?xml version="1.0"?><!DOCTYPE html><html>', "application/xhtml+xml",
         "application/xhtml+xml"),
        (b'<?xml version="1.0"?>\n<html xmlns="x">', "text/html", "text/html"),
        (b'<?xml version="1.0"?><rss version="2.0">', "text/html", "application/rss+xml"),
        (b'<?xml version="1.0"?><!-- x --><feed xmlns="a">', "text/html", "application/atom+xml"),
        (b'<?xml version="1.0"?><urlset>', "", "application/xml"),
        (b"just words, no tags", "text/html", "text/html"),
        (b"just words, no tags", "", "text/plain"),
        (b"<html>", "text/plain", "text/plain"),
        (b'{"a": 1}', "text/html", "application/json"),
        (b'[{"a": 1}]', "text/html", "application/json"),
        (b"[1, 2]", "", "application/json"),
        (b"[Home] <a href=x>", "text/html", "text/html"),
        (b'{"a": 1}', "application/json", "application/json"),
        (b"%PDF-1.4", "text/html", "application/pdf"),
        (PNG, "text/html", "image/png"),
        (b"PK\x03\x04abc", "text/html", "application/zip"),
        (b"\x1f\x8b\x08\0", "text/html", "application/gzip"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "text/html", "image/webp"),
        (b"\0\0\0\x18ftypmp42", "text/html", "video/mp4"),
        (bytes(range(256)) * 4, "text/html", "application/octet-stream"),
        (b"BMW is a maker of cars <p>", "text/html", "text/html"),
        (b"<p>a\0b</p>" + b"words " * 50, "text/html", "text/html"),
        (b"body { color: red }", "text/css", "text/css"),
        (b"\x1b$B$3$s\x1b(B <p>", "text/html; charset=iso-2022-jp", "text/html"),
    ],
)  # fmt: skip
def test_sniff(body: bytes, declared: str, mime: str) -> None:
    assert sniff_mime(body, declared) == mime
