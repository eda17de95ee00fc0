"""Batches through a chain: every outcome booked, every breach of the contract stopped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import pytest

from corpusmill.pipeline.accounts import merge_found
from corpusmill.pipeline.document import Document, Drop, Failure, Outcome, Page
from corpusmill.pipeline.errors import StageError
from corpusmill.pipeline.flow import Chain, Live
from corpusmill.pipeline.recipe import Step
from corpusmill.pipeline.stage import Kind, NoParams, Stage


class WithChild(Stage):
    """Keeps everything; says that a process of its own used 2 CPU seconds a document."""

    name: ClassVar[str] = "measure.with_child"
    version: ClassVar[int] = 1
    kind: ClassVar[Kind] = "measure"

    def __init__(self, params: Any) -> None:
        super().__init__(params)
        self.used = 50.0  # its start, which belongs to no batch

    def child_cpu(self) -> float:
        return self.used

    def apply(self, batch: Sequence[Document]) -> list[Outcome]:
        self.used += 2.0 * len(batch)
        return list(batch)


def live(count: int) -> list[Live]:
    ids = [f"{n:032x}" for n in range(1, count + 1)]
    return [(Document(i, "text", "web"), int(i, 16)) for i in ids]


def test_cpu_of_a_stages_own_processes_is_counted_once() -> None:
    made = WithChild(NoParams())
    chain = Chain([Step("with_child", made.name, made.params, made)])
    assert len(chain.run(live(3))) == 3
    assert 6.0 <= chain.account.cpu["with_child"] < 6.5
    chain.run(live(1))
    assert 8.0 <= chain.account.cpu["with_child"] < 8.5


class Odd(Stage):
    """Does what it is told, to show that each breach of the contract is found."""

    name: ClassVar[str] = "measure.odd"
    version: ClassVar[int] = 1
    kind: ClassVar[Kind] = "measure"
    reasons = ("known",)
    errors = ("broken",)

    def __init__(self, answer: Callable[[Document], list[Any]]) -> None:
        super().__init__(NoParams())
        self.answer = answer

    def apply(self, batch: Sequence[Document]) -> list[Outcome]:
        return [outcome for doc in batch for outcome in self.answer(doc)]


def through(answer: Callable[[Document], list[Any]], batch: list[Live]) -> Chain:
    made = Odd(answer)
    chain = Chain([Step("odd", made.name, made.params, made)])
    chain.run(batch)
    return chain


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda d: [], "was given 2 documents and gave back 0 outcomes"),
        (lambda d: [d, d], "was given 2 documents and gave back 4 outcomes"),
        (lambda d: [Document("f" * 32, d.text, d.source)], "changed the id or source"),
        (lambda d: [Document(d.id, d.text, "elsewhere")], "changed the id or source"),
        (lambda d: [Drop("unknown")], "dropped with the undeclared reason 'unknown'"),
        (lambda d: [Failure("unknown")], "failed with the undeclared type 'unknown'"),
        (lambda d: [None], "gave back NoneType"),
    ],
)
def test_a_stage_that_breaks_its_contract_is_stopped(
    answer: Callable[[Document], list[Any]], message: str
) -> None:
    with pytest.raises(StageError, match=message):
        through(answer, live(2))


def test_pages_and_documents_are_not_mixed() -> None:
    page: Live = (Page("e" * 32, "web", b"<p>"), int("e" * 32, 16))
    with pytest.raises(StageError, match="met 1 raw pages among 3 documents"):
        through(lambda d: [d], [*live(2), page])
    chain = through(lambda d: [d], [page])  # takes documents: a page passes by
    assert chain.account.flows == {}


def test_drops_and_failures_are_booked_and_kept_for_reading() -> None:
    def by_number(doc: Document) -> list[Any]:
        return [{"1": Drop("known", 4), "2": Failure("broken", "why")}.get(doc.id[-1], doc)]

    chain = through(by_number, live(3))
    chain.account.check("here")
    flow = chain.account.flow("odd", "web")
    assert (flow.taken, flow.kept, flow.dropped, flow.errors) == (3, 1, {"known": 1}, {"broken": 1})
    assert [row[3:7] for row in chain.rejects] == [
        ("odd", "dropped", "known", "4"),
        ("odd", "error", "broken", "why"),
    ]


class Doubles(Stage):
    """Edits texts where they lie."""

    name: ClassVar[str] = "clean.doubles"
    version: ClassVar[int] = 1
    kind: ClassVar[Kind] = "map"

    def apply(self, batch: Sequence[Document]) -> list[Outcome]:
        for doc in batch:
            doc.text += doc.text + "é"
        return list(batch)


def test_bytes_that_went_in_are_counted_before_the_edit() -> None:
    made = Doubles(NoParams())
    chain = Chain([Step(name, made.name, made.params, made) for name in ("first", "second")])
    chain.run(live(3))
    first, second = (chain.account.flow(name, "web") for name in ("first", "second"))
    assert (first.bytes_in, first.bytes_out) == (3 * 4, 3 * 10)
    assert (second.bytes_in, second.bytes_out) == (3 * 10, 3 * 22)


class Finder(Odd):
    def findings(self, outcomes: Sequence[Outcome]) -> list[tuple[str, str]]:
        return [("set", "dropped" if isinstance(o, Drop) else "kept") for o in outcomes]


def test_what_a_stage_found_is_counted_over_its_batches() -> None:
    made = Finder(lambda d: [Drop("known") if d.id.endswith("1") else d])
    chain = Chain([Step("find", made.name, made.params, made)])
    chain.run(live(3))
    chain.run(live(1))
    plain = chain.account.plain()
    assert plain["found"] == {"find": {"set": {"dropped": 2, "kept": 2}}}
    assert merge_found([plain, {}, plain]) == {"find": {"set": {"dropped": 4, "kept": 4}}}
    assert "found" not in through(lambda d: [d], live(2)).account.plain()
