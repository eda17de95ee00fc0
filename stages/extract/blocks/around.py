"""Features of what stands around a block: a part of the third pass.

They tell the end of a text from what follows it: teasers of other stories, comments, offers. The
*main group* is the set of blocks of one tag and class, under parents of one tag and class, with
the most words of good blocks.
"""

from __future__ import annotations

import numpy as np

from corpusmill.stages import kernel_types as types
from corpusmill.stages.compiled import kernel, out

from .columns import (
    AROUND_START,
    BLOCK0,
    BLOCK1,
    G_FIRST,
    IMAGES0,
    IMAGES1,
    K_COUNT,
    K_LEADER,
    LINKS,
    OWNER,
    PARENT,
    SEEN_AFTER,
    SEEN_BEFORE,
)

_WIDTH = 20
_rows = out(types.int64, dims=2)
_sums = out(types.int64)


@kernel(types.int64(types.int64, types.int64))
def _share(part, whole):  # type: ignore[no-untyped-def]
    return part * 1000 // whole if whole > 0 else 0


@kernel(
    types.void(
        types.int64, types.int64, _rows, _rows, _rows, _rows, _rows, _sums, _sums, _sums, _sums,
        _sums, out(types.int32, dims=2),
    )
)  # fmt: skip
def around(  # type: ignore[no-untyped-def]
    ne, nb, elements, blocks, measures, kin, same_up, words, link, size, good, heads, rows
):
    """Fills the columns from `AROUND_START` of `rows`. `words`, `link`, `size`, `good` and `heads`
    are running sums over blocks."""
    links = np.zeros(nb + 1, np.int64)
    group_good = np.zeros(nb, np.int64)
    for b in range(nb):
        links[b + 1] = links[b] + blocks[b, LINKS]
        group_good[same_up[b, G_FIRST]] += good[b + 1] - good[b]
    main = 0
    for b in range(nb):
        if group_good[b] > group_good[main]:
            main = b
    main0 = main
    main1 = main
    for b in range(nb):
        if same_up[b, G_FIRST] == main:
            main1 = b + 1
    with_link = np.zeros(ne, np.int64)
    with_image = np.zeros(ne, np.int64)
    longest = np.zeros(ne, np.int64)
    for e in range(ne):
        b0 = elements[e, BLOCK0]
        b1 = max(elements[e, BLOCK1], b0)
        first = kin[e, K_LEADER]
        with_link[first] += links[b1] > links[b0]
        with_image[first] += elements[e, IMAGES1] > elements[e, IMAGES0]
        longest[first] = max(longest[first], words[b1] - words[b0])
    share = _share(group_good[main], words[nb])
    for b in range(nb):
        f = rows[b]
        k = AROUND_START
        f[k] = measures[b, SEEN_BEFORE]
        f[k + 1] = measures[b, SEEN_AFTER]
        up = blocks[b, OWNER]
        while up > 0 and kin[kin[up, K_LEADER], K_COUNT] < 3:
            up = elements[up, PARENT]
        if up > 0:
            first = kin[up, K_LEADER]
            f[k + 2] = _share(with_link[first], kin[first, K_COUNT])
            f[k + 3] = _share(with_image[first], kin[first, K_COUNT])
            f[k + 4] = longest[first]
        else:
            f[k + 2] = f[k + 3] = f[k + 4] = -1
        f[k + 5] = max(words[main0] - words[b], 0)
        f[k + 6] = max(words[b] - words[main1], 0)
        f[k + 7] = max(b - main1 + 1, 0)
        f[k + 8] = share
        k += 9
        b0 = max(b - _WIDTH, 0)
        b1 = b
        for _ in range(2):
            f[k] = _share(link[b1] - link[b0], size[b1] - size[b0])
            f[k + 1] = _share(good[b1] - good[b0], words[b1] - words[b0])
            f[k + 2] = heads[b1] - heads[b0]
            k += 3
            b0 = b + 1
            b1 = min(b + 1 + _WIDTH, nb)
