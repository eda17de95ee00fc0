# ruff: noqa: SIM102, SIM109, SIM905 - long tests compile to plain branches
"""One compiled pass over a page's well-formed markup: elements, blocks and their clean text.

The input is a tree as Lexbor writes it (UTF-8): tags nested properly, attributes in double quotes,
``&amp; &lt; &gt; &nbsp;`` the only references in text. The pass survives anything else too, with
bounded work and memory, but then its result is not the tree's.

A **block** is a run of text between block-level boundaries; inline elements stay in it, one
``br`` is a line break in it, two in a row end it. A ``pre`` is one block, its text verbatim; in all
others white space is collapsed; a line break of the source between two characters of a script
without spaces is none. Bytes 1 and 2 in a text stand around inline ``code``.

Rows of `elements` and `blocks` are arrays of integers; their columns are named in `columns`.
Element 0 is the root. Importing this module compiles (or loads) the kernel.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corpusmill.stages import kernel_types as types
from corpusmill.stages.compiled import array, kernel, out

from .attributes import read_attributes
from .columns import (
    A_GROUPS,
    A_MARKS,
    A_NUMBER,
    A_PRUNE,
    A_SIGNATURE,
    A_TRANSLATION,
    ATTRIBUTE_COLUMNS,
    BLOCK0,
    BLOCK1,
    BOLD_BYTES,
    BREAKS,
    DEPTH,
    END,
    GROUPS,
    IMAGE_END,
    IMAGES,
    IMAGES0,
    IMAGES1,
    IN_NOSCRIPT,
    IS_PRE,
    LINK_BYTES,
    LINKS,
    MARKS,
    N_BLOCKS,
    N_BYTES,
    N_ELEMENTS,
    N_FORMS,
    NUMBER,
    ORDER,
    OUTSIDE_WORDS,
    OWNER,
    PARENT,
    SIGNATURE,
    STACK_ELEMENT,
    STACK_KEY,
    STACK_KIND,
    STACK_TAG,
    START,
    TAG_ID,
    TIMES,
    TITLE0,
    TITLE1,
    TRANSLATIONS,
)
from .vocabulary import BLOCK, BREAK, FNV_PRIME, FNV_START, PRUNE, RAW, SKIP, TAG, VOID

_STOP_SAME_TAG = 512

_A, _B, _STRONG, _CODE, _PRE, _BR, _HEAD, _TITLE, _IMG, _TIME, _NOSCRIPT, _FORM, _TH = (
    TAG[name] for name in "a b strong code pre br head title img time noscript form th".split()
)
_LI, _OL = TAG["li"], TAG["ol"]
_TEXT_KIND = 7  # an inline element, on the stack


_int: Any = np.int64  # loads of bytes: mypy sees no scalars where the compiler does

# Hashes are unsigned: a signed product that overflows is undefined to the compiler.
_FNV_START, _FNV_PRIME, _SHIFT = np.uint64(FNV_START), np.uint64(FNV_PRIME), np.uint64(20)


_u8 = array(types.uint8)
_i64 = array(types.int64)
_u64 = array(types.uint64)


@kernel(types.boolean(types.int64, types.int64, types.int64))
def _unspaced(a, b, c):  # type: ignore[no-untyped-def]
    """Whether a character, by the first three of its bytes, is of a script without spaces: Han,
    kana, Yi and their full-width marks (not Hangul)."""
    if a == 0xF0:
        return b >= 0xA0 and b <= 0xAF
    if a < 0xE2 or a > 0xEF:
        return False
    code = (a & 15) << 12 | (b & 63) << 6 | c & 63
    return (
        (code >= 0x2E80 and code <= 0x312F)
        or (code >= 0x3190 and code <= 0xA4CF)
        or (code >= 0xF900 and code <= 0xFAFF)
        or (code >= 0xFE30 and code <= 0xFE4F)
        or (code >= 0xFF01 and code <= 0xFF60)
    )


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

    `text` needs as many bytes as `data` plus one for each ``<`` and one, the others a row for each
    ``<`` plus 2; what is in them does not matter. `prune`: 0 keeps nav, footer and the like.
    """
    n = data.shape[0]
    tag_slots = np.uint64(tag_keys.shape[0] - 1)
    found = np.zeros(ATTRIBUTE_COLUMNS, np.int64)
    i = 0
    size = 0
    ne = 1
    nb = 0
    for k in range(elements.shape[1]):
        elements[0, k] = 0
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
    translations = 0
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
                if size > start:
                    if c == 10 or c == 13:
                        if pending < 2:
                            pending = 3
                    elif (c == 32 or (c >= 9 and c <= 13)) and pending == 0:
                        pending = 1
                i += step
                continue
            if pending == 3 and c >= 0xE2 and size - start > 2 and i + 2 < n:
                if _unspaced(c, _int(data[i + 1]), _int(data[i + 2])):
                    j = size - 4 if text[size - 4] >= 0xF0 and size - start > 3 else size - 3
                    if _unspaced(_int(text[j]), _int(text[j + 1]), _int(text[j + 2])):
                        pending = 0
            if pending > 0:
                text[size] = 10 if pending == 2 else 32
                if pending == 2:
                    breaks += 1
                size += 1
                pending = 0
            text[size] = c
            size += 1
            i += step
            run = 1
            while i < n and data[i] > 38 and data[i] != 60 and data[i] != 127:
                text[size] = data[i]
                size += 1
                i += 1
                run += 1
            visible += run
            brs = 0
            if link > 0:
                link_bytes += run
            if bold > 0:
                bold_bytes += run
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

        if markup == 1:
            # ---- its attributes
            i = read_attributes(
                data, i, key, kind == BLOCK or kind == PRUNE, class_keys, class_values, found
            )
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
                elements[here, IMAGE_END] = i
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
                blocks[nb, TRANSLATIONS] = translations
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
            translations = 0
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
            if kind == PRUNE or found[A_PRUNE]:
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
                    elements[ne, GROUPS] = found[A_GROUPS]
                    elements[ne, SIGNATURE] = found[A_SIGNATURE]
                    elements[ne, BLOCK0] = nb
                    elements[ne, IMAGES0] = images
                    elements[ne, MARKS] = found[A_MARKS]
                    if noscript > 0 or tag == _NOSCRIPT:
                        elements[ne, MARKS] |= IN_NOSCRIPT
                    elements[ne, NUMBER] = found[A_NUMBER]
                    elements[ne, ORDER] = 0
                    elements[ne, IMAGE_END] = 0
                    if tag == _OL and found[A_NUMBER] >= 0:
                        elements[ne, ORDER] = found[A_NUMBER] - 1
                    elif tag == _LI:
                        elements[here, ORDER] += 1
                        if found[A_NUMBER] >= 0:
                            elements[here, ORDER] = found[A_NUMBER]
                        elements[ne, NUMBER] = elements[here, ORDER]
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
                        translations += found[A_TRANSLATION]
                elif tag == _B or tag == _STRONG:
                    bold += 1
                elif tag == _TIME:
                    times += 1
                elif tag == _CODE and pre == 0 and pruned == 0:
                    if pending > 0:
                        text[size] = 10 if pending == 2 else 32
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
        blocks[nb, TRANSLATIONS] = translations
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
