# ruff: noqa: SIM109, SIM905 - long tests compile to plain branches
"""The third compiled pass: a row of integers for each block, from which the model scores it.

All features are integers: counts, flags, distances, and shares in thousandths (rounded down), so
that no threshold can fall on the last bit of a float. `columns.NAMES` names them
in order. Importing this module compiles (or loads) the kernel.

A block is *good* if it has at least 60 characters and less than 40 % of its bytes in links. An
element's *unit* is what repeats: its nearest ancestor (or itself) with at least two siblings of
the same tag and class, as cards, posts and list items have.
"""

from __future__ import annotations

import numpy as np

from corpusmill.stages import kernel_types as types
from corpusmill.stages.compiled import array, kernel, out

from .around import around
from .columns import (
    ANCESTOR_TAGS,
    BLOCK0,
    BLOCK1,
    BOLD_BYTES,
    BREAKS,
    CAPITALS,
    CHARS,
    COMMAS,
    CURRENCY,
    DEPTH,
    DIGITS,
    END,
    FAR,
    FIRST,
    FUNCTION,
    G_BLOCKS,
    G_FIRST,
    G_LINK,
    G_SIZE,
    G_WORDS,
    GROUP_COLUMNS,
    HASH,
    HITS,
    IMAGES0,
    IMAGES1,
    IN_TITLE,
    IS_PRE,
    K_ARTICLE,
    K_COUNT,
    K_LAST,
    K_LEADER,
    K_LINK,
    K_MARKS,
    K_NUMBER,
    K_SIZE,
    K_WORDS,
    KIN_COLUMNS,
    LAST,
    LEVELS,
    LINK_BYTES,
    LINKS,
    LONG,
    N_ANCESTOR_TAGS,
    N_CLASS,
    N_TEXT,
    NAMES,
    NEIGHBOURS,
    NOT_ASCII,
    OWNER,
    PARENT,
    PUNCTUATION,
    SENTENCES,
    SIGNATURE,
    START,
    SYMBOLS,
    TAG_ID,
    TEXT_GROUP_BITS,
    TIMES,
    UNSPACED_CHARS,
    UPPER,
    WINDOWS,
    WORDS,
)  # fmt: skip
from .groups import group_sums, inherit
from .vocabulary import CLASS_GROUPS, TAG, TEXT_GROUPS

_H1, _H6, _P, _LI, _TD, _TH, _ARTICLE = (TAG[name] for name in "h1 h6 p li td th article".split())

_G_COMMENT, _G_THREAD, _G_CARD, _G_ITEM, _G_REVIEW = (
    [name for name, _ in CLASS_GROUPS].index(name)
    for name in ("comment", "thread", "card", "item", "review")
)
_W0, _W1, _W2 = WINDOWS
_GOOD_CHARS = 60

# where each section of columns starts, as constants, so that stores compile to plain addresses
(
    _SHAPE0, _TEXT0, _PLACE0, _CLASS0, _TAG0, _MARK0, _UP0, _UNIT0, _DESCENT0, _HEADING0,
    _HEADTEXT0, _NEAR0, _WINDOW0, _PAGE0,
) = (
    NAMES.index(first)
    for first in (
        "chars", f"text_{TEXT_GROUPS[0][0]}", "index", f"class_{CLASS_GROUPS[0][0]}",
        f"near_{ANCESTOR_TAGS[0]}", "hidden", "up0_words_share", "unit_level", "inside_35",
        "heading_level", f"heading_{TEXT_GROUPS[0][0]}", "before1_words",
        f"window{WINDOWS[0]}_words", "page_blocks",
    )
)  # fmt: skip


@kernel(types.int64(types.int64, types.int64))
def _share(part, whole):  # type: ignore[no-untyped-def]
    return part * 1000 // whole if whole > 0 else 0


