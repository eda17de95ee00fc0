"""What may be written to a terminal: text of a crawl must not steer it."""

from __future__ import annotations


def printable(text: str) -> str:
    """`text` with every character that a terminal obeys or hides (escapes, controls, marks that
    turn the direction) shown as what it is not; line breaks and tabs stay."""
    return "".join(c if c in "\n\t" or c.isprintable() else "\ufffd" for c in text)
