"""The tiers: which library's text a page gets, decided by word counts.

Thresholds are exact integer comparisons of `count_words`. Where a policy consults both libraries
the page is parsed by each only when needed.

    fast          resiliparse; all text of the page where that has fewer than 50 words
    default       resiliparse; where that has fewer than 200 words trafilatura, unless it has
                  fewer than 0.6 times resiliparse's
    quality       trafilatura; resiliparse where trafilatura has fewer than half its words
    trafilatura   trafilatura alone
    resiliparse   resiliparse alone
    own           our block model (`corpusmill.stages.extract.blocks`), no library

The thresholds come from our comparison of extractors on WCXB (development split) and the
article-extraction-benchmark; few values were tried. resiliparse loses 6 to 8 % of pages nearly
whole, where one ``class="share"`` (or popup, menu, hidden …) holds all text: hence "fewer than".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from .libraries import Format, ResiliparsePage, own_content, trafilatura_text
from .wordcount import count_words

Tier = Literal["fast", "default", "quality", "trafilatura", "resiliparse", "own"]
TIERS: tuple[Tier, ...] = get_args(Tier)

FAST_ALL_TEXT_BELOW = 50
"""`fast` takes all text where the main content has fewer words than this."""
DEFAULT_SECOND_BELOW = 200
"""`default` asks trafilatura where resiliparse's main content has fewer words than this."""

Path = Literal["resiliparse", "resiliparse_all", "trafilatura", "own"]


@dataclass(frozen=True, slots=True)
class Choice:
    """The text of a page, the path that gave it, and how many words the page has in all."""

    text: str
    path: Path
    words: int
    all_words: int
    confidence: float | None = None
    """Expected F1 of the choice, 0 to 1; of the tier ``own`` only."""
    page_type: str = ""
    """The page's most likely type; of the tier ``own`` only."""


def libraries_of(tier: Tier) -> tuple[str, ...]:
    """The libraries that `tier` may call. (All but ``own`` count all
    text by resiliparse.)"""
    if tier == "own":
        return ("own",)
    if tier in ("fast", "resiliparse"):
        return ("resiliparse",)
    return ("resiliparse", "trafilatura")


def choose(html: str, tier: Tier, form: Format = "text", *, comments: bool = True) -> Choice:
    """The text of `html` under `tier`. The choice is always made on plain text, so that Markdown
    comes from the same path. Without `comments` user comments are left out, as far as
    the extractor knows them. Raises LibraryError where a library does."""
    if tier == "own":
        return choose_own(html, form, comments=comments)
    page = ResiliparsePage(html)
    all_text = page.text(main=False)
    main = page.text(main=True, comments=comments) if tier != "trafilatura" else ""
    main_words = count_words(main)
    path: Path = "resiliparse"
    text, words = main, main_words
    if tier == "fast":
        if main_words < FAST_ALL_TEXT_BELOW:
            path, text, words = "resiliparse_all", all_text, count_words(all_text)
    elif tier == "trafilatura" or (tier == "default" and main_words < DEFAULT_SECOND_BELOW):
        second = trafilatura_text(html, comments=comments)
        second_words = count_words(second)
        if tier == "trafilatura" or 5 * second_words >= 3 * main_words:
            path, text, words = "trafilatura", second, second_words
    elif tier == "quality":
        second = trafilatura_text(html, comments=comments)
        second_words = count_words(second)
        if 2 * second_words >= main_words:
            path, text, words = "trafilatura", second, second_words
    all_words = words if path == "resiliparse_all" else count_words(all_text)
    if form == "markdown":
        if path == "trafilatura":
            text = trafilatura_text(html, form="markdown", comments=comments)
        else:
            main_only = path == "resiliparse"
            text = page.text(main=main_only, form="markdown", comments=comments)
    return Choice(text, path, words, all_words)


def choose_own(
    html: str | bytes, form: Format = "text", *, comments: bool = True, to_rewrite: bool = False
) -> Choice:
    """The text of `html` under the tier ``own``; see `main_content` for `to_rewrite`."""
    found = own_content(html, form=form, comments=comments, to_rewrite=to_rewrite)
    words = count_words(found.text if form == "text" else found.plain)
    return Choice(found.text, "own", words, found.all_words, found.confidence, found.page_type)
