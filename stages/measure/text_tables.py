"""What the text statistics of a batch share: one tokenisation, one table of lines.

The measures of one phase see the same batch one after the other. The last batch's tables are
kept, so that the text is tokenised once; this changes no result, only the time.

**Spaced and unspaced.** A document is `unspaced` if more than half of its words are of scripts
written without spaces (Han, Kana, Thai, Lao, Khmer, Myanmar). There two characters count as one
word, and an n-gram of n words is one of 2 n characters: about the length of a Chinese or Japanese
word, and the same fractions then mean about the same.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from corpusmill.pipeline.document import Document, Outcome, Scalar
from corpusmill.stages import words
from corpusmill.stages.unicode_data import tables

from .marks import mark_table, token_marks

if TYPE_CHECKING:
    import numpy.typing as npt

SPACED, UNSPACED = "spaced", "unspaced"
"""Values of the signals that say which word rule was used."""

TOP_SIZES = (2, 3, 4)
DUP_SIZES = (5, 6, 7, 8, 9, 10)
"""The n of Gopher's n-gram rules (Rae et al. 2021, table A1)."""


@dataclass(frozen=True, slots=True)
class WordCounts:
    """Words of each document of a batch. Arrays have one entry a document, or one a word."""

    table: words.WordTable
    own: npt.NDArray[np.int32]
    """Characters of each word that the word before it does not share."""
    unspaced: npt.NDArray[np.bool_]
    count: npt.NDArray[np.int64]
    """Words, two characters of an unspaced script counting as one."""
    features: npt.NDArray[np.int64]
    """See `text_kernel.features`."""


@dataclass(frozen=True, slots=True)
class LineCounts:
    """Lines of a batch with what `text_kernel.line_features` says of each, one entry a line."""

    table: words.LineTable
    flags: npt.NDArray[np.uint8]
    sentences: npt.NDArray[np.int32]
    tokens: npt.NDArray[np.int32]
    longest: npt.NDArray[np.int32]

    @property
    def filled(self) -> npt.NDArray[np.bool_]:
        """Which lines are not blank."""
        return np.asarray(self.table.chars > 0)

    def per_document(self, of_lines: npt.NDArray[np.generic]) -> npt.NDArray[np.int64]:
        """Sums a value of each line over the lines of each document."""
        return segment_sums(of_lines, self.table.doc_start)