@kernel(
    types.void(
        types.int64, out(types.int64, dims=2), types.int64, out(types.int64, dims=2),
        out(types.int64, dims=2), types.int64, array(types.int64), out(types.int32, dims=2),
    )
)  # fmt: skip
def features(  # type: ignore[no-untyped-def]
    n_elements, elements, n_blocks, blocks, measures, forms, tag_slot, rows
):
    """Fills `rows` (`n_blocks` by `N_FEATURES`)."""
    ne = n_elements
    nb = n_blocks
    # ---- sums over blocks
    words = np.zeros(nb + 1, np.int64)
    link = np.zeros(nb + 1, np.int64)
    size = np.zeros(nb + 1, np.int64)
    good = np.zeros(nb + 1, np.int64)
    heads = np.zeros(nb + 1, np.int64)
    linked_heads = np.zeros(nb + 1, np.int64)
    is_good = np.zeros(nb, np.uint8)
    p_words = li_words = td_words = currency = not_ascii = unspaced = function = chars = 0
    h1_block = -1
    n_h1 = 0
    for b in range(nb):
        w = measures[b, WORDS]
        nbytes = blocks[b, END] - blocks[b, START]
        tag = elements[blocks[b, OWNER], TAG_ID]
        g = 0
        if measures[b, CHARS] >= _GOOD_CHARS and blocks[b, LINK_BYTES] * 10 < nbytes * 4:
            is_good[b] = 1
            g = w
        head = 1 if tag >= _H1 and tag <= _H6 else 0
        words[b + 1] = words[b] + w
        link[b + 1] = link[b] + blocks[b, LINK_BYTES]
        size[b + 1] = size[b] + nbytes
        good[b + 1] = good[b] + g
        heads[b + 1] = heads[b] + head
        linked_heads[b + 1] = linked_heads[b] + (head if blocks[b, LINKS] > 0 else 0)
        if tag == _P:
            p_words += w
        elif tag == _LI:
            li_words += w
        elif tag == _TD or tag == _TH:
            td_words += w
        if tag == _H1:
            n_h1 += 1
            if h1_block < 0:
                h1_block = b
        currency += measures[b, CURRENCY]
        not_ascii += measures[b, NOT_ASCII]
        unspaced += measures[b, UNSPACED_CHARS]
        function += measures[b, FUNCTION]
        chars += measures[b, CHARS]
    all_words = words[nb]
    all_good = good[nb]

    # ---- siblings of the same tag and class; groups of classes and tags up the tree
    capacity = 16
    while capacity < 4 * (ne + nb):
        capacity *= 2
    slots = np.uint64(capacity - 1)
    key_of = np.full(capacity, -1, np.int64)
    near_class = np.full((ne, N_CLASS), FAR, np.int16)
    near_tag = np.full((ne, N_ANCESTOR_TAGS), FAR, np.int16)
    kin = np.zeros((ne, KIN_COLUMNS), np.int64)
    articles = inherit(ne, elements, words, link, size, tag_slot, key_of, near_class, near_tag, kin)

    # ---- the deepest elements that hold most of the good text
    best = np.zeros(3, np.int64)
    best_depth = np.full(3, -1, np.int64)
    best_good = np.zeros(3, np.int64)
    for e in range(ne):
        held = good[elements[e, BLOCK1]] - good[elements[e, BLOCK0]]
        depth = elements[e, DEPTH]
        for t in range(3):
            need = 350 if t == 0 else 500 if t == 1 else 800
            if held * 1000 > need * all_good and (
                depth > best_depth[t] or (depth == best_depth[t] and held > best_good[t])
            ):
                best[t] = e
                best_depth[t] = depth
                best_good[t] = held
    half0 = elements[best[1], BLOCK0]
    half1 = elements[best[1], BLOCK1]
    on_path = np.zeros(ne, np.uint8)
    e = best[1]
    while e >= 0:
        on_path[e] = 1
        e = elements[e, PARENT]

    # ---- the run of blocks with the most prose
    run0 = run1 = 0
    run_best = 0
    at = 0
    total = 0
    for b in range(nb):
        gain = measures[b, WORDS] if is_good[b] else -10
        if total <= 0:
            total = 0
            at = b
        total += gain
        if total > run_best:
            run_best = total
            run0 = at
            run1 = b + 1

    # ---- the block most like the title; repeated texts; signatures
    title_block = -1
    title_best = 0
    repeats = np.zeros(nb, np.int64)
    before = np.zeros(nb, np.int64)
    first_of = np.zeros(nb, np.int64)
    key_of[:] = -1
    for b in range(nb):
        w = measures[b, WORDS]
        hit = measures[b, IN_TITLE]
        if w > 0 and w <= 40 and hit * 2 >= w and hit * 1000 // (w + 3) > title_best:
            title_best = hit * 1000 // (w + 3)
            title_block = b
        slot = (np.uint64(measures[b, HASH]) >> np.uint64(24)) & slots
        while key_of[slot] >= 0 and measures[key_of[slot], HASH] != measures[b, HASH]:
            slot = (slot + np.uint64(1)) & slots
        if key_of[slot] < 0:
            key_of[slot] = b
        first_of[b] = key_of[slot]
        before[b] = repeats[first_of[b]]
        repeats[first_of[b]] += 1
    same = np.zeros((nb, GROUP_COLUMNS), np.int64)
    same_up = np.zeros((nb, GROUP_COLUMNS), np.int64)
    group_sums(nb, elements, blocks, measures, 0, key_of, same)
    group_sums(nb, elements, blocks, measures, 1, key_of, same_up)

    comment_words = thread_words = card_words = 0
    for b in range(nb):
        e = blocks[b, OWNER]
        if near_class[e, _G_COMMENT] < FAR or near_class[e, _G_REVIEW] < FAR:
            comment_words += measures[b, WORDS]
        if near_class[e, _G_THREAD] < FAR:
            thread_words += measures[b, WORDS]
        if near_class[e, _G_CARD] < FAR or near_class[e, _G_ITEM] < FAR:
            card_words += measures[b, WORDS]

    # ---- a row for each block
    heading = -1
    for b in range(nb):
        e = blocks[b, OWNER]
        tag = elements[e, TAG_ID]
        w = measures[b, WORDS]
        c = measures[b, CHARS]
        nbytes = blocks[b, END] - blocks[b, START]
        f = rows[b]
        # shape
        f[_SHAPE0] = c
        f[_SHAPE0 + 1] = w
        f[_SHAPE0 + 2] = c * 10 // max(w, 1)
        f[_SHAPE0 + 3] = _share(measures[b, UPPER], c)
        f[_SHAPE0 + 4] = _share(measures[b, DIGITS], c)
        f[_SHAPE0 + 5] = _share(measures[b, PUNCTUATION], c)
        f[_SHAPE0 + 6] = measures[b, COMMAS]
        f[_SHAPE0 + 7] = measures[b, SENTENCES]
        f[_SHAPE0 + 8] = measures[b, LAST]
        f[_SHAPE0 + 9] = measures[b, FIRST]
        f[_SHAPE0 + 10] = _share(measures[b, NOT_ASCII], c)
        f[_SHAPE0 + 11] = _share(measures[b, FUNCTION], w)
        f[_SHAPE0 + 12] = measures[b, SYMBOLS]
        f[_SHAPE0 + 13] = measures[b, CURRENCY]
        f[_SHAPE0 + 14] = _share(measures[b, LONG], w)
        f[_SHAPE0 + 15] = _share(measures[b, IN_TITLE], w)
        f[_SHAPE0 + 16] = _share(measures[b, HITS], w)
        f[_SHAPE0 + 17] = _share(measures[b, UNSPACED_CHARS], c)
        f[_SHAPE0 + 18] = _share(measures[b, CAPITALS], w)
        f[_SHAPE0 + 19] = blocks[b, IS_PRE]
        f[_SHAPE0 + 20] = blocks[b, TIMES]
        f[_SHAPE0 + 21] = blocks[b, BREAKS]
        f[_SHAPE0 + 22] = _share(blocks[b, BOLD_BYTES], nbytes)
        f[_SHAPE0 + 23] = _share(blocks[b, LINK_BYTES], nbytes)
        f[_SHAPE0 + 24] = blocks[b, LINKS]
        f[_SHAPE0 + 25] = 1 if blocks[b, LINK_BYTES] * 10 >= c * 9 else 0
        f[_SHAPE0 + 26] = repeats[first_of[b]]
        f[_SHAPE0 + 27] = before[b]
        f[_SHAPE0 + 28] = is_good[b]
        bits = measures[b, TEXT_GROUP_BITS]
        for g in range(N_TEXT):
            f[_TEXT0 + g] = (bits >> g) & 1
        # place
        f[_PLACE0] = b
        f[_PLACE0 + 1] = _share(b, nb)
        f[_PLACE0 + 2] = nb - b
        f[_PLACE0 + 3] = words[b]
        f[_PLACE0 + 4] = _share(words[b], all_words)
        f[_PLACE0 + 5] = all_words - words[b + 1]
        f[_PLACE0 + 6] = elements[e, DEPTH]
        f[_PLACE0 + 7] = tag
        f[_PLACE0 + 8] = 1 if h1_block >= 0 and measures[h1_block, HASH] == measures[b, HASH] else 0
        f[_PLACE0 + 9] = b - h1_block if h1_block >= 0 else -10000
        f[_PLACE0 + 10] = words[b] - words[h1_block] if h1_block >= 0 else -100000
        f[_PLACE0 + 11] = b - title_block if title_block >= 0 else -10000
        for g in range(N_CLASS):
            f[_CLASS0 + g] = near_class[e, g]
        for g in range(N_ANCESTOR_TAGS):
            f[_TAG0 + g] = near_tag[e, g]
        for g in range(5):
            f[_MARK0 + g] = (kin[e, K_MARKS] >> g) & 1
        # ancestors
        k = _UP0
        up = e
        for _ in range(LEVELS):
            b0 = elements[up, BLOCK0]
            b1 = elements[up, BLOCK1]
            f[k] = _share(words[b1] - words[b0], all_words)
            f[k + 1] = _share(good[b1] - good[b0], all_good)
            f[k + 2] = _share(link[b1] - link[b0], size[b1] - size[b0])
            f[k + 3] = b1 - b0
            f[k + 4] = kin[kin[up, K_LEADER], K_COUNT]
            f[k + 5] = words[b1] - words[b0]
            f[k + 6] = kin[up, K_NUMBER]
            f[k + 7] = elements[up, IMAGES1] - elements[up, IMAGES0]
            k += 8
            up = max(elements[up, PARENT], 0)
        # the repeated unit
        up = e
        level = 0
        while up > 0 and kin[kin[up, K_LEADER], K_COUNT] < 3:
            up = elements[up, PARENT]
            level += 1
        if up > 0:
            b0 = elements[up, BLOCK0]
            b1 = elements[up, BLOCK1]
            first = kin[up, K_LEADER]
            f[_UNIT0] = level
            f[_UNIT0 + 1] = words[b1] - words[b0]
            f[_UNIT0 + 2] = _share(link[b1] - link[b0], size[b1] - size[b0])
            f[_UNIT0 + 3] = kin[first, K_COUNT]
            f[_UNIT0 + 4] = kin[first, K_WORDS] // kin[first, K_COUNT]
            f[_UNIT0 + 5] = heads[b1] - heads[b0]
            f[_UNIT0 + 6] = linked_heads[b1] - linked_heads[b0]
            f[_UNIT0 + 7] = kin[up, K_NUMBER]
            f[_UNIT0 + 8] = b1 - b0
            f[_UNIT0 + 9] = elements[up, IMAGES1] - elements[up, IMAGES0]
            f[_UNIT0 + 10] = _share(kin[first, K_LINK], kin[first, K_SIZE])
            last = kin[first, K_LAST]
            span = words[elements[last, BLOCK1]] - words[elements[first, BLOCK0]]
            f[_UNIT0 + 11] = _share(kin[first, K_WORDS], span)
        else:
            f[_UNIT0] = FAR
            for j in range(1, 12):
                f[_UNIT0 + j] = -1
        # the main container
        for t in range(3):
            f[_DESCENT0 + t] = (
                1 if b >= elements[best[t], BLOCK0] and b < elements[best[t], BLOCK1] else 0
            )
        f[_DESCENT0 + 3] = max(half0 - b, 0)
        f[_DESCENT0 + 4] = 1 if b >= half1 else 0
        f[_DESCENT0 + 5] = max(b - half1 + 1, 0)
        f[_DESCENT0 + 6] = max(words[b] - words[half1], 0)
        up = e
        climb = 0
        while on_path[up] == 0:
            up = elements[up, PARENT]
            climb += 1
        f[_DESCENT0 + 7] = climb
        f[_DESCENT0 + 8] = elements[best[1], DEPTH] - elements[up, DEPTH]
        f[_DESCENT0 + 9] = _share(words[half1] - words[half0], all_words)
        f[_DESCENT0 + 10] = _share(link[half1] - link[half0], size[half1] - size[half0])
        f[_DESCENT0 + 11] = 1 if b >= run0 and b < run1 else 0
        f[_DESCENT0 + 12] = max(run0 - b, 0)
        f[_DESCENT0 + 13] = max(b - run1 + 1, 0)
        f[_DESCENT0 + 14] = _share(words[run1] - words[run0], all_words)
        f[_DESCENT0 + 15] = articles
        f[_DESCENT0 + 16] = near_tag[e, 7] < FAR
        up = e
        while up > 0 and elements[up, TAG_ID] != _ARTICLE:
            up = elements[up, PARENT]
        f[_DESCENT0 + 17] = (
            _share(words[elements[up, BLOCK1]] - words[elements[up, BLOCK0]], all_words)
            if up > 0
            else -1
        )
        f[_DESCENT0 + 18] = kin[e, K_ARTICLE]
        j = same[b, G_FIRST]
        f[_DESCENT0 + 19] = _share(same[j, G_WORDS], all_words)
        f[_DESCENT0 + 20] = same[j, G_BLOCKS]
        f[_DESCENT0 + 21] = same[j, G_WORDS] // same[j, G_BLOCKS]
        f[_DESCENT0 + 22] = _share(same[j, G_LINK], same[j, G_SIZE])
        j = same_up[b, G_FIRST]
        f[_DESCENT0 + 23] = _share(same_up[j, G_WORDS], all_words)
        f[_DESCENT0 + 24] = _share(same_up[j, G_LINK], same_up[j, G_SIZE])
        # the heading before
        if heading >= 0:
            f[_HEADING0] = elements[blocks[heading, OWNER], TAG_ID] - _H1 + 1
            f[_HEADING0 + 1] = b - heading
            f[_HEADING0 + 2] = words[b] - words[heading + 1]
            f[_HEADING0 + 3] = blocks[heading, LINKS] > 0
            f[_HEADING0 + 4] = _share(
                link[b + 1] - link[heading + 1], size[b + 1] - size[heading + 1]
            )
            f[_HEADING0 + 5] = measures[heading, WORDS]
            bits = measures[heading, TEXT_GROUP_BITS]
        else:
            f[_HEADING0] = 0
            f[_HEADING0 + 1] = 10000
            f[_HEADING0 + 2] = 100000
            f[_HEADING0 + 3] = 0
            f[_HEADING0 + 4] = 0
            f[_HEADING0 + 5] = 0
            bits = 0
        for g in range(N_TEXT):
            f[_HEADTEXT0 + g] = (bits >> g) & 1
        if tag >= _H1 and tag <= _H6:
            heading = b
        # neighbours
        k = _NEAR0
        for side in range(2):
            for step in range(1, NEIGHBOURS + 1):
                j = b - step if side == 0 else b + step
                if j >= 0 and j < nb:
                    other = blocks[j, OWNER]
                    f[k] = measures[j, WORDS]
                    f[k + 1] = _share(blocks[j, LINK_BYTES], blocks[j, END] - blocks[j, START])
                    f[k + 2] = elements[other, TAG_ID]
                    f[k + 3] = is_good[j]
                    f[k + 4] = elements[other, SIGNATURE] == elements[e, SIGNATURE]
                    f[k + 5] = (
                        1
                        if elements[other, TAG_ID] >= _H1 and elements[other, TAG_ID] <= _H6
                        else 0
                    )
                else:
                    for t in range(6):
                        f[k + t] = -1
                k += 6
        k = _WINDOW0
        for width in (_W0, _W1, _W2):
            b0 = max(b - width, 0)
            b1 = min(b + width + 1, nb)
            f[k] = words[b1] - words[b0]
            f[k + 1] = _share(link[b1] - link[b0], size[b1] - size[b0])
            f[k + 2] = _share(good[b1] - good[b0], words[b1] - words[b0])
            k += 3
        # the page
        f[_PAGE0] = nb
        f[_PAGE0 + 1] = all_words
        f[_PAGE0 + 2] = _share(link[nb], size[nb])
        f[_PAGE0 + 3] = _share(all_good, all_words)
        f[_PAGE0 + 4] = _share(p_words, all_words)
        f[_PAGE0 + 5] = _share(li_words, all_words)
        f[_PAGE0 + 6] = _share(td_words, all_words)
        f[_PAGE0 + 7] = heads[nb]
        f[_PAGE0 + 8] = elements[0, IMAGES1]
        f[_PAGE0 + 9] = forms
        f[_PAGE0 + 10] = _share(words[half1] - words[half0], all_words)
        f[_PAGE0 + 11] = _share(words[run1] - words[run0], all_words)
        f[_PAGE0 + 12] = all_words // nb
        f[_PAGE0 + 13] = currency
        f[_PAGE0 + 14] = _share(comment_words, all_words)
        f[_PAGE0 + 15] = _share(thread_words, all_words)
        f[_PAGE0 + 16] = _share(card_words, all_words)
        f[_PAGE0 + 17] = _share(not_ascii, chars)
        f[_PAGE0 + 18] = _share(unspaced, chars)
        f[_PAGE0 + 19] = _share(function, all_words)
        f[_PAGE0 + 20] = n_h1
        f[_PAGE0 + 21] = articles

    around(ne, nb, elements, blocks, measures, kin, same_up, words, link, size, good, heads, rows)
