"""Reads crawl archives: WARC 1.x and ARC 1.x, gzip, zstd or plain, told apart by their bytes.

Every record of a file comes out: a `Page` for a response (or resource) that is HTML and was
served with status 200, a `Drop` with a reason for all others, a `Failure` for bytes that cannot
be read. What a byte of the file belongs to is in `corpusmill.stages.sources.records`; how a body
loses its codings in `corpusmill.stages.sources.bodies`. Where an index (CDX, CDXJ) lies beside the
file, what it lists is compared with what was read: `corpusmill.stages.sources.cdx`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from corpusmill.pipeline.document import Drop, Failure, Outcome, Page, Record, Scalar
from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.stage import InputFile, SignalType, Source

from . import cdx
from .archive import read_archive, read_one, record_meta, unread
from .bodies import DEFAULT_CAP, BodyTooLarge, BodyUnreadable, decode_body
from .http import HTML, parse_response, sniff_mime
from .page_meta import page_meta
from .raw import MAX_HEADER, RawRecord
from .records import ERRORS

_ROBOTS = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://[^/?#]*/robots\.txt(?:[?#].*)?", re.I)


@dataclass(frozen=True)
class WarcParams:
    """`max_body_bytes`: longest body, as stored and with its codings removed; default 32 MiB
    (Common Crawl itself cuts at 1 MiB, since 2025 at 5 MiB)."""

    max_body_bytes: int = DEFAULT_CAP

    def __post_init__(self) -> None:
        if self.max_body_bytes < 1:
            raise ConfigError(
                f"max_body_bytes is {self.max_body_bytes}, must be at least 1", hint="33554432"
            )


class Warc(Source):
    """The source ``sources.warc``. Signals it writes: ``warc_truncated`` (the crawler's reason
    for cutting the body, where it did) and ``http_repairs`` (see `bodies.Body`)."""

    name = "sources.warc"
    version = 3
    pins = ("brotli", "zstandard")
    gives = "page"
    beside = cdx.SUFFIXES
    Params = WarcParams
    writes: Mapping[str, SignalType] = {"warc_truncated": "str", "http_repairs": "str"}
    reasons = (
        "continuation", "conversion", "dns", "empty", "metadata", "not_html", "padding",
        "redirect", "request", "resource_other", "revisit", "robots_txt", "status", "too_large",
        "unknown_type", "warcinfo",
    )  # fmt: skip
    errors = (*ERRORS, *cdx.ERRORS, "bad_body")

    params: WarcParams

    def read(self, file: InputFile) -> Iterator[Record]:
        records = read_archive(file, self._max_block, self._outcome)
        if not file.beside:
            yield from records
            return
        seen = cdx.Seen()
        for record in records:
            seen.add(record)
            yield record
        yield from cdx.compare(file, seen)

    def read_one(self, file: InputFile, offset: int, key: str = "") -> Record | None:
        """The record at `offset` alone; with `key` (its id) the right one of several that share
        a compressed member. None if there is none. Raises InputError as `read` does."""
        return read_one(file, offset, self._max_block, self._outcome, key)

    @property
    def _max_block(self) -> int:
        return self.params.max_body_bytes + MAX_HEADER

    def _outcome(self, file: InputFile, raw: RawRecord, key: str, url: str) -> Outcome:
        if (outcome := unread(raw)) is not None:
            return outcome
        headers = raw.headers
        kind = headers.get("warc-type", "response").lower() if raw.kind == "warc" else "response"
        mime = headers.get("content-type", "").partition(";")[0].strip().lower()
        if url.startswith("filedesc:"):
            kind = "warcinfo"
        if kind in ("request", "metadata", "warcinfo", "continuation", "conversion"):
            return Drop(kind)
        if kind == "revisit":
            return Drop("revisit", headers.get("warc-profile", "").rstrip("/").rpartition("/")[2])
        if kind not in ("response", "resource"):
            return Drop("unknown_type", kind[:64])
        if url.startswith("dns:") or mime == "text/dns":
            return Drop("dns")
        if raw.block is None:
            return Drop("too_large", raw.size)
        if kind == "resource" and not mime.startswith("application/http"):
            status, http, body = None, {"content-type": headers.get("content-type", "")}, raw.block
            if mime not in HTML and not url.startswith(("http:", "https:")):
                return Drop("resource_other", mime[:64])
        elif raw.kind == "arc" and not url.startswith(("http:", "https:")):
            return Drop("resource_other", mime[:64])
        else:
            response = parse_response(raw.block)
            status, http, body = response.status, response.headers, response.body
        if _ROBOTS.fullmatch(url):
            return Drop("robots_txt")
        if status is not None and status != 200:
            return Drop("redirect" if 300 <= status < 400 else "status", status)
        try:
            decoded = decode_body(body, http, self.params.max_body_bytes)
        except BodyTooLarge:
            return Drop("too_large", self.params.max_body_bytes)
        except BodyUnreadable as err:
            return Failure("bad_body", str(err))
        if not decoded.data.strip():
            return Drop("empty")
        sniffed = sniff_mime(decoded.data, http.get("content-type", ""))
        if sniffed not in HTML:
            return Drop("resource_other" if kind == "resource" else "not_html", sniffed[:64])
        meta = record_meta(file, raw, url)
        if status is not None:
            meta["http_status"] = status
        meta["mime_sniffed"] = sniffed
        meta.update(page_meta(http, decoded.data))
        signals: dict[str, Scalar] = {}
        if cut := headers.get("warc-truncated"):
            signals["warc_truncated"] = cut[:64]
        if decoded.repairs:
            signals["http_repairs"] = ",".join(decoded.repairs)
        return Page(key, file.source, decoded.data, http, meta, signals)


STAGE = Warc
