"""The two extraction libraries, called so that what they give depends on the page alone.

resiliparse [1] runs its main-content heuristics or renders all text. trafilatura [2] runs in its
fast mode (no second and third opinion), with tables and comments, **never** with its
``deduplicate``, which keeps a process-wide memory and loses a page when it is seen again, and
without its signal-based time limit, which cannot interrupt native code.

Known losses of the libraries that stay: trafilatura joins identical paragraphs that directly
follow each other, and omits lists of links and lists inside table cells; resiliparse drops a list
that lies less than three elements below the body.

[1] Bevendorff et al., Elastic ChatNoir, ECIR 2018. [2] Barbaresi, Trafilatura, ACL 2021.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from corpusmill.pipeline.errors import StageError

from .markdown import from_minimal_html, unescape_formulas
from .sanitise import Shield

if TYPE_CHECKING:
    from corpusmill.stages.extract.blocks.model import Found

Format = Literal["text", "markdown"]

PINS = ("Resiliparse", "lxml", "lxml_html_clean", "selectolax", "trafilatura")
"""Distributions whose versions determine what these functions give: for `Stage.pins`."""

_LATEST_DATE = "2037-12-31"
"""Upper bound of dates where the page's own crawl date is not known; a constant, not today."""

_PROBE = """<!doctype html><html><head><title>Probe</title></head><body><div><div><div><article>
<h1>The lighthouse keeper</h1>
<p>The lighthouse on the northern cape was built in 1874 from grey granite blocks, and for ninety
years a keeper climbed its two hundred steps every evening to light the lamp.</p>
<p>When the lamp was made to work by itself, the last keeper stayed on in the cottage below, and
wrote down the weather, the ships and the birds of every single day in green notebooks.</p>
<p>Those notebooks are now in the county archive, where students of the climate read them.</p>
</article></div></div></div></body></html>"""
_PROBE_WORDS = ("granite", "notebooks", "climate")


class LibraryError(Exception):
    """An extraction library raised on a page. Internal: becomes the record's ``Failure``."""


class ResiliparsePage:
    """One parse of a page by resiliparse, from which main content and all text are taken."""

    __slots__ = ("_tree",)

    def __init__(self, html: str) -> None:
        from resiliparse.parse.html import HTMLTree

        self._tree = _guard("resiliparse", lambda: HTMLTree.parse(html))

    def text(self, *, main: bool, form: Format = "text", comments: bool = True) -> str:
        """The page's main content (without `comments` less what it takes for user comments), or
        all its text, in reading order."""
        from resiliparse.extract.html2text import extract_plain_text

        minimal = form == "markdown"
        text: str = _guard(
            "resiliparse",
            lambda: extract_plain_text(
                self._tree,
                main_content=main,
                comments=comments or not main,
                preserve_formatting="minimal_html" if minimal else True,
                alt_texts=False,
            ),
        )
        return from_minimal_html(text) if minimal else text


def trafilatura_text(html: str, *, form: Format = "text", comments: bool = True) -> str:
    """The page's main content by trafilatura's fast mode; empty if it finds none."""
    from trafilatura import extract

    shield = Shield(html, code="all" if form == "text" else "blank")
    text: str | None = _guard(
        "trafilatura",
        lambda: extract(
            shield.html,
            fast=True,
            output_format="txt" if form == "text" else "markdown",
            include_comments=comments,
            include_tables=True,
            deduplicate=False,
            config=_config(),
        ),
    )
    restored = _TABLE_TAIL.sub("|", shield.restore(text or ""))
    return unescape_formulas(restored) if form == "markdown" else restored


_TABLE_TAIL = re.compile(r"\| $", re.MULTILINE)


def own_content(
    html: str | bytes, *, form: Format = "text", comments: bool = True, to_rewrite: bool = False
) -> Found:
    """The page's main content by our block model; for `to_rewrite` see `main_content`."""
    from corpusmill.stages.extract.blocks.model import main_content

    found: Found = _guard(
        "own", lambda: main_content(html, form, comments=comments, to_rewrite=to_rewrite)
    )
    return found


def trafilatura_metadata(html: str, *, url: str, crawled: str) -> dict[str, str]:
    """Some of ``author``, ``date`` (ISO 8601), ``sitename``, ``license``: what the page states.

    `crawled` is the date of the crawl (``YYYY-MM-DD…``), the latest that a page's date can be;
    trafilatura's own bound is the present day, which would make the result depend on it.
    """
    from trafilatura import extract_metadata

    latest = crawled[:10] if re.match(r"\d{4}-\d{2}-\d{2}", crawled) else _LATEST_DATE
    found: Any = _guard(
        "trafilatura",
        lambda: extract_metadata(
            html,
            default_url=url or None,
            date_config={"original_date": True, "extensive_search": False, "max_date": latest},
        ),
    )
    if found is None:
        return {}
    values = {key: getattr(found, key, None) for key in ("author", "date", "sitename", "license")}
    return {key: value for key, value in values.items() if isinstance(value, str) and value}


@cache
def _config() -> Any:
    """trafilatura's settings with its time limit off."""
    from trafilatura.settings import use_config

    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)
    logging.getLogger("htmldate").setLevel(logging.CRITICAL)
    config = use_config()
    config.set("DEFAULT", "EXTRACTION_TIMEOUT", "0")
    return config


def _guard(library: str, call: Callable[[], Any]) -> Any:
    try:
        return call()
    except MemoryError:
        raise
    except Exception as err:
        raise LibraryError(f"{library}: {type(err).__name__}") from err


def self_test(libraries: Iterable[str]) -> None:
    """Runs a known page through each of `libraries` ("resiliparse", "trafilatura", "own").

    Raises StageError where the known words do not come out: a missing or mismatched dependency
    (an lxml without lxml_html_clean, say) would otherwise look like a crawl of empty pages.
    """
    for library in libraries:
        try:
            if library == "trafilatura":
                text = trafilatura_text(_PROBE)
            elif library == "own":
                text = own_content(_PROBE).text
            else:
                text = ResiliparsePage(_PROBE).text(main=True)
        except (ImportError, LibraryError) as err:
            cause = err.__cause__ or err
            raise StageError(
                f"{library} cannot be used: {cause}",
                hint=f"reinstall {', '.join(PINS)} at the versions of the lock file",
            ) from err
        missing = [w for w in _PROBE_WORDS if w not in text]
        if missing:
            raise StageError(
                f"{library} does not find {', '.join(missing)!r} on a known page "
                f"({len(text)} characters came out)",
                hint=f"reinstall {', '.join(PINS)} at the versions of the lock file",
            )
