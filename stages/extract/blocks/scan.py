# ruff: noqa: SIM102, SIM109, SIM905 - long tests compile to plain branches
"""One compiled pass over a page's well-formed markup: elements, blocks and their clean text.

The input is a tree as Lexbor writes it (UTF-8): tags nested properly, attributes in double quotes,
``&amp; &lt; &gt; &nbsp;`` the only references in text. The pass survives anything else too, with
bounded work and memory, but then its result is not the tree's.

A **block** is a run of text between block-level boundaries; inline elements stay in it, one
``br`` is a line break in it, two in a row end it. A ``pre`` is one block, its text verbatim; in all
others white space is collapsed. Bytes 1 and 2 in a text stand around inline ``code``.

Rows of `elements` and `blocks` are arrays of integers; the columns are named below. Element 0 is
the root. Importing this module compiles (or loads) the kernel: see `corpusmill.stages.compiled`.
"""

# The constants of columns are written out in each module of kernels: compiled code is cached by
# its own file, and a constant that changed in another file would not be seen.

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from corpusmill.stages.compiled import array, kernel, out

from .vocabulary import BLOCK, BREAK, FNV_PRIME, FNV_START, PRUNE, RAW, SKIP, TAG, VOID, key_of

# columns of an element
TAG_ID, PARENT, DEPTH, GROUPS, SIGNATURE, BLOCK0, BLOCK1, IMAGES0, IMAGES1, MARKS, ORDER, SPAN = (
    range(12)
)
ELEMENT_COLUMNS = 12
# bits of MARKS
HIDDEN, ARIA_HIDDEN, NOT_DISPLAYED, IN_NOSCRIPT, ROLE_MAIN, HEADER_CELL = (
    1 << bit for bit in range(6)
)
# columns of a block
OWNER, START, END, LINKS, LINK_BYTES, BOLD_BYTES, IMAGES, IS_PRE, TIMES, BREAKS = range(10)
BLOCK_COLUMNS = 10
# columns of the stack of open elements
STACK_KEY, STACK_TAG, STACK_KIND, STACK_ELEMENT = range(4)
# what `info` returns
N_ELEMENTS, N_BLOCKS, N_BYTES, OUTSIDE_WORDS, N_FORMS, TITLE0, TITLE1 = range(7)
INFO_SIZE = 7

_STOP_SAME_TAG = 512

_A, _B, _STRONG, _CODE, _PRE, _BR, _HEAD, _TITLE, _IMG, _TIME, _NOSCRIPT, _FORM, _TH = (
    TAG[name] for name in "a b strong code pre br head title img time noscript form th".split()
)
_LI, _OL = TAG["li"], TAG["ol"]
_TEXT_KIND = 7  # an inline element, on the stack


_int: Any = np.int64  # loads of bytes: mypy sees no scalars where the compiler does

# Hashes are unsigned: a signed product that overflows is undefined to the compiler.
_FNV_START, _FNV_PRIME, _SHIFT = np.uint64(FNV_START), np.uint64(FNV_PRIME), np.uint64(20)


def _name(name: str) -> np.uint64:
    return np.uint64(key_of(name))


_CLASS, _ID, _ROLE, _ITEMPROP, _STYLE, _HIDDEN, _ARIA, _COLSPAN, _ARIA_LABEL = (
    _name(name)
    for name in "class id role itemprop style hidden aria-hidden colspan aria-label".split()
)
_ROLE_MAIN = _name("main")
_PRUNED_ROLES = tuple(_name(r) for r in "navigation menu contentinfo search dialog".split())
_R0, _R1, _R2, _R3, _R4 = _PRUNED_ROLES

_u8 = array(types.uint8)
_i64 = array(types.int64)
_u64 = array(types.uint64)


