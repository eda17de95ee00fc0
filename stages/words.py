"""Words and lines of a batch of texts in one compiled pass, as arrays that every stage shares.

The word rule, `WORD_RULE`, on the classes of `corpusmill.stages.unicode_data`:

- Code points that are not WORD end a word; IGNORABLE ones are passed over: they neither end nor
  begin a word nor count in its length, though its bytes may enclose them.
- In scripts written with spaces a word is a maximal run of letters, marks and numbers. So
  ``don't`` is two words, ``snake_case`` two, ``3.14`` two, ``naïve`` one.
- In scripts written without spaces (Han, Kana, Thai, Lao, Khmer, Myanmar) a character is a
  letter with the marks that follow it; a run of n such characters, n > 1, gives n - 1
  overlapping pairs, each a word; a lone one is a word by itself. Digits of these scripts follow
  the first rule. A run of one kind ends where the other kind begins.
- A mark belongs to the run that stands before it, whatever its script.

Two words have the same hash (64 bits) if and, but for collisions, only if their folded forms
are equal (see `unicode_data.fold`): case, composition, width and ligatures do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from corpusmill.pipeline.errors import StageError

from .unicode_data import ALPHA, WORD, tables

if TYPE_CHECKING:
    import numpy.typing as npt

WORD_RULE = "corpusmill/1"
"""Name of the word rule above. It rises with every change of what a word or its hash is."""

HAS_ALPHA, ALL_DIGITS, IN_UNSPACED, NON_ASCII, RUN_START, LONE = (1 << bit for bit in range(6))
"""Bits of `WordTable.flags`: has a letter; decimal digits only; pair or lone character of an
unspaced script; has a code point outside ASCII; first word of its unspaced run; lone character."""

_MAX_BYTES = 2**31 - 1
_BEHIND = 8
_PLANE = 1 << 16
_IOTA_SUBSCRIPT, _IOTA = 0x345, 0x3B9


@dataclass(frozen=True, slots=True)
class WordTable:
    """The words of a batch, in order. Offsets are bytes into each document's own UTF-8."""

    data: npt.NDArray[np.uint8]
    """The UTF-8 of all documents, one after the other."""
    byte_start: npt.NDArray[np.int64]
    """Document d is ``data[byte_start[d]:byte_start[d + 1]]``; one entry more than documents."""
    doc_start: npt.NDArray[np.int64]
    """The words of document d are ``doc_start[d]:doc_start[d + 1]``; as many as `byte_start`."""
    start: npt.NDArray[np.int32]
    end: npt.NDArray[np.int32]
    chars: npt.NDArray[np.int32]
    """Length in code points, IGNORABLE ones not counted."""
    hash: npt.NDArray[np.uint64]
    flags: npt.NDArray[np.uint8]

    def __len__(self) -> int:
        """The number of words."""
        return len(self.hash)

    @property
    def documents(self) -> int:
        """The number of documents."""
        return len(self.doc_start) - 1

    def text(self, doc: int, word: int) -> str:
        """Word number `word` of document `doc`, as it stands there."""
        at = self.doc_start[doc] + word
        base = self.byte_start[doc]
        raw = self.data[base + self.start[at] : base + self.end[at]].tobytes()
        return raw.decode("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True)
class LineTable:
    """The lines of a batch, in order. Offsets are bytes into each document's own UTF-8."""

    data: npt.NDArray[np.uint8]
    byte_start: npt.NDArray[np.int64]
    doc_start: npt.NDArray[np.int64]
    """The lines of document d are ``doc_start[d]:doc_start[d + 1]``."""
    start: npt.NDArray[np.int32]
    end: npt.NDArray[np.int32]
    """The line without its end (LF, CR LF or CR)."""
    text_start: npt.NDArray[np.int32]
    text_end: npt.NDArray[np.int32]
    """The line without white space at its ends; empty (both equal `start`) for a blank line."""
    chars: npt.NDArray[np.int32]
    """Code points of that trimmed part."""
    hash: npt.NDArray[np.uint64]
    """64-bit hash of that trimmed part, case and all."""


def tokenise(texts: Sequence[str]) -> WordTable:
    """The words of `texts`. Lone surrogates are let through and belong to no word.

    Memory: about the text's UTF-8 and 21 bytes a word. Raises StageError for a text of 2 GiB.
    """
    data, byte_start, _ = encoded(texts)
    return tokenise_utf8(data, byte_start)


def tokenise_utf8(data: npt.NDArray[np.uint8], byte_start: npt.NDArray[np.int64]) -> WordTable:
    """The same of texts that are UTF-8 already: ``data[byte_start[d]:byte_start[d + 1]]``.

    It must be valid UTF-8 (surrogates in three bytes are let through): this is not checked.
    """
    from . import words_kernel

    sizes = np.diff(byte_start)
    longest = int(sizes.max(initial=0))
    check_length(longest)
    # A word needs a byte of its own and one of another class beside it, or three of its own.
    most = (int(sizes.sum()) + len(sizes)) // 2 + 1
    pend, spare = np.empty(longest + 32, np.uint32), np.empty(longest + 32, np.uint32)
    doc_start = np.empty(len(byte_start), np.int64)
    start, end, chars = (np.empty(most, np.int32) for _ in range(3))
    hashes, flags = np.empty(most, np.uint64), np.empty(most, np.uint8)
    n = words_kernel.tokenise(
        data, byte_start, *character_tables(), pend, spare, np.empty(257, np.int64),
        doc_start, start, end, chars, hashes, flags,
    )  # fmt: skip
    # Views: what is behind them was never written, so it takes no memory.
    return WordTable(
        data, byte_start, doc_start, start[:n], end[:n], chars[:n], hashes[:n], flags[:n]
    )


def picked(places: Sequence[tuple[WordTable, int]]) -> WordTable:
    """The words of single documents: each a table and its number there, in the order given."""
    runs: list[tuple[WordTable, int, int]] = []
    for table, n in places:
        if runs and runs[-1][0] is table and runs[-1][2] == n:
            runs[-1] = (table, runs[-1][1], n + 1)
        else:
            runs.append((table, n, n + 1))

    def of_words(name: str) -> npt.NDArray[Any]:
        return np.concatenate([
            getattr(t, name)[t.doc_start[a] : t.doc_start[b]] for t, a, b in runs
        ])  # fmt: skip

    def starts(name: str) -> npt.NDArray[np.int64]:
        sizes = [np.diff(getattr(t, name)[a : b + 1]) for t, a, b in runs]
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate(sizes))])

    if not runs:
        return tokenise(())
    return WordTable(
        np.concatenate([t.data[t.byte_start[a] : t.byte_start[b]] for t, a, b in runs]),
        starts("byte_start"), starts("doc_start"),
        of_words("start"), of_words("end"), of_words("chars"), of_words("hash"),
        of_words("flags"),
    )  # fmt: skip


