"""`measure.gopher`: every signal worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corpusmill.pipeline.errors import AssetError, ConfigError
from corpusmill.pipeline.stage import Asset
from corpusmill.stages.measure.gopher import MeasureGopher, Params
from corpusmill.stages.measure.language_codes import LANGUAGES
from corpusmill.stages.measure.stop_words import LANGUAGES as WITH_LIST
from corpusmill.stages.measure.stop_words import LISTS
from corpusmill.stages.words import word_hashes


def test_by_hand(measure: Any) -> None:
    text = "The cat, and the #dog...\r\n\r\n- of 12 --\r\nso on…\r\n"
    (signals,) = measure(MeasureGopher(Params(language="en")), [text])
    assert signals == {
        "gopher_rule": "spaced",
        "gopher_words": 9,  # the cat and the dog of 12 so on
        "gopher_mean_word": 2.555556,  # 23 characters
        "gopher_hash_ratio": 0.111111,
        "gopher_ellipsis_ratio": 0.222222,
        "gopher_bullet_lines": 0.333333,  # of 3 lines that are not blank
        "gopher_ellipsis_lines": 0.666667,
        "gopher_alpha_words": 0.727273,  # 8 of 11 tokens; not "-", "12", "--"
        "gopher_alpha_tokens": 0.533333,  # 8 of 15: The cat , and the # dog ... - of 12 -- so on …
        "gopher_stop_words": 3,  # the, and, of
    }


def test_capitals_have_stop_words(measure: Any) -> None:
    (signals,) = measure(MeasureGopher(Params(language="en")), ["THE END OF TIME AND THAT IS ALL"])
    assert signals["gopher_stop_words"] == 4


def test_stop_words_follow_the_language(measure: Any) -> None:
    text = "Der Hund und die Katze sind nicht in der Stadt."
    stage = MeasureGopher(Params())
    assert stage.reads == ("lang",)
    assert measure(stage, [text], lang="de")[0]["gopher_stop_words"] == 5
    assert measure(stage, [text], lang="en")[0]["gopher_stop_words"] == 0
    assert "gopher_stop_words" not in measure(stage, [text], lang="ja")[0]
    assert "gopher_stop_words" not in measure(stage, [text], lang="und")[0]


def test_unspaced(measure: Any) -> None:
    (signals,) = measure(MeasureGopher(Params(language="en")), ["今天天气很好。我们去公园吧。2024"])
    assert signals["gopher_rule"] == "unspaced"
    assert signals["gopher_words"] == 7  # twelve Han characters and a number
    assert "gopher_mean_word" not in signals
    assert "gopher_stop_words" not in signals
    assert "gopher_alpha_tokens" not in signals
    assert signals["gopher_alpha_words"] == 0.909091  # 10 pairs of 11 words


def test_empty(measure: Any) -> None:
    (signals,) = measure(MeasureGopher(Params(language="en")), ["\r\n \t"])
    assert signals["gopher_words"] == 0
    assert signals["gopher_alpha_words"] == 0.0
    assert "gopher_mean_word" not in signals


def test_lists() -> None:
    assert LISTS["en"] == ("and", "be", "have", "of", "that", "the", "to", "with")
    assert set(WITH_LIST) <= set(LANGUAGES)
    for language in WITH_LIST:
        assert len(np.unique(word_hashes(LISTS[language]))) >= 8
    with pytest.raises(ConfigError, match="'xx'"):
        Params(language="xx")


def test_own_stop_words(measure: Any, tmp_path: Path) -> None:
    path = tmp_path / "lists.json"
    path.write_text('{"lists": {"en": "old mill", "xh": "foo bar"}}')
    stage = MeasureGopher(Params(stop_words=Asset(str(path))))
    stage.setup()
    text = "the old Mill and the foo"
    assert measure(stage, [text], lang="en")[0]["gopher_stop_words"] == 2
    assert measure(stage, [text], lang="xh")[0]["gopher_stop_words"] == 1
    assert "gopher_stop_words" not in measure(stage, [text], lang="de")[0]
    theirs = MeasureGopher(Params("en", "datatrove", Asset(str(path))))
    theirs.setup()
    assert measure(theirs, [text])[0]["gopher_stop_words"] == 1  # with its case


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"lists": {"en": ""}}', "no words for en"),
        ('{"en": "the"}', "cannot be read"),
        ('{"lists": {"en": "not-one"}}', "is not one word"),
        ('{"lists": {"de": "der"}}', "no list for 'en'"),
    ],
)
def test_own_stop_words_that_are_none(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "lists.json"
    path.write_text(content)
    with pytest.raises(AssetError, match=said):
        MeasureGopher(Params("en", stop_words=Asset(str(path)))).setup()
