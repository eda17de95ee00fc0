"""Kept blocks as text or Markdown: paragraphs, headings, lists, tables, quotations and code.

Markdown is written without escaping (the reader is a language model), but for ``|`` in cells. A
table is written as rows where it is data: at least two rows with text and two columns, no table
and no lines of code inside, and few words a cell; other tables are layout, and what they hold is
written as if they were not there. A cell that is an icon has the icon's words (*available*, *no*).
A list item with a heading inside is a card, not an item, and gets no mark.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from .vocabulary import TAG

if TYPE_CHECKING:
    from .passes import Blocks

Format = Literal["text", "markdown"]

MAX_CELL_WORDS = 60
"""A table with more words in an average cell is layout."""
MAX_LEVEL = 50
"""Lists nested deeper are written at this level."""

_TAG_ID, _PARENT, _DEPTH, _BLOCK0, _BLOCK1, _NUMBER = 0, 1, 2, 5, 6, 11
_OWNER, _START, _END, _IS_PRE = 0, 1, 2, 7
_WORDS = 1
_HEADINGS = {TAG[f"h{n}"]: n for n in range(1, 7)}
_LI, _OL, _TABLE, _TR, _QUOTE = (TAG[t] for t in ("li", "ol", "table", "tr", "blockquote"))
_CELLS = (TAG["td"], TAG["th"])
_TIGHT = (TAG["dt"], TAG["dd"])
_MATTERS = frozenset((_LI, _TABLE, _TR, _QUOTE, *_CELLS, *_HEADINGS))
_CODE = re.compile("\x01([^\x01\x02]*)\x02")
_MARKS = re.compile("[\x01\x02]")
_NO_WIDTH = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
"""Characters that show nothing: a block of them alone is none."""
_PILCROW = "\u00b6"
"""Links to an entry of a manual end in it; where it ends a block it is never part of a text."""
_HEADING_ANCHOR = re.compile(
    r"(?<=\S)(?: [#\u00a7]| ?\U0001f517\ufe0f?| ?\[ ?edit(?: source)? ?\])$|^# (?=\S)"
)


class _Place(NamedTuple):
    """Where an element stands: what of its ancestors (itself included) matters to layout."""

    quotes: int = 0
    items: tuple[int, ...] = ()
    table: int = -1
    row: int = -1
    cell: int = -1
    heading: int = 0


class _Places:
    """The places of elements, worked out once each."""

    def __init__(self, tree: _Tree) -> None:
        self.tags, self.parents = tree.tags, tree.parents
        self._known: dict[int, _Place] = {0: _Place()}

    def of(self, element: int) -> _Place:
        known = self._known
        place = known.get(element)
        if place is not None:
            return place
        chain = [element]
        while (place := known.get(element := self.parents[element])) is None:
            chain.append(element)
        for e in reversed(chain):
            if self.tags[e] in _MATTERS:
                place = self._inside(place, e)
            known[e] = place
        return place

    def _inside(self, up: _Place, e: int) -> _Place:
        tag = self.tags[e]
        if tag == _LI:
            return _Place(up.quotes, (*up.items, e), up.table, up.row, up.cell, up.heading)
        if tag == _QUOTE:
            return _Place(up.quotes + 1, up.items, up.table, up.row, up.cell, up.heading)
        if tag == _TABLE:
            return _Place(up.quotes, up.items, e, -1, -1, up.heading)
        if tag == _TR:
            return _Place(up.quotes, up.items, up.table, e, -1, up.heading)
        if tag in _CELLS and up.row >= 0:
            return _Place(up.quotes, up.items, up.table, up.row, e, up.heading)
        if tag in _HEADINGS:
            return _Place(up.quotes, up.items, up.table, up.row, up.cell, _HEADINGS[tag])
        return up


@dataclass(slots=True)
class _Table:
    rows: list[int] = field(default_factory=list)
    cells: dict[int, list[int]] = field(default_factory=dict)
    """Cell elements of each row, in order, empty ones included."""


def data_tables(page: Blocks) -> dict[int, tuple[int, int]]:
    """The tables of the page that are data: element number to the range of their blocks."""
    if "data" not in page.tables:
        page.tables["data"] = _find_data_tables(page)
    return page.tables["data"]


def _find_data_tables(page: Blocks) -> dict[int, tuple[int, int]]:
    found = (page.elements[:, _TAG_ID] == _TABLE).nonzero()[0].tolist()
    if not found:
        return {}
    tables = {}
    tree = _tree(page)
    ranges = [(int(page.elements[e, _BLOCK0]), int(page.elements[e, _BLOCK1])) for e in found]
    for k, (e, (first, last)) in enumerate(zip(found, ranges, strict=True)):
        holds_another = k + 1 < len(found) and ranges[k + 1][0] < last
        if first == last or holds_another:
            continue
        rows = _rows(tree, e)
        widths = [len(cells) for cells in rows.cells.values()]
        n_cells = sum(widths)
        filled = sum(page.elements[r, _BLOCK0] < page.elements[r, _BLOCK1] for r in rows.rows)
        if filled < 2 or max(widths, default=0) < 2:
            continue
        if int(page.measures[first:last, _WORDS].sum()) > MAX_CELL_WORDS * n_cells:
            continue
        if any(_has_lines(page, b) for b in range(first, last)):
            continue
        tables[e] = (first, last)
    return tables


def _has_lines(page: Blocks, b: int) -> bool:
    """Whether the block is code of several lines."""
    block = page.blocks[b]
    return bool(block[_IS_PRE]) and b"\n" in page.text[block[_START] : block[_END]].strip()


@dataclass(frozen=True, slots=True)
class _Tree:
    """Columns of the page's elements as lists, which are quicker to walk over than arrays."""

    tags: list[int]
    parents: list[int]
    depths: list[int]


