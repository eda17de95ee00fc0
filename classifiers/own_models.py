"""What the stages for a user's own model have in common."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from corpusmill.pipeline.document import Document
from corpusmill.pipeline.errors import AssetError, ConfigError

DECIMALS = 4
"""Of a score. What remains of the differences between processors lies behind them."""


def extra_module(name: str, extra: str) -> Any:
    """The module `name`. Raises AssetError naming the `extra` of ours that brings it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise AssetError(
            f"the module {error.name} is needed for this model, and is not installed",
            hint=f"pip install 'corpusmill[{extra}]'",
        ) from None


def check_names(stage: str, signal: str, label: str | None) -> None:
    """Raises ConfigError for a signal that is no name of one, or an empty label."""
    if not re.fullmatch(r"[a-z0-9_]+", signal):
        raise ConfigError(
            f"{stage}: {signal!r} is no name of a signal",
            hint="names have small letters, digits and underscores",
        )
    if label == "":
        raise ConfigError(f"{stage}: label is empty", hint="name a class of the model")


def in_languages(batch: Sequence[Document], languages: Sequence[str]) -> list[Document]:
    """The documents whose signal ``lang`` is one of `languages`; all where none are named."""
    return [doc for doc in batch if not languages or doc.signals.get("lang", "") in languages]


def place_of_label(model: str, labels: Mapping[int, str], label: str | None) -> int:
    """Where `label` stands among a model's classes (place → name).

    Raises AssetError where it has no such class, or where several are there and none is named.
    """
    for place, name in labels.items():
        if name == label:
            return place
    what = "no label was given" if label is None else f"it has no class {label!r}"
    raise AssetError(
        f"model {model}: {what}; its classes: {', '.join(list(labels.values())[:8])}",
        hint="set `label` to the class whose probability is to be the score",
    )
