"""Drops the records that a list names: what makes an extractor fail, what was asked to be removed.

A list is a text file with one name a line: a document's id (32 hexadecimal digits), a
WARC-Record-ID (``urn:uuid:…``, with or without angle brackets), or a URL as it was sent
(``http…``). Empty lines and lines that begin with ``#`` say nothing. The lists are assets: the plan
and the lock hold their digests. Put the step first, and a named page is never given to an
extractor. Whole domains are for `filters.url`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from corpusmill.pipeline.document import Document, Drop, Outcome, Page
from corpusmill.pipeline.errors import AssetError, ConfigError
from corpusmill.pipeline.stage import Asset, Kind, Stage

_NAME = re.compile(r"[0-9a-f]{32}|<?urn:[^\s<>]+>?|https?://\S+")


@dataclass(frozen=True, slots=True)
class Params:
    """Parameters of `filters.listed`."""

    drop: tuple[Asset, ...]
    """The lists."""

    def __post_init__(self) -> None:
        if not self.drop:
            raise ConfigError("filters.listed: drop names no list", hint="or leave the step out")


class Listed(Stage):
    """`filters.listed`: see the module docstring. A drop has the listed name as its value."""

    name: ClassVar[str] = "filters.listed"
    version: ClassVar[int] = 1
    kind: ClassVar[Kind] = "decide"
    takes: ClassVar[Literal["page", "document", "any"]] = "any"
    Params: ClassVar[type] = Params
    reasons: tuple[str, ...] = ("listed",)

    def check_assets(self) -> None:
        self.setup()

    def setup(self) -> None:
        """Reads the lists. Raises AssetError for one that is missing or has another line."""
        self._names = frozenset(name for path in self.params.drop for name in read_names(path))

    def apply(self, batch: Sequence[Page | Document]) -> list[Outcome]:
        """One outcome for each page or document."""
        return [self._judge(item) for item in batch]

    def _judge(self, item: Page | Document) -> Outcome:
        record = str(item.meta.get("record_id", "")).strip("<>")
        for name in (item.id, record, item.url):
            if name in self._names:
                return Drop("listed", name)
        return item


def read_names(path: str) -> list[str]:
    """The names of a list. Raises AssetError."""
    try:
        lines = Path(path).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise AssetError(f"list {path} cannot be read: {error}") from error
    names = []
    for number, line in enumerate(map(str.strip, lines), 1):
        if not line or line.startswith("#"):
            continue
        if not _NAME.fullmatch(line):
            raise AssetError(
                f"list {path}, line {number}: {line[:80]!r} names no record",
                hint="an id of 32 digits, urn:uuid:… or a URL",
            )
        names.append(line.strip("<>"))
    if not names:
        raise AssetError(f"list {path} names no record")
    return names


STAGE = Listed
