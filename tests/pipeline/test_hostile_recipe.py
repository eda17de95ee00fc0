"""Recipes that nobody should run: each is a ConfigError that says where, and costs little.

The mutations are made from the shipped recipes: at every mapping an unknown and a repeated key, in
place of every value one of each wrong type.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.pipeline import Recipe
from corpusmill.pipeline.cli import main
from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.peak import own_peak_bytes, start_again
from corpusmill.pipeline.places import configs_root
from corpusmill.pipeline.registry import build, stage_class, stage_names
from corpusmill.pipeline.strict_yaml import MAX_BYTES, read_value, read_yaml

SHIPPED = configs_root() / "recipes"
GOOD = """
schema: corpusmill/recipe/1
name: small
version: "1"
sources:
  - {name: rows, stage: sources.jsonl, paths: ["*.jsonl"], licence: CC0-1.0}
steps:
  - dedup.exact
  - dedup.exact: {as: same_url, by: url}
"""
Path_ = tuple[str | int, ...]


def refused(text: str, *overrides: str) -> ConfigError:
    """The ConfigError of a recipe; anything else that happens fails the test."""
    with pytest.raises(ConfigError) as caught:
        Recipe.parse(text, SHIPPED, overrides=overrides)
    assert len(str(caught.value)) < 1500
    assert str(caught.value).isprintable() or "\n" in str(caught.value)
    return caught.value


def message_of(call: Callable[[], object]) -> str | None:
    """The message of the ConfigError that `call` raises; None where it goes well."""
    try:
        call()
    except ConfigError as error:
        return error.message
    return None


def shipped(name: str) -> Any:
    return read_yaml((SHIPPED / name).read_text("utf-8"), name)


def nodes(value: Any, path: Path_ = ()) -> Iterator[tuple[Path_, Any]]:
    yield path, value
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from nodes(item, (*path, key))


def put(data: Any, path: Path_, new: Any) -> str:
    """The recipe with another value at `path`, as YAML (of which JSON is a part)."""
    if not path:
        return json.dumps(new)
    data = copy.deepcopy(data)
    here = data
    for key in path[:-1]:
        here = here[key]
    here[path[-1]] = new
    return json.dumps(data)


def doubled(value: Any, target: Path_, path: Path_ = ()) -> str:
    """The recipe in flow style, with the last key of the mapping at `target` written twice."""
    if isinstance(value, dict):
        pairs = [f"{json.dumps(k)}: {doubled(v, target, (*path, k))}" for k, v in value.items()]
        if path == target:
            pairs.append(pairs[-1])
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(doubled(v, target, (*path, i)) for i, v in enumerate(value)) + "]"
    return json.dumps(value)


def place(path: Path_) -> str:
    """What an error about `path` must begin with: its section, and its number in a list."""
    if path in ((), ("schema",)):
        return "recipe"
    if path[0] == "mix":
        return "recipe.shards"  # the mix is a parameter of the shards
    if path[0] in ("sources", "steps") and len(path) > 1:
        return f"recipe.{path[0]}[{path[1]}]"
    return f"recipe.{path[0]}"


WRONG: dict[type, tuple[Any, ...]] = {
    int: ("text", 1.5, True, [], {"a": 1}),
    float: ("text", True, [1], {"a": 1}),
    str: (1, 1.5, True, [], {"a": 1}),
    bool: (1, "text", 0.5, [], {"a": 1}),
    dict: (1, "text", [1], True),
    list: (1, "text", {"a": 1}, True),
}

RECIPES = [
    pytest.param("sample.yaml"),
    pytest.param("web.yaml", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("name", RECIPES)
def test_an_unknown_key_in_any_mapping(name: str) -> None:
    data = shipped(name)
    mappings = [(p, v) for p, v in nodes(data) if isinstance(v, dict)]
    assert len(mappings) > 15
    for path, value in mappings:
        error = refused(put(data, path, {**value, "no_such_key": 1}))
        assert error.message.startswith(place(path)), path
        if path[-1:] == ("match",):
            assert "no_such_key" in error.message  # a column that no document has
        elif path[:1] == ("steps",) and len(path) == 2:
            assert "one stage name with its parameters" in error.message
        else:
            assert "unknown key 'no_such_key'" in error.message, path


@pytest.mark.parametrize("name", RECIPES)
def test_a_repeated_key_in_any_mapping(name: str) -> None:
    data = shipped(name)
    for path, value in nodes(data):
        if isinstance(value, dict) and value:
            error = refused(doubled(data, path))
            key = list(value)[-1]
            assert error.message == f"recipe, line 1: key {key!r} is repeated", path


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("sample.yaml", 5),
        pytest.param("sample.yaml", 1, marks=pytest.mark.slow),
        pytest.param("web.yaml", 1, marks=pytest.mark.slow),
    ],
)
def test_any_value_of_another_type(name: str, step: int) -> None:
    """With every `step`-th of the wrong types, from one place to the next another one first."""
    data = shipped(name)
    tried = 0
    for number, (path, value) in enumerate(nodes(data)):
        for wrong in WRONG[type(value)][number % step :: step]:
            error = refused(put(data, path, wrong))
            assert error.message.startswith(place(path)), (path, wrong)
            tried += 1
    assert tried > 250 / step


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sample.yaml", "web.yaml"])
def test_any_missing_value(name: str) -> None:
    """Null is a value only where leaving the key out would do: it is never read as something."""
    data = shipped(name)
    plain = Recipe.parse(json.dumps(data), SHIPPED)
    for path, value in nodes(data):
        if value is None or not path or isinstance(path[-1], int):
            continue
        try:
            found = Recipe.parse(put(data, path, None), SHIPPED)
        except ConfigError:
            continue
        assert path[0] != "name"
        left_out = copy.deepcopy(data)
        here = left_out
        for key in path[:-1]:
            here = here[key]
        del here[path[-1]]
        if path[0] == "steps" and len(path) == 3:  # `- stage:` without parameters
            left_out["steps"][path[1]] = str(path[2])
            assert found.steps[int(path[1])].params is not plain
        same = Recipe.parse(json.dumps(left_out), SHIPPED)
        if path[-1] not in ("min_sentences", "min_alpha_words"):  # null: the rule is off
            assert found == same, path


LAUGHS = "".join(
    f"  - &a{i} [{', '.join([f'*a{i - 1}'] * 10 if i else ['x'] * 10)}]\n" for i in range(12)
)

TEXTS = {
    "empty": ("", "a mapping of keys is needed"),
    "only a comment": ("# nothing\n", "a mapping of keys is needed"),
    "a list": ("- a\n- b\n", "a mapping of keys is needed"),
    "a word": ("word", "a mapping of keys is needed"),
    "two documents": (GOOD + "---\n" + GOOD, "is not valid YAML"),
    "a tab": (GOOD + "\tseed: 1\n", "is not valid YAML"),
    "a NUL": (GOOD + "\0", "is not valid YAML"),
    "a bell": (GOOD + 'seed: "\x07"\n', "is not valid YAML"),
    "an open bracket": (GOOD + "seed: [1, 2\n", "is not valid YAML"),
    "billion laughs": (GOOD.replace("name: small", "name: *a11").replace(
        "\nschema", "\nseed:\n" + LAUGHS + "schema"), "line 4: the alias *a0 is not read"),
    "alias to itself": (GOOD + "seed: &a [*a]\n", "line 10: the alias *a is not read"),
    "a shared value": (GOOD + "guards: &g {allow_empty: true}\nexecution: *g\n",
                       "line 11: the alias *g is not read"),
    "merge key": (GOOD.replace("{as:", "{<<: {by: url}, as:"), "line 9: the key '<<' is not text"),
    "python object": (GOOD + "seed: !!python/object/apply:os.getcwd []\n", "line 10: the tag"),
    "set": (GOOD + "seed: !!set {a, b}\n", "line 10: the tag"),
    "tag on text": (GOOD + "seed: !!int x\n", "line 10: the tag"),
    "binary": (GOOD + "seed: !!binary aGk=\n", "line 10: the tag"),
    "own tag": (GOOD + "seed: !mine 1\n", "line 10: the tag !mine is not read"),
    "long number": (GOOD + "seed: " + "9" * 5000 + "\n", "line 10: the whole number '9999"),
    "64 bits": (GOOD + f"seed: {1 << 63}\n", "has more than 63 bits"),
    "hexadecimal": (GOOD + "seed: 0x" + "f" * 5000 + "\n", "not a number in plain decimals"),
    "octal": (GOOD + "seed: 010\n", "line 10: '010' is not a number in plain decimals"),
    "minutes": (GOOD + "seed: 1:30\n", "line 10: '1:30' is not a number in plain decimals"),
    "infinity": (GOOD + "guards: {max_error_share: .inf}\n", "not a number in plain decimals"),
    "not a number": (GOOD + "sample: .nan\n", "not a number in plain decimals"),
    "a share that is no number": (GOOD + 'sample: "nan"\n', "recipe.sample: 'nan' is not in (0, 1]"),
    "huge float": (GOOD + "guards: {max_error_share: 1.0e+99999}\n", "is not a finite number"),
    "fullwidth digits": (GOOD + 'guards: {max_error_share: "０.５"}\n', "a number is needed"),
    "a date": (GOOD + "seed: 2026-13-45\n", "'2026-13-45' is not a whole number"),
    "lone surrogate": (GOOD.replace('"1"', '"\\ud83d"'), "line 4: '\\ud83d' has half of a surrogate"),
    "key: null": (GOOD + "~: 1\n", "line 10: the key '~' is not text"),
    "key: number": (GOOD + "1: 1\n", "line 10: the key '1' is not text"),
    "key: yes": (GOOD + "yes: 1\n", "line 10: the key 'yes' is not text"),
    "key: list": (GOOD + "[a, b]: 1\n", "line 10: the key a sequence is not text"),
    "deep lists": (GOOD + "seed: " + "[" * 100_000, "line 10: nested deeper than 32"),
    "deep mappings": (GOOD + "seed: " + "{a: " * 10_000, "line 10: nested deeper than 32"),
    "too long": (GOOD + "# " + "x" * MAX_BYTES, "is longer than 1048576 bytes"),
    "many keys": (GOOD + "".join(f"k{i}: 1\n" for i in range(2000)), "unknown key 'k0'"),
    "tokenizer without a name": (GOOD + "tokenizer: {stage: }\n", "recipe.tokenizer: None is not"),
    "tokenizer: number": (GOOD + "tokenizer: {stage: 5}\n", "recipe.tokenizer: 5 is not a stage name"),
    "tokenizer: list": (GOOD + "tokenizer: [a]\n", "recipe.tokenizer: the key 'stage' is missing"),
    "shards: list": (GOOD + "tokenizer: {stage: tokenizers.bpe, vocab_size: 300}\nshards: []\n",
                     "recipe.shards: a mapping of keys is needed, not []"),
    "two mixes": (GOOD + "tokenizer: {stage: tokenizers.bpe, vocab_size: 300}\nmix: {}\n"
                  "shards: {mix: {}}\n", "recipe.shards: the mix stands here and in recipe.mix"),
    "no path": (GOOD.replace("*.jsonl", ""), "'' is no path below the root"),
    "path out of the root": (GOOD.replace("*.jsonl", "../*.jsonl"), "'../*.jsonl' is no path below"),
    "path from the top": (GOOD.replace("*.jsonl", "/data/*.jsonl"), "is no path below the root"),
    "path: only folders": (GOOD.replace("*.jsonl", "data/**"), "** stands for whole folders only"),
    "path: half a folder": (GOOD.replace("*.jsonl", "**.jsonl"), "** stands for whole folders only"),
    "path: NUL": (GOOD.replace("*.jsonl", "a\\0b"), "is no path below the root"),
    "root: NUL": (GOOD.replace("paths", 'root: "a\\0", paths'), "root of 'rows' is 'a\\x00'"),
    "version: line ends": (GOOD.replace('"1"', '"1\\n2"'), "is not 1 to 100 printable characters"),
    "version: empty": (GOOD.replace('"1"', '""'), "is not 1 to 100 printable characters"),
    "licence: escape": (GOOD.replace("CC0-1.0", '"\\e[31m"'), "licence of 'rows'"),
    "long name": (GOOD.replace("small", "s" * 200), "is not a name"),
    "long step": (GOOD.replace("same_url", "s" * 200), "is not a step name"),
    "stage: long": (GOOD.replace("sources.jsonl", "a." * 5000 + "b"), "is not a stage name"),
    "stage: a package": (GOOD.replace("sources.jsonl", "sources"), "'sources' is not a stage"),
    "stage: a script": (GOOD.replace("dedup.exact:", "data.build_unicode:"), "is not a stage"),
    "stage: look-alike": (GOOD.replace("sources.jsonl", "ſources.jsonl"), "there is no stage"),
    "stage: up": (GOOD.replace("sources.jsonl", "..os"), "'..os' is not a stage name"),
}  # fmt: skip


@pytest.mark.parametrize("case", TEXTS)
def test_refused_in_little_time_and_memory(case: str) -> None:
    text, message = TEXTS[case]
    started = time.process_time()
    start_again()
    before = own_peak_bytes() or 0
    error = refused(text)
    assert message in error.message
    assert error.message.startswith("recipe")
    assert time.process_time() - started < 5
    assert (own_peak_bytes() or 0) - before < 200_000_000


def test_what_stays_allowed() -> None:
    text = GOOD.replace("\n", "\r\n").replace('"1"', "2026-11-29")
    assert Recipe.parse("\ufeff" + text, SHIPPED).version == "2026-11-29"
    data = read_value("{a: 1_000, b: -0.5, c: 1.0e+3, d: on, e: ~, f: é, g: [.5, 0, -7]}", "p")
    assert data == {"a": 1000, "b": -0.5, "c": 1000.0, "d": True, "e": None, "f": "é",
                    "g": [0.5, 0, -7]}  # fmt: skip


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("seed={", "--set seed is not valid YAML"),
        ("seed=a: b: c", "--set seed is not valid YAML"),
        ("seed=" + "[" * 10_000, "--set seed, line 1: nested deeper than 32"),
        ("seed=&a [*a]", "--set seed, line 1: the alias *a is not read"),
        ("seed=!!python/name:os.system", "--set seed, line 1: the tag"),
        ("seed=" + "9" * 5000, "has more than 63 bits"),
        ("seed", "--set 'seed': write key.sub=value"),
        ("=1", "--set '=1': write key.sub=value"),
        ("steps.exact=1", "'exact' is a whole entry of a list"),
        ("sources.rows=1", "'rows' is a whole entry of a list"),
        ("steps.0.by=url", "there is no entry '0'"),
        ("name.x=1", "'name' has no keys below it"),
        ("steps.same_url.by.x=1", "'by' has no keys below it"),
        ("steps.same_url={by: url, by: url}", "key 'by' is repeated"),
        ("execution.partitions=", "a whole number is needed, not None"),
        ('execution.partitions="16"', "a whole number is needed, not '16'"),
        ("a..b=1", "unknown key 'a'"),
    ],
)
def test_overrides_are_as_strict(override: str, message: str) -> None:
    assert message in refused(GOOD, override).message


def test_overrides_of_entries_that_are_no_steps() -> None:
    text = GOOD + "  - 5\n  - [a]\n  - {dedup.exact: [1]}\n"
    assert "steps[2]" in refused(text, "steps.exact.normalise=none").message


def test_files_that_are_no_recipe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    latin = tmp_path / "latin.yaml"
    latin.write_bytes("name: é".encode("latin-1"))
    wide = tmp_path / "wide.yaml"
    wide.write_bytes(GOOD.encode("utf-16"))
    long = tmp_path / "long.yaml"
    long.write_bytes(b"# " + "é".encode() * MAX_BYTES)
    for path in (
        tmp_path,
        tmp_path / "none.yaml",
        latin,
        wide,
        long,
        Path("/dev/zero"),
        Path("a\0b"),
    ):
        with pytest.raises(ConfigError):
            Recipe.load(path)
        if "\0" not in str(path):
            assert main(["validate", str(path)]) == 2
            assert "Traceback" not in capsys.readouterr().err


ODD: tuple[Any, ...] = (
    None, True, 0, -1, 1 << 62, 1 << 63, 10**4000, 0.5, 1e308, float("nan"), float("inf"), "", "x",
    "0.5", "\0", "\ud800", "x" * 3000, "[", "(?P<", "é", [], [1], [""], ["x", "x"], [None], [[]],
    {}, {"x": 1}, {"": ""}, [{}], [{"name": "x"}], {"url": "\0"},
)  # fmt: skip


@pytest.mark.parametrize("name", stage_names())
def test_any_parameter_of_any_stage(name: str) -> None:
    """Whatever a parameter is given, the stage is made or a ConfigError says which."""
    fields = dataclasses.fields(stage_class(name).Params)
    none = dataclasses.MISSING
    needed = {f.name: "x" for f in fields if f.default is none and f.default_factory is none}
    for field in fields:
        for odd in ODD:
            said = message_of(partial(build, name, {**needed, field.name: odd}, "here"))
            assert said is None or said.startswith("here")


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["*", "sources.warc", "dedup.exact", "text", "package:x", "0.5", "&a", "~"])
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
SAMPLE = shipped("sample.yaml")
SAMPLE_NODES = [path for path, _ in nodes(SAMPLE)]


@settings(derandomize=True, deadline=None, max_examples=20)
@given(st.sampled_from(SAMPLE_NODES), values)
def test_any_value_at_any_place(path: Path_, value: Any) -> None:
    """A recipe, or a ConfigError."""
    said = message_of(lambda: Recipe.parse(put(SAMPLE, path, value), SHIPPED))
    assert said is None or said.startswith("recipe")


@settings(derandomize=True, deadline=None, max_examples=80)
@given(
    st.integers(0, len(GOOD)),
    st.integers(0, 6),
    st.text("{}[]&*!|>'\"%@`:-?,# \n\t\0ax1~<", max_size=6),
)
def test_any_damage_to_the_text(at: int, cut: int, new: str) -> None:
    text = GOOD[:at] + new + GOOD[at + cut :]
    said = message_of(lambda: Recipe.parse(text, SHIPPED))
    assert said is None or said.startswith("recipe")
