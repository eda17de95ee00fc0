"""Runs a barrier in memory: emit in batches, all phases, decide."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from corpusmill.pipeline.context import MemoryContext, hash_of_ids
from corpusmill.pipeline.document import Document, Drop, document_id
from corpusmill.pipeline.stage import Barrier
from corpusmill.stages.dedup.verb import documents

Verdicts = dict[str, dict[str, Any]]
Run = Callable[..., tuple[Verdicts, list[Any], MemoryContext]]
Make = Callable[..., Document]


@pytest.fixture
def make() -> Make:
    """A document by number; its id is a hash of the number."""

    def made(number: int, text: str, **meta: Any) -> Document:
        return Document(document_id("s", "file", 1, number), text, "s", dict(meta))

    return made


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """(verdict rows by id, outcome of each document, context) of one barrier over documents,
    cut into `batch` documents, in an order shuffled by `shuffle`."""

    def ran(
        stage: Barrier, docs: Sequence[Document], *, partitions: int = 1, batch: int = 1000,
        shuffle: int | None = None, memory_bytes: int = 0,
    ) -> tuple[Verdicts, list[Any], MemoryContext]:  # fmt: skip
        order = list(docs)
        if shuffle is not None:
            random.Random(shuffle).shuffle(order)
        ctx = MemoryContext(tmp_path, partitions=partitions, memory_bytes=memory_bytes)
        stage.setup()
        for at in range(0, max(len(order), 1), batch):
            for name, (table, hashes) in stage.emit(order[at : at + batch]).items():
                ctx.write(name, table, hashes)
            ids = [doc.id for doc in order[at : at + batch]]
            ctx.write("docs", documents(order[at : at + batch], stage.reads), hash_of_ids(ids))
        ctx.run_phases(stage)
        rows = ctx.read("verdicts").to_pylist()
        verdicts = {row["id"]: row for row in rows}
        assert len(verdicts) == len(rows)
        outcomes = stage.decide(docs, verdicts)
        assert len(outcomes) == len(docs)
        for doc, outcome in zip(docs, outcomes, strict=True):
            if isinstance(outcome, Drop):
                assert outcome.reason in stage.reasons
            else:
                assert outcome is doc
                assert set(stage.writes) <= set(doc.signals)
        return verdicts, outcomes, ctx

    return ran
