"""Anchors: which are asked for changes nothing that is found."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.stages.decontaminate import anchors as module
from corpusmill.stages.decontaminate import paraphrase_kernel as kernel
from corpusmill.stages.decontaminate.anchors import (
    ANCHORS,
    BITS_OF_CLASS,
    NEEDED,
    SIZE_BITS,
    SLOT_BITS,
    Anchors,
    Postings,
)

BITS = [5, 6, 7, 8, 8, 4, 6, 6, 8, 5, 8, 7, 6, 8]
"""Of some classes; that of 4 bits is no anchor."""


def made(items: Sequence[Sequence[int]]) -> Anchors:
    pairs = sorted({(n, c) for n, classes in enumerate(items) for c in classes})
    item = np.array([n for n, _ in pairs], np.int64)
    own = np.array([c for _, c in pairs], np.int64)
    least = np.zeros(len(items), np.int64)
    return Anchors(item, own, np.array(BITS, np.int64)[own], len(BITS), least)


def asked_for(anchors: Anchors) -> dict[int, set[int]]:
    """Item → classes that have a posting of it."""
    found: dict[int, set[int]] = {}
    for c, of in enumerate(anchors.postings.of.tolist()):
        start, size = of >> SIZE_BITS, of & ((1 << SIZE_BITS) - 1)
        for n in anchors.postings.posting[start : start + size].tolist():
            slot = n & ((1 << SLOT_BITS) - 1)
            assert anchors.items[n >> SLOT_BITS, slot] >> BITS_OF_CLASS == c
            found.setdefault(n >> SLOT_BITS, set()).add(c)
    return found


def counted(classes: Sequence[int]) -> npt.NDArray[np.int32]:
    """Anchors of a text of which these are counted."""
    return np.repeat(np.array(classes, np.int32), module._COUNTED)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(
    st.lists(st.sets(st.integers(0, 13), min_size=1), min_size=1, max_size=3),
    st.lists(st.integers(0, 13), max_size=30),
)
def test_two_are_asked_for_wherever_enough_stand(items: list[set[int]], text: list[int]) -> None:
    anchors = made([sorted(own) for own in items])
    anchors._due = 1
    seen = [c for c in text if anchors.is_anchor[c]]
    anchors.seen(counted(seen))
    asked = asked_for(anchors)
    for n, row in enumerate(anchors.items.tolist()):
        own = {a >> BITS_OF_CLASS: a & ((1 << BITS_OF_CLASS) - 1) for a in row[:ANCHORS] if a}
        assert set(own) <= items[n]
        assert 5 not in own
        for size in range(3, min(5, len(own)) + 1):
            for some in combinations(own, size):
                if sum(own[c] for c in some) >= row[NEEDED]:
                    assert len(asked.get(n, set()) & set(some)) >= 2


def test_as_many_are_left_out_as_can_be() -> None:
    """Of 42 bits 19 are needed: those of 5, 6 and one of 8, so only that of 5 is left out. Of 83
    bits the three least are no anchors, 21 are needed: more than 6, 6 and 8 have."""
    few, many = made([[0, 1, 2, 3, 4, 8]]), made([[n for n in range(14) if n != 5]])
    assert [few.items[0, NEEDED], many.items[0, NEEDED]] == [19, 21]
    assert asked_for(few) == {0: {1, 2, 3, 4, 8}}
    assert asked_for(many) == {0: {2, 3, 4, 8, 10, 11, 13}}


def test_what_texts_have_most_often_is_left_out() -> None:
    anchors = made([[0, 1, 2, 3, 4]])
    assert asked_for(anchors) == {0: {1, 2, 3, 4}}  # none seen: the rarest
    anchors._due = 8
    anchors.seen(counted([2, 2, 3]))
    assert asked_for(anchors) == {0: {1, 2, 3, 4}}
    anchors.seen(counted([2, 2, 2, 0, 3]))
    assert asked_for(anchors) == {0: {0, 1, 3, 4}}
    assert anchors._due == module._COUNT_AGAIN * 8
    assert anchors.postings.posting.tolist() == [0, 4, 3, 1]  # slots of 3 and 0, then 1 and 4


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ([(0, 0), (3, 1)], [(0, 1, 0)]),  # two of them in a width of 5
        ([(0, 0), (5, 1)], []),
        ([(0, 0), (4, 1)], [(0, 1, 0)]),
        ([(0, 0), (3, 0)], []),  # the same twice
        ([(0, 0), (3, 0), (7, 1)], [(0, 2, 0)]),
        ([(0, 0), (1, 2), (2, 1)], [(0, 2, 0)]),  # one of no item between them
        ([(3, 0), (21, 0), (23, 1)], [(1, 2, 0)]),
    ],
)
def test_pairs_near_each_other(
    places: list[tuple[int, int]], expected: list[tuple[int, int, int]]
) -> None:
    postings = Postings(
        np.array([1 << SIZE_BITS | 1, 1, 0], np.uint32), np.array([1, 0], np.uint32)
    )
    at = np.array([place for place, _ in places], np.int64)
    classes = np.array([c for _, c in places], np.int32)
    stop, width = np.array([20, 40], np.int64), np.array([5], np.int32)
    found = np.empty((9, 3), np.int64)
    n = kernel.near_pairs(stop, at, classes, *postings, width, found)
    assert [tuple(row) for row in found[:n].tolist()] == expected
    if expected:
        assert kernel.near_pairs(stop, at, classes, *postings, width, found[:0]) == -1


@pytest.mark.parametrize(
    ("where", "needed", "expected"),
    [
        ([5, 7, -1], 10, False),  # two, though they have the bits
        ([5, 7, 9], 23, True),
        ([5, 7, 9], 24, False),
        ([4, 7, 9], 10, False),  # one before the window
    ],
)
def test_three_anchors_with_the_bits_are_enough(
    where: list[int], needed: int, expected: bool
) -> None:
    anchors = np.array([7 << BITS_OF_CLASS | 8, 8 << BITS_OF_CLASS | 8, 9 << BITS_OF_CLASS | 7])
    assert kernel.enough(np.array(where), anchors.astype(np.uint32), 5, needed) is expected


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        ([3, 5, 9], True),  # 8 + 7 + 8 bits
        ([9, 7, 5, 7, 3], True),
        ([3, 9, 9, 3], False),  # two
        ([3, 6], False),
        ([5, 6, 9], False),  # 7 + 6 + 8
        ([3, 5, 9, 0, 2], True),
        ([0, 0, 3, 9, 0], False),  # no anchor is class 0, though free places look so
        ([], False),
    ],
)
def test_anchors_around_a_pair_are_counted(classes: list[int], expected: bool) -> None:
    item = np.zeros(16, np.uint32)
    item[:4] = [c << BITS_OF_CLASS | bits for c, bits in ((3, 8), (9, 8), (5, 7), (6, 6))]
    item[NEEDED] = 23
    around = np.array([1, *classes, 1], np.int32)
    assert kernel.may_be_enough(around, 1, 1 + len(classes), item) == expected
