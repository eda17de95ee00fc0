# ruff: noqa: SIM109, SIM905 - long tests compile to plain branches
"""The third compiled pass: a row of integers for each block, from which the model scores it.

All features are integers: counts, flags, distances, and shares in thousandths (rounded down), so
that no threshold can fall on the last bit of a float. ``NAMES`` names the columns in the order in
which the kernel writes them. Importing this module compiles (or loads) the kernel.

A block is *good* if it has at least 60 characters and less than 40 % of its bytes in links. An
element's *unit* is what repeats: its nearest ancestor (or itself) with at least two siblings of
the same tag and class, as cards, posts and list items have.
"""

from __future__ import annotations

import numpy as np
from numba import types

from corpusmill.stages.compiled import array, kernel, out

from .vocabulary import CLASS_GROUPS, TAG, TAGS, TEXT_GROUPS

# columns and bits of the passes before (see `scan` why they stand here again)
TAG_ID, PARENT, DEPTH, GROUPS, SIGNATURE, BLOCK0, BLOCK1, IMAGES0, IMAGES1, MARKS, ORDER, SPAN = (
    range(12)
)
OWNER, START, END, LINKS, LINK_BYTES, BOLD_BYTES, IMAGES, IS_PRE, TIMES, BREAKS = range(10)
(
    CHARS, WORDS, UPPER, DIGITS, PUNCTUATION, COMMAS, SENTENCES, LAST, FIRST, NOT_ASCII, FUNCTION,
    SYMBOLS, CURRENCY, LONG, IN_TITLE, HASH, TEXT_GROUP_BITS, HITS, UNSPACED_CHARS, CAPITALS,
) = range(20)  # fmt: skip

N_CLASS = len(CLASS_GROUPS)
N_TEXT = len(TEXT_GROUPS)
LEVELS = 5
"""Ancestors (the block's own element first) of which size and links are features."""
NEIGHBOURS = 3
FAR = 99
"""Distance to an ancestor that is not there."""

_ANCESTOR_TAGS = (
    "li", "td", "th", "pre", "dd", "blockquote", "figcaption", "article", "section", "header",
    "aside", "form", "table", "ul", "ol", "dl", "figure", "details", "button", "main", "noscript",
    "address", "h1", "h2", "h3", "fieldset",
)  # fmt: skip
N_ANCESTOR_TAGS = len(_ANCESTOR_TAGS)
TAG_SLOT = np.full(len(TAGS), -1, np.int64)
"""Tag number to its place among the ancestors' tags, -1 for none."""
for _slot, _tag in enumerate(_ANCESTOR_TAGS):
    TAG_SLOT[TAG[_tag]] = _slot

_H1, _H6, _P, _LI, _TD, _TH, _ARTICLE = (TAG[name] for name in "h1 h6 p li td th article".split())

_SHAPE = (
    "chars words word_length upper digits punctuation commas sentences last first not_ascii "
    "function symbols currency long in_title hits unspaced capitals pre times breaks bold "
    "link_share links link_all repeats repeated_before good"
).split()
_PLACE = (
    "index index_share from_end words_before words_before_share words_after depth tag same_as_h1 "
    "after_h1 words_after_h1 title_block_distance"
).split()
_LEVEL = ("words_share good_share link_share blocks same_siblings words position images").split()
_UNIT = (
    "level words link_share siblings sibling_words headings linked_headings position blocks "
    "images siblings_link_share run"
).split()
_DESCENT = (
    "inside_35 inside_50 inside_80 before_50 after_50 blocks_after_50 words_after_50 climb_50 "
    "below_50 share_50 link_share_50 in_run before_run after_run run_share articles in_article "
    "article_share article_number signature_share signature_blocks signature_words "
    "signature_link_share group_share group_link_share"
).split()
_HEADING = "level distance words link linked_share words_of".split()
_NEIGHBOUR = "words link_share tag good same_signature heading".split()
_WINDOW = "words link_share good".split()
_PAGE = (
    "blocks words link_share good_share p_share li_share td_share headings images forms "
    "deepest_50_share run_share mean_words currency comment_share thread_share card_share "
    "not_ascii unspaced function h1 articles"
).split()
WINDOWS = (2, 5, 12)

