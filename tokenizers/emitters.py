"""Token shards in the layouts of other projects: what they train on, from the one stream.

Every layout holds the tokens of the canonical shards (`formats`) in their order; what differs is
the header, the type and what says where documents end. Files are made in one pass, and are the
same bytes every time.

``megatron``
    ``.bin`` and ``.idx`` of Megatron-LM's indexed dataset, a sequence and a document per piece;
    uint16 below a vocabulary of 65,500, else int32, as its own writer does.
``datatrove``
    ``.ds`` (raw), ``.ds.index`` (uint64 ends), ``.ds.metadata``.
``olmo``
    ``.npy`` without a numpy header, which OLMo-core and dolma expect under that name, and
    ``.csv.gz`` with start, end, id, source and position of each piece.
``llmc``
    ``.bin`` of llm.c and modded-nanogpt: 256 int32 (magic 20240520, version 1, count), then
    uint16; with larger ids llm.c's Llama 3 layout (20240801, 7) and uint32.
``mds``
    Mosaic Streaming's ``.mds`` version 2, a sample a document: ``id`` and ``tokens``.
``litdata``
    LitData's chunks for its `TokensLoader`: ``chunk-0-N.bin`` a shard (uint32: number of pieces,
    where each begins and the last ends; then the stream) and ``index.json``. Its reader cuts each
    chunk into blocks, and leaves out what is over at a chunk's end.
``parquet``
    A row a document: ``input_ids`` (without padding), ``id``, ``url``, ``source``, ``licence``.
``text``
    Text again, in nanochat's manner: ``shard_00000.parquet`` with one column ``text``, row groups
    of 1,024, the held-out documents as the last file.

A *piece* is a document, or what of it lies in one shard; `mds`, `parquet` and `text` join them.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from corpusmill.pipeline.errors import ConfigError, IntegrityError
from corpusmill.pipeline.identity import pretty, sha256_hex
from corpusmill.pipeline.mix import HELDOUT

from . import formats
from .audit import documents
from .encode import Encoder, load

MEGATRON_UINT16_BELOW = 65_500
"""Vocabulary from which Megatron's writer takes int32 (its `DType.optimal_dtype`)."""

LLMC = {2: (20240520, 1), 4: (20240801, 7)}
"""Magic and version of llm.c's headers by bytes a token."""

LIMITS: Mapping[str, Mapping[str, int]] = {
    "megatron": {"pieces": 2**31 - 1, "tokens in one piece": 2**31 - 1},
    "llmc": {"tokens": 2**31 - 1},
    "litdata": {"bytes": 2**32 - 1},
}
"""The most that a shard may have in a layout. Megatron keeps lengths of sequences and numbers of
documents in 32 bits with a sign, llm.c its count; LitData has 32 bits for places in a chunk."""

LITDATA_TYPES = {"uint16": 5, "uint32": 6}
"""LitData's numbers of numpy's types."""

ROW_GROUP = 1024
MDS_BYTES = 1 << 26
"""Mosaic's default limit of one shard."""

Bytes = Iterator[tuple[str, bytes]]
"""Files of one export: name below its folder, and content."""


