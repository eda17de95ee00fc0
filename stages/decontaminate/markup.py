"""The source of a page as its words: tags and entities are none.

Extraction leaves no markup, but texts come from elsewhere too, and pages quote source. A tag would
stand as a word or two between the words of an item. All of it is about the UTF-8 of a batch, where
everything keeps its place: a tag becomes spaces, an entity what it means and characters that no
word is told by.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from corpusmill.stages.words import WordTable, encoded

if TYPE_CHECKING:
    import numpy.typing as npt

    U8 = npt.NDArray[np.uint8]
    I64 = npt.NDArray[np.int64]

_IGNORED: Final = ("\u00ad".encode(), "\u2060".encode())
"""Characters that no word is told by, of two bytes and of three: they stand where an entity was
longer than what it means."""

_MEANT: Final = {
    b"amp": b"&", b"lt": b"<", b"gt": b">", b"quot": b'"', b"apos": b"'", b"nbsp": b" ",
    b"ndash": b"-", b"mdash": b"-", b"lsquo": b"'", b"rsquo": b"'", b"ldquo": b'"', b"rdquo": b'"',
    b"hellip": b" ", b"#39": b"'", b"#34": b'"', b"#x27": b"'", b"#x22": b'"', b"#8217": b"'",
    b"#160": b" ",
}  # fmt: skip
_ENTITY: Final = re.compile(rb"&(" + b"|".join(_MEANT) + rb");")
_BEHIND: Final = 8
_COLUMNS: Final = ("start", "end", "chars", "hash", "flags")


@dataclass(frozen=True, slots=True)
class Markup:
    """What of some UTF-8 is markup."""

    tags: I64
    """First byte of each tag, and the one behind its last: two columns, ascending."""
    entities: I64
    """The documents in which an entity may stand outside a tag."""

    def __bool__(self) -> bool:
        return bool(len(self.tags) or len(self.entities))


def markup_of(data: U8, byte_start: I64) -> Markup:
    """That of the documents ``data[byte_start[d]:byte_start[d + 1]]``."""
    from . import markup_kernel

    # A tag has three bytes at least. What is behind the last was never written: no memory.
    tags = np.empty((len(data) // 3, 2), np.int64)
    has_entity = np.zeros(len(byte_start) - 1, np.uint8)
    n = markup_kernel.tags(data, byte_start, tags, has_entity)
    return Markup(tags[:n].copy(), np.flatnonzero(has_entity))


def without_markup(data: U8, byte_start: I64, markup: Markup) -> U8:
    """The same bytes with spaces for tags, and what they mean for entities. Eight bytes more lie
    in memory behind the last, as in `corpusmill.stages.words.encoded`."""
    from . import markup_kernel

    plain = np.zeros(len(data) + _BEHIND, np.uint8)[:-_BEHIND]
    plain[:] = data
    markup_kernel.blank(markup.tags, plain)
    for document in markup.entities.tolist():
        first, last = byte_start[document], byte_start[document + 1]
        meant = _ENTITY.sub(_padded, plain[first:last].tobytes())
        plain[first:last] = np.frombuffer(meant, np.uint8)
    return plain


def _padded(m: re.Match[bytes]) -> bytes:
    """What an entity means, as long as it is: a byte, and two or more that say nothing."""
    two, three = _IGNORED
    rest = len(m[0]) - 1
    return _MEANT[m[1]] + (three * (rest % 2) + two * (rest // 2 - rest % 2))


def words_outside(table: WordTable, markup: Markup, documents: I64, plain: U8) -> WordTable:
    """Of the words of `documents` (ascending) those that are in no tag, and none of the others. No
    word holds a border of a tag. `plain`: the bytes of the table without markup."""
    from . import markup_kernel

    most = int(np.diff(table.doc_start)[documents].sum())
    columns = [getattr(table, name) for name in _COLUMNS]
    new = [np.empty(most, column.dtype) for column in columns]
    doc_start = np.empty_like(table.doc_start)
    n = markup_kernel.words_outside(
        markup.tags, documents, table.byte_start, table.doc_start, *columns, doc_start, *new
    )
    start, end, chars, hashes, flags = (column[:n] for column in new)
    return WordTable(plain, table.byte_start, doc_start, start, end, chars, hashes, flags)


def unmarked(text: str) -> str:
    """`text` with spaces for tags, and what they mean for entities: as many bytes of UTF-8."""
    data, byte_start, _ = encoded([text])
    markup = markup_of(data, byte_start)
    if not markup:
        return text
    return without_markup(data, byte_start, markup).tobytes().decode("utf-8", "surrogatepass")
