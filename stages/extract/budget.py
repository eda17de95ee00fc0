"""What a page may cost, decided by one linear scan of its tags before any parser runs.

Parsers take time that grows with the square of the nesting (Lexbor: 8 s of CPU for 50,000 nested
``div``; resiliparse's main-content step: 3 s for 12,000), and formatting elements that are never
closed are opened again in every following block, so that a page of 1,800 ``<p><b x=1></p>`` makes
1.6 million nodes. Lexbor also takes time with the square of the options of one ``select`` (1.7 s of
CPU for 16,000) and of the ``body`` and ``html`` tags that come again with attributes (1.1 s for
16,000); each of these counts a node more for every 128 before it. All are refused by count, not by
clock, so that the same page is refused everywhere.

The scan keeps a stack of open elements as a parser would, with two simplifications: elements
whose end tag may be omitted (``p``, ``li``, ``tr`` …) do not count, and a table cell counts 3 (its
row and group with it). The depth that it gives may thus differ from a parser's by a small factor.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field


def _names(text: str) -> frozenset[bytes]:
    return frozenset(text.encode("ascii").split())


_VOID = _names(
    "area base basefont bgsound br col embed frame hr img input keygen link meta param source "
    "track wbr image"
)
_OPTIONAL_END = _names(
    "p li dt dd option optgroup tr thead tbody tfoot colgroup rt rp rb rtc html head body"
)
_FORMATTING = _names("a b big code em font i nobr s small strike strong tt u")
_CELLS = _names("td th caption")
_SCOPES = _CELLS | _names("applet marquee object template")
_TABLE_PARTS = _names("table tbody thead tfoot tr")
_SPECIAL = _VOID | _OPTIONAL_END | _FORMATTING | _SCOPES | _TABLE_PARTS
_RAW = _names("script style textarea title xmp iframe noframes")
_ROOTS = _names("html body")
PER_NODE = 128
SCOPE_DEPTH = 3
SAME_FORMATTING = 3
"""A parser opens again at most three formatting elements with the same tag text."""

_TAG = re.compile(rb"<(/?)([a-z][^\s<>/]*)([^<>]*)|<!--")
_RAW_END = {name: re.compile(rb"</" + name + rb"[\s/>]") for name in sorted(_RAW)}


@dataclass(slots=True)
class _Scope:
    """The elements open inside one table cell (or object, or the page), with counts by name."""

    opener: bytes
    stack: list[bytes] = field(default_factory=list)
    counts: dict[bytes, int] = field(default_factory=dict)
    formatting: dict[bytes, list[bytes]] = field(default_factory=dict)
    n_formatting: int = 0

    def push(self, name: bytes) -> None:
        self.stack.append(name)
        self.counts[name] = self.counts.get(name, 0) + 1

    def pop_to(self, name: bytes) -> None:
        if not self.counts.get(name):
            return
        while True:
            top = self.stack.pop()
            self.counts[top] -= 1
            if top == name:
                return

    def open_formatting(self, name: bytes, attributes: bytes) -> None:
        same = self.formatting.setdefault(name, [])
        if name == b"a":  # a second <a> closes the first
            if same:
                return
            attributes = b""
        if same.count(attributes) < SAME_FORMATTING:
            same.append(attributes)
            self.n_formatting += 1

    def close_formatting(self, name: bytes) -> None:
        same = self.formatting.get(name)
        if same:
            same.pop()
            self.n_formatting -= 1


class _Scan:
    """The state of one scan: the open scopes, the depth and the nodes so far."""

    __slots__ = ("below", "nodes", "options", "roots", "scope", "scopes")

    def __init__(self) -> None:
        self.scope = _Scope(b"html")
        self.scopes = [self.scope]
        self.below = 0  # depth of all scopes but the innermost
        self.nodes = 0
        self.options = 0  # in the last select
        self.roots = 0

    def depth(self) -> int:
        return self.below + len(self.scope.stack) + self.scope.n_formatting

    def enter(self, name: bytes) -> None:
        self.below = self.depth() + SCOPE_DEPTH
        self.scope = _Scope(name)
        self.scopes.append(self.scope)

    def leave(self) -> None:
        self.scopes.pop()
        self.scope = self.scopes[-1]
        self.below -= len(self.scope.stack) + self.scope.n_formatting + SCOPE_DEPTH

    def in_cell(self) -> bool:
        """Whether a table part here would end the present cell."""
        return self.scope.opener in _CELLS and not self.scope.counts.get(b"table")

    def close_special(self, name: bytes) -> None:
        if name in _FORMATTING:
            self.scope.close_formatting(name)
        elif name in _SCOPES:
            if self.scope.opener == name:
                self.leave()
        elif name in _TABLE_PARTS:
            if self.in_cell():
                self.leave()
            if name == b"table":
                self.scope.pop_to(name)

    def open_special(self, name: bytes, attributes: bytes) -> None:
        if name in _FORMATTING:
            self.scope.open_formatting(name, attributes)
            return
        if name in _VOID:
            return
        self.nodes += self.scope.n_formatting
        if name == b"option" and self.scope.counts.get(b"select"):
            self.options += 1
            self.nodes += self.options // PER_NODE
        elif name in _ROOTS and attributes:
            self.roots += 1
            self.nodes += self.roots // PER_NODE
        elif name in _CELLS:
            if self.in_cell():
                self.leave()
            if self.scope.counts.get(b"table"):  # a cell outside a table is ignored
                self.enter(name)
        elif name in _SCOPES:
            self.enter(name)
        elif name == b"table":
            self.scope.push(name)
        elif name in _TABLE_PARTS and self.in_cell():
            self.leave()


@dataclass(frozen=True, slots=True)
class Cost:
    """`depth` of nesting and number of `nodes` that a parser would make, both by the scan."""

    depth: int
    nodes: int


def measure_cost(html: bytes, *, stop_depth: int, stop_nodes: int) -> Cost:
    """The cost of the page `html` (UTF-8); the scan ends early once a limit is passed."""
    scan = _Scan()
    deepest = 0
    low = html.lower()
    at = 0
    while (tag := _TAG.search(low, at)) is not None:
        at = tag.end()
        slash, name, attributes = tag.groups()
        if name is None:
            at = low.find(b"-->", tag.start() + 2)
            if at < 0:
                break
            continue
        if name in _RAW:
            if not slash:
                end = _RAW_END[name].search(low, at)
                if end is None:
                    break
                at = end.end() - 1
            continue
        scope = scan.scope
        if name in _SPECIAL:
            if slash:
                scan.close_special(name)
                continue
            scan.nodes += 1
            scan.open_special(name, attributes)
        elif slash:
            if scope.stack and scope.stack[-1] == name:
                scope.stack.pop()
                scope.counts[name] -= 1
            else:
                scope.pop_to(name)
            continue
        else:
            scan.nodes += 1 + scope.n_formatting
            if attributes[-1:] == b"/" and (scope.counts.get(b"svg") or scope.counts.get(b"math")):
                continue  # only foreign elements can close themselves; <div/> opens a div
            scope.push(name)
            if name == b"select":
                scan.options = 0
        depth = scan.depth()
        if depth > deepest:
            deepest = depth
        if depth > stop_depth or scan.nodes > stop_nodes:
            break
    return Cost(deepest, scan.nodes)


def kinds_of_names() -> dict[str, str]:
    """What the scan does at each tag name that it treats apart: for the compiled scan."""
    found = {b"table": "table", b"select": "select", b"option": "option"}
    for names, kind in (
        (_RAW, "raw"), (_ROOTS, "root"), (_VOID, "void"), (_FORMATTING, "formatting"),
        (_CELLS, "cell"), (_SCOPES, "scope"), (_TABLE_PARTS, "table_part"),
        (_OPTIONAL_END, "optional"),
    ):  # fmt: skip
        for name in sorted(names):
            found.setdefault(name, kind)
    return {name.decode(): kind for name, kind in found.items()}


Over = tuple[str, int]
"""``("depth" | "nodes", the value)`` of a page that is over that budget."""


def over_budget(html: bytes, *, max_depth: int, max_nodes: int) -> Over | None:
    """The budget that the page `html` (UTF-8) is over, or None.

    `n` opening tags make at most ``2 * n`` levels (a table and a cell count 4) and
    ``n * (n + 1) / 2`` nodes, so that many pages pass by their number of tags alone.
    """
    opening = html.count(b"<") - html.count(b"</")
    if 2 * opening <= max_depth and opening * (opening + 1) <= 2 * max_nodes:
        return None
    cost = measure_cost(html, stop_depth=max_depth, stop_nodes=max_nodes)
    return over_limits(cost.depth, cost.nodes, max_depth=max_depth, max_nodes=max_nodes)


def over_limits(depth: int, nodes: int, *, max_depth: int, max_nodes: int) -> Over | None:
    """The budget that a page of that cost is over, or None."""
    if depth > max_depth:
        return "depth", depth
    if nodes > max_nodes:
        return "nodes", nodes
    return None
