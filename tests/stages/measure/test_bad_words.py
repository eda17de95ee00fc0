"""`measure.bad_words`: counts on small texts."""

from __future__ import annotations

from typing import Any

import pytest

from corpusmill.pipeline.errors import ConfigError
from corpusmill.stages.measure import bad_words as module
from corpusmill.stages.measure.bad_words import LANGUAGES, STAGE, Params


def test_every_list_is_there() -> None:
    assert sorted(p.stem for p in module._FOLDER.glob("*.txt")) == sorted(LANGUAGES)
    for name in LANGUAGES:
        assert len(module.bad_words(name).first) > 0


def test_words_and_phrases(measure: Any) -> None:
    stage = STAGE(Params())
    text = "SHIT happens. Shitake is no such word; the bastard, a BASTARD."
    (signals,) = measure(stage, [text], lang="en")
    assert signals["bad_words"] == 3
    assert signals["bad_words_share"] == round(3 / 11, 6)
    assert signals["bad_words_list"] == "en"
    (signals,) = measure(stage, ["camel toe, camel and toe"], lang="en")
    assert signals["bad_words"] == 1  # the phrase, not its words


def test_language(measure: Any) -> None:
    stage = STAGE(Params())
    assert measure(stage, ["So eine Scheiße"], lang="de")[0]["bad_words"] == 1
    assert measure(stage, ["So eine Scheiße"], lang="en")[0]["bad_words"] == 0
    assert measure(stage, ["x"], lang="nb")[0]["bad_words_list"] == "no"
    assert "bad_words" not in measure(stage, ["x"], lang="uk")[0]
    assert measure(STAGE(Params(language="de")), ["Scheiße"])[0]["bad_words"] == 1


def test_nothing(measure: Any) -> None:
    (signals,) = measure(STAGE(Params(language="en")), [""])
    assert (signals["bad_words"], signals["bad_words_share"]) == (0, 0.0)
    with pytest.raises(ConfigError, match="no list for language 'xx'"):
        Params(language="xx")
