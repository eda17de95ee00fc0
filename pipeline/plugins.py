"""Stages of other packages, found by their entry points in the group ``corpusmill.stages``.

    [project.entry-points."corpusmill.stages"]
    "acme.shouting" = "acme_stages.shouting"        # a module with a line STAGE = TheClass

The name of the entry point is the name of the stage. All are looked at before one is used: a name
that is ours or is given twice, and a package that cannot be imported, stop everything, so that no
recipe means two things on two machines. The package's version is pinned like a library's: it
stands in the plan and the lock.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from .errors import ConfigError

GROUP = "corpusmill.stages"
_ROOMS = ("classifiers", "tokenizers")


@dataclass(frozen=True, slots=True)
class Plugin:
    """A stage of another package: the module that holds it, and the package's name and version."""

    module: str
    package: str
    version: str

    def __str__(self) -> str:
        return f"{self.package} {self.version}"


@lru_cache(maxsize=1)
def plugins() -> Mapping[str, Plugin]:
    """All plugins by name. Raises ConfigError for a name that is no stage name, that one of our
    stages has, or that two packages give."""
    found: dict[str, Plugin] = {}
    for point in importlib.metadata.entry_points(group=GROUP):
        package = point.dist.name if point.dist is not None else "an unknown package"
        version = point.dist.version if point.dist is not None else "?"
        plugin = Plugin(point.value, package, version)
        parts = point.name.split(".")
        if len(parts) < 2 or not all(part.isidentifier() for part in parts):
            raise ConfigError(
                f"{plugin} gives a stage {point.name!r}, which is no stage name",
                hint="names look like acme.shouting",
            )
        if _is_ours(parts):
            raise ConfigError(
                f"{plugin} gives a stage {point.name!r}, which Corpusmill has itself",
                hint=f"uninstall {package}, or a version of it with another name",
            )
        if point.name in found:
            raise ConfigError(
                f"{plugin} and {found[point.name]} both give a stage {point.name!r}",
                hint="uninstall one of them",
            )
        found[point.name] = plugin
    return dict(sorted(found.items()))


def plugin_stage(name: str) -> Any:
    """The class of a plugin. Raises ConfigError where its module cannot be imported or holds no
    stage of that name."""
    plugin = plugins()[name]
    try:
        stage = importlib.import_module(plugin.module).STAGE
        own = stage.name
    except Exception as error:  # a foreign module can raise anything; it is told
        raise ConfigError(
            f"the stage {name!r} of {plugin} cannot be loaded: {type(error).__name__}: {error}",
            hint=f"install {plugin.package} again, or another version",
        ) from error
    if own != name:
        raise ConfigError(f"the stage {name!r} of {plugin} calls itself {own!r}")
    if plugin.package not in stage.pins:
        stage.pins = (*stage.pins, plugin.package)
    return stage


def _is_ours(parts: list[str]) -> bool:
    root = Path(__file__).resolve().parent.parent
    folder = root if parts[0] in _ROOMS else root / "stages"
    return folder.joinpath(*parts).with_suffix(".py").is_file()
