"""Band keys of texts, and which documents of a bucket are compared."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from corpusmill.stages.words import WordTable, tokenise_utf8

from .sets import Shingles, shingles

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

_TEXTS = 256
"""Texts that are sketched at once: more would need more memory, fewer more calls."""
_LARGE_BUCKET = 4
"""Members from which a bucket is cut by its sides: three are all compared anyway."""


@dataclass(frozen=True, slots=True)
class Sketches:
    """MinHash of texts, a row a text; rows of texts without words are zero."""

    has_words: npt.NDArray[np.bool_]
    minima: npt.NDArray[np.uint64]
    """Shape (texts, bands * rows)."""
    keys: npt.NDArray[np.uint64]
    """Shape (texts, bands): what texts of one bucket share."""
    sides: npt.NDArray[np.uint16]
    """Shape (texts, bands, 2): what a large bucket is cut by."""


class Sketcher:
    """Makes sketches: `bands` x `rows` permutations drawn from `seed`, runs of `ngram` words."""

    def __init__(
        self, bands: int, rows: int, ngram: int, seed: int, *, collapse_numbers: bool = False
    ) -> None:
        from . import minhash_kernel

        self.bands, self.rows, self.ngram = bands, rows, ngram
        self._collapse = collapse_numbers
        self._kernel = minhash_kernel
        self._factors, self._terms = permutations(bands * rows, seed)

    def __call__(self, texts: Sequence[str]) -> Sketches:
        """The sketches of `texts`."""
        made = self._room(len(texts))
        for at in range(0, len(texts), _TEXTS):
            self._fill(made, at, self._shingles(texts[at : at + _TEXTS]))
        return made

    def column(self, texts: pa.Array) -> Sketches:
        """The sketches of an Arrow array of strings, whose bytes are read where they lie. A null
        counts as empty. Raises pyarrow.ArrowInvalid for what is no UTF-8."""
        import pyarrow as pa

        texts = texts.cast(pa.large_string()).fill_null("")
        texts.validate(full=True)
        _, offsets, data = texts.buffers()
        start = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
        raw = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
        made = self._room(len(texts))
        for at in range(0, len(texts), _TEXTS):
            words = tokenise_utf8(raw, start[at : at + _TEXTS + 1])
            self._fill(made, at, self._shingles(words))
        return made

    def _shingles(self, texts: Sequence[str] | WordTable) -> Shingles:
        return shingles(texts, self.ngram, collapse_numbers=self._collapse)

    def _room(self, count: int) -> Sketches:
        return Sketches(
            np.zeros(count, np.bool_),
            np.zeros((count, self.bands * self.rows), np.uint64),
            np.zeros((count, self.bands), np.uint64),
            np.zeros((count, self.bands, 2), np.uint16),
        )

    def _fill(self, made: Sketches, at: int, found: Shingles) -> None:
        rows = slice(at, at + len(found.start) - 1)
        made.has_words[rows] = np.diff(found.start) > 0
        self._kernel.sketch(
            found.hash, found.start, self._factors, self._terms, self.rows,
            made.minima[rows], made.keys[rows], made.sides[rows],
        )  # fmt: skip


def pair_up(
    key: npt.NDArray[np.uint64], sides: Sequence[npt.NDArray[np.uint16]]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Candidate pairs of rows that are sorted by `key` and, within a key, by id."""
    starts = np.ones(len(key), np.bool_)
    starts[1:] = key[1:] != key[:-1]
    found = [_star_and_chain(starts)]
    bucket = np.cumsum(starts) - 1
    large = np.flatnonzero((np.bincount(bucket) >= _LARGE_BUCKET)[bucket])
    for side in sides:
        order = large[np.lexsort((large, side[large], bucket[large]))]
        starts = np.ones(len(order), np.bool_)
        starts[1:] = (bucket[order[1:]] != bucket[order[:-1]]) | (
            side[order[1:]] != side[order[:-1]]
        )
        left, right = _star_and_chain(starts)
        found.append((order[left], order[right]))
    return np.concatenate([f[0] for f in found]), np.concatenate([f[1] for f in found])


def _star_and_chain(
    starts: npt.NDArray[np.bool_],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Each row of a group with the group's first and with the row before it."""
    first = np.flatnonzero(starts)[np.cumsum(starts) - 1]
    right = np.flatnonzero(~starts)
    chained = right[right - 1 != first[right]]  # the second of a group is paired once
    return np.concatenate((first[right], chained - 1)), np.concatenate((right, chained))


def permutations(count: int, seed: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """`count` maps x -> a x + b modulo 2⁶⁴, a odd, drawn from `seed` by a keyed hash."""
    raw = b"".join(
        hashlib.blake2b(b"%d %d" % (seed, n), digest_size=16, person=b"corpusmill-mh").digest()
        for n in range(count)
    )
    drawn = np.frombuffer(raw, "<u8").reshape(count, 2)
    return drawn[:, 0].astype(np.uint64) | np.uint64(1), drawn[:, 1].astype(np.uint64)


def unique_rows(columns: Sequence[npt.NDArray[np.uint64]]) -> list[npt.NDArray[np.uint64]]:
    """The distinct rows of a table of columns, sorted by the first column, then the next."""
    order = np.lexsort(columns[::-1])
    sorted_ = [column[order] for column in columns]
    new = np.ones(len(order), np.bool_)
    new[1:] = np.any([column[1:] != column[:-1] for column in sorted_], axis=0)
    return [column[new] for column in sorted_]
