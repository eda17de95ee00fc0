"""Batches through a chain of stages, every outcome accounted for."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from .accounts import Account
from .document import Document, Drop, Failure, Outcome, Page
from .errors import StageError
from .recipe import Step
from .stage import Barrier
from .tables import value_text

Live = tuple[Page | Document, int]
"""A page or document that is still kept, and its id as a number."""


def weight(item: Page | Document) -> int:
    """Bytes of a page's body, or of a text in UTF-8 (estimated by characters if not ASCII)."""
    if isinstance(item, Page):
        return len(item.body)
    return (
        len(item.text) if item.text.isascii() else len(item.text.encode("utf-8", "surrogatepass"))
    )


def batches(
    items: Iterable[Live], batch_bytes: int, batch_items: int = 1024
) -> Iterator[list[Live]]:
    """Groups of at most `batch_items` items and about `batch_bytes` bytes."""
    group: list[Live] = []
    filled = 0
    for item in items:
        group.append(item)
        filled += weight(item[0])
        if filled >= batch_bytes or len(group) >= batch_items:
            yield group
            group, filled = [], 0
    if group:
        yield group


class Chain:
    """Applies steps to batches and keeps the account and the rejected rows of one task."""

    def __init__(self, steps: Sequence[Step], sample: int | None = None, seed: int = 0) -> None:
        self.steps = steps
        self.account = Account()
        self.rejects: list[tuple[Any, ...]] = []
        self.sample = sample
        self.seed = seed

    def reject(self, item: Page | Document, step: str, outcome: Drop | Failure) -> None:
        meta = item.meta
        self.reject_row(
            item.id, item.source, item.url, step, outcome, meta.get("file"), meta.get("offset"),
            meta.get("length"),
        )  # fmt: skip

    def reject_row(
        self, doc_id: str, source: str, url: str, step: str, outcome: Drop | Failure,
        file: Any, offset: Any, length: Any,
    ) -> None:  # fmt: skip
        dropped = isinstance(outcome, Drop)
        code = outcome.reason if isinstance(outcome, Drop) else outcome.type
        self.rejects.append((
            doc_id, source, url.encode("utf-8", "replace").decode("utf-8"), step,
            "dropped" if dropped else "error", code, value_text(outcome), file, offset, length,
        ))  # fmt: skip

    def apply(self, live: list[Live], step: Step) -> list[Live]:
        """One step over one batch. A batch is all pages or all documents, since a task reads one
        source; a step that takes the other kind leaves it as it is. Raises StageError if mixed."""
        pages = sum(isinstance(item, Page) for item, _ in live)
        if pages not in (0, len(live)):
            raise StageError(f"step {step.id} met {pages} raw pages among {len(live)} documents")
        takes = step.made.takes
        if takes != "any" and (takes == "page") != bool(pages):
            return live
        sizes = [weight(item) for item, _ in live]  # before a step edits a text where it lies
        started = time.process_time() + step.made.child_cpu()
        outcomes = step.made.apply([item for item, _ in live])
        self.spend(step.id, started - step.made.child_cpu())
        if found := step.made.findings(outcomes):
            self.account.found.setdefault(step.id, Counter()).update(found)
        return self.settle(live, sizes, outcomes, step)

    def decide(
        self, live: list[Live], step: Step, verdicts: dict[str, dict[str, Any]]
    ) -> list[Live]:
        """A barrier's verdicts over one batch."""
        sizes = [weight(item) for item, _ in live]
        started = time.process_time()
        barrier: Barrier = step.made
        docs = [item for item, _ in live if isinstance(item, Document)]
        if len(docs) != len(live):
            raise StageError(f"step {step.id} met a raw page: extract before it")
        outcomes = barrier.decide(docs, verdicts)
        self.spend(step.id, started)
        return self.settle(live, sizes, outcomes, step)

    def settle(
        self, mine: list[Live], sizes: list[int], outcomes: list[Outcome], step: Step
    ) -> list[Live]:
        """Books the outcomes of a batch, of `sizes` bytes when it went in. Raises StageError if the
        stage broke its contract."""
        if len(outcomes) != len(mine):
            raise StageError(
                f"step {step.id} ({step.stage}) was given {len(mine)} documents and gave back "
                f"{len(outcomes)} outcomes"
            )
        kept: list[Live] = []
        for (item, number), size, outcome in zip(mine, sizes, outcomes, strict=True):
            flow = self.account.flow(step.id, item.source)
            flow.enter(number, size)
            if isinstance(outcome, Drop):
                if outcome.reason not in step.made.reasons:
                    raise StageError(
                        f"step {step.id} dropped with the undeclared reason {outcome.reason!r}"
                    )
                flow.lose(number, flow.dropped, outcome.reason)
                self.reject(item, step.id, outcome)
            elif isinstance(outcome, Failure):
                if outcome.type not in step.made.errors:
                    raise StageError(
                        f"step {step.id} failed with the undeclared type {outcome.type!r}"
                    )
                flow.lose(number, flow.errors, outcome.type)
                self.reject(item, step.id, outcome)
            elif isinstance(outcome, Page | Document):
                if outcome.id != item.id or outcome.source != item.source:
                    raise StageError(f"step {step.id} changed the id or source of {item.id}")
                flow.keep(number, weight(outcome))
                kept.append((outcome, number))
            else:
                raise StageError(f"step {step.id} gave back {type(outcome).__name__} for {item.id}")
        return kept

    def run(self, live: list[Live]) -> list[Live]:
        """A batch through all steps in order."""
        for step in self.steps:
            if not live:
                break
            live = self.apply(live, step)
        return live

    def spend(self, step: str, started: float) -> None:
        """Books the CPU time of this process since `started` on a step."""
        spent = time.process_time() - started
        self.account.cpu[step] = self.account.cpu.get(step, 0.0) + spent
