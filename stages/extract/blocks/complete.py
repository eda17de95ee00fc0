"""What belongs to the kept blocks: lists, tables and quotations whole, headings, captions.

The model judges one block at a time, and an item of a list, a cell or a heading has few words to be
judged by. So after its choice: a table, a list or a quotation between kept blocks is kept whole
(not a quotation full of links); a table that follows one is, unless it is full of links; so is a
list of short items of which more than a third is kept; a heading (not the first) or a term of a
definition list before a kept block that is no heading; a caption of a sentence between kept blocks;
code (and what leads to it) with kept blocks around it.

Cross-validated on WCXB's development pages with the weights of the stage's version 3, all rules
together: list items present .908 to .934, rows of tables that are such in the markup .866 to .972,
lines of code .960 to .992, word-bag F1 .8985 to .8982 (captions alone cost .0004). With version 8's
a third in place of two fifths of a list: items .9292 to .9309, F1 .8996 to .8993. Quotations, which
are posts set into a text for the most part: .8993 to .8994; on the news pages .954 to .956.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .columns import (
    BLOCK0,
    BLOCK1,
    END,
    GROUPS,
    HASH,
    IS_PRE,
    LINK_BYTES,
    OWNER,
    PARENT,
    SENTENCES,
    START,
    TAG_ID,
    WORDS,
)
from .render import data_tables
from .vocabulary import CLASS_GROUPS, TAG, TAGS

if TYPE_CHECKING:
    import numpy.typing as npt

    from .passes import Blocks

SHORT_ITEM = 60
"""A list with more words an item, on average, is a thread or a row of articles."""
MAX_LINKED = 2, 5
"""Share of a table's letters in links from which it does not follow what stands before it; of a
quotation's from which it is a promise of something else: *Read more*, *A post shared by*."""
ALL_LINKED = 9, 10
"""The same of its first row."""
CONTENTS_LINKED = 3, 4
"""The same from which a list is one of links; the spaces between words are in none."""

END_WORDS = 10
"""Headings that end a text stay if they are more than one in as many of its words: then they are
its content."""
TITLE_BEFORE = 3
"""A list of sections stands at most so many blocks below the heading of what it lists."""
LEAD_BLOCKS = 8
"""More blocks are no lead: what lies between such a list and the text is something else."""
AROUND_CODE = 2
"""Levels of elements around code that are looked at."""


def _one_of(*names: str) -> npt.NDArray[np.bool_]:
    """For each number of a tag, whether it is one of `names`."""
    found = np.zeros(len(TAGS), bool)
    found[[TAG[name] for name in names]] = True
    return found


_LISTS = _one_of("ul", "ol", "dl")
_ITEMS = _one_of("li", "dd")
_HEADINGS = _one_of("h1", "h2", "h3", "h4", "h5", "h6")
_LED_IN = _one_of("h2", "h3", "h4")
_QUOTE = TAG["blockquote"]
_COMMENT = 1 << [name for name, _ in CLASS_GROUPS].index("comment")
_TERM, _CAPTION, _ROW = TAG["dt"], TAG["figcaption"], TAG["tr"]


def completed(page: Blocks, kept: Sequence[int]) -> tuple[int, ...]:
    """`kept` (ascending numbers of blocks) and what belongs to them."""
    n = len(page)
    if not kept or len(kept) == n:
        return tuple(kept)
    chosen = np.zeros(n + 2, bool)  # one more at each end, so that every block has neighbours
    chosen[np.asarray(kept) + 1] = True
    own = chosen[1:-1]
    made = own.copy()
    is_chosen = chosen.tolist()
    for first, last in data_tables(page).values():
        before, after = is_chosen[first], is_chosen[last + 1]
        if before and (after or not _linked(page, first, last)):
            made[first:last] = True
    words = page.measures[:, WORDS]
    all_words, kept_words, kept_blocks = map(_before, (words, words * own, own))
    for first, last, items in _outer_lists(page):
        if kept_blocks[last] - kept_blocks[first] == last - first:
            continue
        total = all_words[last] - all_words[first]
        much = 3 * (kept_words[last] - kept_words[first]) > total
        if (is_chosen[first] and is_chosen[last + 1]) or (much and total <= SHORT_ITEM * items):
            made[first:last] = True
    for first, last in _outer_quotes(page):
        around = is_chosen[first] and is_chosen[last + 1]
        if around and not _has_links(page, first, last, MAX_LINKED):
            made[first:last] = True
    made |= _singles(page, chosen)
    if page.blocks[:, IS_PRE].any():
        made |= _enclosed_code(page, chosen)
    return tuple(np.flatnonzero(made).tolist())


def opened(page: Blocks, kept: Sequence[int]) -> tuple[int, ...]:
    """`kept` (ascending) and how a chapter begins that lists its own sections before the first: its
    heading, that list, and what is said before the first section. They are judged by what stands
    around them, so that a list of links takes the sentences behind it with it. Where only the list
    was left out it stays so: most articles' lists of sections are not what readers want of them."""
    if not kept:
        return ()
    headings, hashes = is_heading(page), page.measures[:, HASH]
    for first, last, _ in _outer_lists(page):
        if last >= kept[0]:
            break
        above = np.flatnonzero(headings[:first])[-1:].tolist()
        if (
            above
            and first - above[0] <= TITLE_BEFORE
            and np.isin(hashes[first:last], hashes[last:][headings[last:]]).any()
            and _has_links(page, first, last, CONTENTS_LINKED)
            and _is_lead(page, last, kept[0], headings)
        ):
            return (*range(above[0], kept[0]), *kept)
    return tuple(kept)


