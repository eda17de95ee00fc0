"""Strict recipes."""

from __future__ import annotations

from pathlib import Path

import pytest

from corpusmill.pipeline import Recipe
from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.registry import step_name

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


def parse(text: str, *overrides: str) -> Recipe:
    return Recipe.parse(text, Path("."), overrides=overrides)


def test_steps_have_ids() -> None:
    assert [s.id for s in parse(GOOD).steps] == ["exact", "same_url"]


def test_overrides_reach_steps_and_sources() -> None:
    recipe = parse(GOOD, "steps.exact.normalise=none", "sources.rows.licence=MIT", "seed=5")
    assert recipe.steps[0].params.normalise == "none"
    assert recipe.sources[0].licence == "MIT"
    assert recipe.seed == 5
    with pytest.raises(ConfigError, match="there is no entry 'exakt'"):
        parse(GOOD, "steps.exakt.normalise=none")


@pytest.mark.parametrize(
    ("old", "new", "message", "hint"),
    [
        ("steps:", "stps:", "recipe: unknown key 'stps'", "did you mean 'steps'?"),
        ('version: "1"', "version: 1", "recipe.version: 1 is not text", "put quotes around it"),
        ('version: "1"', 'version: "1"\nversion: "2"', "recipe, line 5: key 'version' is repeated", None),
        ("licence: CC0-1.0", "license: CC0-1.0", "recipe.sources[0]: unknown key 'license'",
         "did you mean 'licence'?"),
        ("dedup.exact:", "dedup.exakt:", "recipe.steps[1] (dedup.exakt): there is no stage 'dedup.exakt'", "did you mean 'dedup.exact'?"),
        ("by: url", "bye: url", "recipe.steps[1] (dedup.exact): unknown key 'bye'", "did you mean 'by'?"),
        ("by: url", "by: uri", "recipe.steps[1] (dedup.exact).by: 'uri' is not possible",
         "did you mean 'url'?"),
        ("as: same_url, ", "", "recipe.steps[1]: a step 'exact' exists already", "give it a name with `as:`"),
        ("schema: corpusmill/recipe/1", "schema: corpusmill/recipe/9",
         "recipe: schema 'corpusmill/recipe/9' is unknown", "known: corpusmill/recipe/1"),
        ("sources.jsonl", "dedup.exact", "recipe.sources[0]: 'dedup.exact' is not a source", None),
    ],
)  # fmt: skip
def test_refuses(old: str, new: str, message: str, hint: str | None) -> None:
    assert old in GOOD
    with pytest.raises(ConfigError) as caught:
        parse(GOOD.replace(old, new))
    assert caught.value.message == message
    assert caught.value.hint == hint


PAIRS = """
schema: corpusmill/recipe/1
name: pairs
version: "1"
seed: 1
sources: [{name: web, stage: sources.jsonl, root: in, paths: ["*.jsonl"], licence: MIT}]
steps:
  - measure.c4: {terminal: false}
  - measure.fineweb
  - filters.c4
  - filters.fineweb: {as: rules}
"""


def test_steps_of_two_stages_with_one_name() -> None:
    assert [s.id for s in parse(PAIRS).steps] == ["c4", "fineweb", "filters_c4", "rules"]
    changed = parse(PAIRS, "steps.filters_c4.min_sentences=7", "steps.c4.terminal=true").steps
    assert (changed[0].params.terminal, changed[2].params.min_sentences) == (True, 7)
    twice = PAIRS.replace("filters.fineweb: {as: rules}", "filters.c4: {curly_bracket: false}")
    with pytest.raises(ConfigError, match="a step 'filters_c4' exists already"):
        parse(twice)


@pytest.mark.parametrize("name", ["docs", "read", "shards", "tokenizer"])
def test_a_name_that_no_step_can_have(name: str) -> None:
    with pytest.raises(ConfigError, match=f"a step '{name}' exists already"):
        parse(PAIRS.replace("as: rules", f"as: {name}"))
    assert step_name(f"plugin.{name}", {}) == f"plugin_{name}"


def test_a_signal_that_nobody_writes_is_refused() -> None:
    with pytest.raises(
        ConfigError, match="reads the signal 'quality', which no earlier step writes"
    ):
        parse(GOOD + "  - filters.threshold: {signal: quality, min: 1}\n")


def test_who_writes_a_signal_is_said() -> None:
    with pytest.raises(ConfigError, match="reads the signal 'fineweb_lines'") as caught:
        parse(GOOD + "  - filters.fineweb\n")
    assert caught.value.hint == "put measure.fineweb before it"


def test_shards_need_a_tokenizer() -> None:
    with pytest.raises(ConfigError, match="shards need a tokenizer"):
        parse(GOOD + "shards: {}\n")


@pytest.mark.parametrize("value", ["0", "3", "131072"])
def test_partitions_are_a_power_of_two(value: str) -> None:
    with pytest.raises(ConfigError, match=f"partitions is {value}"):
        parse(GOOD, f"execution.partitions={value}")
