"""Reads Parquet files with a text column; one `Document` a row, its place the row's number.

Row groups are read one at a time. The columns taken are the text column and those that
`corpusmill.stages.sources.rows.FIELDS` knows (or `fields` names); others are not read.
"""

from __future__ import annotations

from collections.abc import Iterator

from corpusmill.pipeline.document import Record
from corpusmill.pipeline.errors import InputError
from corpusmill.pipeline.stage import InputFile, Source

from .table_rows import ERRORS, REASONS, TableParams, columns, lost, records

_ROWS = 1024


ParquetParams = TableParams


class Parquet(Source):
    """The source ``sources.parquet``. A file without the text column cannot be read at all
    (InputError); a row group whose pages are damaged is one ``corrupt_rows`` a row."""

    name = "sources.parquet"
    version = 2
    gives = "document"
    Params = ParquetParams
    reasons = REASONS
    errors = ERRORS

    params: ParquetParams

    def read(self, file: InputFile) -> Iterator[Record]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            table = pq.ParquetFile(file.path)
        except (OSError, pa.ArrowException) as err:
            raise InputError(
                f"{file.path}: {err}", hint="write it anew, or name it under exclude: of its source"
            ) from err
        with table:
            wanted = columns(file, table.schema_arrow, self.params)
            number = 0
            for group in range(table.num_row_groups):
                rows = table.metadata.row_group(group).num_rows
                done = 0
                try:
                    for batch in table.iter_batches(_ROWS, row_groups=[group], columns=wanted):
                        for record in records(file, batch, number + done, self.params):
                            yield record
                            done += 1
                except (OSError, pa.ArrowException) as err:
                    for row in range(done, rows):
                        yield lost(file, number + row, f"row group {group}: {err}")
                number += rows


STAGE = Parquet
