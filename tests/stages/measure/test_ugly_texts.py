"""What the measures of rule sets promise of any text, in both dialects."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.pipeline.document import Document, Scalar
from corpusmill.pipeline.stage import Stage
from corpusmill.stages.measure import c4, fineweb, gopher, repetition
from corpusmill.stages.measure.c4_rules import LineRules
from corpusmill.stages.measure.datatrove_rules import Dialect

PIECES = (
    "the", "THE", "ab", "e\u0301", "\u0301", "ﬁ", "İ", "ß", "#", "...", "…", "{", "lorem ipsum",
    "今天天气", "。", "ไทย", "क्षि", "🇩🇪", "\u200b", "\ufeff", "\x00", "\x85", "\u2028", "\n", "\n\n",
    "\r\n", "\r", "\t", "\u3000", "\xa0", " ", " ", " ", "- ", "• ", "“", ".”", "!", "3.14", "x" * 60,
)  # fmt: skip
TEXTS = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=40).map("".join)
SHARES = {
    "gopher_bullet_lines", "gopher_ellipsis_lines", "gopher_alpha_words", "gopher_alpha_tokens",
    "rep_dup_lines", "rep_dup_paras", "rep_dup_line_chars", "rep_dup_para_chars",
    "fineweb_line_punct", "fineweb_short_lines", "fineweb_dup_line_chars",
}  # fmt: skip


@lru_cache(maxsize=1)
def stages(dialect: Dialect) -> tuple[Stage, ...]:
    made: tuple[Stage, ...] = (
        gopher.STAGE(gopher.Params("en", dialect)),
        repetition.STAGE(repetition.Params(dialect)),
        c4.STAGE(LineRules(dialect=dialect)),
        fineweb.STAGE(fineweb.Params(dialect=dialect)),
    )
    for stage in made:
        stage.setup()
    return made


def measured(dialect: Dialect, texts: list[str]) -> list[dict[str, Scalar]]:
    documents = [Document(str(n), text, "s") for n, text in enumerate(texts)]
    for stage in stages(dialect):
        stage.apply(documents)
    return [document.signals for document in documents]


@pytest.mark.parametrize("dialect", get_args(Dialect))
@settings(derandomize=True, deadline=None, max_examples=30)
@given(st.lists(TEXTS, min_size=1, max_size=3))
def test_numbers_are_finite_and_no_text_hangs_on_its_neighbours(
    dialect: Dialect, texts: list[str]
) -> None:
    together = measured(dialect, texts)
    assert [measured(dialect, [text])[0] for text in reversed(texts)] == together[::-1]
    for signals in together:
        numbers = {k: v for k, v in signals.items() if not isinstance(v, str)}
        assert len(numbers) > 25
        assert all(math.isfinite(v) and v >= 0 for v in numbers.values())
        assert all(numbers[name] <= 1 for name in SHARES & set(numbers))
