"""Every layout read back by a reader written from the layout's own description, not from ours.

The projects' own readers do it in `test_real_readers`.
"""

from __future__ import annotations

import gzip
import json
import struct
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from corpusmill.pipeline.context import MemoryContext
from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.identity import sha256_file
from corpusmill.pipeline.mix import Domain, MixParams, Phase
from corpusmill.tokenizers import emitters, formats
from corpusmill.tokenizers.emitters import LAYOUTS, Shards, emit, mds_sample, megatron_dtype
from corpusmill.tokenizers.encode import load
from corpusmill.tokenizers.shards import Shards as Sink
from corpusmill.tokenizers.shards import ShardsParams

MIX = MixParams(
    (Domain("german", {"lang": "de"}, max_epochs=2), Domain("rest")),
    tokens=2000,
    phases=(
        Phase("first", share=0.7, weights={"german": 0.5, "rest": 0.5}),
        Phase("last", share=0.3, weights={"german": 1.0}),
    ),
    ladder=("1/4",),
)


@pytest.fixture(scope="module")
def released(tokenizer: MemoryContext, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``shards/`` and ``tokenizer/``, as a run leaves them."""
    from .conftest import fill, make_docs

    root = tmp_path_factory.mktemp("released")
    ctx = MemoryContext(root, partitions=2, seed=11)
    ctx.steps["tokenizer"] = tokenizer
    fill(ctx, make_docs(90))
    ctx.run_phases(Sink(ShardsParams(mix=MIX, tokens_per_shard=300)))
    (root / "tokenizer").mkdir()
    for name, path in tokenizer.files().items():
        (root / name).write_bytes(path.read_bytes())
    return root


def pieces(root: Path, stream: str) -> list[list[int]]:
    """The pieces of a stream, from the canonical files alone."""
    found = []
    for path in sorted((root / "shards" / stream).glob("*.bin")):
        tokens = np.fromfile(path, "<u2").tolist()
        at = 0
        for end in np.fromfile(path.with_suffix(".ends"), "<u8").tolist():
            found.append(tokens[at:end])
            at = end
    return found


def whole(root: Path, stream: str) -> list[list[int]]:
    """The documents of a stream: pieces joined up to each end-of-text."""
    documents: list[list[int]] = [[]]
    for token in [t for p in pieces(root, stream) for t in p]:
        documents[-1].append(token)
        if token == 0:
            documents.append([])
    assert documents.pop() == []
    return documents


def sorted_files(folder: Path, pattern: str) -> list[Path]:
    found = sorted(folder.glob(pattern))
    assert found
    return found


def read_megatron(folder: Path) -> list[list[int]]:
    found = []
    for path in sorted_files(folder, "*.idx"):
        raw = path.read_bytes()
        assert raw[:9] == b"MMIDIDX\0\0"
        version, code, count, documents = struct.unpack_from("<QBQQ", raw, 9)
        assert (version, documents) == (1, count + 1)
        dtype: np.dtype[Any] = np.dtype({8: "<u2", 4: "<i4"}[code])
        lengths = np.frombuffer(raw, "<i4", count, 34)
        pointers = np.frombuffer(raw, "<i8", count, 34 + 4 * count)
        assert np.frombuffer(raw, "<i8", offset=34 + 12 * count).tolist() == [*range(count + 1)]
        stream = path.with_suffix(".bin").read_bytes()
        for length, at in zip(lengths.tolist(), pointers.tolist(), strict=True):
            found.append(np.frombuffer(stream, dtype, length, at).tolist())
    return found


def read_datatrove(folder: Path) -> list[list[int]]:
    found = []
    for path in sorted_files(folder, "*.ds"):
        name, count, _ = path.with_suffix(".ds.metadata").read_text().split("\n")
        tokens = np.fromfile(path, {"2": "<u2", "4": "<u4"}[name.split("|")[1]]).tolist()
        assert int(count) == len(tokens)
        ends = np.fromfile(path.with_suffix(".ds.index"), "<u8").tolist()
        found += [tokens[a:b] for a, b in zip([0, *ends], ends, strict=False)]
    return found


def read_olmo(folder: Path) -> list[list[int]]:
    found = []
    for path in sorted_files(folder, "*.npy"):
        tokens = np.memmap(path, "<u2", mode="r").tolist()
        lines = gzip.decompress(path.with_suffix(".csv.gz").read_bytes()).decode()
        for line in lines.splitlines():
            start, end, id_, source, offset = line.split(",")
            assert source.endswith(path.stem)
            assert len(id_) == 32
            assert int(offset) >= 0
            found.append(tokens[int(start) : int(end)])
    return found


def read_litdata(folder: Path) -> list[list[int]]:
    found = []
    index = json.loads((folder / "index.json").read_text())
    assert index["config"]["data_format"] == ["no_header_numpy:5"]  # numpy's uint16 there
    for chunk in index["chunks"]:
        raw = (folder / chunk["filename"]).read_bytes()
        assert len(raw) == chunk["chunk_bytes"] <= index["config"]["chunk_bytes"]
        (count,) = struct.unpack_from("<I", raw)
        assert count == chunk["chunk_size"]
        places = struct.unpack_from(f"<{count + 1}I", raw, 4)
        assert (places[0], places[-1]) == (4 * (count + 2), len(raw))
        assert chunk["dim"] == (len(raw) - places[0]) // 2
        found += [np.frombuffer(raw[a:b], "<u2").tolist() for a, b in pairwise(places)]
    return found


def read_mds(folder: Path) -> list[list[int]]:
    found = []
    index = json.loads((folder / "index.json").read_text())
    assert index["version"] == 2
    for shard in index["shards"]:
        assert (shard["column_names"], shard["format"]) == (["id", "tokens"], "mds")
        raw = (folder / shard["raw_data"]["basename"]).read_bytes()
        assert len(raw) == shard["raw_data"]["bytes"] <= shard["size_limit"]
        (count,) = struct.unpack_from("<I", raw)
        assert count == shard["samples"]
        for i in range(count):
            begin, end = struct.unpack_from("<II", raw, 4 + 4 * i)
            id_size, _ = struct.unpack_from("<II", raw, begin)
            at = begin + 8 + id_size
            assert raw[at] >> 2 == 1  # one dimension
            bits = 1 << raw[at] % 4
            length = int.from_bytes(raw[at + 1 : at + 1 + bits], "little")
            tokens = np.frombuffer(raw[at + 1 + bits : end], "<u2")
            assert len(tokens) == length
            found.append(tokens.tolist())
    return found


def read_parquet(folder: Path) -> list[list[int]]:
    return [
        r
        for p in sorted_files(folder, "*.parquet")
        for r in pq.read_table(p)["input_ids"].to_pylist()
    ]


BY_PIECE = {
    "megatron": read_megatron, "datatrove": read_datatrove, "olmo": read_olmo,
    "litdata": read_litdata,
}  # fmt: skip
BY_DOCUMENT = {"mds": read_mds, "parquet": read_parquet}


@pytest.mark.parametrize("layout", [*BY_PIECE, *BY_DOCUMENT])
def test_layout_holds_the_stream(released: Path, tmp_path: Path, layout: str) -> None:
    about = emit(released, layout, tmp_path / "x")
    streams = ["first/german", "first/rest", "last/german", "scale-1-4/first/german", "heldout"]
    for stream in streams:
        if layout in BY_PIECE:
            assert BY_PIECE[layout](tmp_path / "x" / stream) == pieces(released, stream)
        else:
            assert BY_DOCUMENT[layout](tmp_path / "x" / stream) == whole(released, stream)
    listed = {f["path"]: f["sha256"] for f in about["files"]}
    there = {p for p in (tmp_path / "x").rglob("*") if p.is_file() and p.name != "export.json"}
    assert {p.relative_to(tmp_path / "x").as_posix() for p in there} == listed.keys()
    assert all(sha256_file(tmp_path / "x" / p) == d for p, d in listed.items())
    assert emit(released, layout, tmp_path / "y") == about


def test_llmc(released: Path, tmp_path: Path) -> None:
    emit(released, "llmc", tmp_path / "x", only="first/rest")
    tokens: list[int] = []
    for path in sorted_files(tmp_path / "x/first/rest", "*.bin"):
        header = np.fromfile(path, "<i4", 256)
        assert header[:2].tolist() == [20240520, 1]
        assert not header[3:].any()
        part = np.fromfile(path, "<u2", offset=1024)
        assert len(part) == header[2]
        tokens += part.tolist()
    assert tokens == [t for p in pieces(released, "first/rest") for t in p]
    assert [p.name for p in (tmp_path / "x").iterdir() if p.is_dir()] == ["first"]


def test_text(released: Path, tmp_path: Path) -> None:
    emit(released, "text", tmp_path / "x")
    files = sorted_files(tmp_path / "x", "*.parquet")
    assert [p.name for p in files] == [f"shard_{i:05d}.parquet" for i in range(len(files))]
    encoder = load(released / "tokenizer")
    streams = ["first/german", "first/rest", "last/german", "heldout"]
    expected = [
        encoder.decode_bytes(d[:-1]).decode("utf-8", "ignore")
        for s in streams
        for d in whole(released, s)
    ]
    assert [t for p in files for t in pq.read_table(p)["text"].to_pylist()] == expected
    assert pq.read_table(files[-1])["text"][-1].as_py() == expected[-1]


def test_text_that_ends_within_a_character(tokenizer: MemoryContext, tmp_path: Path) -> None:
    """A document of characters of four tokens each, cut by a budget of 50: 12 and a quarter."""
    from .conftest import fill, make_docs

    docs = make_docs(1).select(["id", "source", "url", "lang"])
    docs = docs.append_column("text", [["😀" * 30]])
    ctx = MemoryContext(tmp_path / "r", seed=11)
    ctx.steps["tokenizer"] = tokenizer
    fill(ctx, docs)
    ctx.run_phases(Sink(ShardsParams(mix=MixParams(tokens=50))))
    (tmp_path / "r/tokenizer").mkdir()
    for name, path in tokenizer.files().items():
        (tmp_path / "r" / name).write_bytes(path.read_bytes())
    emit(tmp_path / "r", "text", tmp_path / "x")
    assert pq.read_table(tmp_path / "x/shard_00000.parquet")["text"].to_pylist() == ["😀" * 12]


@pytest.mark.parametrize(
    ("vocabulary", "canonical", "megatron", "llmc"),
    [
        (65_499, 2, 2, 20240520),
        (65_500, 2, 4, 20240520),
        (65_535, 2, 4, 20240520),
        (65_536, 2, 4, 20240520),
        (65_537, 4, 4, 20240801),
    ],
)
def test_types_at_the_borders(vocabulary: int, canonical: int, megatron: int, llmc: int) -> None:
    """The largest id of a vocabulary of 65,536 is 65,535, which still fits 16 bits."""
    size = formats.dtype_for(vocabulary - 1).itemsize
    assert (size, megatron_dtype(vocabulary).itemsize) == (canonical, megatron)
    assert emitters.LLMC[size][0] == llmc


@pytest.mark.parametrize(("length", "head"), [(1, 5), (255, 6), (256, 7), (65_535, 7), (65_536, 9)])
def test_shape_of_a_mosaic_array(length: int, head: int) -> None:
    """8 bytes of sizes, 2 of the id, then how the length is written, itself, the array."""
    raw = mds_sample("ab", np.arange(length, dtype=np.uint16))
    assert raw[:4] == b"\x02\0\0\0"
    assert raw[8:10] == b"ab"
    extra = {5: b"\x04", 6: b"\x04", 7: b"\x05", 9: b"\x06"}[head]
    assert raw[10:11] == extra
    assert len(raw) == 10 + 1 + {4: 1, 5: 2, 6: 4}[extra[0]] + 2 * length


def test_large_documents_go_to_other_mosaic_shards(
    released: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(emitters, "MDS_BYTES", 900)
    emit(released, "mds", tmp_path / "x", only="first/rest")
    assert len(sorted_files(tmp_path / "x/first/rest", "*.mds")) > 1
    assert read_mds(tmp_path / "x/first/rest") == whole(released, "first/rest")


@pytest.mark.parametrize(
    ("layout", "ends", "message"),
    [
        (
            "megatron",
            [5, 2**31 + 5],
            f"has {2**31} tokens in one piece, megatron can hold {2**31 - 1}",
        ),
        ("llmc", [2**30, 2**31], f"has {2**31} tokens, llmc can hold {2**31 - 1}"),
    ],
)
def test_more_than_a_layout_holds(
    released: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    layout: str, ends: list[int], message: str,
) -> None:  # fmt: skip
    """Known from the ends alone, and before anything is written; one less is held."""
    shards = Shards.open(released)
    large = np.array(ends, dtype="<u8")
    monkeypatch.setattr(Shards, "pieces", lambda *_: (np.zeros(0, "<u2"), large))
    with pytest.raises(ConfigError, match=message):
        emit(released, layout, tmp_path / "x")
    assert not (tmp_path / "x").exists()
    large[-1] -= 1
    emitters.check_limits(shards, layout, ["a"])
    emitters.check_limits(shards, "datatrove", ["a"])


def test_limits_of_pieces_and_bytes(
    released: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert emitters.LIMITS["megatron"]["pieces"] == 2**31 - 1
    assert emitters.LIMITS["litdata"] == {"bytes": 2**32 - 1}
    shards = Shards.open(released)
    name = shards.streams("heldout")["heldout"][0]
    tokens, ends = shards.pieces(name)
    size = 2 * len(tokens) + 4 * (len(ends) + 2)
    for layout, what, has in (("megatron", "pieces", len(ends)), ("litdata", "bytes", size)):
        monkeypatch.setattr(emitters, "LIMITS", {layout: {what: has}})
        emitters.check_limits(shards, layout, [name])
        monkeypatch.setattr(emitters, "LIMITS", {layout: {what: has - 1}})
        with pytest.raises(ConfigError, match=f"has {has} {what}"):
            emit(released, layout, tmp_path / "x", only="heldout")


def test_refusals(released: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no layout 'tar'"):
        emit(released, "tar", tmp_path / "x")
    with pytest.raises(ConfigError, match="no stream 'web'"):
        emit(released, "llmc", tmp_path / "x", only="web")
    (tmp_path / "y").mkdir()
    (tmp_path / "y/z").write_text("")
    with pytest.raises(ConfigError, match="not empty"):
        emit(released, "llmc", tmp_path / "y")
    with pytest.raises(ConfigError, match="has no shards"):
        Shards.open(tmp_path)
    assert set(LAYOUTS) == {*BY_PIECE, *BY_DOCUMENT, "llmc", "text"}


def test_rows_of_parquet_say_where_they_come_from(released: Path, tmp_path: Path) -> None:
    emit(released, "parquet", tmp_path / "x", only="last/german")
    rows: list[dict[str, Any]] = pq.read_table(
        sorted_files(tmp_path / "x/last/german", "*")[0]
    ).to_pylist()
    shard = pq.read_table(released / "shards/last/german/german-00000.docs.parquet").to_pylist()
    assert [r["id"] for r in rows][:2] == [r["id"] for r in shard if r["doc_offset"] == 0][:2]
    assert {r["source"] for r in rows} <= {"web", "code"}