def lines(texts: Sequence[str]) -> LineTable:
    """The lines of `texts`: cut after LF, CR LF or CR; no other character ends a line.

    An end at the very end of the text opens no further line; an empty text has none. Raises
    StageError for a text of 2 GiB.
    """
    from . import words_kernel

    data, byte_start, _ = encoded(texts)
    most = int(np.count_nonzero((data == 10) | (data == 13))) + len(texts)
    doc_start = np.empty(len(texts) + 1, np.int64)
    columns = [np.empty(most, np.int32) for _ in range(5)]
    hashes = np.empty(most, np.uint64)
    n = words_kernel.lines(data, byte_start, tables().flags, doc_start, *columns, hashes)
    start, end, text_start, text_end, chars = (column[:n].copy() for column in columns)
    return LineTable(
        data, byte_start, doc_start, start, end, text_start, text_end, chars, hashes[:n].copy()
    )


def word_hashes(words: Sequence[str]) -> npt.NDArray[np.uint64]:
    """The hash of each string of `words`, in order, to look for them in a `WordTable`.

    Raises ValueError for a string that is not exactly one word by the word rule.
    """
    table = tokenise(words)
    if (np.diff(table.doc_start) != 1).any():
        bad = words[int(np.flatnonzero(np.diff(table.doc_start) != 1)[0])]
        raise ValueError(f"{bad!r} is not one word by the rule {WORD_RULE}")
    return table.hash


