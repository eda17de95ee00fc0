"""What elements and blocks have in common: siblings of the same tag and class, groups of blocks
by tag and class (alone or with their parent's), and what is inherited down the tree."""

from __future__ import annotations

import numpy as np

from corpusmill.stages import kernel_types as types
from corpusmill.stages.compiled import array, kernel, out

from .columns import (
    BLOCK0,
    BLOCK1,
    END,
    FAR,
    G_BLOCKS,
    G_FIRST,
    G_LINK,
    G_SIZE,
    G_WORDS,
    GROUPS,
    K_ARTICLE,
    K_COUNT,
    K_LAST,
    K_LEADER,
    K_LINK,
    K_MARKS,
    K_NUMBER,
    K_SIZE,
    K_WORDS,
    LINK_BYTES,
    MARKS,
    N_ANCESTOR_TAGS,
    N_CLASS,
    OWNER,
    PARENT,
    SIGNATURE,
    START,
    TAG_ID,
    WORDS,
)
from .vocabulary import TAG

_rows = out(types.int64, dims=2)


@kernel(
    types.void(types.int64, _rows, _rows, _rows, types.int64, out(types.int64), _rows)
)  # fmt: skip
def group_sums(  # type: ignore[no-untyped-def]
    n_blocks, elements, blocks, measures, with_parent, slots, sums
):
    """Fills `sums`: of each block the first of its group, and in that one's row the group's sums.

    `slots` is work space, a power of two at least four times as long as `blocks`.
    """
    mask = np.uint64(slots.shape[0] - 1)
    slots[:] = -1
    for b in range(n_blocks):
        owner = blocks[b, OWNER]
        own = elements[owner, SIGNATURE]
        upper = elements[max(elements[owner, PARENT], 0), SIGNATURE] if with_parent else 0
        key = (np.uint64(own) * np.uint64(31) ^ np.uint64(upper)) * np.uint64(11400714819323198485)
        slot = (key >> np.uint64(24)) & mask
        while slots[slot] >= 0:
            other = blocks[slots[slot], OWNER]
            if elements[other, SIGNATURE] == own and (
                with_parent == 0 or elements[max(elements[other, PARENT], 0), SIGNATURE] == upper
            ):
                break
            slot = (slot + np.uint64(1)) & mask
        if slots[slot] < 0:
            slots[slot] = b
        first = slots[slot]
        sums[b, G_FIRST] = first
        sums[first, G_BLOCKS] += 1
        sums[first, G_WORDS] += measures[b, WORDS]
        sums[first, G_LINK] += blocks[b, LINK_BYTES]
        sums[first, G_SIZE] += blocks[b, END] - blocks[b, START]


_ARTICLE = TAG["article"]
_sums = out(types.int64)
_near = out(types.int16, dims=2)


@kernel(
    types.int64(
        types.int64, _rows, _sums, _sums, _sums, array(types.int64), out(types.int64), _near, _near,
        _rows,
    )
)  # fmt: skip
def inherit(  # type: ignore[no-untyped-def]
    ne, elements, words, link, size, tag_slot, slots_of, near_class, near_tag, kin
):
    """Fills for each element the distances to groups of classes and to tags on it and above, and
    `kin` (columns ``K_…``). `words`, `link` and `size` are running sums over blocks, `slots_of`
    is work space full of -1. Returns the number of articles."""
    slots = np.uint64(slots_of.shape[0] - 1)
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
            kin[e, K_MARKS] = kin[parent, K_MARKS]
            kin[e, K_ARTICLE] = kin[parent, K_ARTICLE]
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
        kin[e, K_MARKS] |= elements[e, MARKS]
        if tag == _ARTICLE:
            articles += 1
            kin[e, K_ARTICLE] = articles
        key = (np.uint64(elements[e, SIGNATURE]) ^ np.uint64(parent + 1)) * np.uint64(
            11400714819323198485
        )
        slot = (key >> np.uint64(24)) & slots
        while slots_of[slot] >= 0:
            other = slots_of[slot]
            if (
                elements[other, SIGNATURE] == elements[e, SIGNATURE]
                and elements[other, PARENT] == parent
            ):
                break
            slot = (slot + np.uint64(1)) & slots
        if slots_of[slot] < 0:
            slots_of[slot] = e
        first = slots_of[slot]
        kin[e, K_LEADER] = first
        kin[e, K_NUMBER] = kin[first, K_COUNT]
        kin[first, K_COUNT] += 1
        b0 = elements[e, BLOCK0]
        b1 = elements[e, BLOCK1]
        kin[first, K_WORDS] += words[b1] - words[b0]
        kin[first, K_LINK] += link[b1] - link[b0]
        kin[first, K_SIZE] += size[b1] - size[b0]
        kin[first, K_LAST] = e
    return articles
