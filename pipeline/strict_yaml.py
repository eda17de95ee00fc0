"""YAML for recipes: plain values only, each written once, bounded in size and depth.

Read are mappings with text keys, lists, text, whole numbers, fractions, true and false, and null.
Refused with line and column: repeated keys, aliases (``*a``, of which a few lines can stand for
gigabytes, and which would share one value between two places), tags (``!!python/…``, ``!!set``),
merge keys, and numbers in a form that YAML 1.1 reads as another number than people do (``010``
is 8 there, ``1:30`` is 90). Dates are text.
"""

from __future__ import annotations

import re
from typing import Any

from .errors import ConfigError

MAX_BYTES = 1 << 20
"""Longest text that is read; a recipe has some kilobytes."""

MAX_DEPTH = 32
"""Deepest nesting; a recipe needs about 6."""

_INT = re.compile(r"[-+]?(?:0|[1-9][0-9_]*)")
_FLOAT = re.compile(r"[-+]?(?:[0-9][0-9_]*)?\.[0-9_]*(?:[eE][-+][0-9]+)?")
_MAX_INT = 1 << 63
_TAG = "tag:yaml.org,2002:"


def read_yaml(text: str, place: str) -> dict[str, Any]:
    """The mapping that `text` holds. Raises ConfigError with line and column."""
    data = read_value(text, place)
    if not isinstance(data, dict):
        raise ConfigError(f"{place}: a mapping of keys is needed")
    return data


def read_value(text: str, place: str) -> Any:
    """Any value in YAML: see the module. Raises ConfigError with line and column."""
    import yaml

    if len(text) > MAX_BYTES:
        raise ConfigError(f"{place} is longer than {MAX_BYTES} bytes: that is no recipe")

    class Loader(yaml.SafeLoader):
        """Builds the tree of nodes and refuses what has no place in it."""

        depth = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            event: Any = self.peek_event()  # type: ignore[no-untyped-call]
            at = f"{place}, line {event.start_mark.line + 1}"
            if isinstance(event, yaml.AliasEvent):
                raise ConfigError(
                    f"{at}: the alias *{str(event.anchor)[:40]} is not read",
                    hint="write the value out",
                )
            if event.tag is not None:
                raise ConfigError(f"{at}: the tag {event.tag[:40]} is not read")
            if self.depth >= MAX_DEPTH:
                raise ConfigError(f"{at}: nested deeper than {MAX_DEPTH}")
            self.depth += 1
            node = super().compose_node(parent, index)
            self.depth -= 1
            return node

    try:
        loader = Loader(text)
        loader.name = place  # stands in YAML's own messages
        try:
            node = loader.get_single_node()
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        raise ConfigError(f"{place} is not valid YAML: {error}") from None
    return None if node is None else _value(node, place)


def _value(node: Any, place: str) -> Any:
    if node.id == "mapping":
        return _mapping(node, place)
    if node.id == "sequence":
        return [_value(item, place) for item in node.value]
    return _scalar(node, place)


def _mapping(node: Any, place: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key_node, value_node in node.value:
        at = f"{place}, line {key_node.start_mark.line + 1}"
        if key_node.tag != f"{_TAG}str":
            raise ConfigError(
                f"{at}: the key {_spelling(key_node)} is not text", hint="put quotes around it"
            )
        key = _scalar(key_node, place)
        if key in found:
            raise ConfigError(f"{at}: key {_spelling(key_node)} is repeated")
        found[key] = _value(value_node, place)
    return found


def _scalar(node: Any, place: str) -> Any:
    text = node.value
    at = f"{place}, line {node.start_mark.line + 1}"
    if any("\ud800" <= c <= "\udfff" for c in text):
        raise ConfigError(f"{at}: {_spelling(node)} has half of a surrogate pair")
    kind = node.tag.removeprefix(_TAG)
    if kind in ("str", "timestamp", "value"):
        return text
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() in ("yes", "true", "on")
    if kind == "int" and _INT.fullmatch(text):
        # 19 digits are below 2**64; longer ones are not even converted.
        number = int(text.replace("_", "")) if len(text) < 30 else _MAX_INT
        if abs(number) >= _MAX_INT:
            raise ConfigError(f"{at}: the whole number {_spelling(node)} has more than 63 bits")
        return number
    if kind == "float" and _FLOAT.fullmatch(text):
        return float(text.replace("_", ""))
    if kind in ("int", "float"):
        raise ConfigError(
            f"{at}: {_spelling(node)} is not a number in plain decimals",
            hint="write 8 for 010 and 90 for 1:30; put quotes around text",
        )
    raise ConfigError(f"{at}: {_spelling(node)} is not read", hint="put quotes around text")


def _spelling(node: Any) -> str:
    """A node as it stands in errors: short, whatever it holds."""
    if node.id != "scalar":
        return f"a {node.id}"
    text = node.value if len(node.value) <= 60 else f"{node.value[:57]}…"
    return repr(text)
