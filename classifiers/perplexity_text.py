"""The pieces that a perplexity model sees, the same in training and in use.

As CCNet has it (Wenzek et al. 2020, 3.4 and its code): lower case, no accents, every digit a 0,
one form of quotes and dashes, then sentencepiece, line by line. What is left are words and their
order; where a text comes from shows less.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from corpusmill.stages.unicode_data import fold

if TYPE_CHECKING:
    import numpy.typing as npt

MAX_CHARS = 20_000
"""Characters of a document that are read: a mean over thousands of pieces hardly moves any more."""

_TABLE: dict[int, str] = {
    **dict.fromkeys(map(ord, "123456789"), "0"),
    **dict.fromkeys(map(ord, "‘’‚‛′´`"), "'"),
    **dict.fromkeys(map(ord, "“”„‟″«»"), '"'),
    **dict.fromkeys(map(ord, "‐‑‒–—―−"), "-"),
    # Spaces, and what sentencepiece keeps for itself.
    **dict.fromkeys(map(ord, "\x00\t\x0b\x0c\r\xa0\u2028\u2029\u3000\ufeff\u2581\u2585"), " "),
}
_BLANKS = re.compile(" +")


def plain_lines(text: str, max_chars: int = MAX_CHARS) -> list[str]:
    """The lines of `text` that hold anything, normalised."""
    folded = fold(text[:max_chars].translate(_TABLE), marks=False).translate(_TABLE)
    lines = (_BLANKS.sub(" ", line).strip(" ") for line in folded.split("\n"))
    return [line for line in lines if line]


@dataclass(frozen=True, slots=True)
class Cutter:
    """Cuts lines into pieces: `start`, pieces of a sentencepiece model, `end` for each line."""

    processor: Any
    end: int

    @property
    def vocabulary(self) -> int:
        """How many pieces there are, with the start of a line as the last."""
        return int(self.processor.get_piece_size()) + 1

    def cut(self, lines: Sequence[str]) -> list[npt.NDArray[np.int32]]:
        """The pieces of each line."""
        start = self.vocabulary - 1
        clean = [line.encode("utf-8", "replace").decode() for line in lines]  # lone surrogates
        return [np.array([start, *ids, self.end], np.int32) for ids in self.processor.encode(clean)]


def cutter(model: bytes, end: int = 0) -> Cutter:
    """The cutter with the sentencepiece model of these bytes; piece `end` ends a line."""
    import sentencepiece

    return Cutter(sentencepiece.SentencePieceProcessor(model_proto=model), end)
