"""What stands on a page twice, and what stands around a block."""

from __future__ import annotations

from corpusmill.stages.extract.blocks import columns
from corpusmill.stages.extract.blocks.passes import Blocks, analyse, tree_markup


def column(found: Blocks, name: str) -> list[int]:
    values: list[int] = found.rows[:, columns.NAMES.index(name)].tolist()
    return values


def test_runs_of_words_before_and_after() -> None:
    found = analyse(
        tree_markup(
            "<p>one two three four five</p><p>zero ONE, two three FOUR</p><p>one two three</p>"
            "<div>one two three four five</div><p>älter als drei Äpfel</p>"
        )
    )
    # runs: 1234 2345 | 0123 1234 | none | 1234 2345 | one
    assert column(found, "seen_before") == [0, 500, -1, 1000, 0]
    assert column(found, "seen_after") == [1000, 500, -1, 0, 0]


def test_a_text_that_repeats_itself_is_not_seen_elsewhere() -> None:
    found = analyse(tree_markup("<p>la la la la la la la la</p><p>something else stands here</p>"))
    assert column(found, "seen_before") == [0, 0]
    assert column(found, "seen_after") == [0, 0]


STORY = "The keeper of the lamp wrote that the wind had turned and that two ships had passed. "
PAGE = (
    f"<h2>Lamp</h2><div class=a><p>{STORY}</p><p>{STORY}</p></div>"
    "<div class=t><a href=/1>Boats</a> to see</div><div class=t><img> ten ropes</div>"
    "<div class=t>and then some</div>"
)


def test_main_group_and_siblings() -> None:
    found = analyse(tree_markup(PAGE))
    n = len(STORY.split())
    assert column(found, "main_before") == [1, 0, 0, 0, 0, 0]
    assert column(found, "main_after") == [0, 0, 0, 0, 3, 5]
    assert column(found, "main_after_blocks") == [0, 0, 0, 1, 2, 3]
    assert column(found, "main_share") == [2 * n * 1000 // (2 * n + 9)] * 6
    assert column(found, "unit_with_link") == [-1, -1, -1, 333, 333, 333]
    assert column(found, "unit_with_image") == [-1, -1, -1, 333, 333, 333]
    assert column(found, "unit_longest") == [-1, -1, -1, 3, 3, 3]


def test_what_comes_before_and_after() -> None:
    found = analyse(tree_markup(PAGE))
    assert column(found, "before20_headings") == [0, 1, 1, 1, 1, 1]
    assert column(found, "after20_headings") == [0] * 6
    assert column(found, "after20_link_share")[3:] == [0, 0, 0]
    assert column(found, "after20_link_share")[2] == 5000 // (12 + 9 + 13)
    assert column(found, "before20_good_share")[0] == 0
    assert column(found, "before20_good_share")[2] == 1000 * 17 // 18
    assert column(found, "after20_good_share")[0] == 1000 * 34 // 42
