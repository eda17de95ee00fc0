"""Reads the documents that a finished run kept; they keep their ids, what is told of them, and the
signals that are asked for.

`paths` of the source names the run's lock (``paths: [web.lock.json]``). The plan lists the tables
that the lock's run committed, and every one is compared with its digest when it is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from corpusmill.pipeline.document import META_COLUMNS, Document, Drop, Outcome, Record
from corpusmill.pipeline.errors import ConfigError, InputError
from corpusmill.pipeline.stage import InputFile, SignalType, Source

_ROWS = 1024


@dataclass(frozen=True)
class RunParams:
    """`signals`: names and types of the run's signals that come along, so that a mix can choose by
    them. `only`: names of the run's sources that are taken; none: all."""

    signals: Mapping[str, SignalType] = field(default_factory=dict)
    only: tuple[str, ...] = ()


class Run(Source):
    """The source ``sources.run``."""

    name = "sources.run"
    version = 1
    gives = "document"
    finished = True
    Params = RunParams
    reasons = ("other_source",)

    params: RunParams

    def __init__(self, params: RunParams) -> None:
        super().__init__(params)
        self.writes = dict(params.signals)

    def taken_of(self, sources: Sequence[str], signals: Mapping[str, str]) -> list[str]:
        """Which of a run's `sources` are read. Raises ConfigError where the run has not what the
        parameters ask for."""
        for name, kind in self.params.signals.items():
            if signals.get(name) != kind:
                has = f"{signals[name]}" if name in signals else "no signal of the run"
                raise ConfigError(
                    f"signals: {name!r} is asked for as {kind} and is {has}",
                    hint="it has " + ", ".join(f"{n}: {k}" for n, k in signals.items()),
                )
        for name in self.params.only:
            if name not in sources:
                raise ConfigError(
                    f"only: the run has no source {name!r}", hint="it has " + ", ".join(sources)
                )
        return list(self.params.only or sources)

    def read(self, file: InputFile) -> Iterator[Record]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        wanted = ["id", "source", "text", *META_COLUMNS, *self.params.signals]
        number = 0
        try:
            with pq.ParquetFile(file.path, page_checksum_verification=True) as table:
                there = [n for n in wanted if n in table.schema_arrow.names]
                for batch in table.iter_batches(_ROWS, columns=there, use_threads=False):
                    for row in batch.to_pylist():
                        yield self._record(file, number, row)
                        number += 1
        except (OSError, pa.ArrowException) as error:
            # Its digest was as committed: this machine's reader, or its disk, is at fault.
            raise InputError(f"{file.relative} cannot be read: {error}") from error

    def _record(self, file: InputFile, number: int, row: Mapping[str, Any]) -> Record:
        url = row["url"] or ""
        outcome: Outcome
        if self.params.only and row["source"] not in self.params.only:
            outcome = Drop("other_source", row["source"])
        else:
            outcome = Document(
                id=row["id"], text=row["text"], source=file.source,
                meta={n: row[n] for n in META_COLUMNS if row.get(n) is not None},
                signals={n: row[n] for n in self.params.signals if row.get(n) is not None},
            )  # fmt: skip
        return Record(row["id"], number, 0, outcome, url)


STAGE = Run
