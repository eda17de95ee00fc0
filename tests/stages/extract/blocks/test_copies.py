"""What stands on a page twice is kept once."""

from __future__ import annotations

import pytest

from corpusmill.stages.extract.blocks.copies import COPY_WORDS, once
from corpusmill.stages.extract.blocks.passes import analyse, tree_markup


def words(start: int, n: int) -> str:
    """`n` words that no other start gives."""
    return " ".join(f"w{start}x{i}" for i in range(n))


A, B, C, D = words(1, 40), words(2, 40), words(3, 40), words(4, 90)
SURE = 950


def stay(html: str, scores: int = 500, leave: tuple[int, ...] = ()) -> tuple[int, ...]:
    page = analyse(tree_markup(html))
    n = len(page)
    return once(page, [b for b in range(n) if b not in leave], [scores] * n)


def paragraphs(*texts: str) -> str:
    return "".join(f"<p>{text}" for text in texts)


def test_a_second_copy_goes() -> None:
    assert stay(paragraphs(A, B, C, A, B, D)) == (0, 1, 2, 5)
    assert stay(paragraphs(A, B, C, A.upper(), f"{B}!", D)) == (0, 1, 2, 5)
    assert stay(paragraphs(A, B, C, D)) == (0, 1, 2, 3)
    assert once(analyse(tree_markup("")), [], []) == ()


def test_short_blocks_go_with_the_copy_around_them() -> None:
    assert stay(paragraphs("Hello", A, "Two", B, D, A, "Two", B, "Three")) == (0, 1, 2, 3, 4, 8)
    # A line of its own in the middle parts the copy: each half is too short.
    assert stay(paragraphs(A, "Two", B, D, A, "New", B)) == (0, 1, 2, 3, 4, 5, 6)


def test_a_line_that_comes_again_stays() -> None:
    short = words(5, COPY_WORDS - 1)
    assert stay(paragraphs(short, A, short)) == (0, 1, 2)
    long = words(5, COPY_WORDS)
    assert stay(paragraphs(long, A, long)) == (0, 1)


def test_a_copy_with_other_words_stays() -> None:
    price = "for the price of "
    assert stay(paragraphs(f"{D} {price} 7 new 9", A, f"{D} {price} 8 old 9 or less")) == (0, 1, 2)


def test_what_is_sure_stays_unless_it_is_a_third_of_the_text() -> None:
    rest = words(6, 150)
    text = paragraphs(A, B, rest, words(7, 90), A, B)
    assert stay(text) == (0, 1, 2, 3)
    assert stay(text, SURE) == (0, 1, 2, 3, 4, 5)
    assert stay(paragraphs(A, B, rest, A, B), SURE) == (0, 1, 2)


@pytest.mark.parametrize("copies", [1, 2])
def test_paragraphs_take_the_place_of_one_long_copy(copies: int) -> None:
    text = paragraphs("Menu", A, B, C, "Foot", *[f"{A} {B} {C}"] * copies)
    # The model kept the copies alone.
    assert stay(text, leave=(0, 1, 2, 3, 4)) == (1, 2, 3)


def test_a_part_of_a_text_does_not_take_its_place() -> None:
    text = paragraphs(A, B, f"{A} {B} {C}")
    assert stay(text, leave=(0, 1)) == (2,)


def test_two_parts_are_enough_if_they_are_most_of_it() -> None:
    assert stay(paragraphs(A, B, f"{A} {B}"), leave=(0, 1)) == (0, 1)
    # D is more than half of the long copy, so no part of it, and A and B are less than most.
    assert stay(paragraphs(D, A, B, f"{D} {A} {B}"), leave=(0, 1, 2)) == (3,)
