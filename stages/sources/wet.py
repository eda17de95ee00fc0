"""Reads WET files: Common Crawl's extracted text, WARC records of type ``conversion``.

Each conversion record of ``text/plain`` becomes a `Document`; all other records are dropped with
a reason. The text is what the crawl's own extraction made: use ``sources.warc`` where the HTML is
at hand (why: RefinedWeb, arXiv 2306.01116, section 3.1; FineWeb, arXiv 2406.17557, section 3.2).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from corpusmill.pipeline.document import Document, Drop, Outcome, Record
from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.stage import InputFile, Source

from .archive import read_archive, read_one, record_meta, text_of
from .bodies import DEFAULT_CAP
from .raw import RawRecord
from .records import ERRORS


@dataclass(frozen=True)
class WetParams:
    """`max_text_bytes`: longest text that is read; default 32 MiB, as for pages."""

    max_text_bytes: int = DEFAULT_CAP

    def __post_init__(self) -> None:
        if self.max_text_bytes < 1:
            raise ConfigError(
                f"max_text_bytes is {self.max_text_bytes}, must be at least 1", hint="33554432"
            )


class Wet(Source):
    """The source ``sources.wet``."""

    name = "sources.wet"
    version = 3
    pins = ("zstandard",)
    gives = "document"
    Params = WetParams
    reasons = (
        "continuation", "empty", "metadata", "padding", "request", "resource", "response",
        "revisit", "too_large", "unknown_type", "warcinfo",
    )  # fmt: skip
    errors = (*ERRORS, "bad_utf8")

    params: WetParams

    def read(self, file: InputFile) -> Iterator[Record]:
        yield from read_archive(file, self.params.max_text_bytes, self._outcome)

    def read_one(self, file: InputFile, offset: int, key: str = "") -> Record | None:
        """The record at `offset` alone, see `corpusmill.stages.sources.archive.read_one`."""
        return read_one(file, offset, self.params.max_text_bytes, self._outcome, key)

    def _outcome(self, file: InputFile, raw: RawRecord, key: str, url: str) -> Outcome:
        text = text_of(raw, "conversion", self.reasons)
        if not isinstance(text, str):
            return text
        if not text.strip():
            return Drop("empty")
        meta = record_meta(file, raw, url)
        if content_type := raw.headers.get("content-type"):
            meta["content_type"] = content_type
        return Document(key, text, file.source, meta)


STAGE = Wet
