"""Reads folders of saved pages: one file is one page.

With `url` a page gets an address: that text, followed by its path below the root. A mirror that
wget made (``host.example/docs/index.html``) has ``url: "https://"``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from corpusmill.pipeline.document import Drop, Failure, Outcome, Page, Record, Scalar, document_id
from corpusmill.pipeline.errors import ConfigError, InputError
from corpusmill.pipeline.stage import InputFile, SignalType, Source
from corpusmill.stages.dedup.urls import canonical_url

from .archive import host_of
from .bodies import DEFAULT_CAP, BodyTooLarge, BodyUnreadable, decode_body
from .http import HTML, sniff_mime
from .page_meta import page_meta

_GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class HtmlParams:
    """`url`: what goes before a file's path to make its address; without it pages have none.
    `max_body_bytes`: longest page, as stored and unpacked; default 32 MiB."""

    url: str | None = None
    max_body_bytes: int = DEFAULT_CAP

    def __post_init__(self) -> None:
        if self.url is not None and not self.url.startswith(("http://", "https://")):
            raise ConfigError(
                f"url is {self.url!r}, which begins no address", hint="https://host.example/"
            )
        if self.max_body_bytes < 1:
            raise ConfigError(
                f"max_body_bytes is {self.max_body_bytes}, must be at least 1", hint="33554432"
            )


class Html(Source):
    """The source ``sources.html``. Files may be gzip-compressed; one that is cut has the signal
    ``html_repairs``. What is no HTML by its bytes is dropped as ``not_html``."""

    name = "sources.html"
    version = 2
    gives = "page"
    Params = HtmlParams
    writes: Mapping[str, SignalType] = {"html_repairs": "str"}
    reasons = ("empty", "not_html", "too_large")
    errors = ("bad_body",)

    params: HtmlParams

    def read(self, file: InputFile) -> Iterator[Record]:
        url = "" if self.params.url is None else self.params.url + quote(file.relative)
        key = document_id(file.source, file.relative, file.size, 0)
        yield Record(key, 0, file.size, self._outcome(file, key, url), url)

    def _outcome(self, file: InputFile, key: str, url: str) -> Outcome:
        if file.size > self.params.max_body_bytes:
            return Drop("too_large", file.size)
        try:
            body = Path(file.path).read_bytes()
        except OSError as err:
            raise InputError(f"{file.path} cannot be read: {err.strerror}") from err
        repairs: tuple[str, ...] = ()
        if body.startswith(_GZIP):
            try:
                decoded = decode_body(
                    body, {"content-encoding": "gzip"}, self.params.max_body_bytes
                )
                body, repairs = decoded.data, decoded.repairs
            except BodyTooLarge:
                return Drop("too_large", self.params.max_body_bytes)
            except BodyUnreadable as err:
                return Failure("bad_body", str(err))
        if not body.strip():
            return Drop("empty")
        sniffed = sniff_mime(body, "text/html")
        if sniffed not in HTML:
            return Drop("not_html", sniffed[:64])
        meta: dict[str, Scalar] = {"file": file.relative, "offset": 0, "length": file.size}
        if url:
            meta["url"] = url
            meta["url_canonical"] = canonical_url(url)
            if host := host_of(url):
                meta["host"] = host
        meta["mime_sniffed"] = sniffed
        meta.update(page_meta({}, body))
        signals: dict[str, Scalar] = {"html_repairs": ",".join(repairs)} if repairs else {}
        return Page(key, file.source, body, {}, meta, signals)


STAGE = Html
