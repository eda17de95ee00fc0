"""Text to token ids and back, with a tokenizer that `tokenizers.bpe` or `tokenizers.spm` made.

Rules that hold for every encoder here:

* A special token's string inside a document is ordinary text. Its id is only ever written by
  the shard writer, between documents.
* ``decode_bytes(encode(text))`` is the text's UTF-8, byte for byte. Python strings that are not
  valid Unicode (lone surrogates) are encoded with U+FFFD for each and counted in `invalid`.
* A batch's border and the number of threads do not matter.

* A text comes as a string, or as bytes of a column, which need not be UTF-8: what is not is read as
  U+FFFD, as Python's ``errors="replace"`` does, and counted there as well.

The references are Hugging Face `tokenizers` and `sentencepiece`. Larger amounts of byte-level BPE
go through loops of our own, which have to prove equal ids first: see `bpe_engine`.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from corpusmill.pipeline.errors import AssetError, IntegrityError
from corpusmill.pipeline.identity import fingerprint, sha256_hex

from .bpe_engine import engine_of
from .splits import joined

if TYPE_CHECKING:
    import pyarrow as pa

CARD = "card.json"
CARD_SCHEMA = "corpusmill/tokenizer/1"
_BATCH_CHARACTERS = 1 << 20
"""Bounds the memory of one call: the libraries' results take some 50 bytes a character."""
_SURROGATES = re.compile("[\ud800-\udfff]")
SPACE_MARK = "\u2581"
"""What sentencepiece writes for a space in its pieces."""

Ids = npt.NDArray[np.uint32]
Lengths = npt.NDArray[np.int64]


class Encoder(Protocol):
    """A loaded tokenizer. `invalid` counts the texts so far that were not valid Unicode."""

    family: str
    digest: str
    vocab_size: int
    max_id: int
    eos_id: int
    eos_token: str
    special_tokens: Mapping[str, int]
    unknown_id: int | None
    """Of a token that a library must have and that no text ever becomes."""
    invalid: int

    def encode_batch(self, texts: Sequence[str]) -> tuple[Ids, Lengths]:
        """The ids of all texts one after the other, and the number of ids of each."""

    def encode_column(self, column: pa.ChunkedArray) -> tuple[Ids, Lengths]:
        """The same for a column of strings without nulls."""

    def decode_bytes(self, ids: Sequence[int] | Ids) -> bytes:
        """The bytes that the ids stand for; a special token stands for its own string."""

    def decode(self, ids: Sequence[int] | Ids) -> str:
        """`decode_bytes` as text, with U+FFFD where the bytes are not UTF-8."""


class _Base:
    """What both families share: the table of bytes by id, and batches of bounded size."""

    family = ""
    unknown_id: int | None = None

    def __init__(self, card: Mapping[str, Any], pieces: list[bytes]) -> None:
        self.digest: str = card["digest"]
        self.vocab_size = len(pieces)
        self.max_id = self.vocab_size - 1
        self.eos_id: int = card["eos"]["id"]
        self.eos_token: str = card["eos"]["token"]
        self.special_tokens: Mapping[str, int] = dict(card["special_tokens"])
        self.invalid = 0
        self._pieces = pieces

    def _encode(self, texts: list[str]) -> list[list[int]]:
        raise NotImplementedError

    def encode_batch(self, texts: Sequence[str]) -> tuple[Ids, Lengths]:
        parts: list[Ids] = []
        lengths = np.zeros(len(texts), dtype=np.int64)
        done = 0
        for batch in _batches([self._valid(t) for t in texts]):
            for ids in self._encode(batch):
                lengths[done] = len(ids)
                parts.append(np.array(ids, dtype=np.uint32))
                done += 1
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.uint32), lengths

    def encode_column(self, column: pa.ChunkedArray) -> tuple[Ids, Lengths]:
        return self.encode_batch(self._texts(column))

    def _texts(self, column: pa.ChunkedArray) -> list[str]:
        """The texts of a column, repaired where it is not UTF-8."""
        import pyarrow as pa

        try:
            texts: list[str] = column.to_pylist()
            return texts
        except UnicodeDecodeError:
            raws: list[bytes] = column.cast(pa.large_binary()).to_pylist()
        texts = [raw.decode("utf-8", "replace") for raw in raws]
        self.invalid += sum(t.encode("utf-8") != r for t, r in zip(texts, raws, strict=True))
        return texts

    def _valid(self, text: str) -> str:
        if text.isascii() or not _SURROGATES.search(text):
            return text
        self.invalid += 1
        return _SURROGATES.sub("\ufffd", text)

    def decode_bytes(self, ids: Sequence[int] | Ids) -> bytes:
        numbers = np.asarray(ids, dtype=np.int64).tolist()
        if numbers and not 0 <= min(numbers) <= max(numbers) <= self.max_id:
            raise IntegrityError(f"token id {max(numbers)} is not within 0 and {self.max_id}")
        return b"".join([self._pieces[i] for i in numbers])

    def decode(self, ids: Sequence[int] | Ids) -> str:
        return self.decode_bytes(ids).decode("utf-8", "replace")


