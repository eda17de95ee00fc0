"""One row of integers for a page, from which its type is scored.

The page's own features and, over the kept blocks weighted by words, the shares of tags, of class
groups on ancestors, and a few means.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from .passes import Blocks

_TAG_ID, _OWNER, _WORDS = 0, 0, 1


@cache
def _columns() -> tuple[slice, npt.NDArray[np.int64]]:
    """Columns of groups on ancestors, which are neighbours, and of features that are averaged."""
    from .columns import NAMES

    near = [k for k, name in enumerate(NAMES) if name.startswith(("class_", "near_"))]
    return slice(near[0], near[-1] + 1), np.array([NAMES.index(name) for name in _MEANS])


def page_row(page: Blocks, kept: Sequence[int]) -> npt.NDArray[np.int32]:
    """The row, 1 by n. `kept` is not empty."""
    from .columns import FAR, PAGE_START

    chosen = np.asarray(kept)
    words = page.measures[chosen, _WORDS]
    total = max(int(words.sum()), 1)
    parts = [page.rows[0, PAGE_START:].astype(np.int64)]
    near, means = _columns()
    # products of floats are much quicker than of integers, and these are exact: no sum is near
    # 2**53 (no page has as many words as 2**36)
    weights = words.astype(np.float64)
    there = (page.rows[:, near][chosen] < FAR).astype(np.float64)
    parts.append((weights @ there).astype(np.int64) * 1000 // total)
    values = page.rows[chosen[:, None], means].astype(np.float64).clip(-1000, 100_000)
    parts.append((weights @ values).astype(np.int64) // total)
    parts.append(np.array([len(chosen), total, total // len(chosen)], np.int64))
    return np.concatenate(parts).astype(np.int32)[np.newaxis]


_MEANS = (
    "words", "link_share", "function", "sentences", "currency", "digits", "repeats",
    "up2_good_share", "unit_level", "unit_words", "unit_siblings", "unit_headings", "unit_images",
    "unit_link_share", "in_run", "inside_50", "article_number", "times", "pre", "in_title",
    "text_buy", "text_review", "text_comment", "text_date", "heading_faq", "heading_review",
    "heading_comment", "heading_buy", "heading_about", "depth", "signature_blocks",
)  # fmt: skip