def _is_lead(page: Blocks, first: int, last: int, headings: npt.NDArray[np.bool_]) -> bool:
    """Whether these blocks are few, begin with a sentence, have not many links, and no heading but
    perhaps at their end."""
    return (
        last - first <= LEAD_BLOCKS
        and bool(page.measures[first, SENTENCES] > 0)
        and not headings[first : last - 1].any()
        and not _has_links(page, first, last, MAX_LINKED)
    )


def _before(values: npt.NDArray[Any]) -> list[int]:
    """For each block, and for the end, the sum of what is before it."""
    return [0, *np.cumsum(values).tolist()]


def is_heading(page: Blocks) -> npt.NDArray[np.bool_]:
    """Of each block, whether it is a heading."""
    found: npt.NDArray[np.bool_] = _HEADINGS[page.elements[page.blocks[:, OWNER], TAG_ID]]
    return found


def without_end_headings(page: Blocks, kept: Sequence[int]) -> tuple[int, ...]:
    """`kept` (ascending) without the headings that it ends with: of what was not kept."""
    words = page.measures[:, WORDS]
    headings = is_heading(page)
    n = len(kept)
    while n and headings[kept[n - 1]]:
        n -= 1
    of_headings, of_all = int(words[list(kept[n:])].sum()), int(words[list(kept)].sum())
    return tuple(kept[:n]) if n and of_headings * END_WORDS <= of_all else tuple(kept)


def without_comments(page: Blocks, kept: Sequence[int]) -> tuple[int, ...]:
    """`kept` (ascending) without what stands in elements that the page calls comments, replies or
    the like, unless they hold the first kept block: a thread, say, is called a discussion."""
    if not kept:
        return ()
    groups, firsts = page.elements[:, GROUPS], page.elements[:, BLOCK0]
    named = ((groups & _COMMENT) != 0) & (firsts > kept[0])
    opened = np.zeros(len(page) + 1, np.int64)
    np.add.at(opened, firsts[named], 1)
    np.add.at(opened, page.elements[named, BLOCK1], -1)
    inside = np.cumsum(opened) > 0
    return tuple(b for b in kept if not inside[b])


def _linked(page: Blocks, first: int, last: int) -> bool:
    """Whether a table is full of links, or its first row is nothing else: "previous, up, next"."""
    row = int(page.blocks[first, OWNER])
    while row > 0 and page.elements[row, TAG_ID] != _ROW:
        row = int(page.elements[row, PARENT])
    row_end = int(page.elements[row, BLOCK1])
    return _has_links(page, first, last, MAX_LINKED) or _has_links(page, first, row_end, ALL_LINKED)


def _has_links(page: Blocks, first: int, last: int, share: tuple[int, int]) -> bool:
    some = page.blocks[first:last]
    part, whole = share
    letters = int((some[:, END] - some[:, START]).sum())
    return int(some[:, LINK_BYTES].sum()) * whole >= letters * part


def _outer_lists(page: Blocks) -> Iterator[tuple[int, int, int]]:
    """The range of blocks of each list that is in no other one, and its number of items."""
    tags = page.elements[:, TAG_ID]
    lists = np.flatnonzero(_LISTS[tags])
    if not len(lists):
        return
    parents = page.elements[_ITEMS[tags], PARENT]
    items = np.bincount(parents[parents >= 0], minlength=len(tags))[lists].tolist()
    ranges = page.elements[lists[:, None], (BLOCK0, BLOCK1)].tolist()
    covered = 0
    for (first, last), count in zip(ranges, items, strict=True):
        if covered <= first < last:
            covered = last
            yield first, last, max(1, count)


def _outer_quotes(page: Blocks) -> Iterator[tuple[int, int]]:
    """The range of blocks of each quotation that is in no other one; of some in a row, of all."""
    start = end = 0
    for e in np.flatnonzero(page.elements[:, TAG_ID] == _QUOTE).tolist():
        first, last = int(page.elements[e, BLOCK0]), int(page.elements[e, BLOCK1])
        if first > end and start < end:
            yield start, end
        if first > end or start == end:
            start = first
        end = max(end, last)
    if start < end:
        yield start, end


def _singles(page: Blocks, chosen: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Single blocks that belong to their neighbours."""
    tags = page.elements[page.blocks[:, OWNER], TAG_ID]
    before, after = chosen[:-2], chosen[2:]
    between = before & after
    text_follows = after & ~np.append(is_heading(page)[1:], True)
    caption = (tags == _CAPTION) & (page.measures[:, SENTENCES] > 0)
    found: npt.NDArray[np.bool_] = (
        (_LED_IN[tags] & text_follows) | ((tags == _TERM) & between) | (caption & between)
    )
    return found


def _enclosed_code(page: Blocks, chosen: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Code, with the block before it, where something before and something after it is kept in
    the same part of the page: the element around it or the one around that."""
    found = np.zeros(len(page), bool)
    before = np.concatenate(([0], np.cumsum(chosen[1:-1])))  # of block b: kept ones before it
    for b in np.flatnonzero((page.blocks[:, IS_PRE] > 0) & ~chosen[1:-1]).tolist():
        e = int(page.elements[page.blocks[b, OWNER], PARENT])
        for _ in range(AROUND_CODE):
            if e <= 0:
                break
            first, last = page.elements[e, BLOCK0], page.elements[e, BLOCK1]
            if before[b] > before[first] and before[last] > before[b + 1]:
                found[max(first, b - 1) : b + 1] = True
                break
            e = int(page.elements[e, PARENT])
    return found
