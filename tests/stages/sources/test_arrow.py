"""Arrow streams as datasets writes them, and files with a footer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from corpusmill.pipeline.document import Document, Drop, Failure, Record
from corpusmill.pipeline.errors import InputError
from corpusmill.pipeline.stage import InputFile
from corpusmill.stages.sources.arrow import Arrow
from corpusmill.stages.sources.table_rows import TableParams

COLUMNS = {
    "label": [1, 2, 3, 4, 5],
    "text": ["one", None, " ", "four", "five"],
    "url": ["http://a.test/1", None, None, None, None],
}


def write(path: Path, columns: dict[str, Any], footed: bool) -> InputFile:
    table = pa.table(columns)
    make = pa.ipc.new_file if footed else pa.ipc.new_stream
    with pa.OSFile(str(path), "wb") as sink, make(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
    return InputFile("test", str(path), path.name, path.stat().st_size)


def read(file: InputFile, **params: Any) -> list[Record]:
    return list(Arrow(TableParams(**params)).read(file))


@pytest.mark.parametrize("footed", [False, True])
def test_rows(tmp_path: Path, footed: bool) -> None:
    file = write(tmp_path / "data.arrow", COLUMNS, footed)
    records = read(file)
    assert [r.offset for r in records] == [0, 1, 2, 3, 4]
    assert len({r.id for r in records}) == 5
    first = records[0].outcome
    assert isinstance(first, Document)
    assert (first.text, first.meta["url"]) == ("one", "http://a.test/1")
    assert [r.outcome for r in records[1:3]] == [Failure("null_text"), Drop("empty")]
    assert Arrow(TableParams()).read_one(file, 4) == records[4]
    assert Arrow(TableParams()).read_one(file, 5) is None


@pytest.mark.parametrize("footed", [False, True])
def test_what_is_lost_is_told(tmp_path: Path, footed: bool) -> None:
    file = write(tmp_path / "data.arrow", {"text": ["abcdefgh" * 40] * 6}, footed)
    data = Path(file.path).read_bytes()
    if footed:  # offsets of the second batch's texts lead out of its data
        at = data.index((320).to_bytes(4, "little"), data.index(b"abcdefgh") + 640)
        data = data[:at] + b"\xff\xff\xff\x7f" + data[at + 4 :]
    else:
        data = data[: data.index(b"abcdefgh", data.index(b"abcdefgh") + 700) + 100]
    Path(file.path).write_bytes(data)
    records = read(InputFile("test", file.path, "data.arrow", len(data)))
    kept = [r.offset for r in records if isinstance(r.outcome, Document)]
    (bad,) = (r.outcome for r in records if not isinstance(r.outcome, Document))
    assert isinstance(bad, Failure)
    assert bad.type == "corrupt_rows"
    assert "batch 1" in bad.message
    assert kept == ([0, 1, 3, 4] if footed else [0, 1])


@pytest.mark.parametrize("data", [b"", b"ARROW1\0\0 and no footer", b"no arrow at all"])
def test_files_that_are_no_arrow(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "data.arrow"
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"data\.arrow"):
        read(InputFile("test", str(path), "data.arrow", len(data)))


def test_a_file_without_the_column(tmp_path: Path) -> None:
    file = write(tmp_path / "data.arrow", COLUMNS, False)
    with pytest.raises(InputError, match="no column 'body'"):
        read(file, text_column="body")
