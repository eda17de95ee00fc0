from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from corpusmill.pipeline.errors import ConfigError, IntegrityError
from corpusmill.tokenizers.formats import (
    SUFFIXES,
    ShardWriter,
    dtype_for,
    locate,
    narrow,
    read_shard,
    sibling,
)


def read_megatron(path: Path) -> list[Any]:
    """A reader of its own for Megatron's indexed dataset, from the published layout."""
    raw = path.with_suffix(".idx").read_bytes()
    assert raw[:9] == b"MMIDIDX\x00\x00"
    version, code, sequences, documents = struct.unpack_from("<QBQQ", raw, 9)
    assert version == 1
    at = 34
    sizes = np.frombuffer(raw, "<i4", sequences, at)
    at += 4 * sequences
    pointers = np.frombuffer(raw, "<i8", sequences, at)
    at += 8 * sequences
    order = np.frombuffer(raw, "<i8", documents, at)
    assert at + 8 * documents == len(raw)
    assert order.tolist() == list(range(sequences + 1))
    dtype = {8: np.uint16, 4: np.int32}[code]
    stream = path.read_bytes()
    return [
        np.frombuffer(stream, dtype, size, pointer)
        for size, pointer in zip(sizes.tolist(), pointers.tolist(), strict=True)
    ]


def write(folder: Path, max_id: int, documents: list[list[int]]) -> tuple[Path, dict[str, Any]]:
    files = {s: folder / f"d-00000{s}" for s in SUFFIXES}
    writer = ShardWriter(files, dtype_for(max_id))
    at = 0
    for n, tokens in enumerate(documents):
        row = {
            "start": [at], "end": [at + len(tokens)], "id": [f"{n:032x}"], "copy": [0],
            "doc_offset": [0], "doc_tokens": [len(tokens)], "cut": [False],
            "url": [None], "source": ["web"], "licence": ["MIT"],
        }  # fmt: skip
        writer.add(np.array(tokens, dtype=np.uint32), pa.table(row))
        at += len(tokens)
    return files[".bin"], writer.close()


@pytest.mark.parametrize(
    ("max_id", "bytes_"), [(255, 2), (65_499, 2), (65_500, 2), (65_535, 2), (65_536, 4)]
)
def test_dtype_rule(tmp_path: Path, max_id: int, bytes_: int) -> None:
    documents = [[1, max_id, 0], [0], [max_id - 1, 0]]
    path, summary = write(tmp_path, max_id, documents)
    assert path.stat().st_size == 6 * bytes_ == summary["bytes"]
    assert [d.tolist() for d in read_megatron(path)] == documents
    tokens, ends = read_shard(path)
    assert tokens.dtype.itemsize == bytes_
    assert tokens.tolist() == [t for d in documents for t in d]
    assert ends.tolist() == [3, 4, 6]
    assert (summary["min_id"], summary["max_id"]) == (0, max_id)


def test_ids_that_do_not_fit_are_refused_not_wrapped(tmp_path: Path) -> None:
    with pytest.raises(IntegrityError, match="65536 does not fit"):
        narrow(np.array([3, 65_536], dtype=np.uint32), np.dtype("<u2"))
    with pytest.raises(IntegrityError, match="65536 does not fit"):
        write(tmp_path, 65_535, [[65_536, 0]])
    with pytest.raises(ConfigError, match="do not fit a shard"):
        dtype_for(2**31)


def test_locate(tmp_path: Path) -> None:
    path, _ = write(tmp_path, 9, [[5, 5, 0], [0], [7, 0]])
    row = locate(sibling(path, ".docs.parquet"), 4)
    assert (row["id"], row["start"], row["end"], row["doc_position"]) == (f"{2:032x}", 4, 6, 0)
    assert locate(path, 5)["doc_position"] == 1
    assert locate(path, 3)["id"] == f"{1:032x}"
    for outside in (-1, 6):
        with pytest.raises(ConfigError, match="has no token"):
            locate(path, outside)


def test_files_that_disagree_are_refused(tmp_path: Path) -> None:
    path, _ = write(tmp_path, 9, [[5, 5, 0]])
    path.write_bytes(path.read_bytes()[:-2])
    with pytest.raises(IntegrityError, match="has 4 bytes"):
        read_shard(path)
    index = sibling(path, ".idx")
    index.write_bytes(b"\x93NUMPY" + index.read_bytes()[6:])
    with pytest.raises(IntegrityError, match="no Megatron index"):
        read_shard(path)
    with pytest.raises(ConfigError, match="no file of a shard"):
        read_shard(tmp_path / "x.npy")
