"""Stages by name: what they do, errors of their parameters, and the packages they need."""

from __future__ import annotations

import importlib.metadata

import pytest

from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.registry import build, pin_versions, summary

REQUIRES = [
    "numpy>=2.4", "no-such-thing; extra == 'test'", 'no-such-thing>=2; extra == "special"',
]  # fmt: skip


@pytest.mark.parametrize(
    ("requires", "hint"),
    [
        (REQUIRES, "pip install 'corpusmill[special]'"),
        (REQUIRES[:2], "pip install no-such-thing"),
        (None, "pip install no-such-thing"),
    ],
)
def test_a_missing_distribution_is_named_with_the_extra_that_brings_it(
    monkeypatch: pytest.MonkeyPatch, requires: list[str] | None, hint: str
) -> None:
    assert pin_versions(("numpy",)) == {"numpy": importlib.metadata.version("numpy")}
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: requires)
    with pytest.raises(ConfigError, match="'no-such-thing' is needed and not installed") as error:
        pin_versions(("numpy", "no-such-thing"))
    assert error.value.hint == hint


@pytest.mark.parametrize("place", ["steps[0] (measure.gopher)", "steps[0]"])
def test_an_error_names_the_stage_once(place: str) -> None:
    with pytest.raises(ConfigError) as error:
        build("measure.gopher", {"language": "xx"}, place)
    assert error.value.message.startswith(place)
    assert error.value.message.count("measure.gopher") == 1
    assert error.value.message.endswith(": there is no list of stop words for language 'xx'")


def test_what_a_stage_does_is_the_beginning_of_its_file() -> None:
    assert summary("filters.c4") == "C4's page rules, on the signals of `measure.c4`."
