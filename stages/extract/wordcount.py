"""How many words a text has, by a rule that no Python version can change.

Thresholds of the tiers compare the outputs of two libraries, so the count must be cheap and must
not move between Pythons: ``\\w`` follows the interpreter's Unicode tables. The rule names its
ranges instead. It is no tokeniser (that is `corpusmill.stages.words`).

* A run of ASCII letters, digits and ``_`` is a word; so is a run that also holds characters from
  U+00AA upwards that are not in `_SEPARATORS`.
* Han and kana are written without spaces: each character is a word.
* Thai, Lao, Khmer and Myanmar have no spaces either, and words of about five characters (marks
  included): every `SOUTH_EAST_ASIAN_CHARS` characters are a word, rounded down.
"""

from __future__ import annotations

import re

SOUTH_EAST_ASIAN_CHARS = 5
"""Characters that stand for one word in Thai, Lao, Khmer and Myanmar (a convention)."""

_IDEOGRAPHS = (
    "\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_SOUTH_EAST_ASIAN = "\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\ua9e0-\ua9ff\uaa60-\uaa7f"
_SEPARATORS = (
    "\u0000-\u002f\u003a-\u0040\u005b-\u005e\u0060\u007b-\u00a9\u00ab-\u00b4\u00b6-\u00b9\u00bb-\u00bf"
    "\u00d7\u00f7\u2000-\u200b\u200e-\u203e\u2041-\u2053\u2055-\u206f\u20a0-\u20cf\u2190-\u2bff"
    "\u2e00-\u2e7f\u3000-\u3004\u3008-\u3020\u3030\u30fb\ufe10-\ufe1f\ufe30-\ufe32\ufe35-\ufe4c"
    "\ufe50-\ufe6f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff3e\uff40\uff5b-\uff65\ufff9-\uffff"
    "\U0001f000-\U0001faff"
)
_RUN = re.compile(f"[^{_SEPARATORS}{_IDEOGRAPHS}{_SOUTH_EAST_ASIAN}]+|[{_IDEOGRAPHS}]")
_SEA = re.compile(f"[{_SOUTH_EAST_ASIAN}]")
_ASCII_TABLE = bytes(
    c if chr(c).isascii() and (chr(c).isalnum() or chr(c) == "_") else 0x20 for c in range(256)
)


def count_words(text: str) -> int:
    """The number of words in `text`."""
    if text.isascii():
        return len(text.encode("ascii").translate(_ASCII_TABLE).split())
    words = len(_RUN.findall(text))
    if _SEA.search(text) is not None:
        words += len(_SEA.findall(text)) // SOUTH_EAST_ASIAN_CHARS
    return words
