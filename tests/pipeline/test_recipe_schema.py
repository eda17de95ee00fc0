"""The JSON Schema takes what the strict reader takes, and refuses what it refuses by shape."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest

from corpusmill.pipeline import Recipe
from corpusmill.pipeline.cli import main
from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.recipe_schema import recipe_schema
from corpusmill.pipeline.strict_yaml import read_yaml

ROOT = Path(__file__).resolve().parents[2]
RECIPES = sorted((ROOT / "configs" / "recipes").glob("*.yaml"))
SCHEMA = recipe_schema()
_TYPES: dict[str, Any] = {
    "object": dict, "array": list, "string": str, "boolean": bool, "integer": int,
    "number": (int, float), "null": type(None),
}  # fmt: skip


def fits(schema: dict[str, Any], value: Any) -> bool:
    """Whether `value` is valid, by the keywords that our schema uses; others are an error."""
    known = {
        "$schema", "title", "description", "default", "type", "properties", "required",
        "additionalProperties", "items", "minItems", "anyOf", "allOf", "if", "then", "enum",
        "const", "minimum", "pattern",
    }  # fmt: skip
    assert not schema.keys() - known, schema.keys() - known
    if "type" in schema:
        named = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        good = any(
            isinstance(value, _TYPES[t]) and (t == "boolean" or not isinstance(value, bool))
            for t in named
        )
        if not good:
            return False
    if "const" in schema and value != schema["const"]:
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if "anyOf" in schema and not any(fits(s, value) for s in schema["anyOf"]):
        return False
    for part in schema.get("allOf", ()):
        if fits(part["if"], value) and not fits(part["then"], value):
            return False
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        rest = schema.get("additionalProperties", True)
        for key, inner in value.items():
            if key in properties:
                if not fits(properties[key], inner):
                    return False
            elif rest is False or (isinstance(rest, dict) and not fits(rest, inner)):
                return False
        if any(key not in value for key in schema.get("required", ())):
            return False
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            return False
        return all(fits(schema.get("items", {}), item) for item in value)
    if isinstance(value, str) and "pattern" in schema:
        return re.search(schema["pattern"], value) is not None
    return not (isinstance(value, int) and value < schema.get("minimum", value))


@pytest.mark.parametrize("path", RECIPES, ids=lambda p: p.stem)
def test_shipped_recipes_are_valid(path: Path) -> None:
    assert fits(SCHEMA, read_yaml(path.read_text(), str(path)))


CHANGES: dict[str, Any] = {
    "unknown key": lambda r: r.update(stepps=[]),
    "missing key": lambda r: r.pop("steps"),
    "wrong schema": lambda r: r.update(schema="other"),
    "no sources": lambda r: r.update(sources=[]),
    "unknown stage": lambda r: r["steps"].append("filters.nothing"),
    "stage of another kind": lambda r: r["steps"].append("sources.warc"),
    "unknown parameter": lambda r: r["steps"].append({"filters.url": {"blok": []}}),
    "wrong type": lambda r: r["steps"].append({"filters.url": {"block": "one"}}),
    "wrong word": lambda r: r["steps"].append({"filters.url": {"as": "x", "words": "all"}}),
    "two stages in one step": lambda r: r["steps"].append({"filters.url": {}, "clean.pii": {}}),
    "bad step name": lambda r: r["steps"].append({"filters.url": {"as": "Two Words"}}),
    "missing parameter": lambda r: r["steps"].append({"filters.threshold": {"min": 1}}),
    "unknown source": lambda r: r["sources"][0].update(stage="sources.tape"),
    "unknown source parameter": lambda r: r["sources"][0].update(params={"nothing": 1}),
    "unknown execution key": lambda r: r.update(execution={"tasks": 3}),
    "unknown tokenizer": lambda r: r.update(tokenizer={"stage": "tokenizers.morse"}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_the_reader_refuses_by_shape_is_invalid(name: str) -> None:
    path = ROOT / "configs" / "recipes" / "sample.yaml"
    data = read_yaml(path.read_text(), "sample")
    changed = copy.deepcopy(data)
    CHANGES[name](changed)
    assert fits(SCHEMA, data)
    assert not fits(SCHEMA, changed)
    with pytest.raises(ConfigError):
        Recipe.parse(json.dumps(changed), path.parent)


def test_the_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == SCHEMA