def segment_sums(
    values: npt.NDArray[np.generic], starts: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Sums of ``values[starts[d]:starts[d + 1]]``, as int64; 0 for an empty segment."""
    sums = np.zeros(len(values) + 1, np.int64)
    np.cumsum(values, out=sums[1:])
    return np.asarray(sums[starts[1:]] - sums[starts[:-1]])


class _Last:
    """The tables of the last batch of texts."""

    def __init__(self) -> None:
        self.texts: tuple[str, ...] | None = None
        self.words: WordCounts | None = None
        self.lines: LineCounts | None = None

    def turn_to(self, texts: tuple[str, ...]) -> None:
        if self.texts != texts:
            self.texts, self.words, self.lines = texts, None, None


_last = _Last()


def word_counts(texts: Sequence[str]) -> WordCounts:
    """The words of `texts`, counted; the same object again for the same texts."""
    _last.turn_to(tuple(texts))
    if _last.words is None:
        _last.words = _count_words(texts)
    return _last.words


def known_words(texts: Sequence[str]) -> words.WordTable | None:
    """The words of `texts` where those were in the last batch, in the same order, as after filters
    that dropped some of it; else None."""
    if _last.texts is None or _last.words is None:
        return None
    if len(texts) == len(_last.texts) and all(map(operator.is_, texts, _last.texts)):
        return _last.words.table
    places = []
    rest = enumerate(_last.texts)
    for text in texts:
        at = next((n for n, known in rest if known is text), None)
        if at is None:
            return None
        places.append((_last.words.table, at))
    return words.picked(places)


def line_counts(texts: Sequence[str]) -> LineCounts:
    """The lines of `texts`, examined; the same object again for the same texts."""
    _last.turn_to(tuple(texts))
    if _last.lines is None:
        _last.lines = _examine_lines(texts)
    return _last.lines


def marked_tokens(
    table: words.WordTable,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Words and marks of each document, and how many of them have a letter.

    Close to how spaCy cuts English, by two rules. Of a piece between white space each mark at its
    ends is one, a run of full stops too; and a mark such as ``-`` or ``/`` between a letter or
    digit and a letter is one and parts the piece, unless that is an address (``://``).
    """
    from . import text_kernel

    tokens, alphas = (np.empty(table.documents, np.int64) for _ in range(2))
    text_kernel.marked_tokens(
        table.data, table.byte_start, tables().flags, token_marks(), tokens, alphas
    )
    return tokens, alphas


def _count_words(texts: Sequence[str]) -> WordCounts:
    from . import text_kernel

    t = words.tokenise(texts)
    own = np.empty(len(t), np.int32)
    text_kernel.own_chars(t.data, t.byte_start, t.doc_start, t.start, t.end, t.chars, own)
    in_unspaced = (t.flags & words.IN_UNSPACED) != 0
    total = np.diff(t.doc_start)
    there = segment_sums(in_unspaced, t.doc_start)
    characters = segment_sums(np.where(in_unspaced, own, 0), t.doc_start)
    features = np.zeros((t.documents, text_kernel.FEATURES), np.int64)
    text_kernel.features(t.data, t.byte_start, tables().flags, features)
    return WordCounts(
        table=t,
        own=own,
        unspaced=np.asarray(2 * there > total),
        count=np.asarray(total - there + (characters + 1) // 2),
        features=features,
    )


def _examine_lines(texts: Sequence[str]) -> LineCounts:
    from . import text_kernel

    t = words.lines(texts)
    n = len(t.hash)
    flags = np.empty(n, np.uint8)
    sentences, tokens, longest = (np.empty(n, np.int32) for _ in range(3))
    text_kernel.line_features(
        t.data, t.byte_start, t.doc_start, t.text_start, t.text_end, tables().flags, mark_table(),
        flags, sentences, tokens, longest,
    )  # fmt: skip
    return LineCounts(t, flags, sentences, tokens, longest)


def repeats(
    doc_start: npt.NDArray[np.int64], chars: npt.NDArray[np.int32], hashes: npt.NDArray[np.uint64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """For each document: how many items repeat an earlier one, and the characters of those."""
    from . import text_kernel

    count = np.zeros(len(doc_start) - 1, np.int64)
    amount = np.zeros(len(doc_start) - 1, np.int64)
    text_kernel.repeats(doc_start, chars, hashes, count, amount)
    return count, amount


def ngram_repeats(
    doc_start: npt.NDArray[np.int64],
    chars: npt.NDArray[np.int32],
    hashes: npt.NDArray[np.uint64],
    pairs: npt.NDArray[np.bool_],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Characters in repeated n-grams, see `text_kernel.ngram_repeats`: an array of documents by
    `TOP_SIZES`, and one by `DUP_SIZES`."""
    from . import text_kernel

    documents = len(doc_start) - 1
    top = np.zeros((documents, len(TOP_SIZES)), np.int64)
    dup = np.zeros((documents, len(DUP_SIZES)), np.int64)
    text_kernel.ngram_repeats(
        doc_start, chars, hashes, pairs.astype(np.uint8),
        np.array(TOP_SIZES, np.int64), np.array(DUP_SIZES, np.int64), top, dup,
    )  # fmt: skip
    return top, dup


def fill(batch: Sequence[Document], rows: Sequence[Mapping[str, Scalar]]) -> list[Outcome]:
    """The documents of `batch`, each with the signals of its row."""
    for document, row in zip(batch, rows, strict=True):
        document.signals.update(row)
    return list(batch)


def ratio(part: int, whole: int) -> float:
    """``part / whole`` to 6 decimals; 0 where `whole` is 0."""
    return round(part / whole, 6) if whole else 0.0
