"""Gopher's quality rules, on the signals of `measure.gopher`.

Defaults: Rae et al. 2021, appendix A1.1: 50 to 100,000 words; mean word length 3 to 10; symbol to
word ratio at most 0.1 for the hash sign and for the ellipsis; at most 90 % of lines with a bullet,
30 % with an ellipsis at the end; at least 80 % of words with a letter; at least 2 stop words. The
rules decide in this order, and the first broken one is the reason. The rules on mean word length
and on words and marks are for texts of spaced words only, the stop-word rule for languages that
have a list (see `measure.gopher`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .rules import Bound, Scope, rule_set

QualityDialect = Literal["corpusmill", "near_datatrove"]


@dataclass(frozen=True, slots=True)
class Params(Scope):
    """Bounds; None switches a rule off."""

    min_words: int | None = 50
    max_words: int | None = 100_000
    min_mean_word: float | None = 3.0
    max_mean_word: float | None = 10.0
    max_hash_ratio: float | None = 0.1
    max_ellipsis_ratio: float | None = 0.1
    max_bullet_lines: float | None = 0.9
    max_ellipsis_lines: float | None = 0.3
    min_alpha_words: float | None = 0.8
    min_stop_words: int | None = 2
    dialect: QualityDialect = "corpusmill"
    """``near_datatrove``: `min_alpha_words` is of words and marks, as it is there. With our own
    words, which are much quicker, that gives nearly datatrove's decisions (`docs/quality.md`)."""


def _bounds(p: Params) -> tuple[Bound, ...]:
    return (
        Bound("gopher_few_words", "gopher_words", low=p.min_words),
        Bound("gopher_many_words", "gopher_words", high=p.max_words),
        Bound("gopher_short_words", "gopher_mean_word", low=p.min_mean_word, optional=True),
        Bound("gopher_long_words", "gopher_mean_word", high=p.max_mean_word, optional=True),
        Bound("gopher_hashes", "gopher_hash_ratio", high=p.max_hash_ratio),
        Bound("gopher_ellipses", "gopher_ellipsis_ratio", high=p.max_ellipsis_ratio),
        Bound("gopher_bullets", "gopher_bullet_lines", high=p.max_bullet_lines),
        Bound("gopher_ellipsis_ends", "gopher_ellipsis_lines", high=p.max_ellipsis_lines),
        _alpha(p),
        Bound("gopher_stop_words", "gopher_stop_words", low=p.min_stop_words, optional=True),
    )


def _alpha(p: Params) -> Bound:
    if p.dialect == "corpusmill":
        return Bound("gopher_no_letters", "gopher_alpha_words", low=p.min_alpha_words)
    return Bound("gopher_no_letters", "gopher_alpha_tokens", low=p.min_alpha_words, optional=True)


STAGE = rule_set("filters.gopher_quality", 1, Params, _bounds)
