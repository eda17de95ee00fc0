"""Words of a batch as datatrove has them for English, as arrays: see `spacy_words`.

Each different piece between white space is cut once; what was cut before only saves time, and is
forgotten when it grows large.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from corpusmill.stages.unicode_data import tables

from .spacy_words import Cutter, facts
from .text_tables import DUP_SIZES, TOP_SIZES

if TYPE_CHECKING:
    import numpy.typing as npt

_MOST_PIECES = 200_000
_NAME = "IS_ALPHA"
_SPACES_OR_NOT = re.compile(r"\s+|\S+")


@dataclass(frozen=True, slots=True)
class DatatroveWords:
    """The words of a batch, in order; arrays have one entry a word."""

    doc_start: npt.NDArray[np.int64]
    """The words of document d are ``doc_start[d]:doc_start[d + 1]``."""
    chars: npt.NDArray[np.int32]
    key: npt.NDArray[np.uint64]
    """Equal for equal words (and, but for collisions, only for those)."""
    poly: npt.NDArray[np.uint64]
    flags: npt.NDArray[np.uint8]
    """Bits ``WORD_…`` of `datatrove_kernel`."""


@lru_cache(maxsize=1)
def mark_table() -> npt.NDArray[np.uint8]:
    """`MARK_SYMBOL` and `MARK_END` of each code point, a read-only array."""
    from .datatrove_kernel import MARK_END, MARK_SYMBOL

    table = np.zeros(0x110000, np.uint8)
    table[[ord(c) for c in facts()["datatrove_punctuation"]]] |= np.uint8(MARK_SYMBOL)
    table[[ord(c) for c in facts()["sentence_ends"]]] |= np.uint8(MARK_END)
    table.flags.writeable = False
    return table


def features(
    words: Sequence[str],
) -> tuple[
    npt.NDArray[np.int32], npt.NDArray[np.uint64], npt.NDArray[np.uint64], npt.NDArray[np.uint8]
]:
    """Length, hash, polynomial and bits of each word."""
    from . import datatrove_kernel

    raw = "".join(words).encode("utf-32-le", "surrogatepass")
    chars = np.fromiter(map(len, words), np.int32, len(words))
    key, poly = np.empty(len(words), np.uint64), np.empty(len(words), np.uint64)
    flags = np.empty(len(words), np.uint8)
    datatrove_kernel.word_features(
        np.frombuffer(raw, np.uint32), chars, tables().flags, mark_table(), key, poly, flags
    )
    return chars, key, poly, flags


class Pieces(dict[str, int]):
    """Numbers of the pieces seen; looking up a new one cuts it."""

    def __init__(self) -> None:
        super().__init__()
        self._cutter = Cutter()
        self.clear()

    def clear(self) -> None:
        """Forgets all pieces."""
        super().clear()
        self._new: list[str] = []
        self._new_counts: list[int] = []
        self._count, self._chars, self._flags = array("i"), array("i"), array("B")
        self._key, self._poly = array("Q"), array("Q")
        self._course: list[bytes] = []

    def __missing__(self, piece: str) -> int:
        words = self._cutter.words(piece)
        self._new.extend(words)
        self._new_counts.append(len(words))
        self[piece] = number = len(self)
        return number

    def flush(self) -> None:
        """Works out what is known of the words of new pieces."""
        if not self._new_counts:
            return
        chars, key, poly, flags = features(self._new)
        counts = np.array(self._new_counts, np.int32)
        for column, values in (
            (self._count, counts), (self._chars, chars), (self._flags, flags), (self._key, key),
            (self._poly, poly),
        ):  # fmt: skip
            column.frombytes(values.tobytes())
        course = _courses(flags)
        ends = np.cumsum(counts).tolist()
        self._course += [
            course[start:stop].replace(_NEITHER, b"")
            for start, stop in zip([0, *ends[:-1]], ends, strict=True)
        ]
        self._new, self._new_counts = [], []

    def table(self, texts: Sequence[str]) -> DatatroveWords:
        """The words of `texts`."""
        if len(self) > _MOST_PIECES:
            self.clear()
        of_texts = [list(map(self.__getitem__, self._readable(text).split())) for text in texts]
        self.flush()
        pieces = np.fromiter((n for numbers in of_texts for n in numbers), np.int64)
        piece_start = np.zeros(len(texts) + 1, np.int64)
        np.cumsum([len(numbers) for numbers in of_texts], out=piece_start[1:])
        count = np.frombuffer(self._count, np.int32)
        first = np.cumsum(count, dtype=np.int64) - count
        counts = count[pieces].astype(np.int64)
        ends = np.zeros(len(pieces) + 1, np.int64)
        np.cumsum(counts, out=ends[1:])
        at = np.repeat(first[pieces] - ends[:-1], counts) + np.arange(ends[-1])
        return DatatroveWords(
            doc_start=ends[piece_start],
            chars=np.frombuffer(self._chars, np.int32)[at],
            key=np.frombuffer(self._key, np.uint64)[at],
            poly=np.frombuffer(self._poly, np.uint64)[at],
            flags=np.frombuffer(self._flags, np.uint8)[at],
        )

    def _readable(self, text: str) -> str:
        """`text` as spaCy gets it: it fails on the word ``IS_ALPHA``, a name of its own, and
        datatrove then takes all of these letters out."""
        if _NAME not in text:
            return text
        found = any(_NAME in self._cutter.words(p) for p in text.split() if _NAME in p)
        return text.replace(_NAME, "") if found else text

    def sentences(self, line: str) -> int:
        """Sentences of a line, by spaCy's sentencizer with its defaults.

        A sentence begins with a word after a mark that ends one; other punctuation does neither.
        """
        line = self._readable(line)
        pieces = line.split()
        numbers = list(map(self.__getitem__, pieces))
        self.flush()
        if line == " ".join(pieces):
            course = b"".join(map(self._course.__getitem__, numbers))
        else:
            # White space other than single blanks is a word there.
            parts: list[bytes] = []
            for match in _SPACES_OR_NOT.finditer(line):
                run = match[0]
                if not run.isspace():
                    parts.append(self._course[self[run]])
                elif match.start() == 0 or run != " ":
                    parts.append(_WORD)
            course = b"".join(parts)
        return 1 + course.count(_MARK + _WORD)


_WORD, _MARK, _NEITHER = b"w", b".", b"-"
"""A piece as the sentencizer sees it, see `Pieces.sentences`."""


def _courses(flags: npt.NDArray[np.uint8]) -> bytes:
    """Each word as `_WORD`, `_MARK` or `_NEITHER`."""
    from .datatrove_kernel import WORD_END, WORD_PUNCT

    kinds = np.full(len(flags), ord(_WORD), np.uint8)
    kinds[(flags & WORD_PUNCT) != 0] = ord(_NEITHER)
    kinds[(flags & WORD_END) != 0] = ord(_MARK)
    return kinds.tobytes()


@lru_cache(maxsize=1)
def shared_pieces() -> Pieces:
    """The pieces that the stages of one process share."""
    return Pieces()


class _Last:
    """The words of the last batch."""

    def __init__(self) -> None:
        self.texts: tuple[str, ...] | None = None
        self.words: DatatroveWords | None = None


_last = _Last()


def datatrove_words(texts: Sequence[str]) -> DatatroveWords:
    """The words of `texts`; the same object again for the same texts."""
    if _last.words is None or _last.texts != tuple(texts):
        _last.texts, _last.words = tuple(texts), shared_pieces().table(texts)
    return _last.words


def ngram_chars(
    words: DatatroveWords,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Characters in repeated n-grams, see `datatrove_kernel.joined_ngrams`: an array of documents
    by `TOP_SIZES`, and one by `DUP_SIZES`."""
    from . import datatrove_kernel

    documents = len(words.doc_start) - 1
    top = np.zeros((documents, len(TOP_SIZES)), np.int64)
    dup = np.zeros((documents, len(DUP_SIZES)), np.int64)
    datatrove_kernel.joined_ngrams(
        words.doc_start, words.chars, words.key, words.poly,
        np.array(TOP_SIZES, np.int64), np.array(DUP_SIZES, np.int64), top, dup,
    )  # fmt: skip
    return top, dup
