"""Strict reading of parameters: plain YAML or JSON values into frozen dataclasses, and back.

Unknown keys, missing keys and wrong types are `ConfigError` with the place and, where a known key
is near, a hint.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
import types
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from .errors import ConfigError
from .stage import Asset

_DECIMAL = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|nan|inf")


def nearest(word: str, known: Iterable[str]) -> str | None:
    """``did you mean 'x'?`` for the closest known word, else the list of known words."""
    options = sorted(known)
    close = difflib.get_close_matches(word, options, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known: {', '.join(options)}" if options else None


def shown(value: Any) -> str:
    """`value` as it stands in errors: its `repr`, at most 200 characters of it."""
    if isinstance(value, int) and value.bit_length() > 512:
        return f"a whole number of {value.bit_length()} bits"  # Python refuses to print some
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:197]}…"


def decode(kind: Any, value: Any, place: str) -> Any:
    """`value` as `kind` (a type annotation); `place` names it in errors."""
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return decode_dataclass(kind, value, place)
    origin = get_origin(kind)
    if origin is Union or origin is types.UnionType:
        options = [a for a in get_args(kind) if a is not type(None)]
        if value is None:
            if len(options) == len(get_args(kind)):
                raise ConfigError(f"{place}: a value is needed")
            return None
        if len(options) == 1:
            return decode(options[0], value, place)
        for option in options:
            try:
                return decode(option, value, place)
            except ConfigError:
                continue
        raise ConfigError(f"{place}: {shown(value)} is none of {', '.join(map(str, options))}")
    if origin is Literal:
        if not any(type(a) is type(value) and a == value for a in get_args(kind)):
            words = [str(a) for a in get_args(kind)]
            raise ConfigError(
                f"{place}: {shown(value)} is not possible", hint=nearest(str(value)[:80], words)
            )
        return value
    if origin in (tuple, list) or kind in (tuple, list):
        if not isinstance(value, list | tuple):
            raise ConfigError(f"{place}: a list is needed, not {shown(value)}")
        item = get_args(kind)[0] if get_args(kind) else Any
        return tuple(decode(item, v, f"{place}[{i}]") for i, v in enumerate(value))
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            raise ConfigError(f"{place}: a mapping is needed, not {shown(value)}")
        key_kind, item = get_args(kind)
        return {
            decode(key_kind, k, place): decode(item, v, f"{place}.{k}") for k, v in value.items()
        }
    return _decode_scalar(kind, value, place)


def _decode_scalar(kind: Any, value: Any, place: str) -> Any:
    if kind is Any:
        return value
    if isinstance(value, str) and not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise ConfigError(f"{place}: {shown(value)} has half of a surrogate pair") from None
    if kind is Asset:
        if not isinstance(value, str) or not value:
            raise ConfigError(f"{place}: a path is needed, not {shown(value)}")
        if "\0" in value:
            raise ConfigError(f"{place}: no path has a NUL character: {shown(value)}")
        return Asset(value)
    if kind is bool:
        if not isinstance(value, bool):
            raise ConfigError(f"{place}: true or false is needed, not {shown(value)}")
        return value
    if kind is int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise ConfigError(f"{place}: a whole number is needed, not {shown(value)}")
        if abs(value) >= 1 << 63:
            raise ConfigError(f"{place}: {shown(value)} has more than 63 bits")
        return value
    if kind is float:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ConfigError(f"{place}: a number is needed, not {shown(value)}")
        if isinstance(value, str) and not _DECIMAL.fullmatch(value):
            raise ConfigError(f"{place}: a number is needed, not {shown(value)}")
        try:
            number = float(value)
        except OverflowError:
            number = float("inf")
        if number != number or number in (float("inf"), float("-inf")):
            raise ConfigError(f"{place}: {shown(value)} is not a finite number")
        return number
    if kind is str:
        if not isinstance(value, str):
            raise ConfigError(
                f"{place}: text is needed, not {shown(value)}", hint="put quotes around it in YAML"
            )
        return value
    raise ConfigError(f"{place}: parameters of type {kind!r} are not supported")


def decode_dataclass(kind: type, value: Any, place: str) -> Any:
    """A mapping as the frozen dataclass `kind`; None counts as the empty mapping."""
    if value is None:
        value = {}
    if not isinstance(value, Mapping):
        raise ConfigError(f"{place}: a mapping of keys is needed, not {shown(value)}")
    fields = {f.name: f for f in dataclasses.fields(kind) if f.init}
    hints = get_type_hints(kind)
    given = {}
    for key, item in value.items():
        if key not in fields:
            raise ConfigError(
                f"{place}: unknown key {shown(key)}", hint=nearest(str(key)[:80], fields)
            )
        given[key] = decode(hints[key], item, f"{place}.{key}")
    for name, f in fields.items():
        missing = (
            f.default is dataclasses.MISSING
            and f.default_factory is dataclasses.MISSING
            and name not in given
        )
        if missing:
            raise ConfigError(f"{place}: the key {name!r} is missing")
    try:
        return kind(**given)
    except ConfigError as error:
        raise ConfigError(f"{place}: {error.message}", hint=error.hint) from None


def decimal_string(number: float) -> str:
    """The shortest decimal spelling of a float, without exponent; whole numbers without point."""
    text = format(Decimal(repr(number)), "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text or "0"


def encode(value: Any) -> Any:
    """Parameters as canonical JSON values: floats become decimal strings, dataclasses mappings."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: encode(getattr(value, f.name)) for f in dataclasses.fields(value) if f.init}
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, float):
        return decimal_string(value)
    if isinstance(value, int | str):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, Mapping):
        return {str(k): encode(v) for k, v in value.items()}
    if isinstance(value, tuple | list):
        return [encode(v) for v in value]
    raise ConfigError(
        f"a parameter of type {type(value).__name__} cannot be written: {shown(value)}"
    )


def map_assets(kind: Any, value: Any, change: Callable[[Asset], Any]) -> Any:
    """`value` (of annotated type `kind`) with every `Asset` in it replaced by `change(asset)`."""
    if isinstance(value, Asset):
        return change(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        hints = get_type_hints(type(value))
        changed = {
            f.name: map_assets(hints[f.name], getattr(value, f.name), change)
            for f in dataclasses.fields(value)
            if f.init
        }
        return dataclasses.replace(value, **changed)
    if isinstance(value, tuple):
        return tuple(map_assets(None, v, change) for v in value)
    if isinstance(value, Mapping):
        return {k: map_assets(None, v, change) for k, v in value.items()}
    return value


def list_assets(value: Any) -> list[Asset]:
    """Every asset that parameters name, in field order."""
    found: list[Asset] = []

    def note(asset: Asset) -> Asset:
        found.append(asset)
        return asset

    map_assets(type(value), value, note)
    return found


__all__ = ["decimal_string", "decode", "decode_dataclass", "encode", "list_assets", "map_assets",
           "nearest", "shown"]  # fmt: skip