def _batches(texts: list[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += len(text)
        if size >= _BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


class BpeEncoder(_Base):
    """Byte-level BPE."""

    family = "bpe"

    def __init__(self, card: Mapping[str, Any], raw: bytes) -> None:
        self._engine = engine_of(raw)
        super().__init__(card, self._engine.pieces)
        if self._engine.digest != card["digest"]:
            raise IntegrityError(f"tokenizer.json is not the one of its card {card['digest']}")

    def encode_batch(self, texts: Sequence[str]) -> tuple[Ids, Lengths]:
        loops = self._engine.loops(sum(map(len, texts)), lambda: texts)
        if loops is None:
            return super().encode_batch(texts)
        return loops.encode(*joined([self._valid(t).encode("utf-8") for t in texts]))

    def encode_column(self, column: pa.ChunkedArray) -> tuple[Ids, Lengths]:
        import pyarrow as pa

        empty = pa.array([], pa.large_string())
        whole = pa.concat_arrays([empty, *column.cast(pa.large_string()).chunks])
        try:
            whole.validate(full=True)
        except pa.ArrowInvalid:
            return super().encode_column(column)
        loops = self._engine.loops(column.nbytes, whole[:1000].to_pylist)
        if loops is None:
            return super().encode_column(column)
        _, offsets, data = whole.buffers()
        borders = np.frombuffer(offsets, dtype=np.int64)[whole.offset :][: len(whole) + 1]
        return loops.encode(np.frombuffer(data or b"", dtype=np.uint8), borders)

    def _encode(self, texts: list[str]) -> list[list[int]]:
        return self._engine.encode(texts)


def spm_digest(processor: Any) -> str:
    """Digest of a sentencepiece model's pieces with type and score: unlike the file it does
    not depend on the settings the trainer leaves in it."""
    rows = []
    for i in range(processor.get_piece_size()):
        kind = (
            "control" if processor.is_control(i) else
            "unknown" if processor.is_unknown(i) else
            "byte" if processor.is_byte(i) else "piece"
        )  # fmt: skip
        score = struct.pack("<f", processor.get_score(i)).hex()
        rows.append([processor.id_to_piece(i), kind, score])
    return fingerprint({"family": "spm", "pieces": rows})


class SpmEncoder(_Base):
    """Sentencepiece. A U+2581 in the text, which its pieces use for the space, is written as
    its three byte pieces, and so comes back as itself."""

    family = "spm"

    def __init__(self, card: Mapping[str, Any], raw: bytes) -> None:
        import sentencepiece

        self._processor = sentencepiece.SentencePieceProcessor(model_proto=raw)
        p = self._processor
        pieces = []
        for i in range(p.get_piece_size()):
            piece = p.id_to_piece(i)
            if p.is_byte(i):
                pieces.append(bytes([int(piece[1:-1], 16)]))
            elif p.is_control(i) or p.is_unknown(i):
                pieces.append(piece.encode("utf-8"))
            else:
                pieces.append(piece.replace(SPACE_MARK, " ").encode("utf-8"))
        super().__init__(card, pieces)
        if spm_digest(p) != card["digest"]:
            raise IntegrityError(f"tokenizer.model is not the one of its card {card['digest']}")
        self.unknown_id = p.unk_id()
        self._mark = [p.piece_to_id(f"<0x{b:02X}>") for b in SPACE_MARK.encode("utf-8")]

    def _encode(self, texts: list[str]) -> list[list[int]]:
        parts: list[str] = []
        counts: list[int] = []
        for text in texts:
            pieces = text.split(SPACE_MARK)
            counts.append(len(pieces))
            parts.extend(pieces)
        encoded: list[list[int]] = self._processor.encode(parts, out_type=int, num_threads=1)
        if len(parts) == len(texts):
            return encoded
        result = []
        at = 0
        for count in counts:
            ids = list(encoded[at])
            for k in range(at + 1, at + count):
                ids += self._mark + encoded[k]
            at += count
            result.append(ids)
        return result


def files_in(folder: Path) -> dict[str, Path]:
    """The files of a folder by name; none where there is no folder."""
    return {p.name: p for p in folder.iterdir()} if folder.is_dir() else {}


def read_card(files: Mapping[str, Path], where: object) -> dict[str, Any]:
    """The card among a tokenizer's `files`. Raises AssetError, which names `where`, if it is
    missing or none."""
    if CARD not in files:
        raise AssetError(
            f"no {CARD} in {where}", hint="name the folder that tokenizers.bpe or .spm wrote"
        )
    try:
        card: dict[str, Any] = json.loads(files[CARD].read_bytes())
        schema = card.get("schema")
    except (OSError, ValueError, AttributeError) as error:
        raise AssetError(f"{CARD} in {where} cannot be read: {error}") from error
    if schema != CARD_SCHEMA:
        raise AssetError(f"{CARD}: schema {schema!r} is not {CARD_SCHEMA!r}")
    return card


def load(where: Path | Mapping[str, Path]) -> Encoder:
    """The tokenizer in a folder, or in files given by name (only the last part of a name
    counts). Its files are checked against the digests of its card.

    Raises AssetError if there is no tokenizer, IntegrityError if its bytes are not its card's.
    """
    if isinstance(where, Path):
        files = files_in(where)
    else:
        files = {name.rsplit("/", 1)[-1]: path for name, path in where.items()}
    card = read_card(files, where)
    for name, digest in sorted(card["files"].items()):
        if name not in files:
            raise AssetError(f"the tokenizer's file {name} is missing")
        if sha256_hex(files[name].read_bytes()) != digest:
            raise IntegrityError(f"{name} is not what its card says (sha256 {digest})")
    if card["family"] == "bpe":
        return BpeEncoder(card, files["tokenizer.json"].read_bytes())
    if card["family"] == "spm":
        return SpmEncoder(card, files["tokenizer.model"].read_bytes())
    raise AssetError(f"{CARD}: family {card['family']!r} is neither bpe nor spm")
