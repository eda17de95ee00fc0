"""From a page's bytes to a document's text.

>>> from corpusmill.stages.extract import extract
>>> extract("<html><body><div><p>Some words.</p></div></body></html>", tier="fast").text
'Some words.'
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .libraries import Format
    from .policy import Path, Tier


@dataclass(frozen=True, slots=True)
class Extracted:
    """What `extract` found on a page."""

    text: str
    path: Path
    """Which path gave the text: resiliparse, resiliparse_all, trafilatura or own."""
    words: int
    all_words: int
    """Words of all the page's text, menus and footers included."""
    title: str
    charset: str
    confidence: float | None = None
    """Expected F1 of the choice, 0 to 1; of the tier ``own`` only."""
    page_type: str = ""
    """article, forum, product, …; of the tier ``own`` only."""
    page_state: str = ""
    """What the page is in place of content (`corpusmill.stages.extract.state`): soft_404,
    login_wall, …"""
    metadata: dict[str, str] = field(default_factory=dict)
    """Some of author, date, sitename, license; only if asked for."""


def extract(
    html: str | bytes,
    *,
    url: str | None = None,
    tier: Tier = "default",
    format: Format = "text",
    metadata: bool = False,
    comments: bool = True,
) -> Extracted:
    """The main text of one page, in this process.

    `html` as bytes is decoded by `corpusmill.stages.extract.charset`; without `comments` what
    readers wrote below the page is left out. Raises InputError if the
    page is over the budgets of `corpusmill.stages.extract.page.Limits` or a library fails on it,
    ConfigError for an unknown tier or format, StageError if a library cannot be used.
    """
    from .once import extract_once

    return extract_once(
        html, url=url or "", tier=tier, form=format, metadata=metadata, comments=comments
    )


__all__ = ["Extracted", "extract"]
