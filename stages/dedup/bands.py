"""Band keys of texts, and which documents of a bucket are compared."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from corpusmill.stages.words import character_tables, check_length, encoded

from .sets import NUMBER

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

SKETCHES = "corpusmill/2"
"""Name of the way in which minima and keys are made. It rises with every change of one."""
_TURNS = 8
"""How often shingles are dealt among bands that have none yet: a text of 40 shingles needs two."""
_LARGE_BUCKET = 4
"""Members from which a bucket is cut by its sides: three are all compared anyway."""
_SIDE_BITS = 8
_SIDES = np.uint64(2 * _SIDE_BITS)
_LOW_SIDE = np.uint64((1 << _SIDE_BITS) - 1)


@dataclass(frozen=True, slots=True)
class Sketches:
    """MinHash of texts, a row a text; rows of texts without words are zero."""

    has_words: npt.NDArray[np.bool_]
    minima: npt.NDArray[np.uint64]
    """Shape (texts, bands * rows)."""
    keys: npt.NDArray[np.uint64]
    """Shape (texts, bands): what texts of one bucket share."""
    sides: npt.NDArray[np.uint8]
    """Shape (texts, bands, 2): what a large bucket is cut by."""

    def packed(self) -> npt.NDArray[np.uint64]:
        """Keys and sides in one number: 48 bits of the key, which as candidates are verified are
        enough for any corpus (a billion texts give 350,000 false pairs), and the two sides."""
        first, second = self.sides[..., 0].astype(np.uint64), self.sides[..., 1].astype(np.uint64)
        return self.keys >> _SIDES << _SIDES | first << np.uint64(_SIDE_BITS) | second


class Sketcher:
    """Makes sketches of `bands` x `rows` minima over runs of `ngram` words.

    `rows` functions, drawn from `seed`, each deal the shingles among the bands, and a minimum is
    that of what fell to its band: an eighth of the work of a function for each minimum at 8 rows.
    Two texts have an equal minimum with a chance that is their Jaccard similarity, and the
    minima of a band, being of different functions, are equal independently (Dahlgaard, Knudsen
    and Thorup, Fast Similarity Sketching, 2017, for each row; Li, Owen and Zhang, One Permutation
    Hashing, 2012).
    """

    def __init__(
        self, bands: int, rows: int, ngram: int, seed: int, *, collapse_numbers: bool = False
    ) -> None:
        from . import minhash_kernel

        self.bands, self.rows, self.ngram = bands, rows, ngram
        self._collapse = collapse_numbers
        self._kernel = minhash_kernel
        self._factors, self._terms = permutations(_TURNS * rows + bands * rows, seed)

    def __call__(self, texts: Sequence[str]) -> Sketches:
        """The sketches of `texts`. Raises StageError for a text of 2 GiB."""
        data, byte_start, _ = encoded(texts)
        return self._of(data, byte_start)

    def column(self, texts: pa.Array) -> Sketches:
        """The sketches of an Arrow array of strings, whose bytes are read where they lie. A null
        counts as empty. Raises pyarrow.ArrowInvalid for what is no UTF-8, StageError for a text of
        2 GiB."""
        import pyarrow as pa

        texts = texts.cast(pa.large_string()).fill_null("")
        texts.validate(full=True)
        _, offsets, data = texts.buffers()
        start = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
        check_length(int(np.diff(start).max(initial=0)))
        raw = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
        return self._of(raw, start)

    def _of(self, data: npt.NDArray[np.uint8], byte_start: npt.NDArray[np.int64]) -> Sketches:
        count = len(byte_start) - 1
        made = Sketches(
            np.zeros(count, np.bool_),
            np.zeros((count, self.bands * self.rows), np.uint64),
            np.zeros((count, self.bands), np.uint64),
            np.zeros((count, self.bands, 2), np.uint8),
        )
        self._kernel.sketches(
            data, byte_start, *character_tables(), self.ngram, self._collapse, NUMBER,
            self._factors, self._terms, self.bands, self.rows, _TURNS,
            made.has_words, made.minima, made.keys, made.sides,
        )  # fmt: skip
        return made


def pair_up(
    packed: npt.NDArray[np.uint64], ids: npt.NDArray[np.uint64]
) -> list[npt.NDArray[np.uint64]]:
    """The candidate pairs of band rows, given by `Sketches.packed` and a number for each document:
    two columns, the smaller first, each pair once, sorted. A pair of equal numbers stands for two
    documents that have the same."""
    bucket = packed >> _SIDES
    order = np.argsort(bucket)
    met = np.zeros(len(order), np.bool_)
    met[1:] = bucket[order[1:]] == bucket[order[:-1]]
    met[:-1] |= met[1:]
    rows = order[met]  # few: most documents are alone in their bucket
    rows = rows[np.lexsort((ids[rows], bucket[rows]))]
    bucket, packed, ids = bucket[rows], packed[rows], ids[rows]
    starts = np.ones(len(rows), np.bool_)
    starts[1:] = bucket[1:] != bucket[:-1]
    found = [_star_and_chain(starts)]
    number = np.cumsum(starts) - 1
    large = np.flatnonzero((np.bincount(number) >= _LARGE_BUCKET)[number])
    for side in (packed[large] >> np.uint64(_SIDE_BITS) & _LOW_SIDE, packed[large] & _LOW_SIDE):
        order = np.lexsort((large, side, number[large]))
        piece = number[large] << _SIDE_BITS | side.astype(np.int64)
        starts = np.ones(len(order), np.bool_)
        starts[1:] = piece[order[1:]] != piece[order[:-1]]
        left, right = _star_and_chain(starts)
        found.append((large[order[left]], large[order[right]]))
    return unique_rows([ids[np.concatenate([pair[n] for pair in found])] for n in (0, 1)])


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