def _tree(page: Blocks) -> _Tree:
    return _Tree(*(page.elements[:, k].tolist() for k in (_TAG_ID, _PARENT, _DEPTH)))


def _rows(tree: _Tree, table: int) -> _Table:
    made = _Table()
    e, level = table + 1, tree.depths[table]
    while e < len(tree.tags) and tree.depths[e] > level:
        tag = tree.tags[e]
        if tag == _TR:
            made.rows.append(e)
            made.cells[e] = []
        elif tag in _CELLS and tree.parents[e] in made.cells:
            made.cells[tree.parents[e]].append(e)
        e += 1
    return made


def render(page: Blocks, kept: Sequence[int], form: Format = "text") -> str:
    """The text of the blocks `kept` (ascending numbers)."""
    return _Writer(page, form).write(kept)


class _Writer:
    def __init__(self, page: Blocks, form: Format) -> None:
        self.page = page
        self.markdown = form == "markdown"
        self.tree = _tree(page)
        self.places = _Places(self.tree)
        self.owner: list[int] = page.blocks[:, _OWNER].tolist()
        self.start: list[int] = page.blocks[:, _START].tolist()
        self.end: list[int] = page.blocks[:, _END].tolist()
        self.parts: list[str] = []
        self.tight = False
        """Whether the last part may be followed by another one on the next line."""

    def write(self, kept: Sequence[int]) -> str:
        tables = data_tables(self.page)
        pre = self.page.blocks[:, _IS_PRE].tolist()
        places = [self.places.of(self.owner[b]) for b in kept]
        cards = {item for place in places if place.heading for item in place.items}
        opened: set[int] = set()
        i = 0
        while i < len(kept):
            b = kept[i]
            place = places[i]
            if place.table in tables and place.cell >= 0:
                j = i
                last = tables[place.table][1]
                while j < len(kept) and kept[j] < last:
                    j += 1
                if self._table(place, kept[i:j]):
                    i = j
                    continue
            if pre[b]:
                self._code(b, place)
            else:
                self._block(b, place, cards, opened)
            i += 1
        return "".join(self.parts)

    def _raw(self, b: int) -> str:
        return self.page.text[self.start[b] : self.end[b]].decode("utf-8", "replace")

    def _text(self, b: int) -> str:
        text = self._raw(b)
        if "\x01" in text or "\x02" in text:
            if self.markdown and "`" not in text:
                text = _CODE.sub(lambda m: f"`{m[1]}`" if m[1].strip(" ") else m[1], text)
            text = _MARKS.sub("", text)
        return text.rstrip(_PILCROW).rstrip(" ") if text.endswith(_PILCROW) else text

    def _add(self, text: str, *, tight: bool = False, quotes: int = 0) -> None:
        if quotes and self.markdown:
            mark = "> " * min(quotes, MAX_LEVEL)
            text = "\n".join(mark + line for line in text.split("\n"))
        if self.parts:
            self.parts.append("\n" if tight and self.tight else "\n\n")
        self.parts.append(text)
        self.tight = tight

    def _block(self, b: int, place: _Place, cards: set[int], opened: set[int]) -> None:
        text = self._text(b)
        if not text.strip(_NO_WIDTH):
            return
        if place.heading:
            text = _HEADING_ANCHOR.sub("", text)
            if self.markdown:
                text = f"{'#' * place.heading} " + text.replace("\n", " ")
            self._add(text, quotes=place.quotes)
            return
        items = [e for e in place.items if e not in cards]
        if not items:
            tight = self.places.tags[self.owner[b]] in _TIGHT
            self._add(text, tight=tight, quotes=place.quotes)
            return
        indent = "    " * (min(len(items), MAX_LEVEL) - 1)
        item = items[-1]
        if item in opened:
            text = f"{indent}    " + text.replace("\n", f"\n{indent}    ")
        else:
            opened.update(items)
            ordered = self.places.tags[self.places.parents[item]] == _OL
            mark = f"{int(self.page.elements[item, _NUMBER])}." if ordered else "-"
            text = f"{indent}{mark} " + text.replace("\n", f"\n{indent}    ")
        self._add(text, tight=True, quotes=place.quotes)

    def _code(self, b: int, place: _Place) -> None:
        code = _MARKS.sub("", self._raw(b)).strip("\n")
        code = "\n".join(line.rstrip(" \t") for line in code.split("\n")).strip("\n")
        if not code:
            return
        if self.markdown:
            fence = "```"
            while fence in code:
                fence += "`"
            code = f"{fence}\n{code}\n{fence}"
        self._add(code, quotes=place.quotes)

    def _table(self, place: _Place, kept: Sequence[int]) -> bool:
        """Writes the rows; false if fewer than two columns are left of them."""
        by_cell: dict[int, list[str]] = {}
        rows: dict[int, None] = {}
        for b in kept:
            at = self.places.of(self.owner[b])
            if at.cell < 0 or at.table != place.table:
                continue
            rows[at.row] = None
            by_cell.setdefault(at.cell, []).append(self._text(b).replace("\n", " "))
        layout = _rows(self.tree, place.table)
        for cell, icon in self._icons(layout).items():
            by_cell.setdefault(cell, [icon])
        lines = []
        for row in layout.rows:
            if row in rows:
                lines.append([" ".join(by_cell.get(cell, ())) for cell in layout.cells[row]])
        width = max((len(line) for line in lines), default=0)
        if width < 2:
            return False
        outside = [b for b in kept if self.places.of(self.owner[b]).cell < 0]
        for b in outside:
            self._add(self._text(b), quotes=place.quotes)
        self._add("\n".join(self._lines(lines, width)), quotes=place.quotes)
        return True

    def _icons(self, table: _Table) -> dict[int, str]:
        """What the icons in the table's cells say: pictures of which it has more than one alike."""
        icons = self.page.icons
        there = {c: icons[c] for cells in table.cells.values() for c in cells if c in icons}
        times = Counter(there.values())
        return {cell: icon for cell, icon in there.items() if times[icon] > 1}

    def _lines(self, lines: list[list[str]], width: int) -> Iterable[str]:
        if not self.markdown:
            return [" | ".join(line) for line in lines]
        made = []
        for number, line in enumerate(lines):
            cells = [cell.replace("|", "\\|") for cell in line] + [""] * (width - len(line))
            made.append(f"| {' | '.join(cells)} |")
            if number == 0:
                made.append("|" + " --- |" * width)
        return made
