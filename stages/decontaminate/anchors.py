"""The rare words by which items are looked for, and which of them a text is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from . import stems

if TYPE_CHECKING:
    import numpy.typing as npt

    I32 = npt.NDArray[np.int32]
    I64 = npt.NDArray[np.int64]
    U8 = npt.NDArray[np.uint8]
    U32 = npt.NDArray[np.uint32]

ANCHORS: Final = 12
"""Most anchors of an item."""

SLOT_BITS: Final = 4
"""Lower bits of a posting, which say which of its item's anchors a class is."""

BITS_OF_CLASS: Final = 8
"""Lower bits of a number that has a class and its rarity: those of the rarity."""

NEEDED, FIRST, LAST, LEAST = range(ANCHORS, ANCHORS + 4)
"""Columns of `Anchors.items` behind those of the anchors: bits that make an item a candidate, where
the classes of all its words begin and end, and the bits of these that make a window worth a
look."""

_ANCHOR_BITS: Final = 5
_HOLDERS: Final = 150
"""A word that more items have is no anchor."""

_ANCHOR_PERCENT: Final = 45
"""Share of the rarity of its anchors that makes an item a candidate."""

_COUNTED: Final = 4
_FIRST_COUNT: Final = 1 << 13
_COUNT_AGAIN: Final = 4
"""One of so many anchors of texts is counted; the postings are made anew when there were so many,
and each time that there were so many times more."""

SIZE_BITS: Final = 8
"""Lower bits of a number that has where postings begin and how many they are: those of the
latter."""


class Postings(NamedTuple):
    """Those of class c are the ``of[c] % 2**SIZE_BITS`` from ``posting[of[c] >> SIZE_BITS]`` on:
    an item and, in the lower `SLOT_BITS`, which of its anchors the class is. Classes that texts
    have often stand together, so that a cache holds theirs."""

    of: U32
    posting: U32


class Anchors:
    """Those of some items: of each the `ANCHORS` rarest classes of its words, without the most
    frequent of these as long as any three others have the bits that it `needs` together."""

    def __init__(self, item: I64, own: I64, bits: I64, classes: int, least: I64) -> None:
        """`item`, `own`: pairs of an item and a class of its words, ascending; `bits`: of each.
        `least`: of each item, the bits of its classes that make a window worth a look."""
        items = len(least)
        holders = np.bincount(own, minlength=classes)
        fit = np.flatnonzero((holders[own] <= _HOLDERS) & (bits >= _ANCHOR_BITS))
        fit = fit[np.lexsort((own[fit], holders[own[fit]], -bits[fit], item[fit]))]
        slot = np.arange(len(fit)) - np.searchsorted(item[fit], item[fit])
        fit, slot = fit[slot < ANCHORS], slot[slot < ANCHORS]
        rarity = np.zeros((items, ANCHORS), np.int64)
        rarity[item[fit], slot] = bits[fit]
        needed = -(-rarity.sum(axis=1) * _ANCHOR_PERCENT // 100)
        spare = np.maximum(0, needed - 2 * stems.RAREST - 1)
        rest = np.cumsum(rarity[:, ::-1], axis=1)[:, ::-1]
        rarity[(rest <= spare[:, None]) & (rarity > 0)] *= -1
        needed += np.minimum(rarity, 0).sum(axis=1)
        used = rarity[item[fit], slot] > 0
        fit, slot = fit[used], slot[used]
        self._class: I64 = np.zeros((items, ANCHORS), np.int64)
        self._class[item[fit], slot] = own[fit]
        self._bits: I64 = np.maximum(rarity, 0)
        self._needed: I64 = needed
        self.is_anchor: U8 = np.zeros(classes, np.uint8)
        self.is_anchor[own[fit]] = 1
        bounds = np.searchsorted(item, np.arange(items + 1))
        self.items: U32 = np.column_stack(
            [with_bits(self._class, self._bits), needed, bounds[:-1], bounds[1:], least]
        ).astype(np.uint32)
        """A row an item: its anchors, the rarest first, 0 where there are fewer, and the columns
        above. One look into memory brings all of it."""
        self._often: I64 = np.zeros(classes, np.int64)
        self._count = 0
        self._due = _FIRST_COUNT
        self.postings = self._postings()

    def seen(self, classes: I32) -> None:
        """Says which anchors stand in texts that are looked at. What is found does not depend on
        it, only how soon."""
        some = classes[::_COUNTED]
        self._often += np.bincount(some, minlength=len(self._often))
        self._count += len(some)
        if self._count >= self._due:
            self._due = _COUNT_AGAIN * self._count
            self.postings = self._postings()

    def _postings(self) -> Postings:
        """Without the anchors of an item that texts have most often, as many as can be left out so
        that two of the others stand wherever three are that have the bits needed together."""
        often = np.where(self._bits > 0, self._often[self._class], -1)
        order = np.argsort(often, axis=1, kind="stable")
        bits = np.take_along_axis(self._bits, order, axis=1)
        rest = np.cumsum(bits[:, ::-1], axis=1)[:, ::-1]
        # What is left out has `rest` at most, and one of the others no more than the first.
        few = rest + self._bits[:, :1] < self._needed[:, None]
        few[:, -1] = True
        item, at = np.nonzero((bits > 0) & ~few)
        slot = order[item, at]
        own = self._class[item, slot]
        order = np.lexsort((item, own, -self._often[own]))
        posting = ((item << SLOT_BITS) | slot)[order].astype(np.uint32)
        of = np.bincount(own, minlength=len(self.is_anchor))  # `_HOLDERS` at most
        kept, place = np.unique(own[order], return_index=True)
        of[kept] |= place << SIZE_BITS
        return Postings(of.astype(np.uint32), posting)


def with_bits(classes: I64, bits: I64) -> I64:
    """Classes and their rarities, in one number each."""
    return classes << BITS_OF_CLASS | bits
