"""The files of a token shard, and their readers.

A shard is four files with one stem, all little-endian:

``.bin``
    The stream of tokens, no header: uint16 if no id of the tokenizer is above 65,535, else
    uint32. Each document is followed by the end-of-text id. llm.c's, nanoGPT's, datatrove's and
    OLMo-core's readers take the same stream.
``.idx``
    Megatron's index (version 1), one sequence and one document per piece. Its data type code is
    authoritative for the stream: 8 is uint16, 4 is int32 (Megatron has no uint32; ids stay below
    2^31, so the bytes are the same). Megatron's own writer uses uint16 only below a vocabulary of
    65,500; its reader goes by the code.
``.ends``
    uint64: where each piece ends, in tokens from the start of the shard.
``.docs.parquet``
    A row per piece: ``start``, ``end`` (tokens in the shard), ``id``, ``copy``, ``doc_offset``
    (tokens of the document before this piece), ``doc_tokens`` (tokens taken of it in all, end of
    text included), ``cut`` (the mix's budget cut it), ``url``, ``source``, ``licence``.

A *piece* is a document, or the part of one that lies in this shard: a document that does not fit
goes on in the next shard.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from corpusmill.pipeline.errors import ConfigError, IntegrityError

if TYPE_CHECKING:
    import pyarrow as pa

SUFFIXES = (".bin", ".idx", ".ends", ".docs.parquet")
MAGIC = b"MMIDIDX\x00\x00"
DTYPE_CODES: Mapping[int, np.dtype[Any]] = {8: np.dtype("<u2"), 4: np.dtype("<u4")}
"""Megatron's codes that occur here, with the type the stream is read as."""

Tokens = npt.NDArray[np.uint16] | npt.NDArray[np.uint32]


def dtype_for(max_id: int) -> np.dtype[Any]:
    """The stream's type for a tokenizer whose largest id, special ones included, is `max_id`."""
    if not 0 <= max_id < 2**31:
        raise ConfigError(f"token ids up to {max_id} do not fit a shard (below 2^31)")
    return np.dtype("<u2") if max_id <= 0xFFFF else np.dtype("<u4")


def narrow(tokens: npt.NDArray[np.uint32], dtype: np.dtype[Any]) -> Tokens:
    """`tokens` as `dtype`. Raises IntegrityError where one does not fit (numpy would wrap)."""
    if len(tokens) and int(tokens.max()) > int(np.iinfo(dtype).max):
        raise IntegrityError(f"token id {int(tokens.max())} does not fit {dtype}")
    return tokens.astype(dtype)


