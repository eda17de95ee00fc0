"""Markdown from what the libraries give.

resiliparse's "minimal HTML" keeps headings, paragraphs, lists, ``pre`` and line breaks; rows of
tables are lines with tabs. It is written as Markdown without escaping: the reader of this text is
a language model, and a literal ``*`` or ``_`` is better than ``\\*``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

MAX_LIST_NESTING = 50
"""Lists nested deeper are written at this level (the walk is recursive)."""

_HEADINGS = {f"h{n}": "#" * n for n in range(1, 7)}
_SPACE = re.compile(r"[ \n\r\f]+")
_FORMULA = re.compile(r"\$[^$\n]+\$")
_ESCAPED = re.compile(r"(\\+)([*_`~\[\]<])")
_MANY_LINES = re.compile(r"\n{3,}")


def unescape_formulas(markdown: str) -> str:
    """`markdown` with what stands between dollar signs free of trafilatura's escapes.

    It writes ``n`` backslashes before one of ``* _ ` ~ [ ] <`` as ``2 n + 1``; inside a formula
    that breaks the TeX (``a_1`` becomes ``a\\_1``).
    """
    return _FORMULA.sub(lambda m: _ESCAPED.sub(_unescape, m.group(0)), markdown)


def _unescape(match: re.Match[str]) -> str:
    run = match.group(1)
    if len(run) % 2 == 0:  # never written by the rule above
        return match.group(0)
    return run[: len(run) // 2] + match.group(2)


def from_minimal_html(minimal: str) -> str:
    """The Markdown of resiliparse's minimal HTML."""
    from selectolax.lexbor import LexborHTMLParser

    body = LexborHTMLParser(minimal).body
    if body is None:
        return ""
    blocks: list[str] = []
    for node in body.iter(include_text=True):
        block = _block(node)
        if block:
            blocks.append(block)
    return "\n\n".join(blocks)


def _block(node: LexborNode) -> str:
    tag = node.tag
    if tag == "pre":
        code = node.text(deep=True).strip("\n")
        fence = "```"
        while fence in code:
            fence += "`"
        return f"{fence}\n{code}\n{fence}"
    if tag in ("ul", "ol"):
        return "\n".join(_list(node, 0))
    if tag in _HEADINGS:
        text = _inline(node)
        return f"{_HEADINGS[tag]} {text}" if text else ""
    if tag == "-text":
        lines = [line.strip(" \r") for line in node.text(deep=True).split("\n")]
        return _MANY_LINES.sub("\n\n", "\n".join(lines)).strip("\n")
    return _inline(node)


def _list(node: LexborNode, level: int) -> list[str]:
    lines: list[str] = []
    number = 0
    for item in node.iter(include_text=False):
        if item.tag != "li":
            continue
        number += 1
        mark = f"{number}." if node.tag == "ol" else "-"
        indent = "    " * min(level, MAX_LIST_NESTING)
        inner: list[str] = []
        words: list[str] = []
        for child in item.iter(include_text=True):
            if child.tag in ("ul", "ol") and level < MAX_LIST_NESTING:
                inner.extend(_list(child, level + 1))
            else:
                words.append(_inline(child))
        lines.append(f"{indent}{mark} {' '.join(w for w in words if w)}".rstrip(" "))
        lines.extend(inner)
    return lines


def _inline(node: LexborNode) -> str:
    parts: list[str] = []
    for piece in node.traverse(include_text=True):
        if piece.tag == "-text":
            parts.append(_SPACE.sub(" ", piece.text(deep=False)))
        elif piece.tag == "br":
            parts.append("\n")
    return "\n".join(line.strip(" ") for line in "".join(parts).split("\n")).strip("\n")
