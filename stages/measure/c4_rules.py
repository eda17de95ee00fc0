"""The line rules of C4, shared by `measure.c4`, which counts, and `filters.c4_lines`, which edits.

After Raffel et al. 2020 (Exploring the Limits of Transfer Learning with a Unified Text-to-Text
Transformer), section 2.2, and the published implementation for the long-word and policy rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from corpusmill.pipeline.errors import ConfigError

from .datatrove_rules import Dialect
from .text_tables import LineCounts, line_counts, word_counts

if TYPE_CHECKING:
    import numpy.typing as npt

POLICY = (
    b"terms of use",
    b"privacy policy",
    b"cookie policy",
    b"uses cookies",
    b"use of cookies",
    b"use cookies",
)
"""What marks a line of legal notices (C4's implementation)."""


@dataclass(frozen=True, slots=True)
class LineRules:
    """Which lines C4 leaves out; the defaults are the paper's."""

    terminal: bool = True
    """Lines that do not end in a sentence mark or quotation mark, or that end in an ellipsis.
    FineWeb found that this one costs more than it gains (Penedo et al. 2024, section 3.5)."""
    min_words: int = 3
    """Lines of fewer white-space separated words; in scripts without spaces two characters are
    one. 0 switches the rule off."""
    max_word: int = 1000
    """Lines with a longer word, in characters; not applied in scripts without spaces. 0: off."""
    javascript: bool = True
    """Lines that contain "javascript"."""
    policy: bool = True
    """Lines that contain one of `POLICY`."""
    dialect: Dialect = "corpusmill"
    """With ``datatrove`` the rules are its own for English, also for counting sentences; citations
    are removed before a line's end is looked at."""

    def __post_init__(self) -> None:
        if self.min_words < 0 or self.max_word < 0:
            raise ConfigError(
                f"C4 line rules: min_words is {self.min_words}, max_word {self.max_word}",
                hint="0 switches a rule off",
            )


@dataclass(frozen=True, slots=True)
class Findings:
    """What the rules say of each line of a batch (arrays of bool, one entry a line)."""

    lines: LineCounts
    no_terminal: npt.NDArray[np.bool_]
    few_words: npt.NDArray[np.bool_]
    long_word: npt.NDArray[np.bool_]
    javascript: npt.NDArray[np.bool_]
    policy: npt.NDArray[np.bool_]
    kept: npt.NDArray[np.bool_]
    """Lines that are not blank and that no rule in force leaves out."""
    lorem_ipsum: npt.NDArray[np.bool_]
    curly: npt.NDArray[np.bool_]


def examine(texts: Sequence[str], rules: LineRules) -> Findings:
    """Applies the rules to every line. A rule that is off finds nothing."""
    from .text_kernel import LETTERS, LINE_DOTS, LINE_QUOTE, LINE_TERMINAL, THAI_LAO

    lines = line_counts(texts)
    counts = word_counts(texts)
    table = lines.table
    filled = lines.filled
    per_document = np.diff(table.doc_start)
    unspaced = np.repeat(counts.unspaced, per_document)
    # Thai and Lao have no sentence marks to end a line with.
    no_marks = np.repeat(
        2 * counts.features[:, THAI_LAO] > counts.features[:, LETTERS], per_document
    )
    ended = (lines.flags & (LINE_TERMINAL | LINE_QUOTE)) != 0
    bare_dots = (lines.flags & (LINE_DOTS | LINE_QUOTE)) == LINE_DOTS
    nothing = np.zeros(len(filled), np.bool_)
    words = np.where(unspaced, (table.chars + 1) // 2, lines.tokens)
    no_terminal = filled & ~no_marks & (~ended | bare_dots) if rules.terminal else nothing
    few_words = filled & (words < rules.min_words)
    long_word = filled & ~unspaced & (lines.longest > rules.max_word) if rules.max_word else nothing
    search = _Search(lines)
    javascript = search.lines_with((b"javascript",)) if rules.javascript else nothing
    policy = search.lines_with(POLICY) if rules.policy else nothing
    return Findings(
        lines=lines,
        no_terminal=np.asarray(no_terminal),
        few_words=np.asarray(few_words),
        long_word=np.asarray(long_word),
        javascript=javascript,
        policy=policy,
        kept=np.asarray(filled & ~(no_terminal | few_words | long_word | javascript | policy)),
        lorem_ipsum=search.lines_with((b"lorem ipsum",)),
        curly=search.lines_with((b"{",)),
    )


class _Search:
    """Finds lines of a batch by what they contain, without regard to ASCII case."""

    def __init__(self, lines: LineCounts) -> None:
        table = lines.table
        base = np.repeat(table.byte_start[:-1], np.diff(table.doc_start))
        self.starts = base + table.start
        self.ends = base + table.end
        self.raw = table.data.tobytes().lower()

    def lines_with(self, needles: Sequence[bytes]) -> npt.NDArray[np.bool_]:
        found = np.zeros(len(self.starts), np.bool_)
        for needle in needles:
            at = self.raw.find(needle)
            while at >= 0:
                line = int(np.searchsorted(self.starts, at, side="right")) - 1
                end = int(self.ends[line])
                if at + len(needle) <= end:
                    found[line] = True
                    at = self.raw.find(needle, end)  # one hit a line is enough
                else:
                    at = self.raw.find(needle, at + 1)  # across two lines or documents
        return found
