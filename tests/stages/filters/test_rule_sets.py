"""The filters of published rule sets: one set of signals for each reason, and one that is kept."""

from __future__ import annotations

from typing import Any

import pytest

from corpusmill.pipeline.document import Document, Drop, Outcome, Scalar
from corpusmill.pipeline.errors import ConfigError, StageError
from corpusmill.pipeline.stage import Stage
from corpusmill.stages.filters import (
    c4,
    fineweb,
    gopher_quality,
    gopher_repetition,
    language,
    threshold,
)


def outcome(stage: Stage, **signals: Scalar) -> Outcome:
    (result,) = stage.apply([Document("0" * 32, "text", "s", {}, dict(signals))])
    return result


def check(stage: Stage, kept: dict[str, Any], bad: dict[str, tuple[str, Scalar, Scalar]]) -> None:
    """`bad` maps a reason to a signal, the last value kept and the first one dropped."""
    assert isinstance(outcome(stage, **kept), Document)
    for reason, (signal, last, first) in bad.items():
        assert isinstance(outcome(stage, **{**kept, signal: last}), Document)
        assert outcome(stage, **{**kept, signal: first}) == Drop(reason, first)
    assert set(bad) == set(stage.reasons)
    assert {signal for signal, _, _ in bad.values()} == set(stage.reads)


GOPHER = {
    "gopher_words": 300,
    "gopher_mean_word": 5.0,
    "gopher_hash_ratio": 0.0,
    "gopher_ellipsis_ratio": 0.0,
    "gopher_bullet_lines": 0.0,
    "gopher_ellipsis_lines": 0.0,
    "gopher_alpha_words": 1.0,
    "gopher_alpha_tokens": 1.0,
    "gopher_stop_words": 5,
}


def test_gopher_quality() -> None:
    check(
        gopher_quality.STAGE(gopher_quality.Params()),
        GOPHER,
        {
            "gopher_few_words": ("gopher_words", 50, 49),
            "gopher_many_words": ("gopher_words", 100_000, 100_001),
            "gopher_short_words": ("gopher_mean_word", 3.0, 2.999999),
            "gopher_long_words": ("gopher_mean_word", 10.0, 10.000001),
            "gopher_hashes": ("gopher_hash_ratio", 0.1, 0.100001),
            "gopher_ellipses": ("gopher_ellipsis_ratio", 0.1, 0.100001),
            "gopher_bullets": ("gopher_bullet_lines", 0.9, 0.900001),
            "gopher_ellipsis_ends": ("gopher_ellipsis_lines", 0.3, 0.300001),
            "gopher_no_letters": ("gopher_alpha_words", 0.8, 0.799999),
            "gopher_stop_words": ("gopher_stop_words", 2, 1),
        },
    )


def test_gopher_rules_that_do_not_apply_are_passed_over() -> None:
    stage = gopher_quality.STAGE(gopher_quality.Params())
    without = {k: v for k, v in GOPHER.items() if k not in ("gopher_mean_word",)}
    del without["gopher_stop_words"]
    assert isinstance(outcome(stage, **without), Document)
    off = gopher_quality.STAGE(gopher_quality.Params(min_words=None))
    assert isinstance(outcome(off, **{**GOPHER, "gopher_words": 1}), Document)


def test_near_datatrove_takes_letters_among_words_and_marks() -> None:
    stage = gopher_quality.STAGE(gopher_quality.Params(dialect="near_datatrove"))
    assert isinstance(outcome(stage, **{**GOPHER, "gopher_alpha_words": 0.0}), Document)
    for value, kept in ((0.8, True), (0.799999, False)):
        found = outcome(stage, **{**GOPHER, "gopher_alpha_tokens": value})
        assert isinstance(found, Document) if kept else found == Drop("gopher_no_letters", value)
    chinese = {k: v for k, v in GOPHER.items() if k != "gopher_alpha_tokens"}
    assert isinstance(outcome(stage, **chinese), Document)


def test_a_measure_that_never_ran_is_an_error() -> None:
    stage = gopher_quality.STAGE(gopher_quality.Params())
    with pytest.raises(StageError, match="no signal 'gopher_words'"):
        outcome(stage, gopher_mean_word=5.0)


def test_gopher_repetition() -> None:
    bounds = {
        "dup_paras": 0.3, "dup_para_chars": 0.2, "dup_lines": 0.3, "dup_line_chars": 0.2,
        "top_2gram": 0.2, "top_3gram": 0.18, "top_4gram": 0.16, "dup_5gram": 0.15,
        "dup_6gram": 0.14, "dup_7gram": 0.13, "dup_8gram": 0.12, "dup_9gram": 0.11,
        "dup_10gram": 0.1,
    }  # fmt: skip
    check(
        gopher_repetition.STAGE(gopher_repetition.Params()),
        {"rep_filled": True, **{f"rep_{name}": 0.0 for name in bounds}},
        {
            "rep_empty": ("rep_filled", True, False),
            **{f"rep_{name}": (f"rep_{name}", b, round(b + 1e-6, 6)) for name, b in bounds.items()},
        },
    )