@lru_cache(maxsize=1)
def character_tables() -> tuple[npt.NDArray[Any], ...]:
    """What `words_kernel.tokenise` looks characters up in, in the order in which it takes them:
    flags, combining classes and folds of `unicode_data.tables`; for each byte the lower-case letter
    or digit that it is, else 0; `fold_pieces`; and of the first plane what each letter of a script
    with spaces folds to, where that is one code point and no mark, else 0."""
    t = tables()
    ascii_word = np.zeros(256, np.uint8)
    for byte in b"0123456789abcdefghijklmnopqrstuvwxyz":
        ascii_word[byte] = ascii_word[ord(chr(byte).upper())] = byte
    pieces = fold_pieces()
    is_simple = (t.flags[:_PLANE] == WORD | ALPHA) & (pieces < _PLANE)
    simple = np.where(is_simple, pieces, 0).astype(np.uint32)
    return t.flags, t.ccc, t.fold, t.offsets, t.pool, ascii_word, pieces, simple


@lru_cache(maxsize=1)
def fold_pieces() -> npt.NDArray[np.uint64]:
    """What each code point of the first plane folds to, in one number: up to three code points of
    21 bits, the first in the lowest, and bit 63 where the last is a mark; all bits set where this
    does not do (longer, or a mark within). What a mark becomes after it was put in order, as
    U+0345, it is here already."""
    t = tables()
    index = t.fold[:_PLANE].astype(np.int64)
    own = np.arange(_PLANE, dtype=np.uint64)
    start = np.where(index > 0, t.offsets[index - 1], 0).astype(np.int64)
    length = np.where(index > 0, t.offsets[index] - start, 1)
    entry = np.zeros(_PLANE, np.uint64)
    bad = (length > 3) | (length < 1)
    last_mark = np.zeros(_PLANE, np.bool_)
    for n in range(3):
        here = ~bad & (length > n)
        at = np.minimum(start + n, len(t.pool) - 1)
        point = np.where(index > 0, t.pool[at], own).astype(np.uint64)
        bad |= here & last_mark
        last_mark |= here & (t.ccc[point] > 0)
        point[point == _IOTA_SUBSCRIPT] = _IOTA
        entry[here] |= point[here] << np.uint64(21 * n)
    entry[last_mark] |= np.uint64(1 << 63)
    entry[bad] = np.uint64(0xFFFFFFFFFFFFFFFF)
    return entry


def encoded(
    texts: Sequence[str],
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64], int]:
    """The UTF-8 of `texts` one after the other, its bounds, and the length of the longest. Eight
    bytes more lie in memory behind the last, so that kernels may read eight at a time.

    Raises StageError for a text of 2 GiB.
    """
    parts = [text.encode("utf-8", "surrogatepass") for text in texts]
    byte_start = np.zeros(len(parts) + 1, np.int64)
    np.cumsum([len(part) for part in parts], out=byte_start[1:])
    longest = max(map(len, parts), default=0)
    check_length(longest)
    parts.append(bytes(_BEHIND))
    return np.frombuffer(b"".join(parts), np.uint8)[:-_BEHIND], byte_start, longest


def check_length(longest: int) -> None:
    """Raises StageError for a text of 2 GiB or more."""
    if longest > _MAX_BYTES:
        raise StageError(
            f"a text of {longest} bytes; words and lines are counted to {_MAX_BYTES} bytes",
            hint="drop or cut such texts before this stage",
        )
