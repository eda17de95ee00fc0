"""Parquet files with a text column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpusmill.pipeline.document import Document, Drop, Failure, Record, document_id
from corpusmill.pipeline.errors import ConfigError, InputError
from corpusmill.pipeline.stage import InputFile
from corpusmill.stages.sources.parquet import Parquet, ParquetParams


def write(path: Path, columns: dict[str, Any], **how: Any) -> InputFile:
    pq.write_table(pa.table(columns), path, **how)
    return InputFile("test", str(path), path.name, path.stat().st_size)


def read(file: InputFile, **params: Any) -> list[Record]:
    return list(Parquet(ParquetParams(**params)).read(file))


def test_rows(tmp_path: Path) -> None:
    file = write(tmp_path / "a.parquet", {
        "text": ["one", None, " ", "four"],
        "url": ["http://a.test/1", "u", "u", None],
        "license": ["MIT", None, None, None],
        "score": [1.0, 2.0, 3.0, 4.0],
        "metadata": [{"date": "2024-01-02T03:04:05Z"}] * 4,
    }, row_group_size=2)  # fmt: skip
    records = read(file)
    assert [r.offset for r in records] == [0, 1, 2, 3]
    assert records[3].id == document_id("test", "a.parquet", file.size, 3)
    first, null, empty, fourth = (r.outcome for r in records)
    assert isinstance(first, Document)
    assert first.meta == {
        "url": "http://a.test/1", "url_canonical": "https://a.test/1", "host": "a.test", "licence": "MIT",
        "licence_where": "field license", "date": "2024-01-02T03:04:05Z", "file": "a.parquet",
        "offset": 0,
    }  # fmt: skip
    assert (null, empty) == (Failure("null_text"), Drop("empty"))
    assert isinstance(fourth, Document)
    assert fourth.text == "four"
    assert "url" not in fourth.meta


def test_chosen_columns_and_dictionary_text(tmp_path: Path) -> None:
    text = pa.array(["a", "b", "a"]).dictionary_encode()
    file = write(tmp_path / "a.parquet", {"body": text, "link": ["http://x.test/"] * 3})
    records = read(file, text_column="body", fields={"url": "link"})
    assert [r.outcome.text for r in records] == ["a", "b", "a"]  # type: ignore[union-attr]
    assert records[0].url == "http://x.test/"


def test_unreadable_files(tmp_path: Path) -> None:
    file = write(tmp_path / "a.parquet", {"body": ["x"], "n": [1]})
    with pytest.raises(InputError, match="no column 'text'") as info:
        read(file)
    assert info.value.hint == "set text_column to one of body, n"
    with pytest.raises(InputError, match="not a string"):
        read(file, text_column="n")
    (tmp_path / "b").write_bytes(b"PAR1 nothing")
    with pytest.raises(InputError, match="Parquet"):
        read(InputFile("test", str(tmp_path / "b"), "b", 12))
    with pytest.raises(ConfigError, match="'colour'"):
        ParquetParams(fields={"colour": "x"})


def test_damaged_pages_cost_their_rows_only(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    texts = [f"text number {i * 7919 % 9973} of a row" for i in range(3000)]
    file = write(path, {"text": texts}, row_group_size=1000, use_dictionary=False)
    group = pq.ParquetFile(path).metadata.row_group(1).column(0)
    data = bytearray(path.read_bytes())
    start = group.data_page_offset
    data[start : start + 200] = b"\xff" * 200
    path.write_bytes(bytes(data))
    records = read(file)
    assert [r.offset for r in records] == list(range(3000))
    lost = [r.offset for r in records if isinstance(r.outcome, Failure)]
    assert lost == list(range(1000, 2000))
    assert records[2500].outcome.text == texts[2500]  # type: ignore[union-attr]


def test_read_one(tmp_path: Path) -> None:
    file = write(tmp_path / "a.parquet", {"text": ["one", "two"]})
    stage = Parquet(ParquetParams())
    assert stage.read_one(file, 1) == list(stage.read(file))[1]
    assert stage.read_one(file, 2) is None