class ShardWriter:
    """Writes one shard piece by piece; `close` gives its summary."""

    def __init__(self, files: Mapping[str, Path], dtype: np.dtype[Any]) -> None:
        """`files` has a path for each of `SUFFIXES`."""
        self._files = files
        self._dtype = dtype
        self._digest = hashlib.sha256()
        self._tables: list[pa.Table] = []
        self._ended = 0
        self._least: int | None = None
        self._most: int | None = None
        self.tokens = 0

    def add(self, tokens: npt.NDArray[np.uint32], pieces: pa.Table) -> None:
        """Appends `tokens`, which consist of `pieces`: the columns of ``.docs.parquet``."""
        if not len(tokens):
            return
        raw = narrow(tokens, self._dtype).tobytes()
        with self._files[".bin"].open("ab" if self._tables else "wb") as stream:
            stream.write(raw)
        self._digest.update(raw)
        self._tables.append(pieces)
        self._ended += int(np.count_nonzero(ended(pieces)))
        low, high = int(tokens.min()), int(tokens.max())
        self._least = low if self._least is None else min(low, self._least)
        self._most = high if self._most is None else max(high, self._most)
        self.tokens += len(tokens)

    def close(self) -> dict[str, Any]:
        """Writes the side files. Counts, sizes and sha256 of the four files."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        pieces = pa.concat_tables(self._tables).combine_chunks()
        ends = pieces.column("end").to_numpy().astype("<u8")
        if len(ends) == 0 or int(ends[-1]) != self.tokens:
            raise IntegrityError(f"{self._files['.bin'].name}: pieces do not cover the tokens")
        self._files[".ends"].write_bytes(ends.tobytes())
        self._files[".idx"].write_bytes(megatron_index(ends, self._dtype))
        pq.write_table(pieces, self._files[".docs.parquet"], compression="zstd")
        digests = {".bin": self._digest.hexdigest()}
        for suffix in SUFFIXES[1:]:
            digests[suffix] = hashlib.sha256(self._files[suffix].read_bytes()).hexdigest()
        return {
            "tokens": self.tokens, "bytes": self.tokens * self._dtype.itemsize,
            "pieces": len(ends), "documents_ended": self._ended,
            "min_id": self._least, "max_id": self._most, "sha256": digests,
        }  # fmt: skip


def ended(pieces: pa.Table) -> npt.NDArray[np.bool_]:
    """Which pieces hold the end of their document."""
    start, end, offset, whole = (
        pieces.column(n).to_numpy() for n in ("start", "end", "doc_offset", "doc_tokens")
    )
    return np.asarray(offset + (end - start) == whole)


def megatron_index(ends: npt.NDArray[np.uint64], dtype: np.dtype[Any]) -> bytes:
    """A Megatron ``.idx`` for pieces with these ends, one sequence and document for each."""
    code = next(c for c, d in DTYPE_CODES.items() if d == dtype)
    starts = np.concatenate([np.zeros(1, dtype="<u8"), ends[:-1]])
    lengths = (ends - starts).astype("<i8")
    if len(ends) and int(lengths.max()) >= 2**31:
        raise IntegrityError(f"a piece of {int(lengths.max())} tokens does not fit the index")
    return b"".join(
        (
            MAGIC,
            struct.pack("<QBQQ", 1, code, len(ends), len(ends) + 1),
            lengths.astype("<i4").tobytes(),
            (starts.astype("<i8") * dtype.itemsize).tobytes(),
            np.arange(len(ends) + 1, dtype="<i8").tobytes(),
        )
    )


def sibling(path: Path, suffix: str) -> Path:
    """The file of the same shard with another of `SUFFIXES`."""
    for known in SUFFIXES:
        if path.name.endswith(known):
            return path.with_name(path.name.removesuffix(known) + suffix)
    raise ConfigError(f"{path.name} is no file of a shard", hint=f"one of {', '.join(SUFFIXES)}")


def stream_dtype(index: Path) -> np.dtype[Any]:
    """The stream's type, by the header of a ``.idx`` file."""
    with index.open("rb") as file:
        head = file.read(18)
    if len(head) < 18 or head[:9] != MAGIC or struct.unpack("<Q", head[9:17]) != (1,):
        raise IntegrityError(f"{index.name} is no Megatron index of version 1")
    if head[17] not in DTYPE_CODES:
        raise IntegrityError(f"{index.name}: data type code {head[17]} is neither 8 nor 4")
    return DTYPE_CODES[head[17]]


def read_shard(path: Path) -> tuple[Tokens, npt.NDArray[np.uint64]]:
    """The tokens (memory-mapped, read-only) and the pieces' ends of the shard that `path` is a
    file of. Raises IntegrityError where the files do not agree."""
    stream = sibling(path, ".bin")
    dtype = stream_dtype(sibling(path, ".idx"))
    size = stream.stat().st_size
    ends = np.fromfile(sibling(path, ".ends"), dtype="<u8")
    if size == 0 or len(ends) == 0 or int(ends[-1]) * dtype.itemsize != size:
        raise IntegrityError(
            f"{stream.name} has {size} bytes, its pieces end at token "
            f"{int(ends[-1]) if len(ends) else 0} of {dtype.itemsize} bytes"
        )
    return np.memmap(stream, dtype=dtype, mode="r"), ends


def read_pieces(path: Path) -> pa.Table:
    """The ``.docs.parquet`` of the shard that `path` is a file of."""
    import pyarrow.parquet as pq

    return pq.read_table(sibling(path, ".docs.parquet"), partitioning=None)


def locate(path: Path, offset: int) -> dict[str, Any]:
    """The row of the piece that holds token `offset` of a shard, with ``doc_position``, the
    token's place within its document. Raises ConfigError if the shard ends before it."""
    pieces = read_pieces(path)
    ends = pieces.column("end").to_numpy()
    if offset < 0 or not len(ends) or offset >= int(ends[-1]):
        last = int(ends[-1]) - 1 if len(ends) else -1
        raise ConfigError(f"{path.name} has no token {offset}", hint=f"tokens are 0 … {last}")
    row: dict[str, Any] = pieces.slice(
        int(np.searchsorted(ends, offset, side="right")), 1
    ).to_pylist()[0]  # fmt: skip
    row["doc_position"] = row["doc_offset"] + offset - row["start"]
    return row
