"""Strict reading of parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import pytest

from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.params import (
    decimal_string,
    decode_dataclass,
    encode,
    list_assets,
    map_assets,
)
from corpusmill.pipeline.stage import Asset


@dataclass(frozen=True)
class Inner:
    weight: float = 0.5
    model: Asset | None = None


@dataclass(frozen=True)
class Outer:
    name: str
    size: int = 3
    mode: Literal["fast", "slow"] = "fast"
    flags: tuple[bool, ...] = ()
    inner: Inner = field(default_factory=Inner)
    many: tuple[Inner, ...] = ()
    by: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.size < 0:
            raise ConfigError(f"size is {self.size}")


def test_reads_nested_values() -> None:
    got = decode_dataclass(
        Outer,
        {"name": "x", "flags": [True, False], "inner": {"weight": "0.25"}, "many": [{"model": "m.bin"}],
         "by": {"a": 1}},
        "p",
    )  # fmt: skip
    assert got == Outer(
        "x", 3, "fast", (True, False), Inner(0.25), (Inner(0.5, Asset("m.bin")),), {"a": 1}
    )
    assert list_assets(got) == ["m.bin"]
    assert map_assets(Outer, got, lambda a: f"/there/{a}").many[0].model == "/there/m.bin"


@pytest.mark.parametrize(
    ("value", "message", "hint"),
    [
        ({"name": "x", "sise": 1}, "p: unknown key 'sise'", "did you mean 'size'?"),
        ({}, "p: the key 'name' is missing", None),
        ({"name": 3}, "p.name: text is needed, not 3", "put quotes around it in YAML"),
        ({"name": "x", "size": True}, "p.size: a whole number is needed, not True", None),
        ({"name": "x", "size": 1.5}, "p.size: a whole number is needed, not 1.5", None),
        ({"name": "x", "mode": "fats"}, "p.mode: 'fats' is not possible", "did you mean 'fast'?"),
        ({"name": "x", "flags": [1]}, "p.flags[0]: true or false is needed, not 1", None),
        ({"name": "x", "inner": {"weigth": 1}}, "p.inner: unknown key 'weigth'", "did you mean 'weight'?"),
        ({"name": "x", "many": [{}, {"weight": "a"}]}, "p.many[1].weight: a number is needed, not 'a'", None),
        ({"name": "x", "many": {}}, "p.many: a list is needed, not {}", None),
        ({"name": "x", "by": {"a": "1"}}, "p.by.a: a whole number is needed, not '1'", None),
        ({"name": "x", "inner": {"weight": "nan"}}, "p.inner.weight: 'nan' is not a finite number", None),
        ({"name": "x", "size": -1}, "p: size is -1", None),
        ([], "p: a mapping of keys is needed, not []", None),
    ],
)  # fmt: skip
def test_refuses(value: object, message: str, hint: str | None) -> None:
    with pytest.raises(ConfigError) as caught:
        decode_dataclass(Outer, value, "p")
    assert caught.value.message == message
    assert caught.value.hint == hint


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.1, "0.1"), (1e-7, "0.0000001"), (3.0, "3"), (1e22, "1" + "0" * 22), (0.0, "0")],
)
def test_decimal_strings_have_one_spelling(number: float, text: str) -> None:
    assert decimal_string(number) == text


def test_encoding_round_trips() -> None:
    value = Outer("x", 4, "slow", (True,), Inner(0.1, Asset("m")), (Inner(),), {"b": 2})
    plain = encode(value)
    assert plain["inner"] == {"weight": "0.1", "model": "m"}
    assert decode_dataclass(Outer, plain, "p") == value
