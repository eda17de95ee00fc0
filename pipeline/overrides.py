"""``--set key.sub=value``: one value of a recipe replaced before the recipe is checked.

In a list (sources, steps) an entry is named by its source's name or its step's id.
"""

from __future__ import annotations

from typing import Any

from .errors import ConfigError
from .params import shown
from .registry import step_name
from .strict_yaml import read_value


def apply_override(data: Any, override: str) -> None:
    """Sets in `data` (a recipe's plain values) what `override` says.

    Raises ConfigError where the key leads nowhere or the value is not YAML. Whether the key is
    known is for the check of the recipe.
    """
    path, sep, raw = override.partition("=")
    if not sep or not path:
        raise ConfigError(f"--set {shown(override)}: write key.sub=value")
    value = read_value(raw, f"--set {path}")
    here = data
    *above, last = path.split(".")
    for part in above:
        if isinstance(here, list):
            here = _list_entry(here, part, override)
            continue
        if here.get(part) is None:
            here[part] = {}
        here = here[part]
        if not isinstance(here, dict | list):
            raise ConfigError(f"--set {shown(override)}: {part!r} has no keys below it")
    if isinstance(here, list):
        raise ConfigError(
            f"--set {shown(override)}: {last!r} is a whole entry of a list",
            hint=f"name a key of it: {path}.KEY=VALUE",
        )
    here[last] = value


def _list_entry(entries: list[Any], part: str, override: str) -> dict[str, Any]:
    """The parameters of the list entry called `part` (a step's id or a source's name)."""
    taken: dict[str, str] = {}
    for i, entry in enumerate(entries):
        if isinstance(entry, str):
            entry = {entry: {}}
        if isinstance(entry, dict) and "name" in entry and entry["name"] == part:
            return entry
        if isinstance(entry, dict) and len(entry) == 1:
            stage, params = next(iter(entry.items()))
            params = {} if params is None else params
            if not isinstance(params, dict):
                continue
            called = params.get("as", step_name(stage, taken))
            if called == part:
                entries[i] = {stage: params}
                return params
            taken[called] = stage
    raise ConfigError(f"--set {shown(override)}: there is no entry {part!r}")
