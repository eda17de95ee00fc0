"""The source of a page as its words: tags and entities are none.

Extraction leaves no markup, but texts come from elsewhere too, and pages quote source. A tag would
stand as a word or two between the words of an item. Every character keeps its place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from corpusmill.stages.words import WordTable

if TYPE_CHECKING:
    import numpy.typing as npt

    I64 = npt.NDArray[np.int64]

Tag = tuple[int, int]

_IGNORED: Final = "\u00ad"
"""A character that no word is told by: it stands where an entity was longer than what it means."""

_MEANT: Final = {
    "amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'", "nbsp": " ", "ndash": "-",
    "mdash": "-", "lsquo": "'", "rsquo": "'", "ldquo": '"', "rdquo": '"', "hellip": " ",
    "#39": "'", "#34": '"', "#x27": "'", "#x22": '"', "#8217": "'", "#160": " ",
}  # fmt: skip
_TAG: Final = re.compile(r"</?[A-Za-z][A-Za-z0-9]{0,15}(?:\s[^<>]{0,300})?/?>")
_ENTITY: Final = re.compile(rf"&(?:{'|'.join(_MEANT)});")


def unmarked(text: str) -> str:
    """`text` with spaces for tags, and what they mean for entities: as many characters."""
    text = without_tags(text)
    return _ENTITY.sub(_plain, text) if "&" in text else text


def without_tags(text: str) -> str:
    """`text` with spaces for tags: as many characters."""
    return _TAG.sub(lambda m: " " * len(m[0]), text) if "<" in text else text


def _plain(m: re.Match[str]) -> str:
    return _MEANT[m[0][1:-1]] + _IGNORED * (len(m[0]) - 1)


def has_entities(text: str) -> bool:
    """Whether `unmarked` would change more than tags."""
    return "&" in text and _ENTITY.search(text) is not None


def tags(text: str) -> list[Tag]:
    """Where the tags of `text` stand, in bytes of its UTF-8."""
    if "<" not in text:
        return []
    if text.isascii():
        return [m.span() for m in _TAG.finditer(text)]
    found = []
    chars = at = 0
    for m in _TAG.finditer(text):
        first = at + len(text[chars : m.start()].encode("utf-8", "surrogatepass"))
        chars, at = m.end(), first + len(m[0].encode("utf-8", "surrogatepass"))
        found.append((first, at))
    return found


def outside(table: WordTable, tagged: Mapping[int, Sequence[Tag]]) -> tuple[I64, I64]:
    """The numbers of the words of some documents of `table` that are not in their tags, and where
    each document's begin among these; one entry more than documents. A tag ends a word as a space
    does, so these are the words of the texts without tags."""
    kept = []
    for document, places in tagged.items():
        begin, end = np.array(places).T
        first, last = table.doc_start[document : document + 2]
        start = table.start[first:last]
        tag = np.searchsorted(begin, start, side="right") - 1
        kept.append(first + np.flatnonzero((tag < 0) | (start >= end[tag])))
    return np.concatenate(kept), np.cumsum([0, *map(len, kept)])
