from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from corpusmill.pipeline.document import Document, Outcome
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