@dataclass(frozen=True)
class Shards:
    """The published shards of a run folder or a released data set, and their tokenizer."""

    root: Path
    manifest: Mapping[str, Any]
    encoder: Encoder

    @classmethod
    def open(cls, root: Path) -> Shards:
        """Raises ConfigError if there are no shards below `root`."""
        try:
            manifest = json.loads((root / "shards/manifest.json").read_bytes())
        except OSError as error:
            raise ConfigError(f"{root} has no shards: {error.strerror}") from None
        return cls(root, manifest, load(root / "tokenizer"))

    def streams(self, only: str | None = None) -> dict[str, list[str]]:
        """Shard names by stream, in the manifest's order; of one stream if `only` names it."""
        names: dict[str, list[str]] = {s["stream"]: [] for s in self.manifest["domains"]}
        for shard in self.manifest["shards"]:
            names[shard["stream"]].append(shard["name"])
        if only is None:
            return {n: s for n, s in names.items() if s}
        if not names.get(only):
            raise ConfigError(f"there is no stream {only!r}", hint=f"streams: {', '.join(names)}")
        return {only: names[only]}

    @property
    def dtype(self) -> np.dtype[Any]:
        return formats.dtype_for(self.encoder.max_id)

    def pieces(self, name: str) -> tuple[Any, Any]:
        """Tokens and the pieces' ends of one shard."""
        return formats.read_shard(self.root / f"{name}.bin")

    def table(self, name: str) -> Any:
        return formats.read_pieces(self.root / f"{name}.bin")

    def documents(self, names: Sequence[str]) -> Iterator[tuple[str, dict[str, Any], Any]]:
        """Shard in which it begins, row, and ids (end-of-text included) of every document of a
        stream, in order."""
        files = {f"{n}{s}": self.root / f"{n}{s}" for n in names for s in formats.SUFFIXES}
        for name in names:
            rows = [r for r in self.table(name).to_pylist() if not r["doc_offset"]]
            for row, ids in zip(rows, documents(name, files), strict=True):
                yield name, row, np.append(ids, self.encoder.eos_id).astype(self.dtype)


def megatron_dtype(vocab_size: int) -> np.dtype[Any]:
    """What Megatron's writer chooses for a vocabulary."""
    return np.dtype("<u2") if vocab_size < MEGATRON_UINT16_BELOW else np.dtype("<u4")


def _megatron(shards: Shards, names: Sequence[str]) -> Bytes:
    dtype = megatron_dtype(shards.encoder.vocab_size)
    for name in names:
        tokens, ends = shards.pieces(name)
        stem = name.rsplit("/", 1)[1]
        yield f"{stem}.bin", formats.narrow(tokens, dtype).tobytes()
        yield f"{stem}.idx", formats.megatron_index(ends, dtype)


def _datatrove(shards: Shards, names: Sequence[str]) -> Bytes:
    size = shards.dtype.itemsize
    for name in names:
        tokens, ends = shards.pieces(name)
        stem = name.rsplit("/", 1)[1]
        yield f"{stem}.ds", tokens.tobytes()
        yield f"{stem}.ds.index", ends.tobytes()
        about = f"{shards.encoder.digest}|{size}\n{len(tokens)}\n{_human(len(tokens))}"
        yield f"{stem}.ds.metadata", about.encode()


def _human(count: int) -> str:
    for size, letter in ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "K")):
        if count >= size:
            return f"{count / size:.2f}{letter}"
    return str(count)


def _olmo(shards: Shards, names: Sequence[str]) -> Bytes:
    for name in names:
        tokens, _ = shards.pieces(name)
        stem = name.rsplit("/", 1)[1]
        yield f"{stem}.npy", tokens.tobytes()
        lines = "".join(
            f"{r['start']},{r['end']},{r['id']},{name},{r['doc_offset']}\n"
            for r in shards.table(name).to_pylist()
        )
        packed = io.BytesIO()
        with gzip.GzipFile(fileobj=packed, mode="wb", filename="", mtime=0) as out:
            out.write(lines.encode())
        yield f"{stem}.csv.gz", packed.getvalue()


def _llmc(shards: Shards, names: Sequence[str]) -> Bytes:
    magic, version = LLMC[shards.dtype.itemsize]
    for name in names:
        tokens, _ = shards.pieces(name)
        header = np.zeros(256, dtype="<i4")
        header[:3] = magic, version, len(tokens)
        yield f"{name.rsplit('/', 1)[1]}.bin", header.tobytes() + tokens.tobytes()


