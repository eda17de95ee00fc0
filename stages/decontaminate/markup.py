"""The source of a page as its words: tags and entities are none.

Extraction leaves no markup, but texts come from elsewhere too, and pages quote source. A tag would
stand as a word or two between the words of an item, and an escape would be a part of one. All of it
is about the UTF-8 of a batch, where everything keeps its place: a tag becomes spaces, and of what
else there is, see `corpusmill.stages.decontaminate.signs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from corpusmill.stages.words import WordTable, encoded, tokenise_utf8

from .signs import edits_of, regions

if TYPE_CHECKING:
    import numpy.typing as npt

    U8 = npt.NDArray[np.uint8]
    I64 = npt.NDArray[np.int64]

_BEHIND: Final = 8
_COLUMNS: Final = ("start", "end", "chars", "hash", "flags")


@dataclass(frozen=True, slots=True)
class Plain:
    """Some UTF-8 without its markup."""

    data: U8
    """Eight bytes more lie in memory behind the last, as in `corpusmill.stages.words.encoded`."""
    documents: I64
    """Those that had any, ascending."""
    tags: I64
    """First byte of each tag, and the one behind its last: two columns, ascending."""
    regions: I64
    """The same of the places, from white space to white space, where words are others now."""


def plain_of(data: U8, byte_start: I64) -> Plain | None:
    """The documents ``data[byte_start[d]:byte_start[d + 1]]`` without markup; None if they have
    none."""
    from . import markup_kernel

    # A tag has three bytes at least, and a sign two. What is never written takes no memory.
    tags, signs = np.empty((len(data) // 3, 2), np.int64), np.empty(len(data) // 2, np.int64)
    counts = np.zeros(2, np.int64)
    if not markup_kernel.marks(data, byte_start, tags, signs, counts):
        return None
    tags, signs = tags[: counts[0]].copy(), signs[: counts[1]]
    plain = np.empty(len(data) + _BEHIND, np.uint8)
    plain[: len(data)] = data
    plain = plain[: len(data)]
    markup_kernel.blank(tags, plain)
    places: list[tuple[int, int]] = []
    document_of = np.searchsorted(byte_start, signs, side="right") - 1
    borders = np.flatnonzero(np.diff(document_of, prepend=-1, append=-1))
    documents = document_of[borders[:-1]]
    ends = zip(byte_start[documents].tolist(), byte_start[documents + 1].tolist(), strict=True)
    for (low, high), (first, last) in zip(pairwise(borders.tolist()), ends, strict=True):
        text = plain[first:last].tobytes()
        edits = edits_of(text, (signs[low:high] - first).tolist())
        places += [(first + start, first + end) for start, end in regions(text, edits)]
        for at, other in edits:
            plain[first + at : first + at + len(other)] = np.frombuffer(other, np.uint8)
    bounds = np.array(places, np.int64).reshape(-1, 2)
    begin = np.concatenate([tags[:, 0], bounds[:, 0]])
    documents = np.unique(np.searchsorted(byte_start, begin, side="right") - 1)
    return Plain(plain, documents, tags, bounds)


def plain_words(table: WordTable, plain: Plain) -> WordTable:
    """Of the documents of `table` that had markup the words that they have without it; of the
    others none. No word holds a border of a tag or region."""
    from . import markup_kernel

    bounds = plain.regions
    own_start = np.concatenate([np.zeros(1, np.int64), np.cumsum(bounds[:, 1] - bounds[:, 0])])
    pieces = [plain.data[low:high] for low, high in bounds.tolist()]
    own = tokenise_utf8(
        np.concatenate([*pieces, np.zeros(_BEHIND, np.uint8)])[:-_BEHIND], own_start
    )
    own_at = np.repeat(bounds[:, 0], np.diff(own.doc_start)) + own.start
    most = int(np.diff(table.doc_start)[plain.documents].sum()) + len(own)
    columns = [getattr(table, name) for name in _COLUMNS]
    new = [np.empty(most, column.dtype) for column in columns]
    doc_start = np.empty_like(table.doc_start)
    n = markup_kernel.spliced(
        plain.tags, bounds, plain.documents, table.byte_start, table.doc_start, *columns,
        own_at, *(getattr(own, name) for name in _COLUMNS), doc_start, *new,
    )  # fmt: skip
    start, end, chars, hashes, flags = (column[:n] for column in new)
    return WordTable(plain.data, table.byte_start, doc_start, start, end, chars, hashes, flags)


def tokenise_plain(texts: Sequence[str]) -> WordTable:
    """The words of `texts` without markup; where they stand in the texts as they are."""
    data, byte_start, _ = encoded(texts)
    plain = plain_of(data, byte_start)
    return tokenise_utf8(data if plain is None else plain.data, byte_start)
