"""Keeps or drops by URL alone, before a page is parsed.

After RefinedWeb (Penedo et al. 2023, section 3.1 and appendix G.1): block lists of domains and
URLs, and a score of words in the URL; with an allow list against false alarms and an opt-out list
that nothing overrides. The rules, in the order in which they decide:

1. `url_missing` (only with ``missing: drop``): there is no URL. By default such records are kept.
2. `url_invalid`: no ``http`` or ``https`` scheme, no host, or a host with characters that no host
   name has.
3. `url_optout`: host or URL prefix in an opt-out list.
4. **Allow list**: a host in it (or below an entry) skips the rules that follow. It never overrides
   the three above, and it never drops what it does not name.
5. `url_domain`: the host, or a domain above it, is in a block list (``evil.com`` blocks
   ``a.evil.com``, not ``notevil.com``).
6. `url_listed`: the URL starts with an entry that has a path, at a segment border.
7. `url_word`: a banned word is a whole run of letters and digits of the URL; or a banned phrase
   occurs, its words written together anywhere in a run, or as whole words with one to three other
   characters between them within one path segment.
8. `url_soft_words`: at least `soft_threshold` different soft words as whole runs.

Before matching, percent escapes are decoded, ASCII letters lowered, user, port, a trailing dot
and a leading ``www.`` removed; host names beyond ASCII are compared in their punycode form.

What differs from datatrove's URL filter: upper case in a URL does not hide a word; phrases do not
match across the borders of words that have nothing to do with each other; every domain above the
host is looked up, not only the registered one; a missing URL is no crash.

List files are text, one entry a line, ``#`` starts a comment, gzip where the name ends in
``.gz``; lines of a hosts file (``0.0.0.0 name``) are read too. An entry with a path is a URL
prefix, else a domain. A folder is read in the layout of the UT1 lists of the University of
Toulouse (``adult/domains``, ``adult/urls``, or flat ``adult.domains.txt.gz``), `categories` only.
Entries are kept as sorted 64-bit hashes, 8 bytes each.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from corpusmill.pipeline.document import Document, Drop, Outcome, Page
from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.stage import Asset, Kind, Stage

from .url_lists import (
    EntrySet,
    check_lists,
    host_and_target,
    load_lists,
    public_suffixes,
    url_words,
)

REFINEDWEB_CATEGORIES = (
    "adult",
    "agressif",
    "arjel",
    "chat",
    "dating",
    "ddos",
    "filehosting",
    "gambling",
    "mixed_adult",
    "phishing",
)
"""The UT1 categories that RefinedWeb blocked (Penedo et al. 2023, appendix G.1)."""

_RUN = re.compile(r"[^\x00-\x2f\x3a-\x60\x7b-\x7f]+")
_WORD = re.compile(r"[^\x00-\x2f\x3a-\x60\x7b-\x7f]+\Z")


@dataclass(frozen=True, slots=True)
class Params:
    """Parameters of `filters.url`; all lists are optional."""

    block: tuple[Asset, ...] = ()
    """Files or UT1 folders of domains and URL prefixes to drop."""
    categories: tuple[str, ...] = REFINEDWEB_CATEGORIES
    """Which categories of UT1 folders to read; one that a folder lacks is an error."""
    optout: tuple[Asset, ...] = ()
    """Files of domains and URL prefixes whose owners asked to be left out."""
    allow: tuple[Asset, ...] = ()
    """Files of domains that the block lists and word rules must not drop."""
    public_suffixes: Asset | None = None
    """A public suffix list: an entry of `block` that is itself a public suffix (``co.uk``) then
    matches that host only, not all hosts below it."""
    words: Literal["refinedweb", "none"] = "refinedweb"
    """The lists of words: RefinedWeb's, English, or none."""
    extra_words: tuple[str, ...] = ()
    extra_phrases: tuple[str, ...] = ()
    extra_soft_words: tuple[str, ...] = ()
    soft_threshold: int = 2
    """Different soft words that drop (RefinedWeb: 2)."""
    missing: Literal["keep", "drop"] = "keep"

    def __post_init__(self) -> None:
        if self.soft_threshold < 1:
            raise ConfigError(
                f"filters.url: soft_threshold is {self.soft_threshold}",
                hint="give 1 or more; words: none switches the word rules off",
            )
        for name in ("extra_words", "extra_soft_words"):
            for word in getattr(self, name):
                if not _WORD.match(word):
                    raise ConfigError(
                        f"filters.url: {name} has {word!r}, which can never be one word of a URL",
                        hint="give one run of lower-case letters and digits; phrases go to "
                        "extra_phrases",
                    )
        for phrase in self.extra_phrases:
            if not phrase.split() or not all(_WORD.match(w) for w in phrase.split()):
                raise ConfigError(
                    f"filters.url: extra_phrases has {phrase!r}",
                    hint="give lower-case words separated by blanks",
                )


