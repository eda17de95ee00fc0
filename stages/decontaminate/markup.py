"""The source of a page as its words: tags and entities are none.

Extraction leaves no markup, but texts come from elsewhere too, and pages quote source. A tag would
stand as a word or two between the words of an item. Every character keeps its place.
"""

from __future__ import annotations

import re
from typing import Final

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
    if "<" in text:
        text = _TAG.sub(lambda m: " " * len(m[0]), text)
    if "&" in text:
        text = _ENTITY.sub(_plain, text)
    return text


def _plain(m: re.Match[str]) -> str:
    return _MEANT[m[0][1:-1]] + _IGNORED * (len(m[0]) - 1)
