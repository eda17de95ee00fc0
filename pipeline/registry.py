"""Stages by name: `dedup.minhash` is the object ``STAGE`` of ``corpusmill.stages.dedup.minhash``.

No list is edited and nothing registers on import: the name is the place. This is the only way in
which the engine reaches the other rooms. Stages of other packages are found by entry points
(`corpusmill.pipeline.plugins`).
"""

from __future__ import annotations

import importlib
import importlib.metadata
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from .errors import ConfigError, StageError
from .params import decode_dataclass, nearest, shown
from .plugins import plugin_stage, plugins

_ROOMS = ("classifiers", "tokenizers")


def module_name(name: str) -> str:
    """The import name of the module that holds the stage `name`."""
    head = name.split(".", 1)[0]
    return f"corpusmill.{name}" if head in _ROOMS else f"corpusmill.stages.{name}"


NOT_STEPS = ("docs", "read", "shards", "tokenizer")
"""Names in plans and accounts that no step of a recipe can have."""


def step_name(stage: str, taken: Mapping[str, str]) -> str:
    """What a step without ``as:`` is called: the last part of its stage's name (``c4``), or all of
    it (``filters_c4``) where that is the name of an earlier step of another stage, or in
    `NOT_STEPS`. `taken` has the earlier steps' names with their stages."""
    short = stage.rsplit(".", 1)[-1]
    other = short in NOT_STEPS or taken.get(short, stage) != stage
    return stage.replace(".", "_") if other else short


def room_module(name: str) -> ModuleType:
    """A module of another room by name below ``corpusmill`` (``stages.measure.distinct``)."""
    return importlib.import_module(f"corpusmill.{name}")


def rooms_root() -> Path:
    """The folder that holds ``stages``, ``classifiers``, ``tokenizers`` and ``configs``."""
    return Path(__file__).resolve().parent.parent


def stage_names() -> list[str]:
    """Every stage of this installation, sorted: modules that assign ``STAGE``, and plugins."""
    names = list(plugins())
    packages = {"stages": rooms_root() / "stages"}
    packages |= {room: rooms_root() / room for room in _ROOMS}
    for room, folder in packages.items():
        for path in sorted(folder.rglob("*.py")):
            if "\nSTAGE = " not in path.read_text(encoding="utf-8"):
                continue
            parts = path.relative_to(folder).with_suffix("").parts
            names.append(".".join(parts if room == "stages" else (room, *parts)))
    return sorted(names)


def stage_class(name: str) -> Any:
    """The stage class registered as `name`. Raises ConfigError for an unknown name."""
    if (
        not isinstance(name, str)
        or len(name) > 200
        or any(not part.isidentifier() for part in name.split("."))
    ):
        raise ConfigError(f"{shown(name)} is not a stage name", hint="names look like filters.url")
    if name in plugins():
        return plugin_stage(name)
    full = module_name(name)
    try:
        module = importlib.import_module(full)
    except ModuleNotFoundError as error:
        if error.name is not None and (full == error.name or full.startswith(error.name + ".")):
            known = stage_names()
            raise ConfigError(f"there is no stage {name!r}", hint=nearest(name, known)) from None
        raise
    stage = getattr(module, "STAGE", None)
    if stage is None:
        raise ConfigError(f"{name!r} is not a stage", hint=nearest(name, stage_names()))
    if stage.name != name:
        raise StageError(f"the stage in {full} calls itself {stage.name!r}, not {name!r}")
    return stage


def writers_of(signal: str) -> list[str]:
    """The stages that write a signal by default, in the order of their names."""
    return [n for n in stage_names() if signal in getattr(stage_class(n), "writes", {})]


def summary(name: str) -> str:
    """What a stage does: the first paragraph of its module's docstring, in one line."""
    cls = stage_class(name)
    module = sys.modules[cls.__module__ if name in plugins() else module_name(name)]
    about = (module.__doc__ or cls.__doc__ or "").strip().partition("\n\n")[0]
    return " ".join(about.split())


def build(name: str, params: Any, place: str) -> Any:
    """The stage `name` with parameters decoded from plain values; loads nothing heavy."""
    try:
        cls = stage_class(name)
    except ConfigError as error:
        raise ConfigError(f"{place}: {error.message}", hint=error.hint) from None
    try:
        return cls(decode_dataclass(cls.Params, params, place))
    except ConfigError as error:
        if name not in place:
            raise
        said = error.message.replace(f": {name}: ", ": ", 1)  # the place names it already
        raise ConfigError(said, hint=error.hint) from None


def _with_extra(name: str) -> str:
    """What to install for a distribution: the extra of ours that brings it, where one does."""
    for line in importlib.metadata.requires("corpusmill") or ():
        found = re.match(r"([\w.-]+).*extra == ['\"](?!test)([\w-]+)['\"]", line)
        if found is not None and found[1].lower() == name.lower():
            return f"'corpusmill[{found[2]}]'"
    return name


def pin_versions(pins: tuple[str, ...]) -> dict[str, str]:
    """Installed versions of the distributions that determine a stage's output."""
    found = {}
    for name in pins:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            raise ConfigError(
                f"the package {name!r} is needed and not installed",
                hint=f"pip install {_with_extra(name)}",
            ) from None
    return found
