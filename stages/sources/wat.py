"""Reads WAT files: Common Crawl's links and metadata, a JSON object for each record of a crawl.

The object of an HTML page becomes a `Document` whose text is its links, one a line: the address as
the page has it (not resolved), a tab, and the words of the link with white space collapsed. What
else the object tells of the page (status, title, robots, licence) is its meta. All other records
are dropped with a reason: ``request``, ``metadata``, ``warcinfo``, ``revisit`` are kinds of the
record that the object is about.

Which links: `links` names places as WAT spells them, ``A@/href`` for ``<a href>``, ``IMG@/src`` and
so on; none means all. Format: Common Crawl's ia-web-commons, objects ``Envelope`` and
``HTML-Metadata``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from corpusmill.pipeline.document import Document, Drop, Failure, Outcome, Record, Scalar
from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.stage import InputFile, SignalType, Source

from .archive import read_archive, read_one, record_meta, text_of
from .bodies import DEFAULT_CAP
from .jsonl import MAX_DEPTH, depth
from .raw import RawRecord
from .records import ERRORS

_KINDS = ("metadata", "request", "resource", "revisit", "warcinfo")
_MAX_VALUE = 512


@dataclass(frozen=True)
class WatParams:
    """`links`: which places count, default those of ``<a href>``; an empty list means all.
    `max_json_bytes`: longest object that is read; default 32 MiB, as for pages."""

    links: tuple[str, ...] = ("A@/href",)
    max_json_bytes: int = DEFAULT_CAP

    def __post_init__(self) -> None:
        if self.max_json_bytes < 1:
            raise ConfigError(
                f"max_json_bytes is {self.max_json_bytes}, must be at least 1", hint="33554432"
            )
        for place in self.links:
            if "@/" not in place:
                raise ConfigError(f"links: {place[:60]!r} is no place of a link", hint="A@/href")


class Wat(Source):
    """The source ``sources.wat``. It writes ``wat_links``, the number of links in the text."""

    name = "sources.wat"
    version = 2
    pins = ("zstandard",)
    gives = "document"
    Params = WatParams
    writes: Mapping[str, SignalType] = {"wat_links": "int"}
    reasons = (
        "conversion", "metadata", "no_links", "not_html", "padding", "request", "resource",
        "revisit", "status", "too_large", "unknown_type", "warcinfo",
    )  # fmt: skip
    errors = (*ERRORS, "bad_json", "bad_utf8")

    params: WatParams

    def read(self, file: InputFile) -> Iterator[Record]:
        yield from read_archive(file, self.params.max_json_bytes, self._outcome)

    def read_one(self, file: InputFile, offset: int, key: str = "") -> Record | None:
        """The record at `offset` alone, see `corpusmill.stages.sources.archive.read_one`."""
        return read_one(file, offset, self.params.max_json_bytes, self._outcome, key)

    def _outcome(self, file: InputFile, raw: RawRecord, key: str, url: str) -> Outcome:
        text = text_of(raw, "metadata", self.reasons)
        if not isinstance(text, str):
            return text
        try:
            told = json.loads(text) if depth(raw.block or b"") <= MAX_DEPTH else None
        except (ValueError, RecursionError) as err:
            return Failure("bad_json", str(err)[:200])
        if not isinstance(told, dict):
            return Failure("bad_json", "no object, or one that is nested too deeply")
        envelope = _inner(told, "Envelope")
        about = _text(_inner(envelope, "WARC-Header-Metadata").get("WARC-Type")).lower()
        if about != "response":
            return Drop(about) if about in _KINDS else Drop("unknown_type", about[:64])
        response = _inner(envelope, "Payload-Metadata", "HTTP-Response-Metadata")
        status = _text(_inner(response, "Response-Message").get("Status"))
        if status and status != "200":
            return Drop("status", status[:64])
        page = response.get("HTML-Metadata")
        if not isinstance(page, dict):
            return Drop("not_html")
        lines = list(self._lines(page))
        if not lines:
            return Drop("no_links")
        meta = record_meta(file, raw, url) | _page_meta(response, page)
        if status:
            meta["http_status"] = int(status)
        return Document(key, "\n".join(lines), file.source, meta, {"wat_links": len(lines)})

    def _lines(self, page: Mapping[str, Any]) -> Iterator[str]:
        for link in _objects(page.get("Links")):
            if self.params.links and _text(link.get("path")) not in self.params.links:
                continue
            if address := _line(link.get("url") or link.get("href")):
                words = _line(link.get("text") or link.get("alt"))
                yield f"{address}\t{words}" if words else address


def _page_meta(response: Mapping[str, Any], page: Mapping[str, Any]) -> dict[str, Scalar]:
    meta: dict[str, Scalar] = {}
    headers = {name.lower(): _line(value) for name, value in _inner(response, "Headers").items()}
    head = _inner(page, "Head")
    robots = [headers.get("x-robots-tag", "")]
    language = header = headers.get("content-language", "")
    for tag in _objects(head.get("Metas")):
        if _text(tag.get("name")).lower() == "robots":
            robots.append(_line(tag.get("content")))
        elif _text(tag.get("http-equiv")).lower() == "content-language":
            language = language or _line(tag.get("content"))
    told = {
        "content_type": headers.get("content-type", ""), "title": _line(head.get("Title")),
        "robots": ", ".join(r.lower() for r in robots if r), "lang_declared": language[:35],
        "lang_header": header[:64],
    }  # fmt: skip
    for places, where in ((head.get("Link"), "head"), (page.get("Links"), "page")):
        for link in _objects(places):
            if "license" in _text(link.get("rel")).lower().split() and "licence" not in told:
                told["licence"] = _line(link.get("url"))
                told["licence_where"] = f"rel=license in {where}"
    for name, value in told.items():
        if value:
            meta[name] = value[:_MAX_VALUE]
    return meta


def _inner(value: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """The object inside objects; an empty one where there is none."""
    for name in names:
        found = value.get(name)
        value = found if isinstance(found, dict) else {}
    return value


def _objects(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, dict))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _line(value: Any) -> str:
    """A text without line breaks and tabs, as UTF-8 can hold it."""
    text = " ".join(_text(value).split())
    return text.encode("utf-8", "replace").decode("utf-8")


STAGE = Wat
