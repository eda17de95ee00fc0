"""Pages that a server sent in pieces, put together as a browser does.

React's streaming renderer [1] sends a page with gaps, and what belongs into them at the end of the
body, in hidden elements, each followed by a script that moves it to its place. Read as it is, the
main text would stand hidden after the footer, its headings apart from its paragraphs. It is all
done on the markup itself: the pieces are written by one program in one form.

A gap is ``<!--$?--><template id="B:1"></template>…<!--/$-->``, where ``…`` is what is shown until
the piece has come; a piece is ``<div hidden id="S:1">…</div>``, moved by ``$RC("B:1","S:1")`` in a
script after it. Pieces of pieces are moved by ``$RS("S:2","P:2")`` to the place of
``<template id="P:2"></template>``.

[1] React, renderToPipeableStream.
"""

from __future__ import annotations

import re
from bisect import bisect_left

MAX_PIECES = 2_000
"""A page with more calls is left as it is."""

_CALL = re.compile(r'\$R([CS])\("([\w:.-]{1,60})","([\w:.-]{1,60})"')
_PIECE = re.compile(r'<div hidden(?:="")? id="([\w:.-]{1,60})">')
_DIV = re.compile(r"<(/?)div(?:>|\s[^>]*>)")
_GAP = re.compile(r'<template id="([\w:.-]{1,60})"></template>')
_BORDER = re.compile(r"<!--(/?)\$[?!~]?-->")


def settle(html: str) -> str:
    """`html` with its pieces in their places; itself if it has none."""
    if '$RC("' not in html and '$RS("' not in html:
        return html
    calls = list(_CALL.finditer(html))
    if len(calls) > MAX_PIECES:
        return html
    pieces = _pieces(html)
    gaps = {m[1]: m.span() for m in reversed(list(_GAP.finditer(html)))}
    ends = _ends_of_gaps(html)
    moves: dict[int, tuple[int, int, int]] = {}  # start of a gap: its end, what goes there from, to
    cuts: dict[int, int] = {}  # start of a piece: its end
    for call in calls:
        piece_id, gap_id = (call[3], call[2]) if call[1] == "C" else (call[2], call[3])
        piece, gap = pieces.get(piece_id), gaps.get(gap_id)
        if piece is None or gap is None or piece[0] in cuts or gap[0] in moves:
            continue
        start, inner, close, end = piece
        cuts[start] = end
        moves[gap[0]] = (max(ends.get(gap[0], 0), gap[1]), inner, close)
    return _put_together(html, moves, cuts) if moves else html


def _pieces(html: str) -> dict[str, tuple[int, int, int, int]]:
    """Of each piece its start, the start and end of what it holds, and its end. Pieces do not lie
    in each other, so that each ends before the next one starts."""
    found: dict[str, tuple[int, int, int, int]] = {}
    starts = list(_PIECE.finditer(html))
    for k, piece in enumerate(starts):
        limit = starts[k + 1].start() if k + 1 < len(starts) else len(html)
        level = 1
        for div in _DIV.finditer(html, piece.end(), limit):
            level += -1 if div[1] else 1
            if level == 0:
                found.setdefault(piece[1], (piece.start(), piece.end(), div.start(), div.end()))
                break
    return found


def _ends_of_gaps(html: str) -> dict[int, int]:
    """Where what a border opens begins, to the end of the border that closes it."""
    ends: dict[int, int] = {}
    opened: list[int] = []
    for border in _BORDER.finditer(html):
        if not border[1]:
            opened.append(border.end())
        elif opened:
            ends[opened.pop()] = border.end()
    return ends


def _put_together(
    html: str, moves: dict[int, tuple[int, int, int]], cuts: dict[int, int]
) -> str:  # fmt: skip
    """`html` as it is where a piece would get lost (one that is to go into itself, say)."""
    events = sorted([*moves, *cuts])
    parts: list[str] = []
    moved = 0
    todo = [(0, len(html))]
    while todo:
        at, end = todo.pop()
        k = bisect_left(events, at)
        if k == len(events) or events[k] >= end:
            parts.append(html[at:end])
            continue
        event = events[k]
        parts.append(html[at:event])
        if event in cuts:
            todo.append((cuts[event], end))
            continue
        after, start, stop = moves[event]
        moved += 1
        todo.append((after, end))
        todo.append((start, stop))
    return "".join(parts) if moved == len(moves) else html
