"""Where names in configurations lead: files beside them, or files that come with the package."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from .errors import ConfigError, StageError
from .params import shown


def configs_root() -> Path:
    """The folder of the package's own configurations and its sample."""
    spec = importlib.util.find_spec("corpusmill.configs")
    if spec is None or spec.origin is None:
        raise StageError("the package corpusmill.configs is missing from this installation")
    return Path(spec.origin).resolve().parent


def resolve_path(value: str, base: Path) -> Path:
    """``package:x`` below the package's configs, other paths below `base`."""
    if value.startswith("package:"):
        below = value.removeprefix("package:")
        if below.startswith("/") or ".." in below.split("/"):
            raise ConfigError(f"{shown(value)} leads out of the package's configs")
        return configs_root() / below
    try:
        return (base / Path(value).expanduser()).resolve()
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, ~nobody, a NUL
        raise ConfigError(f"{shown(value)} is no path: {error}") from None
