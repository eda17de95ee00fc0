"""What datatrove 0.10.1's filters measure, for the measures' ``dialect: datatrove``.

With it, `filters.gopher_repetition`, `filters.gopher_quality`, `filters.c4` with
`filters.c4_lines`, and `filters.fineweb` decide as datatrove's filters for English do, reason by
reason. Everything that the dialect ``corpusmill`` does in another way is as there:

- words are spaCy's for English (`spacy_words`): each punctuation mark is one;
- white space is not trimmed, a line is what `str.splitlines` gives for Gopher's quality and C4,
  what lies between line feeds for FineWeb and repetition;
- joined n-grams have no separator, and a most frequent n-gram counts also where it occurs once;
- stop words are compared with their case;
- lines may end in ``. ? ! " '`` only for C4, without closing marks after it for FineWeb.

Ratios are rounded to 12 decimals, so that no bound is passed or missed by the rounding.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np

from corpusmill.pipeline.document import Scalar

from .datatrove_words import datatrove_words, ngram_chars, shared_pieces
from .spacy_words import facts, pinned, word_rule
from .text_tables import DUP_SIZES, TOP_SIZES, segment_sums

if TYPE_CHECKING:
    import numpy.typing as npt

    from .c4_rules import LineRules

Dialect = Literal["corpusmill", "datatrove"]
"""Whose reading of the rules: ours with its corrections, or datatrove's as it is."""

Row = dict[str, Scalar]

_PARAGRAPHS = re.compile(r"\n{2,}")
_LINES = re.compile("\n+")
_ENDS = (".", "?", "!", '"', "'")


def gopher(texts: Sequence[str], stop_words: Iterable[str]) -> list[Row]:
    """The signals of `measure.gopher`, a row a text."""
    from .datatrove_kernel import WORD_LETTER, WORD_SYMBOLS
    from .datatrove_words import features

    words = datatrove_words(texts)
    total = np.diff(words.doc_start)
    no_symbol = (words.flags & WORD_SYMBOLS) == 0
    counted = segment_sums(no_symbol, words.doc_start).tolist()
    chars = segment_sums(np.where(no_symbol, words.chars, 0), words.doc_start).tolist()
    alpha = segment_sums((words.flags & WORD_LETTER) != 0, words.doc_start).tolist()
    stops = _distinct(words.key, words.doc_start, features(sorted(stop_words))[1])
    rows: list[Row] = []
    for i, text in enumerate(texts):
        n = int(total[i])
        lines = text.splitlines()
        bullets = sum(line.lstrip().startswith(("\u2022", "-")) for line in lines)
        dots = sum(line.rstrip().endswith(("...", "\u2026")) for line in lines)
        row: Row = {
            "gopher_rule": word_rule(),
            "gopher_words": counted[i],
            "gopher_hash_ratio": exact_ratio(text.count("#"), n),
            "gopher_ellipsis_ratio": exact_ratio(text.count("...") + text.count("\u2026"), n),
            "gopher_bullet_lines": exact_ratio(bullets, len(lines)),
            "gopher_ellipsis_lines": exact_ratio(dots, len(lines)),
            "gopher_alpha_words": exact_ratio(alpha[i], n),
            "gopher_alpha_tokens": exact_ratio(alpha[i], n),
            "gopher_stop_words": stops[i],
        }
        if counted[i]:
            row["gopher_mean_word"] = exact_ratio(chars[i], counted[i])
        rows.append(row)
    return rows


def repetition(texts: Sequence[str]) -> list[Row]:
    """The signals of `measure.repetition`, a row a text."""
    top, dup = (found.tolist() for found in ngram_chars(datatrove_words(texts)))
    rows: list[Row] = []
    for i, text in enumerate(texts):
        paragraphs = _PARAGRAPHS.split(text.strip())
        lines = _LINES.split(text)
        dup_paragraphs, dup_paragraph_chars = duplicates(paragraphs)
        dup_lines, dup_line_chars = duplicates(lines)
        size = len(text)
        row: Row = {
            "rep_rule": word_rule(),
            "rep_filled": size > 0,
            "rep_dup_lines": exact_ratio(dup_lines, len(lines)),
            "rep_dup_paras": exact_ratio(dup_paragraphs, len(paragraphs)),
            "rep_dup_line_chars": exact_ratio(dup_line_chars, size),
            "rep_dup_para_chars": exact_ratio(dup_paragraph_chars, size),
        }
        for n, part in zip(TOP_SIZES, top[i], strict=True):
            row[f"rep_top_{n}gram"] = exact_ratio(part, size)
        for n, part in zip(DUP_SIZES, dup[i], strict=True):
            row[f"rep_dup_{n}gram"] = exact_ratio(part, size)
        rows.append(row)
    return rows


def fineweb(texts: Sequence[str], short_line: int) -> list[Row]:
    """The signals of `measure.fineweb`, a row a text."""
    ends = _terminal()
    words = np.diff(datatrove_words(texts).doc_start).tolist()
    rows: list[Row] = []
    for i, text in enumerate(texts):
        lines = [line for line in text.split("\n") if not (line == "" or line.isspace())]
        n = len(lines)
        breaks = text.count("\n")
        rows.append({
            "fineweb_rule": word_rule(),
            "fineweb_lines": n,
            "fineweb_line_punct": exact_ratio(sum(line[-1] in ends for line in lines), n),
            "fineweb_short_lines": exact_ratio(sum(len(line) <= short_line for line in lines), n),
            "fineweb_dup_line_chars": exact_ratio(duplicates(lines)[1], len(text) - breaks),
            "fineweb_newlines_per_word": exact_ratio(breaks, words[i]),
        })  # fmt: skip
    return rows


