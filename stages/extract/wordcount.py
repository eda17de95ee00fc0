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
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

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
_WORD, _SEPARATOR, _IDEOGRAPH, _PIECE = range(4)
_ASCII_TABLE = bytes(
    c if chr(c).isascii() and (chr(c).isalnum() or chr(c) == "_") else 0x20 for c in range(256)
)


def count_words(text: str) -> int:
    """The number of words in `text`."""
    if text.isascii():
        return len(text.encode("ascii").translate(_ASCII_TABLE).split())
    import numpy as np

    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    kinds = _kinds()[points]
    in_word = kinds == _WORD
    words = int(np.count_nonzero(in_word[1:] & ~in_word[:-1])) + int(in_word[0])
    words += int(np.count_nonzero(kinds == _IDEOGRAPH))
    return words + int(np.count_nonzero(kinds == _PIECE)) // SOUTH_EAST_ASIAN_CHARS


@cache
def _kinds() -> npt.NDArray[np.uint8]:
    """What each code point is: part of a word, nothing, a word, or a piece of one."""
    import numpy as np

    kinds = np.full(0x110000, _WORD, np.uint8)
    for ranges, kind in (
        (_SEPARATORS, _SEPARATOR), (_IDEOGRAPHS, _IDEOGRAPH), (_SOUTH_EAST_ASIAN, _PIECE),
    ):  # fmt: skip
        for low, high in re.findall("(?s)(.)(?:-(.))?", ranges):
            kinds[ord(low) : ord(high or low) + 1] = kind
    return kinds