NAMES: tuple[str, ...] = (
    *_SHAPE,
    *(f"text_{name}" for name, _ in TEXT_GROUPS),
    *_PLACE,
    *(f"class_{name}" for name, _ in CLASS_GROUPS),
    *(f"near_{tag}" for tag in _ANCESTOR_TAGS),
    "hidden", "aria_hidden", "not_displayed", "in_noscript", "role_main",
    *(f"up{level}_{name}" for level in range(LEVELS) for name in _LEVEL),
    *(f"unit_{name}" for name in _UNIT),
    *_DESCENT,
    *(f"heading_{name}" for name in _HEADING),
    *(f"heading_{name}" for name, _ in TEXT_GROUPS),
    *(f"{where}{i}_{name}" for where in ("before", "after") for i in range(1, NEIGHBOURS + 1)
      for name in _NEIGHBOUR),
    *(f"window{width}_{name}" for width in WINDOWS for name in _WINDOW),
    *(f"page_{name}" for name in _PAGE),
)  # fmt: skip
N_FEATURES = len(NAMES)
N_PAGE = len(_PAGE)
PAGE_START = N_FEATURES - N_PAGE

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
        f"near_{_ANCESTOR_TAGS[0]}", "hidden", "up0_words_share", "unit_level", "inside_35",
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
    n_same = np.zeros(ne, np.int64)
    same_words = np.zeros(ne, np.int64)
    same_link = np.zeros(ne, np.int64)
    same_size = np.zeros(ne, np.int64)
    same_last = np.zeros(ne, np.int64)
    leader = np.zeros(ne, np.int64)
    number = np.zeros(ne, np.int64)
    near_class = np.full((ne, N_CLASS), FAR, np.int16)
    near_tag = np.full((ne, N_ANCESTOR_TAGS), FAR, np.int16)
    marks = np.zeros(ne, np.int64)
    article_number = np.zeros(ne, np.int64)
    articles = 0
    for e in range(ne):
        parent = elements[e, PARENT]
        if parent >= 0:
            for g in range(N_CLASS):
                if near_class[parent, g] < FAR:
                    near_class[e, g] = near_class[parent, g] + 1
            for g in range(N_ANCESTOR_TAGS):
                if near_tag[parent, g] < FAR:
                    near_tag[e, g] = near_tag[parent, g] + 1
            marks[e] = marks[parent]
            article_number[e] = article_number[parent]
        bits = elements[e, GROUPS]
        g = 0
        while bits:
            if bits & 1:
                near_class[e, g] = 0
            bits >>= 1
            g += 1
        tag = elements[e, TAG_ID]
        if tag_slot[tag] >= 0:
            near_tag[e, tag_slot[tag]] = 0
        marks[e] |= elements[e, MARKS]
        if tag == _ARTICLE:
            articles += 1
            article_number[e] = articles
        key = (np.uint64(elements[e, SIGNATURE]) ^ np.uint64(parent + 1)) * np.uint64(
            11400714819323198485
        )
        slot = (key >> np.uint64(24)) & slots
        while key_of[slot] >= 0:
            other = key_of[slot]
            if (
                elements[other, SIGNATURE] == elements[e, SIGNATURE]
                and elements[other, PARENT] == parent
            ):
                break
            slot = (slot + np.uint64(1)) & slots
        if key_of[slot] < 0:
            key_of[slot] = e
        first = key_of[slot]
        leader[e] = first
        number[e] = n_same[first]
        n_same[first] += 1
        b0 = elements[e, BLOCK0]
        b1 = elements[e, BLOCK1]
        same_words[first] += words[b1] - words[b0]
        same_link[first] += link[b1] - link[b0]
        same_size[first] += size[b1] - size[b0]
        same_last[first] = e

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
    sig_first = np.zeros(nb, np.int64)
    sig_blocks = np.zeros(nb, np.int64)
    sig_words = np.zeros(nb, np.int64)
    sig_link = np.zeros(nb, np.int64)
    sig_size = np.zeros(nb, np.int64)
    key_of[:] = -1
    for b in range(nb):
        own = elements[blocks[b, OWNER], SIGNATURE]
        slot = ((np.uint64(own) * np.uint64(11400714819323198485)) >> np.uint64(24)) & slots
        while key_of[slot] >= 0 and elements[blocks[key_of[slot], OWNER], SIGNATURE] != own:
            slot = (slot + np.uint64(1)) & slots
        if key_of[slot] < 0:
            key_of[slot] = b
        j = key_of[slot]
        sig_first[b] = j
        sig_blocks[j] += 1
        sig_words[j] += measures[b, WORDS]
        sig_link[j] += blocks[b, LINK_BYTES]
        sig_size[j] += blocks[b, END] - blocks[b, START]
    # the same by tag and class of the parent too
    group_first = np.zeros(nb, np.int64)
    group_words = np.zeros(nb, np.int64)
    group_link = np.zeros(nb, np.int64)
    group_size = np.zeros(nb, np.int64)
    key_of[:] = -1
    for b in range(nb):
        own = elements[blocks[b, OWNER], SIGNATURE]
        up = max(elements[blocks[b, OWNER], PARENT], 0)
        upper = elements[up, SIGNATURE]
        key = (np.uint64(own) * np.uint64(31) ^ np.uint64(upper)) * np.uint64(11400714819323198485)
        slot = (key >> np.uint64(24)) & slots
        while key_of[slot] >= 0:
            j = key_of[slot]
            if (
                elements[blocks[j, OWNER], SIGNATURE] == own
                and elements[max(elements[blocks[j, OWNER], PARENT], 0), SIGNATURE] == upper
            ):
                break
            slot = (slot + np.uint64(1)) & slots
        if key_of[slot] < 0:
            key_of[slot] = b
        j = key_of[slot]
        group_first[b] = j
        group_words[j] += measures[b, WORDS]
        group_link[j] += blocks[b, LINK_BYTES]
        group_size[j] += blocks[b, END] - blocks[b, START]

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
            f[_MARK0 + g] = (marks[e] >> g) & 1
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
            f[k + 4] = n_same[leader[up]]
            f[k + 5] = words[b1] - words[b0]
            f[k + 6] = number[up]
            f[k + 7] = elements[up, IMAGES1] - elements[up, IMAGES0]
            k += 8
            up = max(elements[up, PARENT], 0)
        # the repeated unit
        up = e
        level = 0
        while up > 0 and n_same[leader[up]] < 3:
            up = elements[up, PARENT]
            level += 1
        if up > 0:
            b0 = elements[up, BLOCK0]
            b1 = elements[up, BLOCK1]
            first = leader[up]
            f[_UNIT0] = level
            f[_UNIT0 + 1] = words[b1] - words[b0]
            f[_UNIT0 + 2] = _share(link[b1] - link[b0], size[b1] - size[b0])
            f[_UNIT0 + 3] = n_same[first]
            f[_UNIT0 + 4] = same_words[first] // n_same[first]
            f[_UNIT0 + 5] = heads[b1] - heads[b0]
            f[_UNIT0 + 6] = linked_heads[b1] - linked_heads[b0]
            f[_UNIT0 + 7] = number[up]
            f[_UNIT0 + 8] = b1 - b0
            f[_UNIT0 + 9] = elements[up, IMAGES1] - elements[up, IMAGES0]
            f[_UNIT0 + 10] = _share(same_link[first], same_size[first])
            last = same_last[first]
            span = words[elements[last, BLOCK1]] - words[elements[first, BLOCK0]]
            f[_UNIT0 + 11] = _share(same_words[first], span)
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
        f[_DESCENT0 + 18] = article_number[e]
        j = sig_first[b]
        f[_DESCENT0 + 19] = _share(sig_words[j], all_words)
        f[_DESCENT0 + 20] = sig_blocks[j]
        f[_DESCENT0 + 21] = sig_words[j] // sig_blocks[j]
        f[_DESCENT0 + 22] = _share(sig_link[j], sig_size[j])
        j = group_first[b]
        f[_DESCENT0 + 23] = _share(group_words[j], all_words)
        f[_DESCENT0 + 24] = _share(group_link[j], group_size[j])
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
