"""One record of an archive as it lies in the file, and how its header lines are read."""

from __future__ import annotations

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


_NAMES = {
    name: name.lower()
    for name in (
        "Content-Length", "Content-Type", "WARC-Block-Digest", "WARC-Concurrent-To", "WARC-Date",
        "WARC-IP-Address", "WARC-Identified-Payload-Type", "WARC-Payload-Digest", "WARC-Record-ID",
        "WARC-Refers-To", "WARC-Target-URI", "WARC-Truncated", "WARC-Type", "WARC-Warcinfo-ID",
    )
}  # fmt: skip


_T = TypeVar("_T")
_KEYS = {name: f"\n{name}:".encode("ascii") for name in _NAMES.values()}
_PRINTABLE = bytes(range(32, 127))
_LINE_END = b"\r\n"


class PlainHeaders(Mapping[str, str]):
    """What `parse_header_lines` gives of plain lines (see `plain_headers`), each value cut out when
    it is asked for: of most records only two or three are."""

    __slots__ = ("_all", "_low", "_raw")

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._low = raw.lower()
        self._all: dict[str, str] | None = None

    @overload
    def get(self, name: str, default: None = None, /) -> str | None: ...
    @overload
    def get(self, name: str, default: str, /) -> str: ...
    @overload
    def get(self, name: str, default: _T, /) -> str | _T: ...
    def get(self, name: str, default: Any = None, /) -> Any:
        low = self._low
        key = _KEYS.get(name) or f"\n{name}:".encode("ascii")
        at = low.find(key)
        if at < 0:
            return default
        end = low.find(b"\r", at)
        value = self._raw[at + len(key) : end if end >= 0 else None]
        return value.decode("ascii").strip()

    def length(self) -> int:
        """Content-Length; -1 where it is not there or no number of up to 18 digits."""
        low = self._low
        at = low.find(b"\ncontent-length:") + 16
        end = low.find(b"\r", at)
        value = low[at : end if end >= 0 else None].strip()
        return int(value) if at > 15 and value.isdigit() and len(value) <= 18 else -1

    def _parsed(self) -> dict[str, str]:
        if self._all is None:
            self._all = parse_header_lines(self._raw)
        return self._all

    def __getitem__(self, name: str) -> str:
        return self._parsed()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parsed())

    def __len__(self) -> int:
        return len(self._parsed())

    def __repr__(self) -> str:
        return repr(self._parsed())


def plain_headers(raw: bytes) -> PlainHeaders | None:
    """The headers of lines that are printable ASCII, with CRLF between them, none folded and none
    with a space in front of a colon; None for all else."""
    odd = raw.translate(None, _PRINTABLE)
    if odd != _LINE_END * (len(odd) // 2) or b"\n " in raw or b" :" in raw:
        return None
    return PlainHeaders(raw)


def parse_header_lines(raw: bytes) -> dict[str, str]:
    """``Name: value`` lines behind a first line; names in lower case, of repeated ones the first.
    Folded lines are joined. UTF-8, else Latin-1."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    headers: dict[str, str] = {}
    lines = text.split("\n")
    if "\n " not in text and "\n\t" not in text:  # nothing is folded
        for line in lines[1:]:
            name, colon, value = line.partition(":")
            if colon:
                name = _NAMES.get(name) or name.strip().lower()
                if name not in headers:
                    headers[name] = value.strip()
        return headers
    last = ""
    for line in lines[1:]:
        if line[:1] in " \t" and last:
            headers[last] = f"{headers[last]} {line.strip()}"
            continue
        name, colon, value = line.partition(":")
        if not colon:
            continue
        last = name.strip().lower()
        if last not in headers:
            headers[last] = value.strip()
        else:
            last = ""
    return headers
