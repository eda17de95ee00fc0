"""Weights of DoReMi, RegMix and Marin, in the layouts in which they are published."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml

from corpusmill.pipeline.cli import main
from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.mix_importing import read_weights, renamed, rounded
from corpusmill.pipeline.recipe import Recipe

RECIPE = """\
schema: corpusmill/recipe/1
name: pile
version: "1"
sources:
  - {name: rows, stage: sources.jsonl, root: input, paths: ["*.jsonl"], licence: CC0-1.0}
steps: []   # kept as they are
tokenizer: {stage: tokenizers.bpe, vocab_size: 400}
mix:
  tokens: 1000
  policy: proportional
  domains:
    - {name: pile-cc, match: {host: "cc.*"}, max_epochs: 2}
    - {name: github, match: {host: "gh.*"}}
    - {name: wikipedia-en}
shards: {tokens_per_shard: 500}
"""


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "recipe.yaml"
    path.write_text(RECIPE)
    return path


def imported(recipe: Path, weights: Any, *more: str) -> dict[str, Any]:
    """The section mix of the new recipe."""
    file = recipe.parent / "weights"
    file.write_text(weights if isinstance(weights, str) else json.dumps(weights))
    new = recipe.parent / "new.yaml"
    assert main(["mix", "import", str(file), str(recipe), "--out", str(new), *more]) == 0
    text = new.read_text()
    assert text.split("mix:")[0] == RECIPE.split("mix:")[0]
    assert text.split("shards:")[1] == RECIPE.split("shards:")[1]
    Recipe.load(new)
    made: dict[str, Any] = yaml.safe_load(text)["mix"]
    return made


def weights_of(mix: dict[str, Any]) -> dict[str, float]:
    return {d["name"]: d["weight"] for d in mix["domains"]}


def test_doremi(recipe: Path) -> None:
    weights = {"Pile-CC": 0.6057, "Github": 0.0179, "Wikipedia (en)": 0.0699}
    made = imported(recipe, {"train_domain_weights": weights, "eval_domain_weights": {"x": 1}})
    total = Fraction("0.6057") + Fraction("0.0179") + Fraction("0.0699")
    assert weights_of(made) == {
        "pile-cc": round(float(Fraction("0.6057") / total), 6), "github": 0.025811,
        "wikipedia-en": 0.100793,
    }  # fmt: skip
    assert made["tokens"] == 1000
    assert "policy" not in made
    assert made["domains"][0]["match"] == {"host": "cc.*"}
    assert made["domains"][0]["max_epochs"] == 2


def test_regmix(recipe: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (
        "train:\n  train_the_pile_pile_cc: 0.75\n  train_the_pile_github: 0.25\n"
        "valid:\n  valid_the_pile_pile_cc: 1.0\nmodel_name: tinyllama_1_1b\n"
    )
    made = imported(
        recipe, text, "--map", "the_pile_pile_cc=pile-cc", "--map", "the_pile_github=github"
    )
    assert weights_of(made) == {"pile-cc": 0.75, "github": 0.25}
    assert "wikipedia-en has no weight and is left out" in capsys.readouterr().out


def test_marin_in_stages(recipe: Path) -> None:
    stages = [[0, {"pile-cc": 3, "github": 1, "wikipedia-en": 0}],
              [750, {"pile-cc": 1, "wikipedia-en": 1}]]  # fmt: skip
    made = imported(
        recipe, {"data": {"train_weights": stages}, "trainer": {"num_train_steps": 1000}}
    )
    assert made["phases"] == [
        {"name": "stage-1", "share": 0.75, "weights": {"pile-cc": 0.75, "github": 0.25}},
        {"name": "stage-2", "share": 0.25, "weights": {"pile-cc": 0.5, "wikipedia-en": 0.5}},
    ]
    assert all("weight" not in d for d in made["domains"])


def test_numbers_as_others_write_them(tmp_path: Path) -> None:
    """RegMix publishes 1.3e-05, which our own strict files refuse."""
    (tmp_path / "w.yaml").write_text("train:\n  train_a: 1.25e-01\n  train_b: 0.375\n")
    assert read_weights(tmp_path / "w.yaml")[0].weights["a"] == Fraction(1, 4)
    (tmp_path / "w.yaml").write_text("train: [")
    with pytest.raises(ConfigError, match="neither JSON nor YAML"):
        read_weights(tmp_path / "w.yaml")


def test_marin_without_stages(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("train_weights: {a: 2.0, b: 6}\n")
    (stage,) = read_weights(tmp_path / "a.yaml")
    assert stage.weights == {"a": Fraction(1, 4), "b": Fraction(3, 4)}


def staged(*stages: Any) -> dict[str, Any]:
    return {"data": {"train_weights": list(stages)}, "trainer": {"num_train_steps": 9}}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({}, "no weights in a layout that is known"),
        ([], "holds no mapping"),
        ({"train_domain_weights": {"a": -1}}, "the weight of 'a' is -1"),
        ({"train_domain_weights": {"a": "much"}}, "the weight of 'a' is 'much'"),
        ({"train_domain_weights": {"a": float("nan")}}, "the weight of 'a' is nan"),
        ({"train_domain_weights": {"a": True}}, "the weight of 'a' is True"),
        ({"train_domain_weights": {"a": 0}}, "all weights are 0"),
        ({"data": {"train_weights": [[0, {"a": 1}]]}}, "the last stage has no end"),
        (staged([1, {"a": 1}]), "begin at"),
        (staged([0, {"a": 1}], [9, {"a": 1}]), "begin at"),
        (staged([0, 1]), "no mapping"),
        (staged(5), r"no \[step, weights\]"),
    ],
)  # fmt: skip
def test_no_weights(tmp_path: Path, data: Any, said: str) -> None:
    (tmp_path / "w.yaml").write_text(json.dumps(data))
    with pytest.raises(ConfigError, match=said):
        read_weights(tmp_path / "w.yaml")


def test_names_that_are_no_domains(recipe: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = recipe.parent / "w.json"
    words = ["mix", "import", str(file), str(recipe), "--out", str(recipe.parent / "n.yaml")]
    file.write_text(json.dumps({"train_domain_weights": {"Githup": 1}}))
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "which is no domain of the mix" in said
    assert "github" in said
    assert "--map 'Githup=DOMAIN'" in said
    file.write_text(json.dumps({"train_domain_weights": {"GitHub": 1, "git_hub": 1}}))
    assert main(words) == 2
    assert "two weights are of the domain 'github'" in capsys.readouterr().err
    assert not (recipe.parent / "n.yaml").exists()
    with pytest.raises(ConfigError, match="no domain of the mix"):
        renamed(read_weights(file), ["github"], {"GitHub": "web"})


def test_rounding_keeps_the_sum() -> None:
    thirds = rounded({n: Fraction(1, 3) for n in "abc"})
    assert thirds == {"a": 0.333334, "b": 0.333333, "c": 0.333333}
    tiny = rounded({"a": Fraction(1) - Fraction(1, 10**9), "b": Fraction(1, 10**9)})
    assert tiny == {"a": 0.999999, "b": 0.000001}
    many = rounded({str(n): Fraction(n, 5050) for n in range(1, 101)})
    assert sum(round(w * 10**6) for w in many.values()) == 10**6