class UrlFilter(Stage):
    """`filters.url`: see the module docstring."""

    name: ClassVar[str] = "filters.url"
    version: ClassVar[int] = 1
    kind: ClassVar[Kind] = "decide"
    takes: ClassVar[Literal["page", "document", "any"]] = "any"
    Params: ClassVar[type] = Params

    reasons: tuple[str, ...] = (
        "url_missing",
        "url_invalid",
        "url_optout",
        "url_domain",
        "url_listed",
        "url_word",
        "url_soft_words",
    )

    def check_assets(self) -> None:
        p: Params = self.params
        check_lists((*p.block, *p.optout, *p.allow), p.categories)
        if p.public_suffixes is not None:
            public_suffixes(Path(p.public_suffixes))

    def setup(self) -> None:
        """Reads the lists. Raises AssetError if one is missing, empty or not a list."""
        p: Params = self.params
        suffixes = None if p.public_suffixes is None else Path(p.public_suffixes)
        self._block = load_lists(p.block, p.categories, suffixes)
        self._optout = load_lists(p.optout, p.categories)
        self._allow = load_lists(p.allow, p.categories)
        builtin = p.words == "refinedweb"
        self._words = frozenset((url_words("words") if builtin else ()) + p.extra_words)
        self._soft = frozenset((url_words("soft_words") if builtin else ()) + p.extra_soft_words)
        self._phrases = _phrase_pattern((url_words("phrases") if builtin else ()) + p.extra_phrases)

    def apply(self, batch: Sequence[Page | Document]) -> list[Outcome]:
        """One outcome for each page or document, by its URL."""
        targets = [host_and_target(item.url) for item in batch]
        optout = self._optout.first_match(targets)
        allowed = self._allow.first_match(targets)
        blocked = self._block.first_match(targets)
        outcomes: list[Outcome] = []
        for i, item in enumerate(batch):
            drop: Drop | None = None
            target = targets[i]
            if target is None:
                if item.url.strip():
                    drop = Drop("url_invalid", item.url[:200])
                elif self.params.missing == "drop":
                    drop = Drop("url_missing")
            elif optout[i] is not None:
                drop = Drop("url_optout", optout[i])
            elif allowed[i] is None:
                entry = blocked[i]
                if entry is not None:
                    drop = Drop("url_listed" if "/" in entry else "url_domain", entry)
                else:
                    drop = self._by_words(target[0] + target[1])
            outcomes.append(item if drop is None else drop)
        return outcomes

    def _by_words(self, text: str) -> Drop | None:
        runs = set(_RUN.findall(text))
        hit = runs & self._words
        if hit:
            return Drop("url_word", min(hit))
        if self._phrases is not None:
            match = self._phrases.search(text)
            if match:
                return Drop("url_word", match.group(0).strip("-_.+ /?&="))
        soft = runs & self._soft
        if len(soft) >= self.params.soft_threshold:
            return Drop("url_soft_words", " ".join(sorted(soft)))
        return None


def _phrase_pattern(phrases: tuple[str, ...]) -> Any:
    """A compiled re2 pattern that finds any of the phrases, or None if there are none."""
    import re2

    if not phrases:
        return None
    parts: list[str] = []
    for phrase in sorted(set(phrases)):
        words = [re2.escape(w) for w in phrase.split()]
        parts.append("".join(words))
        if len(words) > 1:
            gap = r"[^a-z0-9/?#]{1,3}"
            parts.append(r"(?:^|[^a-z0-9])" + gap.join(words) + r"(?:[^a-z0-9]|$)")
    return re2.compile("|".join(parts))


STAGE = UrlFilter

__all__ = ["REFINEDWEB_CATEGORIES", "STAGE", "EntrySet", "Params", "UrlFilter"]