@kernel(
    types.void(
        _u8, _u64, _i64, _i64, _u64, _i64, types.int64, out(types.uint8),
        out(types.int64, dims=2), out(types.int64, dims=2), out(types.int64, dims=2),
        out(types.int64),
    )
)  # fmt: skip
def scan(  # type: ignore[no-untyped-def]
    data, tag_keys, tag_values, tag_kinds, class_keys, class_values, prune, text,
    elements, blocks, stack, info,
):  # fmt: skip
    """Fills `text`, `elements`, `blocks` and `info` (``TITLE0:TITLE1`` is the title in `data`).

    `text` needs as many bytes as `data` plus one for each ``<``, `elements` and `stack` a row for
    each ``<`` plus 2, `blocks` twice as many. `prune`: 0 keeps nav, footer and the like.
    """
    n = data.shape[0]
    tag_slots = np.uint64(tag_keys.shape[0] - 1)
    class_slots = np.uint64(class_keys.shape[0] - 1)
    i = 0
    size = 0
    ne = 1
    nb = 0
    elements[0, PARENT] = -1
    sp = 0
    here = 0
    skip = 0
    pruned = 0
    pre = 0
    noscript = 0
    start = 0
    pending = 0
    visible = 0
    brs = 0
    link = 0
    bold = 0
    links = 0
    link_bytes = 0
    bold_bytes = 0
    times = 0
    breaks = 0
    images = 0
    outside = 0
    in_word = 0
    n_title = 0
    forms = 0
    while i < n:
        c = _int(data[i])
        markup = 0
        if c == 60 and i + 1 < n:
            d = _int(data[i + 1])
            if d == 47:
                markup = 2
            elif d == 33 or d == 63:
                markup = 3
            elif (d | 32) >= 97 and (d | 32) <= 122:
                markup = 1
        if markup == 0:
            # ---- a character of text
            if skip > 0:
                i += 1
                while i < n and data[i] != 60:
                    i += 1
                continue
            step = 1
            if c == 38:
                if i + 5 <= n and data[i + 1] == 97 and data[i + 2] == 109 and data[i + 4] == 59:
                    step = 5
                elif i + 4 <= n and data[i + 3] == 59 and data[i + 2] == 116:
                    if data[i + 1] == 108:
                        c = 60
                        step = 4
                    elif data[i + 1] == 103:
                        c = 62
                        step = 4
                elif i + 6 <= n and data[i + 1] == 110 and data[i + 2] == 98 and data[i + 5] == 59:
                    c = 32
                    step = 6
            if pruned > 0:
                if c <= 32:
                    in_word = 0
                elif in_word == 0:
                    in_word = 1
                    outside += 1
                i += step
                continue
            if pre > 0:
                if c >= 32 or c == 10 or c == 9:
                    text[size] = c
                    size += 1
                    if c > 32:
                        visible += 1
                elif c == 13:
                    if not (i + 1 < n and data[i + 1] == 10):
                        text[size] = 10
                        size += 1
                i += step
                continue
            if c <= 32 or c == 127:
                if (c == 32 or (c >= 9 and c <= 13)) and pending == 0 and size > start:
                    pending = 1
                i += step
                continue
            if pending > 0:
                text[size] = 32 if pending == 1 else 10
                if pending == 2:
                    breaks += 1
                size += 1
                pending = 0
            text[size] = c
            size += 1
            visible += 1
            brs = 0
            if link > 0:
                link_bytes += 1
            if bold > 0:
                bold_bytes += 1
            i += step
            continue

        if markup == 3:
            if i + 3 < n and data[i + 2] == 45 and data[i + 3] == 45:
                i += 4
                while i < n and not (data[i] == 62 and data[i - 1] == 45 and data[i - 2] == 45):
                    i += 1
            else:
                while i < n and data[i] != 62:
                    i += 1
            i += 1
            continue

        # ---- a tag: its name
        i += 1 if markup == 1 else 2
        key = _FNV_START
        hyphen = 0
        while i < n:
            c = _int(data[i])
            if c == 62 or c == 47 or c <= 32:
                break
            if c >= 65 and c <= 90:
                c |= 32
            elif c == 45:
                hyphen = 1
            key = (key ^ np.uint64(c)) * _FNV_PRIME
            i += 1
        slot = (key >> _SHIFT) & tag_slots
        while tag_keys[slot] != 0 and tag_keys[slot] != key:
            slot = (slot + np.uint64(1)) & tag_slots
        tag = tag_values[slot] if tag_keys[slot] != 0 else 0
        kind = tag_kinds[tag]
        if tag == 0 and hyphen:
            kind = BLOCK

        groups = 0
        marks = 0
        signature = _FNV_START
        span = 1
        pruning = 0
        if markup == 1:
            # ---- its attributes
            signature = key
            while i < n and data[i] != 62:
                c = _int(data[i])
                if c <= 32 or c == 47:
                    i += 1
                    continue
                name = _FNV_START
                while i < n:
                    c = _int(data[i])
                    if c == 61 or c == 62 or c <= 32:
                        break
                    name = (name ^ np.uint64(c)) * _FNV_PRIME
                    i += 1
                v0 = i
                v1 = i
                if i < n and data[i] == 61:
                    i += 1
                    if i < n and data[i] == 34:
                        i += 1
                        v0 = i
                        while i < n and data[i] != 34:
                            i += 1
                        v1 = i
                        i += 1
                    else:
                        v0 = i
                        while i < n and data[i] != 62 and data[i] > 32:
                            i += 1
                        v1 = i
                if kind != BLOCK and kind != PRUNE:
                    continue
                if name == _CLASS or name == _ID or name == _ROLE or name == _ITEMPROP:
                    word = _FNV_START
                    length = 0
                    lower = 0
                    value = _FNV_START
                    for j in range(v0, v1 + 1):
                        c = _int(data[j]) if j < v1 else 32
                        upper = c >= 65 and c <= 90
                        if length > 0 and not ((c >= 97 and c <= 122) or (upper and lower == 0)):
                            slot = (word >> _SHIFT) & class_slots
                            while class_keys[slot] != 0 and class_keys[slot] != word:
                                slot = (slot + np.uint64(1)) & class_slots
                            if class_keys[slot] != 0:
                                groups |= class_values[slot]
                            word = _FNV_START
                            length = 0
                        if upper or (c >= 97 and c <= 122):
                            word = (word ^ np.uint64(c | 32)) * _FNV_PRIME
                            length += 1
                            lower = 0 if upper else 1
                        if j < v1:
                            value = (value ^ np.uint64(c)) * _FNV_PRIME
                    if name == _CLASS:
                        signature = (signature ^ value) * _FNV_PRIME
                    elif name == _ROLE:
                        if value == _ROLE_MAIN:
                            marks |= ROLE_MAIN
                        elif (
                            value == _R0
                            or value == _R1
                            or value == _R2
                            or value == _R3
                            or (value == _R4)
                        ):
                            pruning = 1
                elif name == _HIDDEN:
                    marks |= HIDDEN
                elif name == _ARIA:
                    if v1 - v0 == 4:
                        marks |= ARIA_HIDDEN
                elif name == _STYLE:
                    j = v0
                    while j + 8 < v1:
                        if (
                            data[j] == 100
                            and data[j + 1] == 105
                            and data[j + 4] == 108
                            and (data[j + 6] == 121)
                        ):
                            j += 7
                            while j < v1 and (data[j] == 58 or data[j] <= 32):
                                j += 1
                            if j + 4 <= v1 and data[j] == 110 and data[j + 3] == 101:
                                marks |= NOT_DISPLAYED
                        j += 1
                elif name == _COLSPAN:
                    span = 0
                    for j in range(v0, min(v1, v0 + 3)):
                        if data[j] >= 48 and data[j] <= 57:
                            span = span * 10 + _int(data[j]) - 48
                    span = min(max(span, 1), 100)
            i += 1
        else:
            while i < n and data[i] != 62:
                i += 1
            i += 1

        if markup == 1 and kind == RAW:
            # ---- content that is no markup: to its end tag
            last = i
            while i < n:
                if data[i] == 60 and i + 1 < n and data[i + 1] == 47:
                    j = i + 2
                    name = _FNV_START
                    while j < n:
                        c = _int(data[j])
                        if c == 62 or c == 47 or c <= 32:
                            break
                        if c >= 65 and c <= 90:
                            c |= 32
                        name = (name ^ np.uint64(c)) * _FNV_PRIME
                        j += 1
                    if name == key:
                        break
                i += 1
            while i < n and data[i] != 62:
                i += 1
            i = max(i, last) + 1
            continue

        if skip > 0:
            # ---- inside something without text: only its end matters
            if markup == 1:
                if kind != VOID and kind != BREAK:
                    stack[sp, STACK_KEY] = _int(key)
                    stack[sp, STACK_TAG] = tag
                    stack[sp, STACK_KIND] = kind
                    sp += 1
                    if tag == _TITLE and n_title == 0 and stack[sp - 2, STACK_TAG] == _HEAD:
                        info[TITLE0] = i
                        while i < n and data[i] != 60:
                            i += 1
                        info[TITLE1] = i
                        n_title = 1
            else:
                j = sp - 1
                low = max(0, sp - _STOP_SAME_TAG)
                while j >= low and stack[j, STACK_KEY] != _int(key):
                    j -= 1
                if j >= low:
                    sp = j
                    if sp < skip:
                        skip = 0
            continue

        if markup == 1 and kind == VOID:
            if tag == _IMG and pruned == 0:
                images += 1
            continue

        if tag == _BR or (kind == BREAK and markup == 2):
            if pruned > 0:
                in_word = 0
                continue
            if tag == _BR:
                if pre > 0:
                    text[size] = 10
                    size += 1
                    continue
                if size > start:
                    brs += 1
                    pending = 2
                if brs < 2:
                    continue

        if pruned > 0 and kind == BLOCK:
            in_word = 0
        boundary = pre == 0 and (kind == BLOCK or kind == PRUNE or kind == BREAK)
        if markup == 1 and tag == _PRE and pre == 0:
            boundary = True
        if markup == 2 and pre > 0 and tag == _PRE and pre == sp:
            boundary = True
        if markup == 2 and kind == PRUNE and pre == 0:
            boundary = True
        if boundary and size > start:
            # ---- the end of a block
            if visible > 0:
                blocks[nb, OWNER] = here
                blocks[nb, START] = start
                blocks[nb, END] = size
                blocks[nb, LINKS] = links
                blocks[nb, LINK_BYTES] = link_bytes
                blocks[nb, BOLD_BYTES] = bold_bytes
                blocks[nb, IMAGES] = images
                blocks[nb, IS_PRE] = 1 if pre > 0 else 0
                blocks[nb, TIMES] = times
                blocks[nb, BREAKS] = breaks
                nb += 1
                text[size] = 10
                size += 1
            else:
                size = start
            start = size
            pending = 0
            visible = 0
            brs = 0
            links = 0
            link_bytes = 0
            bold_bytes = 0
            times = 0
            breaks = 0
        elif boundary:
            pending = 0
            brs = 0
        if kind == BREAK:
            continue

        if markup == 1:
            # ---- an element opens
            if tag == _FORM:
                forms += 1
            if kind == SKIP:
                stack[sp, STACK_KEY] = _int(key)
                stack[sp, STACK_TAG] = tag
                stack[sp, STACK_KIND] = SKIP
                sp += 1
                skip = sp
                continue
            if kind == PRUNE or pruning:
                if pruned == 0 and prune and pre == 0:
                    pruned = sp + 1
                    in_word = 0
                kind = BLOCK
            if pre > 0:
                kind = _TEXT_KIND
            if kind == BLOCK:
                if pruned == 0:
                    elements[ne, TAG_ID] = tag
                    elements[ne, PARENT] = here
                    elements[ne, DEPTH] = elements[here, DEPTH] + 1
                    elements[ne, GROUPS] = groups
                    elements[ne, SIGNATURE] = _int(signature)
                    elements[ne, BLOCK0] = nb
                    elements[ne, IMAGES0] = images
                    if noscript > 0 or tag == _NOSCRIPT:
                        marks |= IN_NOSCRIPT
                    elements[ne, MARKS] = marks
                    elements[ne, SPAN] = span
                    if tag == _LI:
                        elements[here, ORDER] += 1
                        elements[ne, ORDER] = 0
                        elements[ne, SPAN] = elements[here, ORDER]
                    here = ne
                    ne += 1
                if tag == _PRE:
                    pre = sp + 1
                if tag == _NOSCRIPT:
                    noscript += 1
            else:
                kind = _TEXT_KIND
                if tag == _A:
                    link += 1
                    if pruned == 0:
                        links += 1
                elif tag == _B or tag == _STRONG:
                    bold += 1
                elif tag == _TIME:
                    times += 1
                elif tag == _CODE and pre == 0 and pruned == 0:
                    if pending > 0:
                        text[size] = 32 if pending == 1 else 10
                        size += 1
                        pending = 0
                    text[size] = 1
                    size += 1
            stack[sp, STACK_KEY] = _int(key)
            stack[sp, STACK_TAG] = tag
            stack[sp, STACK_KIND] = kind
            stack[sp, STACK_ELEMENT] = here
            sp += 1
            continue

        # ---- an element closes
        j = sp - 1
        low = max(0, sp - _STOP_SAME_TAG)
        while j >= low and stack[j, STACK_KEY] != _int(key):
            j -= 1
        if j < low:
            continue
        while sp > j:
            sp -= 1
            tag = stack[sp, STACK_TAG]
            if stack[sp, STACK_KIND] == _TEXT_KIND:
                if tag == _A:
                    link -= 1
                elif tag == _B or tag == _STRONG:
                    bold -= 1
                elif tag == _CODE and pre == 0 and pruned == 0:
                    text[size] = 2
                    size += 1
            else:
                if pruned == 0:
                    elements[here, BLOCK1] = nb
                    elements[here, IMAGES1] = images
                    here = elements[here, PARENT]
                if tag == _NOSCRIPT:
                    noscript -= 1
                if pre > sp:
                    pre = 0
                if pruned > sp:
                    pruned = 0

    if size > start and visible > 0:
        blocks[nb, OWNER] = here
        blocks[nb, START] = start
        blocks[nb, END] = size
        blocks[nb, LINKS] = links
        blocks[nb, LINK_BYTES] = link_bytes
        blocks[nb, BOLD_BYTES] = bold_bytes
        blocks[nb, IMAGES] = images
        blocks[nb, IS_PRE] = 1 if pre > 0 else 0
        blocks[nb, TIMES] = times
        blocks[nb, BREAKS] = breaks
        nb += 1
    while here >= 0:
        elements[here, BLOCK1] = nb
        elements[here, IMAGES1] = images
        here = elements[here, PARENT]
    info[N_ELEMENTS] = ne
    info[N_BLOCKS] = nb
    info[N_BYTES] = size
    info[OUTSIDE_WORDS] = outside
    info[N_FORMS] = forms
