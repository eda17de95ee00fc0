"""The title that a page states in its head, read without a parse."""

from __future__ import annotations

import html as entities
import re

HEAD_CHARS = 131_072
"""How far into the page the title is looked for, in characters."""
TITLE_CHARS = 500

_HIDDEN = re.compile(
    r"<!--(?:.*?-->|.*\Z)|<(script|style)\b(?:.*?</\1\s*>|.*\Z)", re.IGNORECASE | re.DOTALL
)
_TITLE = re.compile(r"<title(?:\s[^>]{0,2000})?>([^<]*)", re.IGNORECASE)
_SPACE = re.compile(r"[\s\u00a0]+", re.ASCII)


def read_title(html: str) -> str:
    """The text of the first ``title`` element on one line, at most `TITLE_CHARS` characters;
    empty if the page has none."""
    at = html.find("<title", 0, HEAD_CHARS)
    if at < 0:
        at = html[:HEAD_CHARS].lower().find("<title")
        if at < 0:
            return ""
    head = _HIDDEN.sub(" ", html[: at + 8 * TITLE_CHARS])
    match = _TITLE.search(head)
    if match is None:  # the one that was found lies in a comment
        match = _TITLE.search(_HIDDEN.sub(" ", html[:HEAD_CHARS]))
    if match is None:
        return ""
    return _SPACE.sub(" ", entities.unescape(match.group(1))).strip(" ")[:TITLE_CHARS]
