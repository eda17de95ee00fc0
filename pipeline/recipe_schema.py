"""The JSON Schema of recipes, for editors: made from the parameters of every stage that is there.

It holds what a key may be and what a value looks like, with the docstrings of parameters as
descriptions. What one value says about another (a signal that an earlier step writes) is checked by
``corpusmill validate`` alone.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from .recipe import SCHEMA, Execution, Guards, SourceSpec
from .registry import stage_class, stage_names, summary
from .stage import Asset, Barrier, Sink, Source, Stage

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_STEP_NAME = {"type": "string", "pattern": "^[a-z][a-z0-9_]{0,62}$"}


def recipe_schema() -> dict[str, Any]:
    """The schema as plain values."""
    kinds: dict[str, list[str]] = {"source": [], "step": [], "tokenizer": []}
    params: dict[str, dict[str, Any]] = {}
    for name in stage_names():
        cls = stage_class(name)
        params[name] = of_dataclass(cls.Params)
        params[name]["description"] = summary(name)
        if issubclass(cls, Source):
            kinds["source"].append(name)
        elif issubclass(cls, Sink) and name != "tokenizers.shards":
            kinds["tokenizer"].append(name)
        elif issubclass(cls, Stage | Barrier):
            kinds["step"].append(name)
    sources = of_dataclass(SourceSpec)
    sources["properties"]["stage"] = {"enum": kinds["source"]}
    sources["allOf"] = [
        {
            "if": {"properties": {"stage": {"const": name}}},
            "then": {"properties": {"params": params[name]}},
        }
        for name in kinds["source"]
    ]
    steps: list[dict[str, Any]] = [{"enum": kinds["step"]}]
    for name in kinds["step"]:
        of_step = dict(params[name])
        of_step["properties"] = {"as": _STEP_NAME, **of_step["properties"]}
        steps.append({
            "type": "object", "properties": {name: {"anyOf": [of_step, {"type": "null"}]}},
            "required": [name], "additionalProperties": False,
        })  # fmt: skip
    tokenizers = []
    for name in kinds["tokenizer"]:
        made = dict(params[name])
        made["properties"] = {"stage": {"const": name}, **made["properties"]}
        made["required"] = ["stage", *made.get("required", [])]
        tokenizers.append(made)
    shards = params["tokenizers.shards"]
    mix = shards["properties"].get("mix", {"type": "object"})
    return {
        "$schema": DIALECT, "title": "corpusmill recipe", "type": "object",
        "properties": {
            "schema": {"const": SCHEMA},
            "name": {"type": "string"}, "version": {"type": "string"},
            "seed": {"type": "integer", "minimum": 0},
            "sources": {"type": "array", "items": sources, "minItems": 1},
            "steps": {"type": "array", "items": {"anyOf": steps}},
            "tokenizer": {"anyOf": tokenizers}, "mix": mix, "shards": shards,
            "execution": of_dataclass(Execution), "guards": of_dataclass(Guards),
            "sample": {"type": ["number", "string"]},
        },
        "required": ["schema", "name", "version", "sources", "steps"],
        "additionalProperties": False,
    }  # fmt: skip


def of_dataclass(kind: type) -> dict[str, Any]:
    """The object that `params.decode_dataclass` takes for a dataclass."""
    hints = get_type_hints(kind)
    properties: dict[str, Any] = {}
    required = []
    for field in dataclasses.fields(kind):
        if not field.init:
            continue
        properties[field.name] = of_type(hints[field.name])
        has_default = field.default is not dataclasses.MISSING
        if has_default and isinstance(field.default, bool | int | float | str):
            properties[field.name] |= {"default": field.default}
        if not has_default and field.default_factory is dataclasses.MISSING:
            required.append(field.name)
    made: dict[str, Any] = {
        "type": "object", "properties": properties, "additionalProperties": False,
    }  # fmt: skip
    return made | ({"required": required} if required else {})


def of_type(kind: Any) -> dict[str, Any]:
    """What `params.decode` takes for a type."""
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return of_dataclass(kind)
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Union or origin is types.UnionType:
        return {"anyOf": [{"type": "null"} if a is type(None) else of_type(a) for a in inner]}
    if origin is Literal:
        return {"enum": list(inner)}
    if origin in (tuple, list) or kind in (tuple, list):
        return {"type": "array", "items": of_type(inner[0]) if inner else {}}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": of_type(inner[1])}
    plain: dict[Any, dict[str, Any]] = {
        bool: {"type": "boolean"}, int: {"type": "integer"}, str: {"type": "string"},
        # Numbers may be written as text, which keeps their digits.
        float: {"type": ["number", "string"]}, Asset: {"type": "string"}, Any: {},
    }  # fmt: skip
    return dict(plain[kind])


__all__ = ["of_dataclass", "of_type", "recipe_schema"]
