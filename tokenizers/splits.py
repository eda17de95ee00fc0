r"""Split patterns by name, and the counts of the pieces that they cut a text into.

The patterns, in the syntax that Oniguruma, PCRE and fancy-regex share, are those of GPT-2
(``gpt2``), GPT-4 (``gpt4``: digits in groups of three, left to right; Llama 3 has the same,
``llama3``), GPT-4o (``o200k``: words are cut where small letters meet capitals), and GPT-4's with
digits in groups of two (``digits2``, as nanochat) or each digit alone (``digits1``, as Qwen 2 and
2.5: ``qwen2``). Contractions are spelled out in both cases in place of a case-insensitive group,
so that U+017F ``ſ`` is no ``s`` to any engine.

Letters, numbers and marks are those of Hugging Face `tokenizers`, which does the encoding:
Unicode 16.0, which is `corpusmill.stages.unicode_data` and what came after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt

from .kernel_sizes import COLUMNS
from .unicode_16 import ADDED

Split = Literal["gpt2", "gpt4", "llama3", "o200k", "qwen2", "digits1", "digits2"]

GPT2, GPT4, O200K = range(3)
"""Styles of splitting."""

LETTER, NUMBER, SPACE, BREAK, UPPER, LOWER = (1 << bit for bit in range(6))
r"""Classes of characters: ``\p{L}``, ``\p{N}``, ``\s``, CR and LF, and o200k's two kinds."""

_CONTRACTION = r"'(?:[sdmtSDMT]|[lL][lL]|[vV][eE]|[rR][eE])"
_GPT4 = (
    _CONTRACTION + r"|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{digits}"
    r"| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_HIGH, _LOW = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_O200K = "|".join(
    (
        rf"[^\r\n\p{{L}}\p{{N}}]?{_HIGH}*{_LOW}+(?:{_CONTRACTION})?",
        rf"[^\r\n\p{{L}}\p{{N}}]?{_HIGH}+{_LOW}*(?:{_CONTRACTION})?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)
PATTERNS: Mapping[str, str] = {
    "gpt2": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "gpt4": _GPT4.format(digits="{1,3}"),
    "llama3": _GPT4.format(digits="{1,3}"),
    "o200k": _O200K,
    "qwen2": _GPT4.format(digits=""),
    "digits1": _GPT4.format(digits=""),
    "digits2": _GPT4.format(digits="{1,2}"),
}

_WALKS = {
    "gpt2": (0, 1 << 40), "gpt4": (1, 3), "llama3": (1, 3), "o200k": (2, 3), "qwen2": (1, 1),
    "digits1": (1, 1), "digits2": (1, 2),
}  # fmt: skip
"""Style and number of digits of each pattern."""

Walk = tuple[
    npt.NDArray[np.uint8], npt.NDArray[np.uint16], npt.NDArray[np.uint8], npt.NDArray[np.uint8],
    int, int,
]  # fmt: skip

_BATCH_BYTES = 8 << 20
_SPACES = (
    *range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F,
    0x205F, 0x3000,
)  # fmt: skip
"""Unicode's White_Space."""


@lru_cache(maxsize=1)
def class_table() -> npt.NDArray[np.uint8]:
    """The classes of every code point."""
    from corpusmill.stages.unicode_data import CATEGORIES, tables

    table = np.array([_class_of(name) for name in CATEGORIES], dtype=np.uint8)[tables().category]
    for name, ranges in ADDED.items():
        for first, last in ranges:
            table[first : last + 1] = _class_of(name)
    table[list(_SPACES)] |= SPACE
    table[[0x0A, 0x0D]] |= BREAK
    return table


def _class_of(category: str) -> int:
    """The classes of a general category."""
    kind = {"L": LETTER, "N": NUMBER}.get(category[0], 0)
    if category in ("Lu", "Lt", "Lm", "Lo") or category[0] == "M":
        kind |= UPPER
    if category in ("Ll", "Lm", "Lo") or category[0] == "M":
        kind |= LOWER
    return kind


@dataclass(frozen=True)
class Counts:
    """Distinct pieces: bytes of piece w are ``arena[begins[w]:begins[w + 1]]``."""

    arena: npt.NDArray[np.uint8]
    begins: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.counts)

    def items(self) -> Iterator[tuple[bytes, int]]:
        """Pieces with their counts."""
        raw = self.arena.tobytes()
        borders = self.begins.tolist()
        for w, count in enumerate(self.counts.tolist()):
            yield raw[borders[w] : borders[w + 1]], count


def walk_of(split: str) -> Walk:
    """What the kernels take for a split: classes of characters, the tables of `steps`, style and
    number of digits."""
    from .steps import steps_of

    style, digits = _WALKS[split]
    tables = steps_of(style, digits)
    return class_table(), tables.steps, tables.of_byte, tables.of_class, style, digits


def count_pieces(texts: Iterable[str], split: str) -> Counts:
    """How often each piece occurs in `texts`, in the order in which they are first seen."""
    from .count_kernel import count_pieces as count
    from .piece_kernel import refill

    walk = walk_of(split)
    table = np.zeros(COLUMNS << 18, dtype=np.uint64)
    arena = np.zeros(1 << 20, dtype=np.uint8)
    pieces = used = 0
    for data, borders in _batches(texts):
        if len(arena) - used < len(data):  # a batch's new pieces are no longer than the batch
            arena = np.concatenate([arena[:used], np.zeros(used + len(data), np.uint8)])
        state = np.array([0, 0, pieces, used], dtype=np.int64)
        while True:
            count(data, borders, *walk, state, table, arena)
            pieces, used = int(state[2]), int(state[3])
            if state[0] == len(borders) - 1:
                break
            larger = np.zeros(2 * len(table), dtype=np.uint64)
            refill(larger, table)
            table = larger
    rows = table.reshape(-1, COLUMNS)
    rows = rows[rows[:, 1] != 0, 2:].astype(np.int64)
    rows = rows[np.argsort(rows[:, 0])]
    begins = np.append(rows[:, 0], used)
    return Counts(arena[:used].copy(), begins, np.ascontiguousarray(rows[:, 1]))


def pieces(text: str, split: str) -> list[str]:
    """The pieces of one text, as the pattern cuts it."""
    from .piece_kernel import cut

    raw = text.encode("utf-8")
    ends = np.zeros(len(raw) + 3, dtype=np.int64)
    data = np.frombuffer(raw, dtype=np.uint8)
    found = cut(data, 0, len(raw), *walk_of(split), ends, 0, len(ends))
    return [raw[a:b].decode("utf-8") for a, b in pairwise([0, *ends[:found].tolist()])]


def _batches(
    texts: Iterable[str],
) -> Iterator[tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]]:
    """Texts as `joined` gives them, some at a time."""
    batch: list[bytes] = []
    size = 0
    for text in texts:
        raw = text.encode("utf-8")
        batch.append(raw)
        size += len(raw)
        if size >= _BATCH_BYTES:
            yield joined(batch)
            batch, size = [], 0
    if batch:
        yield joined(batch)


def joined(raw: Sequence[bytes]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Texts one after the other, and the borders between them, from 0 on."""
    borders = np.zeros(len(raw) + 1, dtype=np.int64)
    np.cumsum([len(r) for r in raw], out=borders[1:])
    return np.frombuffer(b"".join(raw), dtype=np.uint8), borders
