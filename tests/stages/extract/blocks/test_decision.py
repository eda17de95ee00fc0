"""The expected-F1 rule against a search over all subsets."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.stages.extract.blocks.decision import ANYWHERE, ARTICLE, best_blocks, main_run


def expected(scores: list[int], words: list[int], kept: tuple[int, ...]) -> float:
    part = sum(scores[b] * words[b] for b in kept) / 1000
    total = sum(s * n for s, n in zip(scores, words, strict=True)) / 1000
    size = sum(words[b] for b in kept)
    return 2 * part / (size + total) if size + total else 0.0


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(1, 50)), max_size=8))
def test_no_subset_is_better(blocks: list[tuple[int, int]]) -> None:
    scores, words = [s for s, _ in blocks], [n for _, n in blocks]
    found = best_blocks(scores, words)
    best = max(
        expected(scores, words, kept)
        for size in range(len(blocks) + 1)
        for kept in combinations(range(len(blocks)), size)
    )
    assert abs(expected(scores, words, found.kept) - best) < 1e-9
    assert abs(found.confidence - best) < 2e-6


def test_by_hand() -> None:
    found = best_blocks([900, 100, 800, 950], [10, 100, 10, 0])
    assert found.kept == (0, 2, 3)
    assert found.confidence == round(2 * 17 / (20 + 27), 6)


def test_ties_and_nothing() -> None:
    assert best_blocks([], []).kept == ()
    assert best_blocks([0, 0], [5, 5]).kept == ()
    assert best_blocks([0, 0], [5, 5]).confidence == 0.0
    assert best_blocks([1000, 1000], [5, 5]).kept == (0, 1)
    assert best_blocks([1000, 1000], [5, 5]).confidence == 1.0


def test_numbers_beyond_64_bits() -> None:
    assert best_blocks([999, 1], [10**12, 10**12]).kept == (0,)


def test_doubtful_groups_at_the_ends_go() -> None:
    scores = [500, 0, 0, 0, 900, 800, 100, 700, 0, 0, 0, 600, 500, 0, 1, 0, 675, 0, 0, 0, 600]
    words = [9, 5, 5, 5, 50, 50, 14, 20, 5, 5, 5, 20, 20, 1, 15, 1, 10, 5, 5, 5, 7]
    found = best_blocks(scores, words)
    assert found.kept == (0, 4, 5, 7, 11, 12, 16, 20)
    # Two blocks or fourteen words between do not part 4 5 7, whose mean is 99 / 120 = .825; the
    # groups 0, 11 12 and 20 are under .61875, 16 is not, and 11 12 lies inside.
    run = main_run(found, scores, words)
    assert run.kept == (4, 5, 7, 11, 12, 16)
    part = 99_000 + 22_000 + 6_750
    total = sum(s * n for s, n in zip(scores, words, strict=True))
    assert run.confidence == (2_000_000 * part // (170 * 1000 + total)) / 1_000_000


def test_strong_groups_all_stay() -> None:
    scores, words = [900, 0, 0, 0, 800, 0, 0, 0, 675], [10, 5, 5, 5, 9, 5, 5, 5, 8]
    found = best_blocks(scores, words)
    assert found.kept == (0, 4, 8)
    assert main_run(found, scores, words) is found
    scores[8] = 674
    assert main_run(best_blocks(scores, words), scores, words).kept == (0, 4)
    assert main_run(best_blocks([], []), [], []).kept == ()
    assert main_run(best_blocks([900], [3]), [900], [3]).kept == (0,)


def test_a_heading_left_out_parts_groups() -> None:
    scores, words = [900, 100, 90, 600], [50, 3, 4, 20]
    found = best_blocks(scores, words)
    assert found.kept == (0, 3)
    assert main_run(found, scores, words) is found
    assert main_run(found, scores, words, headings=[True, False, False, True]) is found
    assert main_run(found, scores, words, headings=[False, True, False, False]).kept == (0,)
    # right before a kept block it is that block's own
    assert main_run(found, scores, words, headings=[False, False, True, False]) is found
    scores[1] = 800
    found = best_blocks(scores, words)
    assert main_run(found, scores, words, headings=[False, True, False, False]).kept == (0, 1, 3)


def test_a_weaker_bound_cuts_less() -> None:
    scores, words = [900, 0, 0, 0, 450, 0, 0, 0, 449], [50, 5, 5, 5, 9, 5, 5, 5, 8]
    found = best_blocks(scores, words)
    assert found.kept == (0, 4, 8)
    assert main_run(found, scores, words).kept == (0,)
    assert main_run(found, scores, words, ANYWHERE).kept == (0, 4)


def test_the_main_group_is_the_surest_not_the_longest() -> None:
    scores, words = [550, 550, 0, 0, 0, 900, 900], [100, 100, 5, 5, 5, 50, 51]
    found = best_blocks(scores, words)
    assert found.kept == (0, 1, 5, 6)
    # 200 words of .55 are more than 101 of .9, but not in squares: 60.5 and 81.8
    assert main_run(found, scores, words).kept == (5, 6)


def test_a_list_without_links_is_cut_later() -> None:
    scores, words = [900, 0, 0, 0, 500, 460, 440], [50, 5, 5, 5, 10, 9, 9]
    found = best_blocks(scores, words)
    assert found.kept == (0, 4, 5, 6)
    plain = [0, 0, 0, 0, 10, 9, 0]  # of 28 words 19 are in a list, mean .468
    assert main_run(found, scores, words).kept == (0,)
    assert main_run(found, scores, words, ARTICLE, listed=plain) is found
    assert main_run(found, scores, words, ARTICLE, listed=[*plain[:6], -1]).kept == (0,)
    assert main_run(found, scores, words, ARTICLE, listed=[0, 0, 0, 0, 5, 9, 0]).kept == (0,)
    scores[5:] = [400, 390]  # mean .432: less than half of .9, but not than two fifths
    assert main_run(found, scores, words, ARTICLE, listed=plain).kept == (0,)
    assert main_run(found, scores, words, ANYWHERE, listed=plain) is found