@dataclass(slots=True)
class C4Page:
    """What C4's rules say of a page."""

    lines: int = 0
    no_terminal: int = 0
    few_words: int = 0
    long_word: int = 0
    javascript: int = 0
    policy: int = 0
    sentences: int = 0
    lorem_ipsum: int | None = None
    """Number of the first line, among those that the rules before let through, that holds it."""
    curly: int | None = None
    kept: tuple[str, ...] = ()

    @property
    def curly_first(self) -> bool:
        """Whether a curly bracket is met before "lorem ipsum"."""
        return self.curly is not None and (
            self.lorem_ipsum is None or self.curly < self.lorem_ipsum
        )


class _LastPages:
    """The pages of the last batch that was measured, so that editing need not look again."""

    def __init__(self) -> None:
        self.rules: LineRules | None = None
        self.pages: dict[str, C4Page] = {}


_last = _LastPages()


def c4(texts: Sequence[str], rules: LineRules, *, sentences: bool = True) -> list[C4Page]:
    """The pages of `texts` by C4's rules. A line that breaks several counts for the first."""
    if sentences:
        datatrove_words(texts)  # cuts all pieces of the batch at once
        pages = [_c4_page(text, rules, True) for text in texts]
        _last.rules, _last.pages = rules, dict(zip(texts, pages, strict=True))
        return pages
    known = _last.pages if _last.rules == rules else {}
    return [known.get(text) or _c4_page(text, rules, False) for text in texts]


def _c4_page(text: str, rules: LineRules, sentences: bool) -> C4Page:
    page = C4Page()
    kept: list[str] = []
    brackets = "[" in text
    # Taking citations out may bring words together.
    phrases = brackets or _phrase().search(text.lower()) is not None
    for number, whole in enumerate(text.splitlines()):
        line = whole.strip()
        words = line.split()
        if words:
            page.lines += 1
        if rules.max_word and len(line) > rules.max_word and (
            max(map(len, words), default=0) > rules.max_word
        ):  # fmt: skip
            page.long_word += 1
            continue
        if brackets and "[" in line:
            line = _citation().sub("", line)
        if rules.terminal and (not line.endswith(_ENDS) or line.endswith("...")):
            page.no_terminal += bool(words)
            continue
        if len(words) < rules.min_words:
            page.few_words += bool(words)
            continue
        found = _phrases(line.lower()) if phrases else ()
        if page.lorem_ipsum is None and "lorem ipsum" in found:
            page.lorem_ipsum = number
        if rules.javascript and "javascript" in found:
            page.javascript += 1
            continue
        if page.curly is None and "{" in line:
            page.curly = number
        if rules.policy and any(phrase not in _NOT_POLICY for phrase in found):
            page.policy += 1
            continue
        if sentences:
            page.sentences += shared_pieces().sentences(line)
        kept.append(line)
    page.kept = tuple(kept)
    return page


@lru_cache(maxsize=1)
def _phrase() -> re.Pattern[str]:
    return re.compile("|".join(_all_phrases()))


_NOT_POLICY = ("lorem ipsum", "javascript")


@lru_cache(maxsize=1)
def _all_phrases() -> tuple[str, ...]:
    """What C4's rules look for in a line."""
    from .c4_rules import POLICY

    return (*_NOT_POLICY, *(phrase.decode() for phrase in POLICY))


def _phrases(lower: str) -> Sequence[str]:
    """Those of `_all_phrases` that a line in small letters holds."""
    if _phrase().search(lower) is None:
        return ()
    return [phrase for phrase in _all_phrases() if phrase in lower]


def duplicates(items: Sequence[str]) -> tuple[int, int]:
    """How many of `items` equal an earlier one, and the characters of those."""
    if len(set(items)) == len(items):
        return 0, 0
    seen: set[str] = set()
    count = chars = 0
    for item in items:
        if item in seen:
            count += 1
            chars += len(item)
        else:
            seen.add(item)
    return count, chars


def exact_ratio(part: int, whole: int) -> float:
    """``part / whole`` to 12 decimals; 0 where `whole` is 0."""
    return round(part / whole, 12) if whole else 0.0


@lru_cache(maxsize=1)
def _citation() -> re.Pattern[str]:
    return re.compile(pinned(r"\[\d*]|\[edit]|\[citation needed]"))


@lru_cache(maxsize=1)
def _terminal() -> frozenset[str]:
    return frozenset(facts()["datatrove_terminal"])


def _distinct(
    keys: npt.NDArray[np.uint64], starts: npt.NDArray[np.int64], wanted: npt.NDArray[np.uint64]
) -> list[int]:
    """How many of the hashes `wanted` occur in each segment of `keys`."""
    wanted = np.unique(wanted)
    if not len(wanted):
        return [0] * (len(starts) - 1)
    at = np.minimum(np.searchsorted(wanted, keys), len(wanted) - 1)
    hits = np.flatnonzero(wanted[at] == keys)
    document = np.searchsorted(starts, hits, side="right") - 1
    pairs = np.unique(document * len(wanted) + at[hits])
    counts = np.bincount(pairs // len(wanted), minlength=len(starts) - 1)
    return [int(n) for n in counts]


__all__ = ["C4Page", "Dialect", "c4", "exact_ratio", "fineweb", "gopher", "repetition"]