def _litdata(shards: Shards, names: Sequence[str]) -> Bytes:
    chunks: list[dict[str, Any]] = []
    content = hashlib.sha256()
    for number, name in enumerate(names):
        tokens, ends = shards.pieces(name)
        head = litdata_head(ends, shards.dtype.itemsize)
        raw = head.tobytes() + tokens.tobytes()
        content.update(raw)
        chunks.append({
            "chunk_bytes": len(raw), "chunk_size": len(ends), "dim": len(tokens),
            "filename": f"chunk-0-{number}.bin",
        })  # fmt: skip
        yield f"chunk-0-{number}.bin", raw
    config = {
        "chunk_bytes": max(c["chunk_bytes"] for c in chunks), "chunk_size": None,
        "compression": None, "data_format": [f"no_header_numpy:{LITDATA_TYPES[shards.dtype.name]}"],
        "data_spec": json.dumps([1, {"type": None, "context": None, "children_spec": []}]),
        "encryption": None, "item_loader": "TokensLoader",
    }  # fmt: skip
    # in the place of a time, by which LitData knows whether what it has copied is the same
    index = {"chunks": chunks, "config": config, "updated_at": content.hexdigest()[:16]}
    yield "index.json", json.dumps(index, sort_keys=True).encode()


def litdata_head(ends: Any, size: int) -> Any:
    """What comes before the tokens of a chunk, whose pieces have these ends, of `size` bytes each:
    the number of pieces, where each begins, where the last ends."""
    begins = np.concatenate([np.zeros(1, dtype="<u8"), ends]) * np.uint64(size)
    begins += np.uint64(4 * (len(ends) + 2))
    return np.concatenate([np.array([len(ends)], dtype="<u8"), begins]).astype("<u4")


def _mds(shards: Shards, names: Sequence[str]) -> Bytes:
    config: dict[str, Any] = {
        "column_encodings": ["str", f"ndarray:{shards.dtype.name}"],
        "column_names": ["id", "tokens"], "column_sizes": [None, None], "compression": None,
        "format": "mds", "hashes": [], "size_limit": MDS_BYTES, "version": 2,
    }  # fmt: skip
    head = json.dumps(config, sort_keys=True).encode()
    listed: list[dict[str, Any]] = []

    def close() -> tuple[str, bytes]:
        name = f"shard.{len(listed):05d}.mds"
        offsets = np.cumsum([0, *map(len, samples)]).astype("<u4")
        offsets += np.uint32(4 + offsets.nbytes + len(head))
        count = np.uint32(len(samples)).astype("<u4").tobytes()
        raw = b"".join([count, offsets.tobytes(), head, *samples])
        about = {"basename": name, "bytes": len(raw), "hashes": {}}
        listed.append({**config, "raw_data": about, "samples": len(samples), "zip_data": None})
        return name, raw

    samples: list[bytes] = []
    filled = 0
    for _, row, ids in shards.documents(names):
        sample = mds_sample(row["id"], ids)
        if len(sample) > MDS_BYTES - len(head) - 12:
            raise IntegrityError(f"document {row['id']} does not fit a Mosaic shard")
        if samples and filled + len(sample) + 4 > MDS_BYTES - len(head) - 8:
            yield close()
            samples, filled = [], 0
        samples.append(sample)
        filled += len(sample) + 4
    if samples:
        yield close()
    yield "index.json", json.dumps({"shards": listed, "version": 2}, sort_keys=True).encode()


def mds_sample(name: str, ids: Any) -> bytes:
    """One sample: sizes of both columns, the id, and the array behind its shape (one dimension,
    in the smallest unsigned type that holds it)."""
    bits = next(b for b in range(3) if len(ids) < 1 << (8 << b))
    shape = bytes([1 << 2 | bits]) + len(ids).to_bytes(1 << bits, "little")
    array = shape + ids.tobytes()
    text = name.encode()
    sizes = np.array([len(text), len(array)], dtype="<u4")
    return b"".join((sizes.tobytes(), text, array))


def _parquet(shards: Shards, names: Sequence[str]) -> Bytes:
    import pyarrow as pa

    kind = pa.uint16() if shards.dtype.itemsize == 2 else pa.int32()
    columns = ("id", "url", "source", "licence")
    schema = pa.schema([("input_ids", pa.large_list(kind)), *((c, pa.string()) for c in columns)])
    for name, group in groupby(shards.documents(names), key=lambda found: found[0]):
        rows: dict[str, list[Any]] = {n: [] for n in schema.names}
        for _, row, ids in group:
            rows["input_ids"].append(ids)
            for column in columns:
                rows[column].append(row[column])
        yield f"{name.rsplit('/', 1)[1]}.parquet", _packed(pa.table(rows, schema))


