"""Which windows repeat, and what of a text goes with them: the parts of
`corpusmill.stages.dedup.substrings` that know no tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from corpusmill.stages.unicode_data import SPACE, WORD, tables
from corpusmill.stages.words import WordTable, encoded, tokenise

if TYPE_CHECKING:
    import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Units:
    """The units (words or bytes) of a batch of texts."""

    values: npt.NDArray[np.uint64]
    """A number for each unit: the hash of a word, or a number drawn for each byte."""
    start: npt.NDArray[np.int64]
    """The units of text n are ``start[n]:start[n + 1]``."""
    words: WordTable | None
    """Where the words lie; None where the units are bytes."""
    data: npt.NDArray[np.uint8]
    byte_start: npt.NDArray[np.int64]

    def bytes_of(self, n: int, starts: Any, ends: Any) -> tuple[Any, Any]:
        """Runs of units of text `n` as runs of its bytes."""
        if self.words is None:
            return starts, ends
        base = int(self.start[n])
        return self.words.start[base + starts], self.words.end[base + ends - 1]


def byte_values() -> npt.NDArray[np.uint64]:
    """A number for each byte: consecutive terms of a generator of full period, so all differ."""
    steps = np.arange(1, 257, dtype=np.uint64)
    with np.errstate(over="ignore"):
        mixed = steps * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        return (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)


def units_of(texts: Sequence[str], unit: Literal["words", "bytes"]) -> Units:
    """The words or bytes of `texts`."""
    if unit == "words":
        table = tokenise(texts)
        return Units(table.hash, table.doc_start, table, table.data, table.byte_start)
    data, byte_start, _ = encoded(texts)
    return Units(byte_values()[data], byte_start, None, data, byte_start)


def repeated(
    group: npt.NDArray[np.int64],
    doc: npt.NDArray[np.int64],
    place: npt.NDArray[np.int64],
    size: int,
    keep_first: bool,
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
    """Which windows go, and for each window another row of its group, of another document where
    there is one.

    Rows are windows of `size` units in order of (`group`, `doc`, `place`); those of a group are
    equal. With `keep_first` those go that equal the first of their group and have no unit in
    common with it; else all that have another without a common unit in their group.
    """
    new = np.ones(len(group), np.bool_)
    new[1:] = group[1:] != group[:-1]
    number = np.cumsum(new) - 1
    first = np.flatnonzero(new)
    last = np.append(first[1:], len(group)) - 1
    first, last = first[number], last[number]
    apart = (doc != doc[first]) | (place - place[first] >= size)
    if keep_first:
        return apart, first
    after = (doc != doc[last]) | (place[last] - place >= size)
    return apart | after, np.where(doc != doc[first], first, last)


def classes(units: npt.NDArray[np.uint64], size: int) -> npt.NDArray[np.int64]:
    """For each place a number that equal windows of `size` units share, and no others.

    Nothing is hashed: this is the sorting of suffixes by prefix doubling (Karp, Miller and
    Rosenberg 1972; Manber and Myers 1990), which stops when `size` units are sorted. The numbers of
    the last ``size - 1`` places mean nothing. Memory: about 40 bytes a unit.
    """
    total = len(units)
    names = np.unique(units, return_inverse=True)[1].astype(np.int64).reshape(-1)
    done = 1
    while done < size:
        step = min(done, size - done)
        second = np.minimum(np.arange(total) + step, max(total - 1, 0))
        pairs = names << np.int64(32) | names[second]
        names = np.unique(pairs, return_inverse=True)[1].astype(np.int64).reshape(-1)
        done += step
    return names


def runs(places: npt.NDArray[np.int64], size: int) -> tuple[Any, Any]:
    """Sorted `places` of windows as runs of units: their starts and their ends."""
    if not len(places):
        return places, places
    breaks = np.flatnonzero(places[1:] > places[:-1] + size)
    starts = places[np.concatenate(([0], breaks + 1))]
    return starts, places[np.append(breaks, len(places) - 1)] + size


def spans_of(text: str, units: Units, n: int, places: Any, size: int) -> list[int]:
    """Starts and ends in turn, in code points of `text`, which is text `n` of `units`, of what
    goes with the windows at `places`.

    Bytes: whole characters only. Words: with the punctuation at them, and with the white space on
    one side, that with fewer line feeds, so that paragraphs stay apart.
    """
    begin, end = units.bytes_of(n, *runs(places, size))
    data = units.data[units.byte_start[n] : units.byte_start[n + 1]]
    heads = (data & 0xC0) != 0x80
    before = np.zeros(len(data) + 1, np.int64)  # characters that begin before each byte
    np.cumsum(heads, out=before[1:])
    found: list[int] = []
    # A character whose first byte stays, stays; and so does one whose last byte stays.
    whole = np.append(heads, True)[end]
    stops = np.where(whole, before[end], before[end] - 1)
    for a, b in zip(before[begin].tolist(), stops.tolist(), strict=True):
        if units.words is not None:
            a, b = _with_ends(text, a, b)
        if found and a <= found[-1]:
            found[-1] = max(found[-1], b)
        elif a < b:
            found += [a, b]
    return found


def _with_ends(text: str, a: int, b: int) -> tuple[int, int]:
    """The words ``text[a:b]`` with the punctuation at them and one of the spaces about them."""
    flags = tables().flags
    while b < len(text) and not flags[ord(text[b])] & (SPACE | WORD):
        b += 1
    at = a
    while at and not flags[ord(text[at - 1])] & (SPACE | WORD):
        at -= 1
    if at == 0 or flags[ord(text[at - 1])] & SPACE:
        a = at
    left, right = a, b
    while left and flags[ord(text[left - 1])] & SPACE:
        left -= 1
    while right < len(text) and flags[ord(text[right])] & SPACE:
        right += 1
    if left == 0:
        return 0, right
    if right < len(text) and (left == a or right == b):  # what would be left would be one word
        return a, b
    if right == len(text) or text.count("\n", left, a) < text.count("\n", b, right):
        return left, b
    return a, right


def begins(*columns: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Where in sorted rows another row begins than the one before."""
    new = np.ones(len(columns[0]), np.bool_)
    if len(new):
        new[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    return new


def by_document(ids: npt.NDArray[Any]) -> tuple[Any, Any, Any]:
    """The distinct ones of sorted ids, and where the rows of each begin and end."""
    wanted, first = np.unique(ids, return_index=True)
    return wanted, first, np.append(first[1:], len(ids))
