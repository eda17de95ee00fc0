# ruff: noqa: SIM102, SIM109, SIM905 - long tests compile to plain branches
"""One compiled pass over a page's bytes before any parser: what it would cost, and what it holds.

The cost is that of `corpusmill.stages.extract.budget`, rule by rule (the tests hold the two equal);
the same pass says whether the page has anything for `corpusmill.stages.extract.rewrite` and
`corpusmill.stages.extract.streamed`, so that nothing searches the page once more. Importing this
module compiles (or loads) the kernel.

The stacks hold slots of one table. Its keys are made of the scope's number and a name (or a name
and attributes); beside each key stands how many of it are open in that scope, for a formatting
element's name the place of the last one that is open.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from corpusmill.stages import kernel_types as types
from corpusmill.stages.compiled import array, kernel, out
from corpusmill.stages.extract.budget import PER_NODE, SAME_FORMATTING, SCOPE_DEPTH, kinds_of_names

from .vocabulary import FNV_PRIME, FNV_START, key_of, lookup

if TYPE_CHECKING:
    import numpy.typing as npt

_VOID, _OPTIONAL, _FORMATTING, _CELL, _SCOPE, _TABLE, _TABLE_PART, _OPTION, _ROOT, _RAW, _SELECT = (
    range(1, 12)
)
_LAST_SPECIAL = _ROOT
_KINDS = {
    "void": _VOID, "optional": _OPTIONAL, "formatting": _FORMATTING, "cell": _CELL,
    "scope": _SCOPE, "table": _TABLE, "table_part": _TABLE_PART, "option": _OPTION,
    "root": _ROOT, "raw": _RAW, "select": _SELECT,
}  # fmt: skip
DEPTH, NODES, TO_REWRITE, IN_PIECES = range(4)

_int: Any = np.int64  # loads of bytes: mypy sees no scalars where the compiler does
_start, _prime, _shift = np.uint64(FNV_START), np.uint64(FNV_PRIME), np.uint64(20)
_mix, _byte = np.uint64(11400714819323198485), np.uint64(8)
_none, _one = np.uint64(0), np.uint64(1)
_KEY, _COUNT = 0, 1


def _key(name: str) -> np.uint64:
    return np.uint64(key_of(name))


def _word(text: str) -> np.uint64:
    """The last (up to eight) bytes that the window holds after `text`."""
    return np.uint64(int.from_bytes(text.encode(), "big"))


_A_KEY, _TABLE_KEY, _SELECT_KEY, _SVG, _MATH, _PRE = (
    _key(name) for name in "a table select svg math pre".split()
)
_KATEX, _FIVE = _word("katex"), np.uint64((1 << 40) - 1)
_HLJS, _SEVEN = _word("hljs-ln"), np.uint64((1 << 56) - 1)
_MATH_TEX, _MWE, _LATEX_PHP, _BLOB = (
    _word(text) for text in "math/tex mwe-math atex.php lob-code".split()
)
_TEX, _TEX_TOO, _LATEX, _LATEX_TOO = (
    _word(text) for text in ('ss="tex"', 'ss="tex ', '="latex"', '="latex ')
)


@kernel(types.uint64(array(types.int64, dims=2), types.uint64))
def _slot(table, key):  # type: ignore[no-untyped-def]
    """Where `key` stands, or would."""
    mask = np.uint64(table.shape[0] - 1)
    slot = (key >> _shift) & mask
    while table[slot, _KEY] != 0 and table[slot, _KEY] != _int(key):
        slot = (slot + _one) & mask
    return slot


@kernel(
    types.void(
        array(types.uint8), array(types.int64, dims=2), types.int64, types.int64,
        out(types.int64, dims=2), out(types.uint64), out(types.uint64, dims=2),
        out(types.int64, dims=2), out(types.int64),
    )
)  # fmt: skip
def look(  # type: ignore[no-untyped-def]
    data, names, stop_depth, stop_nodes, table, stack, formatting, scopes, info,
):  # fmt: skip
    """Fills `info`. `table` has a power of two of rows, all zero; `stack`, `formatting` and
    `scopes` have room for the levels, the formatting elements and the scopes."""
    n = data.shape[0]
    i = 0
    depth = nodes = 0
    to_rewrite = in_pieces = 0
    # the present scope
    sp = 0  # levels open, those of outer scopes included
    base = 0  # levels open when it began
    n_formatting = 0
    scope = _none
    opener = _none
    opener_is_cell = 0
    below = 0
    n_scopes = 0
    made_scopes = 0
    n_made = 0  # formatting elements so far
    options = roots = 0
    while i < n:
        if data[i] != 60:
            i += 1
            continue
        i += 1
        if i >= n:
            break
        c = _int(data[i])
        if c == 33 and i + 2 < n and data[i + 1] == 45 and data[i + 2] == 45:
            # ---- a comment
            i += 3
            while i < n and not (data[i] == 62 and data[i - 1] == 45 and data[i - 2] == 45):
                i += 1
            continue
        closing = c == 47
        if closing:
            i += 1
            if i >= n:
                break
            c = _int(data[i])
        if (c | 32) < 97 or (c | 32) > 122:
            continue
        # ---- a tag: its name
        name = _start
        while i < n:
            c = _int(data[i])
            if c == 60 or c == 62 or c == 47 or c == 32 or (c >= 9 and c <= 13):
                break
            if c >= 65 and c <= 90:
                c |= 32
            name = (name ^ np.uint64(c)) * _prime
            i += 1
        slot = _slot(names, name)
        kind = names[slot, _COUNT]
        # ---- what else it holds
        first = i
        window = _none
        while i < n:
            c = _int(data[i])
            if c == 60 or c == 62:
                break
            window = window << _byte | np.uint64(c)
            if c == 120:
                if window & _FIVE == _KATEX or window == _MATH_TEX:
                    to_rewrite = 1
            elif c == 104:
                if window == _MWE:
                    to_rewrite = 1
            elif c == 112:
                if window == _LATEX_PHP:
                    to_rewrite = 1
            elif c == 101:
                if window == _BLOB:
                    to_rewrite = 1
            elif c == 110:
                if window & _SEVEN == _HLJS:
                    to_rewrite = 1
            elif c == 34 or c == 32:
                if (
                    window == _TEX or window == _TEX_TOO or window == _LATEX
                    or window == _LATEX_TOO
                ):  # fmt: skip
                    to_rewrite = 1
            i += 1
        if kind == _RAW:
            if closing:
                continue
            # ---- content that is no markup: to its end tag
            while i < n:
                c = _int(data[i])
                i += 1
                if c == 36 and i + 2 < n and data[i] == 82 and data[i + 2] == 40:
                    in_pieces = 1
                if c != 60 or i >= n or data[i] != 47:
                    continue
                i += 1
                key = _start
                while i < n:
                    c = _int(data[i])
                    if c == 62 or c == 47 or c == 32 or (c >= 9 and c <= 13):
                        break
                    if c == 60:
                        key = _none
                        break
                    if c >= 65 and c <= 90:
                        c |= 32
                    key = (key ^ np.uint64(c)) * _prime
                    i += 1
                if key == name and i < n:
                    break
            continue
        if kind != 0 and kind <= _LAST_SPECIAL:
            in_cell = 0
            if opener_is_cell and kind >= _CELL and kind <= _TABLE_PART and kind != _SCOPE:
                slot = _slot(table, (_TABLE_KEY ^ scope) * _mix | _one)
                in_cell = table[slot, _COUNT] == 0
            leave = 0
            enter = 0
            if closing:
                if kind == _FORMATTING:
                    slot = _slot(table, (name ^ scope) * _mix | _one)
                    place = table[slot, _COUNT]
                    if place > 0:
                        table[formatting[place, 0], _COUNT] -= 1
                        table[slot, _COUNT] = _int(formatting[place, 1])
                        n_formatting -= 1
                elif kind == _CELL or kind == _SCOPE:
                    leave = opener == name
                elif kind == _TABLE or kind == _TABLE_PART:
                    leave = in_cell
            else:
                nodes += 1
                if kind == _FORMATTING:
                    key = (name ^ scope) * _mix | _one
                    slot = _slot(table, key)
                    if name != _A_KEY or table[slot, _COUNT] == 0:
                        tag = key
                        if name != _A_KEY:
                            for j in range(first, i):
                                c = _int(data[j])
                                if c >= 65 and c <= 90:
                                    c |= 32
                                tag = (tag ^ np.uint64(c)) * _prime
                        tag = (tag ^ _mix) * _prime | _one
                        table[slot, _KEY] = _int(key)
                        same = _slot(table, tag)
                        if table[same, _COUNT] < SAME_FORMATTING:
                            table[same, _KEY] = _int(tag)
                            table[same, _COUNT] += 1
                            n_made += 1
                            formatting[n_made, 0] = same
                            formatting[n_made, 1] = table[slot, _COUNT]
                            table[slot, _COUNT] = n_made
                            n_formatting += 1
                elif kind != _VOID:
                    nodes += n_formatting
                    if kind == _OPTION:
                        slot = _slot(table, (_SELECT_KEY ^ scope) * _mix | _one)
                        if table[slot, _COUNT] > 0:
                            options += 1
                            nodes += options // PER_NODE
                    elif kind == _ROOT:
                        if i > first:
                            roots += 1
                            nodes += roots // PER_NODE
                    elif kind == _CELL or kind == _TABLE_PART:
                        leave = in_cell
                        enter = kind == _CELL
                    elif kind == _SCOPE:
                        enter = 1
            if leave:
                n_scopes -= 1
                sp = base
                base = scopes[n_scopes, 0]
                n_formatting = scopes[n_scopes, 1]
                scope = np.uint64(scopes[n_scopes, 2])
                opener = np.uint64(scopes[n_scopes, 3])
                opener_is_cell = scopes[n_scopes, 4]
                below = scopes[n_scopes, 5]
            if enter and kind == _CELL:  # a cell outside a table is ignored
                slot = _slot(table, (_TABLE_KEY ^ scope) * _mix | _one)
                enter = table[slot, _COUNT] > 0
            if enter:
                scopes[n_scopes, 0] = base
                scopes[n_scopes, 1] = n_formatting
                scopes[n_scopes, 2] = _int(scope)
                scopes[n_scopes, 3] = _int(opener)
                scopes[n_scopes, 4] = opener_is_cell
                scopes[n_scopes, 5] = below
                n_scopes += 1
                made_scopes += 1
                below += sp - base + n_formatting + SCOPE_DEPTH
                base = sp
                n_formatting = 0
                scope = np.uint64(made_scopes)
                opener = name
                opener_is_cell = kind == _CELL
            if closing and kind != _TABLE:
                continue
        elif not closing:
            nodes += 1 + n_formatting
            if i > first and data[i - 1] == 47:
                # only foreign elements can close themselves; <div/> opens a div
                slot = _slot(table, (_SVG ^ scope) * _mix | _one)
                if table[slot, _COUNT] > 0:
                    continue
                slot = _slot(table, (_MATH ^ scope) * _mix | _one)
                if table[slot, _COUNT] > 0:
                    continue
            if kind == _SELECT:
                options = 0
            elif name == _PRE or name == _MATH:
                to_rewrite = 1
        if kind == 0 or kind == _TABLE or kind == _SELECT:
            key = (name ^ scope) * _mix | _one
            slot = _slot(table, key)
            if not closing:
                table[slot, _KEY] = _int(key)
                table[slot, _COUNT] += 1
                stack[sp] = slot
                sp += 1
            elif table[slot, _COUNT] > 0:
                while True:
                    sp -= 1
                    table[stack[sp], _COUNT] -= 1
                    if stack[sp] == slot:
                        break
        if not closing:
            here = below + sp - base + n_formatting
            depth = max(depth, here)
            if here > stop_depth or nodes > stop_nodes:
                break
    info[DEPTH] = depth
    info[NODES] = nodes
    info[TO_REWRITE] = to_rewrite
    info[IN_PIECES] = in_pieces


@dataclass(frozen=True, slots=True)
class Intake:
    """What is known of a page before it is parsed; of one over budget only that."""

    depth: int
    nodes: int
    to_rewrite: bool
    """Whether it may hold formulas or code."""
    in_pieces: bool
    """Whether it may have been sent in pieces."""


@cache
def _names() -> npt.NDArray[np.int64]:
    """The kinds of the names that the scan treats apart, as a table."""
    keys, kinds = lookup({name: _KINDS[kind] for name, kind in kinds_of_names().items()})
    return np.stack((keys.view(np.int64), kinds), axis=1)


def intake(html: bytes, *, stop_depth: int, stop_nodes: int) -> Intake:
    """What the page `html` (UTF-8) costs and holds; it ends early once a limit is passed."""
    data = np.frombuffer(html, np.uint8)
    n_tags = int(np.count_nonzero(data == ord("<")))
    # each tag opens at most one of each, and the first beyond a limit ends the pass
    levels, elements = min(n_tags, stop_depth) + 2, min(n_tags, stop_nodes) + 2
    size = 16
    while size < 2 * elements:  # 14 formatting elements in a cell take 28 rows, the cell none
        size *= 2
    info = np.zeros(4, np.int64)
    look(
        data, _names(), stop_depth, stop_nodes, np.zeros((size, 2), np.int64),
        np.empty(levels, np.uint64), np.empty((elements + 1, 2), np.uint64),
        np.empty((levels, 6), np.int64), info,
    )  # fmt: skip
    depth, nodes, to_rewrite, in_pieces = info.tolist()
    return Intake(depth, nodes, bool(to_rewrite), bool(in_pieces))
