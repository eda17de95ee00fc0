"""Pinned distributions: their versions, and what to install where one is missing."""

from __future__ import annotations

import importlib.metadata

import pytest

from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.registry import pin_versions

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
