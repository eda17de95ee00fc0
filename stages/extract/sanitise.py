"""Characters that break or silently vanish in the extractors, dealt with before they see them.

`clean_markup` removes what no extractor may see. `Shield` carries through trafilatura what it
would otherwise lose: it drops every character that ``str.isprintable`` refuses, which removes the
joiners that Persian, the Indic scripts and emoji families need, and which differs between Pythons
for characters that are new in Unicode 15 (a Python 3.11 loses U+1FAE8, a 3.13 keeps it). It also
removes the blank lines of code. Each such character is replaced, for the time of the call, by a
letter that the page does not use, from scripts that no web page is written in.
"""

from __future__ import annotations

import re
from typing import Literal

_SURROGATE = re.compile("[\ud800-\udfff]")
_NUMERIC = re.compile(r"&#(?:[xX]([0-9a-fA-F]{1,6})|([0-9]{1,7}));")
_NAMED = re.compile(r"&(zwn?j);")
_FIRST_RESOLVED = 0x100

_LOST = re.compile(
    "[\u200c\u200d\U000e0020-\U000e007f"
    # assigned by Unicode 15.0 and 15.1, by block where the whole block is new
    "\u0cf3\u0ece\u2ffc-\u2fff\u31ef"
    "\U00010efd-\U00010eff\U0001123f-\U00011241\U00011b00-\U00011b5f\U00011f00-\U00011f5f"
    "\U0001342f\U00013439-\U0001345f\U0001b132\U0001b155\U0001d2c0-\U0001d2df"
    "\U0001df25-\U0001df2a\U0001e030-\U0001e08f\U0001e4d0-\U0001e4ff\U0001f6dc"
    "\U0001f774-\U0001f77f\U0001f7d9\U0001fa75-\U0001fa77\U0001fa87-\U0001fa88"
    "\U0001faad-\U0001faaf\U0001fabb-\U0001fabf\U0001face-\U0001facf\U0001fada-\U0001fadb"
    "\U0001fae8\U0001faf7-\U0001faf8\U0002ebf0-\U0002ee5f\U00031350-\U000323af]"
)
_STAND_INS = (*range(0x10600, 0x10737), *range(0x14400, 0x14647))
"""Linear A and Anatolian hieroglyphs: letters since Unicode 7 and 8, so known to every Python."""

_PRE = re.compile(r"<pre(?=[\s>])(?:.*?</pre\s*>|.*\Z)", re.IGNORECASE | re.DOTALL)
_EMPTY_LINE = re.compile(r"\n(?=[ \t]*\n)")
_MARKUP = re.compile(r"(<[^>]*>)")


def clean_markup(html: str) -> str:
    """`html` without NUL and lone surrogates (resiliparse removes the one, raises on the other)."""
    return html.replace("\0", "") if html.isascii() else clean_encoded(html)[0]


def clean_encoded(html: str, utf8: bytes | None = None) -> tuple[str, bytes]:
    """`html` without NUL and lone surrogates, and the same in UTF-8 (`utf8`: `html` in UTF-8, if
    that is known)."""
    if utf8 is None:
        try:
            utf8 = html.encode("utf-8")
        except UnicodeEncodeError:
            html = _SURROGATE.sub("", html)
            utf8 = html.encode("utf-8")
    if b"\0" in utf8:  # in bytes it is found at once, in a text of wide characters it is not
        return html.replace("\0", ""), utf8.replace(b"\0", b"")
    return html, utf8


class Shield:
    """Stand-ins for the characters of one page that trafilatura would lose."""

    __slots__ = ("_back", "html")

    def __init__(self, html: str, *, code: Literal["all", "blank"]) -> None:
        """`html` becomes the shielded page. In ``<pre>``, "all" shields every white space (the
        code becomes one word, its lines return with `restore`); "blank" spaces, tabs and the
        emptiness of lines (where the line breaks must be seen, to fence the code)."""
        if "&#" in html:
            html = _NUMERIC.sub(_resolve, html)
        if "&zw" in html:
            html = _NAMED.sub(lambda m: "\u200d" if m.group(1) == "zwj" else "\u200c", html)
        lost = [] if html.isascii() else sorted(set(_LOST.findall(html)))
        white = ["\n", " ", "\t", ""] if _PRE.search(html) is not None else []
        self._back: dict[int, str] = {}
        self.html = html
        if not lost and not white:
            return
        used = set() if html.isascii() else set(html)
        free = (chr(c) for c in _STAND_INS if chr(c) not in used)
        there = dict(zip(white + lost, free, strict=False))
        self._back = {ord(stand_in): char for char, stand_in in there.items()}
        if lost:
            html = html.translate({ord(c): s for c, s in there.items() if c in lost})
        if white:
            table = {ord(c): there[c] for c in (" ", "\t")}
            if code == "all":
                table[10] = there["\n"]
            html = _PRE.sub(lambda m: _shield_code(m.group(0), table, there[""]), html)
        self.html = html

    def restore(self, text: str) -> str:
        """`text` with the characters back that the stand-ins stood for."""
        return text.translate(self._back) if self._back else text


def _resolve(match: re.Match[str]) -> str:
    value = int(match.group(1), 16) if match.group(1) else int(match.group(2))
    if value < _FIRST_RESOLVED or value > 0x10FFFF or 0xD800 <= value <= 0xDFFF:
        return match.group(0)
    return chr(value)


def _shield_code(markup: str, table: dict[int, str], nothing: str) -> str:
    parts = []
    for part in _MARKUP.split(markup):
        if part.startswith("<"):
            parts.append(part)
        else:
            if 10 not in table:
                part = _EMPTY_LINE.sub("\n" + nothing, part)
            parts.append(part.translate(table))
    return "".join(parts)
