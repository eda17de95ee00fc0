"""Checks that a fastText model file is whole, before fastText reads it.

fastText believes every length in the file. A file cut short, as by an interrupted copy, does not
make it fail: it reads on past the end and allocates until the machine's memory is gone.
`check_file` walks the file's structure (fastText 0.9, file versions 11 and 12) and compares it with
the file's size.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path

from corpusmill.pipeline.errors import AssetError

MAGIC = (793712314).to_bytes(4, "little")
"""First four bytes of a model (``FASTTEXT_FILEFORMAT_MAGIC_INT32``)."""
_SUPERVISED = 3
_LABEL = b"\x01"


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What the head of the file says. `labels` with their prefix, in file order."""

    dim: int
    supervised: bool
    quantised: bool
    words: int
    labels: tuple[str, ...]


class _Reader:
    """A position in a file; raises EOFError at its end."""

    def __init__(self, data: mmap.mmap) -> None:
        self.data = data
        self.at = 0

    def take(self, form: str) -> tuple[int, ...]:
        size = struct.calcsize("<" + form)
        if self.at + size > len(self.data):
            raise EOFError
        values: tuple[int, ...] = struct.unpack_from("<" + form, self.data, self.at)
        self.at += size
        return values

    def skip(self, size: int) -> None:
        if size < 0 or self.at + size > len(self.data):
            raise EOFError
        self.at += size

    def word(self) -> bytes:
        end = self.data.find(b"\0", self.at)
        if end < 0:
            raise EOFError
        found = self.data[self.at : end]
        self.at = end + 1
        return found

    def quantiser(self) -> None:
        dim, _, _, _ = self.take("4i")
        self.skip(4 * 256 * dim)

    def matrix(self, quantised: bool) -> None:
        if not quantised:
            rows, columns = self.take("2q")
            self.skip(4 * rows * columns if rows >= 0 <= columns else -1)
            return
        norms, rows, _, codes = self.take("?qqi")
        self.skip(codes)
        self.quantiser()
        if norms:
            self.skip(rows)
            self.quantiser()


def _walk(reader: _Reader) -> ModelInfo:
    reader.skip(len(MAGIC))
    (version,) = reader.take("i")
    if version not in (11, 12):
        raise ValueError(f"file version {version}")
    numbers = reader.take("12i")
    reader.take("d")
    entries, words, _, _, pruned = reader.take("3i2q")
    labels = []
    for _ in range(entries):
        word = reader.word()
        reader.skip(8)
        start = reader.at
        reader.skip(1)
        if reader.data[start : start + 1] == _LABEL:
            labels.append(word.decode("utf-8", "replace"))
    reader.skip(8 * max(0, pruned))
    (quantised,) = reader.take("?")
    reader.matrix(bool(quantised))
    (output_too,) = reader.take("?")
    reader.matrix(bool(quantised and output_too))
    if reader.at != len(reader.data):
        raise ValueError(f"{len(reader.data) - reader.at} bytes after the end")
    return ModelInfo(numbers[0], numbers[7] == _SUPERVISED, bool(quantised), words, tuple(labels))


def check_file(path: str | Path) -> ModelInfo:
    """What the model in `path` is. Raises AssetError if the file is missing, no fastText model, or
    not whole. Reads the dictionary only, not the matrices."""
    name = Path(path).name
    try:
        with open(path, "rb") as handle:
            start = handle.read(len(MAGIC))
            if start != MAGIC:
                raise AssetError(
                    f"model {name} is no fastText model: it starts with {start!r}",
                    hint="give a .bin or .ftz file written by fastText, not a .vec or a web page",
                )
            with mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return _walk(_Reader(data))
    except OSError as error:
        raise AssetError(f"model {name} cannot be read: {error.strerror}") from error
    except (EOFError, ValueError, struct.error) as error:
        raise AssetError(
            f"model {name} is damaged: {str(error) or 'it ends too early'}",
            hint="copy the file again",
        ) from error
