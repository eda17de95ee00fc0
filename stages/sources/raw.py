"""One record of an archive as it lies in the file, and how its header lines are read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, overload

MAX_HEADER = 1 << 20
"""Longest record header that is read. Real ones are under 2 kB; URLs can be 64 kB and more."""


@dataclass(slots=True)
class RawRecord:
    """One record as it lies in the file."""

    kind: Literal["warc", "arc", "padding", "bad"]
    offset: int
    inner: int
    length: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    """WARC headers, names in lower case (of repeated ones the first); for ARC the same names."""
    block: bytes | None = None
    """The content block; None where it is longer than asked for, and for padding."""
    size: int = 0
    """Declared length of the block."""
    error: str = ""
    message: str = ""


def header_end(buf: bytes | bytearray, start: int, stop: int) -> tuple[int, int]:
    """(end of the header lines, start of what follows the blank line); -1, -1 if there is none.
    Line ends may be CRLF or LF, also mixed."""
    crlf = buf.find(b"\n\r\n", start, stop)
    lf = buf.find(b"\n\n", start, crlf if crlf >= 0 else stop)
    if lf >= 0:
        return lf, lf + 2
    if crlf >= 0:
        return crlf, crlf + 3
    doubled = buf.find(b"\n\r\r\n", start, stop)  # written in text mode on Windows
    return (doubled, doubled + 4) if doubled >= 0 else (-1, -1)


def is_length(word: str) -> bool:
    return word.isdigit() and word.isascii() and len(word) <= 18


_USUAL = (
    "Content-Length", "Content-Type", "WARC-Block-Digest", "WARC-Concurrent-To", "WARC-Date",
    "WARC-IP-Address", "WARC-Identified-Payload-Type", "WARC-Payload-Digest", "WARC-Record-ID",
    "WARC-Refers-To", "WARC-Target-URI", "WARC-Truncated", "WARC-Type", "WARC-Warcinfo-ID",
)  # fmt: skip
_NAMES = {name: name.lower() for name in _USUAL}
_KEYS = {name.lower(): f"\n{name}:".encode("ascii") for name in _USUAL}
_LENGTH = _KEYS["content-length"]
_SPACE, _TAB = b" \t"
"""What a line begins with that continues the one before it."""
_T = TypeVar("_T")
_BLANK_LINE = re.compile(rb"\n\r?\n")


class AsciiHeaders(Mapping[str, str]):
    """What `parse_header_lines` gives of a header in ASCII, up to the blank line and with it. A
    value is cut out when it is asked for: of most records only two or three are."""

    __slots__ = ("_all", "_low", "_raw")

    _all: dict[str, str]
    _low: bytes

    def __init__(self, raw: bytes) -> None:
        self._raw = raw

    @overload
    def get(self, name: str, default: None = None, /) -> str | None: ...
    @overload
    def get(self, name: str, default: str, /) -> str: ...
    @overload
    def get(self, name: str, default: _T, /) -> str | _T: ...
    def get(self, name: str, default: Any = None, /) -> Any:
        raw = self._raw
        key = _KEYS.get(name)
        if key is not None and (at := raw.find(key)) >= 0:
            end = raw.find(b"\n", at + len(key))
            if (begin := raw[end + 1]) != _SPACE and begin != _TAB:
                return raw[at + len(key) : end].decode("ascii").strip()
        elif not self._names(name):
            return default
        return self._parsed().get(name, default)

    def _names(self, name: str) -> bool:
        """Whether the name occurs anywhere, in any spelling."""
        try:
            low = self._low
        except AttributeError:
            low = self._low = self._raw.lower()
        return name.encode("utf-8", "surrogatepass") in low

    def _parsed(self) -> dict[str, str]:
        try:
            return self._all
        except AttributeError:
            self._all = parse_header_lines(self._raw.rstrip(b"\r\n"))
        return self._all

    def __getitem__(self, name: str) -> str:
        return self._parsed()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parsed())

    def __len__(self) -> int:
        return len(self._parsed())

    def __repr__(self) -> str:
        return repr(self._parsed())


def header_lines(raw: bytes) -> Mapping[str, str]:
    """What `parse_header_lines` gives of a header, up to the blank line and with it."""
    return AsciiHeaders(raw) if raw.isascii() else parse_header_lines(raw.rstrip(b"\r\n"))


def plain_header(
    buf: bytes | bytearray, view: bytes | memoryview, at: int
) -> tuple[Mapping[str, str], int, int] | None:
    """(headers, start of the block, its length) of the WARC record at `at`; None where that is not
    one, or its header does not end in `buf`, or says no length. `view` has the same bytes."""
    if not buf.startswith(b"WARC/", at):
        return None
    blank = _BLANK_LINE.search(buf, at, at + MAX_HEADER)
    if blank is None:
        return None
    end = blank.end()
    raw = bytes(view[at:end])
    start = raw.find(_LENGTH)
    if start >= 0 and raw.isascii():
        stop = raw.find(b"\n", start + len(_LENGTH))
        word = raw[start + len(_LENGTH) : stop].strip()
        begin = raw[stop + 1]
        if word.isdigit() and len(word) <= 18 and begin != _SPACE and begin != _TAB:
            return AsciiHeaders(raw), end, int(word)
    headers = header_lines(raw)
    length = headers.get("content-length", "")
    return (headers, end, int(length)) if is_length(length) else None


def parse_header_lines(raw: bytes) -> dict[str, str]:
    """``Name: value`` lines behind a first line; names in lower case. Of repeated ones the first in
    the standard's spelling, else the first. Folded lines are joined. UTF-8, else Latin-1."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    usual: dict[str, str] = {}
    others: dict[str, str] = {}
    found, name = others, ""
    for line in text.split("\n")[1:]:
        if name and line.startswith((" ", "\t")):
            found[name] = f"{found[name]} {line.strip()}".strip()
            continue
        written, colon, value = line.partition(":")
        if not colon:
            name = ""
            continue
        found = usual if written in _NAMES else others
        name = _NAMES.get(written) or written.strip().lower()
        if name in found:
            found = {}  # with what is folded behind it
        found[name] = value.strip()
    return {**others, **usual}
