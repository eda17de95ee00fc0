"""What flows through a run: `Page`, `Document`, and how one of them may end.

A record's life: a source reads a `Record`; its outcome is a `Page` (raw HTML), a `Document`
(text already), a `Drop` (with a reason) or a `Failure` (an error). Stages take lists of pages or
documents and give back one outcome for each, in the same order, so that nothing can be lost
between input and output.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

Scalar = str | int | float | bool
"""A value that a typed Parquet column can hold. Absent is absent: never ``None`` in a mapping."""

ID_BITS = 128


def document_id(source: str, path: str, size: int, position: int) -> str:
    """The id of the record at `position` of one input file: 32 hexadecimal digits.

    `path` is relative to the source's root (``/`` as separator), `size` the file's size in bytes,
    `position` the record's byte offset, or its row number in a table. Known without reading the
    file, and never changed downstream.
    """
    h = hashlib.blake2b(digest_size=ID_BITS // 8, person=b"corpusmill-id")
    for part in (source, path, str(size), str(position)):
        raw = part.encode("utf-8", "surrogatepass")
        h.update(len(raw).to_bytes(4, "little"))
        h.update(raw)
    return h.hexdigest()


@dataclass(slots=True)
class Page:
    """A raw response, its transfer and content codings already removed from `body`."""

    id: str
    source: str
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    """HTTP headers as sent, names in lower case; repeated ones joined by ``, ``."""
    meta: dict[str, Scalar] = field(default_factory=dict)
    """What we were told, keys from `META_COLUMNS` (url, date, file, offset, …)."""
    signals: dict[str, Scalar] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return str(self.meta.get("url", ""))


@dataclass(slots=True)
class Document:
    """A text with what we were told of it (`meta`) and what we measured (`signals`)."""

    id: str
    text: str
    source: str
    meta: dict[str, Scalar] = field(default_factory=dict)
    signals: dict[str, Scalar] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return str(self.meta.get("url", ""))


@dataclass(frozen=True, slots=True)
class Drop:
    """A document left out on purpose. `reason` is a stable short code (``[a-z0-9_]+``),
    `value` the number or word that decided."""

    reason: str
    value: Scalar | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """A document that could not be processed. `type` is a short code (``[a-z0-9_]+``)."""

    type: str
    message: str = ""


Outcome = Page | Document | Drop | Failure


@dataclass(frozen=True, slots=True)
class Record:
    """One record as a source read it: where it lies and what became of it."""

    id: str
    offset: int
    """Byte offset in the input file (of the compressed member), or the row number."""
    length: int
    """Bytes that the record takes in the file (compressed), 0 for a row."""
    outcome: Outcome
    url: str = ""


META_COLUMNS: dict[str, type] = {
    "url": str,  # as sent
    "url_canonical": str,  # the spelling that duplicates are told by
    "host": str,  # lower case, punycode as sent, no port
    "date": str,  # WARC-Date, ISO 8601 UTC
    "file": str,  # path relative to the source's root
    "offset": int,
    "length": int,
    "record_id": str,
    "http_status": int,
    "content_type": str,  # the Content-Type header as sent
    "mime_sniffed": str,
    "charset": str,  # the codec used
    "charset_declared": str,  # the label declared (header first, else meta)
    "charset_rule": str,  # which rule chose the codec
    "lang_declared": str,  # Content-Language, else <html lang>, else the meta element
    "lang_header": str,  # Content-Language as sent, where it was
    "lang_html": str,  # lang of <html>, where it has one
    "robots": str,  # X-Robots-Tag and <meta name=robots>, lower case
    "tdm": str,  # tdm-reservation, noai and the like
    "licence": str,  # evidence that the page or row states, never our assertion
    "licence_where": str,
    "title": str,
    "text_sha256_raw": str,  # digest of the text before the first editing stage
}
"""Every key that `meta` may hold, with its type. Other keys are refused by the writer."""
