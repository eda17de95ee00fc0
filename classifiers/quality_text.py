"""The text that the quality model sees, the same in training and in use.

A linear model takes whatever separates its two sets, also what has nothing to do with quality: the
tokenisation of one corpus (``@-@`` and ``<unk>`` in WikiText), Markdown signs, curly quotes, long
numbers, or where a file was cut. `normalise` removes what is known to mislead. It works with
explicit character ranges, since case tables and character classes differ between Pythons.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from typing import Any

MAX_CHARS = 6000
"""Characters of a document that are read. Word averages hardly move after a thousand words."""

_SPACES = "\x00\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f\x85\xa0\u2000\u2001\u2002\u2003\u2004\u2005\u2006"
_SPACES += "\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_TABLE: dict[int, str] = {
    **dict.fromkeys(map(ord, _SPACES), " "),
    **{ord(upper): upper.lower() for upper in string.ascii_uppercase},
    **dict.fromkeys(map(ord, "‘’‚‛′´"), "'"),
    **dict.fromkeys(map(ord, "“”„‟″«»"), '"'),
    **dict.fromkeys(map(ord, "‐‑‒–—―−"), "-"),
    **dict.fromkeys(map(ord, "`#*_~^|\\/<>{}[]=+@&•·►▶■□●○→←↑↓©®™"), " "),
    ord("…"): " ... ",
}
_WIKITEXT = re.compile(r" ?@([-,.])@ ?|<unk>")
_NUMBER = re.compile(r"[0-9]+(?:[.,:][0-9]+)*")
_MARK = re.compile(r"([!-/:-@\[-`{-~])")
_BLANKS = re.compile(r" +")


def normalise(text: str, max_chars: int = MAX_CHARS) -> str:
    """One line of lower-case words and separated punctuation, from the first `max_chars`
    characters. Numbers become ``0``; Markdown signs, bullets and label prefixes disappear."""
    text = _WIKITEXT.sub(lambda m: m.group(1) or " ", text[:max_chars])
    text = _NUMBER.sub("0", text.translate(_TABLE))
    return _BLANKS.sub(" ", _MARK.sub(r" \1 ", text)).strip(" ")


def scores(model: Any, texts: Sequence[str], label: str, max_chars: int = MAX_CHARS) -> list[float]:
    """The model's probability of `label` for each text, 0 to 1, rounded to 4 decimals.

    fastText's probabilities reach 1.00001 and are clamped. A text without any word gets 0.0.
    """
    wanted = f"__label__{label}"
    out = []
    for text in texts:
        line = normalise(text, max_chars)
        value = 0.0
        if line:
            labels, values = model.predict(line, k=-1, threshold=-1.0)
            value = next(
                (float(v) for name, v in zip(labels, values, strict=True) if name == wanted), 0.0
            )
        out.append(round(min(1.0, max(0.0, value)), 4))
    return out