def test_c4() -> None:
    check(
        c4.STAGE(c4.Params()),
        {"c4_lorem_ipsum": False, "c4_curly_bracket": False, "c4_sentences": 9},
        {
            "c4_lorem_ipsum": ("c4_lorem_ipsum", False, True),
            "c4_curly_bracket": ("c4_curly_bracket", False, True),
            "c4_few_sentences": ("c4_sentences", 5, 4),
        },
    )
    both = {"c4_lorem_ipsum": True, "c4_curly_bracket": True, "c4_sentences": 9}
    first = outcome(c4.STAGE(c4.Params()), **both, c4_curly_first=True)
    assert first == Drop("c4_curly_bracket", True)
    relaxed = c4.STAGE(c4.Params(curly_bracket=False, min_sentences=None))
    signals: dict[str, Any] = {"c4_lorem_ipsum": False, "c4_curly_bracket": True, "c4_sentences": 0}
    assert isinstance(outcome(relaxed, **signals), Document)


def test_fineweb() -> None:
    check(
        fineweb.STAGE(fineweb.Params()),
        {
            "fineweb_lines": 9,
            "fineweb_line_punct": 1.0,
            "fineweb_short_lines": 0.0,
            "fineweb_dup_line_chars": 0.0,
            "fineweb_newlines_per_word": 0.0,
        },
        {
            "fineweb_empty": ("fineweb_lines", 1, 0),
            "fineweb_line_punct": ("fineweb_line_punct", 0.12, 0.119999),
            "fineweb_short_lines": ("fineweb_short_lines", 0.67, 0.670001),
            "fineweb_dup_lines": ("fineweb_dup_line_chars", 0.01, 0.010001),
            "fineweb_list": ("fineweb_newlines_per_word", 0.3, 0.300001),
        },
    )


def test_language() -> None:
    stage = language.STAGE(language.Params(keep=("en", "zh-Hant"), min_score=0.6))
    assert isinstance(outcome(stage, lang="en", lang_score=0.6), Document)
    assert isinstance(outcome(stage, lang="zh-Hant", lang_score=0.9), Document)
    assert outcome(stage, lang="zh", lang_score=0.9) == Drop("language", "zh")
    assert outcome(stage, lang="en", lang_score=0.59) == Drop("language_score", 0.59)
    any_language = language.STAGE(language.Params())
    assert isinstance(outcome(any_language, lang="xh", lang_score=0.1), Document)
    assert outcome(any_language, lang="und", lang_score=0.0) == Drop("language", "und")
    und = language.STAGE(language.Params(keep=("und",)))
    assert isinstance(outcome(und, lang="und", lang_score=0.0), Document)
    with pytest.raises(StageError, match="no signal 'lang'"):
        outcome(any_language)


@pytest.mark.parametrize(
    ("code", "likely"),
    [
        ("eng", "en"), ("no", "nb"), ("zh-TW", "zh-Hant"), ("zh-Hans", "zh"), ("Deutsch", "de"),
        ("englisch", "en"), ("ger", "de"), ("cmn", "zh"),
    ],
)  # fmt: skip
def test_unknown_language_is_loud(code: str, likely: str) -> None:
    with pytest.raises(ConfigError, match=rf"'{code}'") as caught:
        language.Params(keep=(code,))
    assert caught.value.hint == f"did you mean {likely!r}?"


def test_a_code_that_only_a_users_model_gives_is_kept() -> None:
    stage = language.STAGE(language.Params(keep=("ady",)))
    assert isinstance(outcome(stage, lang="ady", lang_score=0.9), Document)


def test_score_out_of_range_is_loud() -> None:
    with pytest.raises(ConfigError, match=r"min_score is 65\.0"):
        language.Params(min_score=65.0)


def test_threshold() -> None:
    stage = threshold.STAGE(threshold.Params("quality", min=0.25, max=0.75))
    assert stage.reads == ("quality",)
    assert stage.reasons == ("quality_below", "quality_above")
    assert isinstance(outcome(stage, quality=0.25), Document)
    assert isinstance(outcome(stage, quality=0.75), Document)
    assert outcome(stage, quality=0.249999) == Drop("quality_below", 0.249999)
    assert outcome(stage, quality=1) == Drop("quality_above", 1)
    assert outcome(stage, quality=float("nan")).__class__ is Drop
    with pytest.raises(StageError, match="no signal 'quality'"):
        outcome(stage, other=1)
    with pytest.raises(StageError, match="the string 'high'"):
        outcome(stage, quality="high")
    lenient = threshold.STAGE(threshold.Params("quality", min=0.25, allow_missing=True))
    assert isinstance(outcome(lenient, other=1), Document)
    assert outcome(threshold.STAGE(threshold.Params("flag", max=0)), flag=True) == Drop(
        "flag_above", True
    )


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"signal": "quality"}, "neither min nor max"),
        ({"signal": "quality", "min": 2, "max": 1}, "min 2 is over max 1"),
        ({"signal": "Quality Score", "min": 2}, "no name of a signal"),
    ],
)
def test_bad_thresholds_are_loud(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        threshold.Params(**params)
