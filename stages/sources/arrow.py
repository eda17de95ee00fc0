"""Reads Arrow files with a text column, as a Hugging Face dataset on disk has them; one `Document`
a row, its place the row's number.

``datasets`` writes Arrow streams (``data-00000-of-00002.arrow``, beside ``state.json``), Feather
has the file format with a footer: both are read, told apart by their first bytes. Name the files
themselves, ``paths: ["train/data-*.arrow"]``: the ``cache-*.arrow`` that a dataset may have beside
them hold other things. Columns are taken as by `sources.parquet`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from corpusmill.pipeline.document import Record
from corpusmill.pipeline.errors import InputError
from corpusmill.pipeline.stage import InputFile, Source

from .table_rows import ERRORS, REASONS, TableParams, columns, lost, records

_FILE_MAGIC = b"ARROW1"


class Arrow(Source):
    """The source ``sources.arrow``. A file that is no Arrow or has no text column cannot be read
    at all (InputError). Where a stream is cut or damaged, one ``corrupt_rows`` stands for the rest:
    how many rows that is nobody knows. In a file with a footer it is one for each damaged batch."""

    name = "sources.arrow"
    version = 2
    gives = "document"
    Params = TableParams
    reasons = REASONS
    errors = ERRORS

    params: TableParams

    def read(self, file: InputFile) -> Iterator[Record]:
        import pyarrow as pa

        try:
            source = pa.memory_map(file.path)
            footed = source.read(len(_FILE_MAGIC)) == _FILE_MAGIC
            source.seek(0)
            reader: Any = pa.ipc.open_file(source) if footed else pa.ipc.open_stream(source)
        except (OSError, pa.ArrowException) as err:
            raise InputError(
                f"{file.path}: {err}", hint="write it anew, or name it under exclude: of its source"
            ) from err
        with source:
            wanted = columns(file, reader.schema, self.params)
            number = 0
            for batch in _batches(reader, footed):
                if isinstance(batch, str):
                    yield lost(file, number, batch)
                    number += 1
                else:
                    yield from records(file, batch.select(wanted), number, self.params)
                    number += len(batch)


def _batches(reader: Any, footed: bool) -> Iterator[Any]:
    """The record batches; for one that cannot be read, what is wrong."""
    import pyarrow as pa

    number = 0
    while not footed or number < reader.num_record_batches:
        try:
            batch = reader.get_batch(number) if footed else reader.read_next_batch()
            batch.validate(full=True)
            yield batch
        except StopIteration:
            return
        except (OSError, pa.ArrowException) as err:
            yield f"batch {number}: {err}"
            if not footed:
                return
        number += 1


STAGE = Arrow
