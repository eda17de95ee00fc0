"""What is given out when: the queue of a group of phases, without any process."""

from __future__ import annotations

import pytest

from corpusmill.pipeline.errors import StageError
from corpusmill.pipeline.needs import Needs
from corpusmill.pipeline.work import Lot, Work


def pair(first: list[int], second: list[int]) -> list[Lot]:
    """Two phases of which the second may begin task by task."""
    return [Lot("a", first, Needs(sealed=("0",))), Lot("b", second, Needs("a"))]


class Told:
    """Work, and what it told."""

    def __init__(self, lots: list[Lot]) -> None:
        self.closed: list[str] = []
        self.ticks: list[tuple[str, int, int]] = []
        self.failed: list[tuple[str, int, str]] = []
        self.work = Work(
            lots, close=self.closed.append, failed=lambda *f: self.failed.append(f),
            tick=lambda *t: self.ticks.append(t),
        )  # fmt: skip
        self.work.start()


def test_one_phase_in_order() -> None:
    told = Told([Lot("a", [2, 0, 5])])
    assert [told.work.next() for _ in range(4)] == [("a", 0), ("a", 2), ("a", 5), None]
    for task in (5, 0, 2):
        assert told.closed == []
        told.work.ended("a", task, None)
    assert told.closed == ["a"]
    assert told.ticks == [("a", 0, 3), ("a", 1, 3), ("a", 2, 3), ("a", 3, 3)]


def test_a_slow_task_holds_back_only_its_own() -> None:
    told = Told(pair([0, 1, 2], [0, 1, 2]))
    work = told.work
    assert [work.next() for _ in range(4)] == [("a", 0), ("a", 1), ("a", 2), None]
    work.ended("a", 2, None)
    work.ended("a", 1, None)
    assert [work.next() for _ in range(3)] == [("b", 1), ("b", 2), None]
    work.ended("b", 1, None)
    work.ended("b", 2, None)
    assert told.closed == []
    work.ended("a", 0, None)
    assert told.closed == ["a"]
    assert work.next() == ("b", 0)
    work.ended("b", 0, None)
    assert (told.closed, work.next(), work.more()) == (["a", "b"], None, False)


def test_the_earlier_phase_goes_first() -> None:
    work = Told(pair([0, 1], [0, 1])).work
    assert work.next() == ("a", 0)
    work.ended("a", 0, None)
    assert [work.next() for _ in range(3)] == [("a", 1), ("b", 0), None]


def test_a_later_phase_is_closed_after_the_one_that_it_began_after() -> None:
    """However fast its tasks are: nothing of the second is missing."""
    told = Told(pair([1], []))
    assert told.closed == []
    assert told.work.next() == ("a", 1)
    told.work.ended("a", 1, None)
    assert told.closed == ["a", "b"]


def test_what_was_done_before_is_not_waited_for() -> None:
    told = Told(pair([1], [0, 1]))
    assert [told.work.next() for _ in range(3)] == [("a", 1), ("b", 0), None]
    assert Told([Lot("b", [0, 1], Needs("a"))]).work.next() == ("b", 0), "a is sealed"
    assert Told([Lot("a", [])]).closed == ["a"]


def test_a_phase_that_waits_for_a_seal_between_them() -> None:
    """``tally`` needs all of ``mark``, ``docs`` does not need ``tally``."""
    lots = [
        Lot("mark", [0, 1], Needs(sealed=("count",))), Lot("tally", [0], Needs(sealed=("mark",))),
        Lot("docs", [0, 1], Needs("mark")),
    ]  # fmt: skip
    told = Told(lots)
    work = told.work
    assert [work.next() for _ in range(3)] == [("mark", 0), ("mark", 1), None]
    work.ended("mark", 0, None)
    assert [work.next() for _ in range(2)] == [("docs", 0), None]
    work.ended("mark", 1, None)
    assert [work.next() for _ in range(3)] == [("tally", 0), ("docs", 1), None]
    work.ended("docs", 0, None)
    work.ended("docs", 1, None)
    assert told.closed == ["mark"], "the tally may stop the run"
    work.ended("tally", 0, None)
    assert told.closed == ["mark", "tally", "docs"]


def test_needs_of_both_kinds() -> None:
    """``encode`` needs the documents of its number and the whole tokenizer, which needs nothing."""
    lots = [
        Lot("docs", [0, 1], Needs(sealed=("x",))), Lot("take", [0]), Lot("encode", [0, 1], Needs("docs", ("take",))),
    ]  # fmt: skip
    told = Told(lots)
    work = told.work
    assert [work.next() for _ in range(4)] == [("docs", 0), ("docs", 1), ("take", 0), None]
    work.ended("docs", 1, None)
    assert work.next() is None
    work.ended("take", 0, None)
    assert told.closed == ["take"]
    assert [work.next() for _ in range(2)] == [("encode", 1), None]


def test_after_an_error_neighbours_go_on_and_nothing_later_begins() -> None:
    told = Told(pair([0, 1, 2], [0, 1, 2]))
    work = told.work
    assert [work.next(), work.next()] == [("a", 0), ("a", 1)]
    work.ended("a", 0, None)
    work.ended("a", 1, "ValueError: x")
    assert [work.next(), work.next()] == [("a", 2), None]
    work.ended("a", 2, None)
    assert work.next() is None
    assert told.closed == []
    assert work.errors == {("a", 1): "ValueError: x"}
    assert told.failed == [("a", 1, "ValueError: x")]


def test_a_task_that_is_taken_back() -> None:
    told = Told(pair([0, 1], [0, 1]))
    assert [told.work.next(), told.work.next()] == [("a", 0), ("a", 1)]
    told.work.again("a", 0)
    assert [told.work.next(), told.work.next()] == [("a", 0), None]
    assert told.ticks == [("a", 0, 2)]


def test_a_guard_ends_the_work() -> None:
    def close(phase: str) -> None:
        raise StageError(f"{phase} lost too much")

    work = Work(pair([0], [0]), close=close)
    work.start()
    assert work.next() == ("a", 0)
    with pytest.raises(StageError, match="a lost too much"):
        work.ended("a", 0, None)


def test_only_phases_at_work_are_told_of_while_nothing_ends() -> None:
    told = Told(pair([0, 1], [0, 1]))
    told.work.next()
    told.ticks.clear()
    told.work.waiting()
    assert told.ticks == [("a", 0, 2)]