def _text(shards: Shards, names: Sequence[str]) -> Bytes:
    import pyarrow as pa

    for number, (_, group) in enumerate(groupby(shards.documents(names), key=lambda f: f[0])):
        texts = []
        for _, row, ids in group:  # one that the budget cut may end within a character
            raw = shards.encoder.decode_bytes(ids[:-1])
            texts.append(raw.decode("utf-8", "ignore" if row["cut"] else "strict"))
        table = pa.table({"text": pa.array(texts, pa.large_string())})
        yield f"shard_{number:05d}.parquet", _packed(table)


def _packed(table: Any) -> bytes:
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(table, out, compression="zstd", row_group_size=ROW_GROUP)
    return out.getvalue()


LAYOUTS: Mapping[str, Callable[[Shards, Sequence[str]], Bytes]] = {
    "megatron": _megatron, "datatrove": _datatrove, "olmo": _olmo, "llmc": _llmc, "mds": _mds,
    "litdata": _litdata, "parquet": _parquet, "text": _text,
}  # fmt: skip

PROVENANCE = "export.json"


def check_limits(shards: Shards, layout: str, names: Sequence[str]) -> None:
    """Raises ConfigError if a shard has more than the layout can hold: see `LIMITS`."""
    for name in names if layout in LIMITS else ():
        tokens, ends = shards.pieces(name)
        has = {
            "pieces": len(ends), "tokens": int(ends[-1]),
            "tokens in one piece": int(np.diff(ends, prepend=np.uint64(0)).max()),
            "bytes": tokens.nbytes + 4 * (len(ends) + 2),
        }  # fmt: skip
        for what, most in LIMITS[layout].items():
            if has[what] > most:
                raise ConfigError(
                    f"{name} has {has[what]} {what}, {layout} can hold {most}",
                    hint="make the shards again with a smaller tokens_per_shard",
                )


def emit(root: Path, layout: str, out: Path, *, only: str | None = None) -> dict[str, Any]:
    """Writes the shards below `root` in a layout to `out`, which must be empty or not there: a
    folder per stream (`text`: all files in one, the held-out ones last; no rung of the ladder
    unless `only` names it). Last comes ``export.json``: what it was made of, and every file with
    size and sha256. Returns its content. Raises ConfigError on an unknown layout or stream, and
    before anything is written where the layout cannot hold a shard."""
    if layout not in LAYOUTS:
        raise ConfigError(f"there is no layout {layout!r}", hint=f"known: {', '.join(LAYOUTS)}")
    if out.exists() and any(out.iterdir()):
        raise ConfigError(f"{out} is not empty", hint="name a new folder")
    shards = Shards.open(root)
    streams = shards.streams(only)
    jobs = list(streams.items())
    if layout == "text":
        whole = [(s, n) for s, n in jobs if only or not s.startswith("scale-")]
        whole.sort(key=lambda job: job[0] == HELDOUT)
        jobs = [("", [name for _, names in whole for name in names])]
    for _, names in jobs:
        check_limits(shards, layout, names)
    listed = []
    for stream, names in jobs:
        for name, raw in LAYOUTS[layout](shards, names):
            path = out / stream / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(raw)
            listed.append({
                "path": path.relative_to(out).as_posix(), "bytes": len(raw),
                "sha256": sha256_hex(raw),
            })  # fmt: skip
    about = {
        "schema": "corpusmill/export/1", "layout": layout, "streams": list(streams),
        "manifest_sha256": sha256_hex((root / "shards/manifest.json").read_bytes()),
        "tokenizer": shards.encoder.digest, "eos_id": shards.encoder.eos_id,
        "dtype": (megatron_dtype(shards.encoder.vocab_size) if layout == "megatron"
                  else shards.dtype).name,
        "files": sorted(listed, key=lambda f: str(f["path"])),
    }  # fmt: skip
    (out / PROVENANCE).write_bytes(pretty(about))
    return about
