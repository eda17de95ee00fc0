"""What the stages for a user's own model check without the libraries that read it."""

from __future__ import annotations

from typing import Any

import pytest

from corpusmill.classifiers import names, sklearn_score, transformer_score
from corpusmill.classifiers.own_models import extra_module, in_languages, place_of_label
from corpusmill.pipeline.document import Document
from corpusmill.pipeline.errors import AssetError, ConfigError
from corpusmill.pipeline.stage import Asset


def test_a_missing_module_names_its_extra() -> None:
    with pytest.raises(AssetError, match="module no_such_module is needed") as error:
        extra_module("no_such_module.part", "hf")
    assert error.value.hint == "pip install 'corpusmill[hf]'"
    assert extra_module("json", "hf").loads("1") == 1


@pytest.mark.parametrize("module", [sklearn_score, transformer_score])
def test_params(module: Any) -> None:
    made = module.STAGE(module.Params(model=Asset("m"), signal="good_score"))
    assert made.writes == {"good_score": "float"}
    with pytest.raises(ConfigError, match="'Good Score' is no name of a signal"):
        module.Params(model=Asset("m"), signal="Good Score")
    with pytest.raises(ConfigError, match="label is empty"):
        module.Params(model=Asset("m"), label="")
    with pytest.raises(ConfigError, match="apply before setup"):
        made.apply([Document("0" * 32, "text", "s")])


def test_lengths() -> None:
    with pytest.raises(ConfigError, match="max_chars is 0"):
        sklearn_score.Params(model=Asset("m"), max_chars=0)
    with pytest.raises(ConfigError, match="max_tokens is 7"):
        transformer_score.Params(model=Asset("m"), max_tokens=7)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"labels": ()}, r"labels=\[\]"),
        ({"policy": "drop"}, "policy='drop'"),
        ({"min_probability": 0.0}, r"min_probability=0\.0 is not in 0\.\.1"),
        ({"max_tokens": 7}, "max_tokens is 7"),
    ],
)
def test_params_of_names(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        names.Params(model=Asset("m"), **wrong)
    made = names.STAGE(names.Params(model=Asset("m")))
    with pytest.raises(ConfigError, match="apply before setup"):
        made.apply([Document("0" * 32, "text", "s")])


def test_places_of_labels() -> None:
    assert place_of_label("m", {0: "bad", 1: "good"}, "good") == 1
    with pytest.raises(AssetError, match="model m: it has no class 'fine'; its classes: bad, good"):
        place_of_label("m", {0: "bad", 1: "good"}, "fine")
    with pytest.raises(AssetError, match="no label was given"):
        place_of_label("m", {0: "bad", 1: "good"}, None)


def test_languages() -> None:
    docs = [Document("0" * 32, "", "s", signals={"lang": code}) for code in ("de", "en")]
    docs.append(Document("0" * 32, "", "s"))
    assert in_languages(docs, ()) == docs
    assert in_languages(docs, ("en", "fr")) == docs[1:2]
