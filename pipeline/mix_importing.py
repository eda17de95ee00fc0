"""`mix import`: weights that were found elsewhere, put into a recipe's mix.

Known layouts, told by their keys: DoReMi's JSON (``train_domain_weights``), RegMix's YAML
(``train``, names with ``train_`` in front), and the YAML or JSON configuration of a Levanter or
Marin run (``data.train_weights``: a mapping, or a list of [step, mapping] for stages, whose ends
``trainer.num_train_steps`` completes).
"""

from __future__ import annotations

import json
import re
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from .durable import write_atomic
from .errors import ConfigError
from .params import nearest, shown
from .recipe import Recipe
from .starting import new_recipe
from .strict_yaml import read_yaml

_DIGITS = 6


@dataclass(frozen=True)
class Stage:
    """Weights of one part of a training; they sum to 1."""

    share: Fraction
    weights: dict[str, Fraction]


def read_weights(path: Path) -> list[Stage]:
    """The stages that a file of weights describes. Raises ConfigError for another layout, and for
    weights that are no numbers, negative, or all zero."""
    data = _parsed(path)
    if isinstance(weights := data.get("train_domain_weights"), dict):
        return [Stage(Fraction(1), _normal(weights, path))]
    if isinstance(weights := data.get("train"), dict):
        bare = {str(name).removeprefix("train_"): w for name, w in weights.items()}
        return [Stage(Fraction(1), _normal(bare, path))]
    inside = data.get("data")
    weights = (inside if isinstance(inside, dict) else data).get("train_weights")
    if isinstance(weights, dict):
        return [Stage(Fraction(1), _normal(weights, path))]
    if isinstance(weights, list) and weights:
        return _staged(weights, data, path)
    raise ConfigError(
        f"{path} has no weights in a layout that is known",
        hint="train_domain_weights (DoReMi), train (RegMix), data.train_weights (Marin, Levanter)",
    )


def _parsed(path: Path) -> dict[str, Any]:
    """A mapping in JSON or YAML as others write it, so not by our strict rules."""
    try:
        text = path.read_text(encoding="utf-8")
        data = json.loads(text) if text.lstrip().startswith("{") else yaml.safe_load(text)
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, yaml.YAMLError) as error:
        raise ConfigError(f"{path} is neither JSON nor YAML: {error}") from None
    if not isinstance(data, dict):
        raise ConfigError(f"{path} holds no mapping")
    return data


def _staged(stages: list[Any], data: Mapping[str, Any], path: Path) -> list[Stage]:
    trainer = data.get("trainer")
    last = trainer.get("num_train_steps") if isinstance(trainer, dict) else None
    if not isinstance(last, int):
        raise ConfigError(
            f"{path}: the last stage has no end", hint="trainer: {num_train_steps: N}"
        )
    for entry in stages:
        if not (isinstance(entry, list) and len(entry) == 2 and isinstance(entry[0], int)):
            raise ConfigError(f"{path}: {shown(entry)} is no [step, weights]")
    starts = [entry[0] for entry in stages] + [last]
    if starts[0] != 0 or any(a >= b for a, b in pairwise(starts)):
        raise ConfigError(f"{path}: stages begin at {starts[:-1]} of {last} steps")
    return [
        Stage(Fraction(end - start, last), _normal(entry[1], path))
        for entry, (start, end) in zip(stages, pairwise(starts), strict=True)
    ]


def _normal(weights: Any, path: Path) -> dict[str, Fraction]:
    """The weights as shares of their sum; those of 0 are left out."""
    if not isinstance(weights, dict):
        raise ConfigError(f"{path}: {shown(weights)} is no mapping of weights")
    exact = {}
    for name, weight in weights.items():
        good = isinstance(weight, int | float) and not isinstance(weight, bool) and weight >= 0
        if not good or weight != weight or weight == float("inf"):
            raise ConfigError(f"{path}: the weight of {shown(name)} is {shown(weight)}")
        if weight:
            exact[str(name)] = Fraction(weight)
    total = sum(exact.values())
    if not total:
        raise ConfigError(f"{path}: all weights are 0")
    return {name: weight / total for name, weight in exact.items()}


def rounded(weights: Mapping[str, Fraction]) -> dict[str, float]:
    """Weights with six digits that still sum to 1: what is missing goes to those that lost most.
    A share that would be 0 becomes the least one. Raises ConfigError if there are too many."""
    unit = 10**_DIGITS
    floors = {name: max(1, int(w * unit)) for name, w in weights.items()}
    missing = unit - sum(floors.values())
    order = sorted(weights, key=lambda n: (floors[n] - weights[n] * unit, n))
    if missing < 0:  # the least ones were raised: the largest gives
        largest = max(weights, key=lambda n: (weights[n], n))
        floors[largest] += missing
        if floors[largest] < 1:
            raise ConfigError("the weights cannot be told in six digits")
        missing = 0
    for name in order[:missing]:
        floors[name] += 1
    return {name: floors[name] / unit for name in weights}


def renamed(
    stages: Sequence[Stage], domains: Sequence[str], names: Mapping[str, str]
) -> list[Stage]:
    """The stages with a mix's `domains` for names: by `names`, else by spelling (case and signs do
    not count). Raises ConfigError for a name that is no domain, and for a domain that two have."""
    spelled = {_bare(domain): domain for domain in domains}
    result = []
    for stage in stages:
        made: dict[str, Fraction] = {}
        for name, weight in stage.weights.items():
            domain = names.get(name, spelled.get(_bare(name)))
            if domain is None or domain not in domains:
                raise ConfigError(
                    f"the weights name {shown(name)}, which is no domain of the mix",
                    hint=f"{nearest(_bare(name), spelled)} --map '{name}=DOMAIN'",
                )
            if domain in made:
                raise ConfigError(f"two weights are of the domain {domain!r}")
            made[domain] = weight
        result.append(Stage(stage.share, made))
    return result


def _bare(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def with_weights(text: str, recipe: Recipe, stages: Sequence[Stage]) -> str:
    """The text of a recipe with its section ``mix:`` written anew. Raises ConfigError if it has no
    domains or no total."""
    data = read_yaml(text, "recipe")
    mix = data.get("mix") or {}
    if not mix.get("domains"):
        raise ConfigError("the recipe's mix has no domains", hint="mix: {domains: [{name: …}]}")
    if mix.get("tokens") is None:
        raise ConfigError("weights are shares of a total", hint="mix: {tokens: N}")
    for key in ("policy", "alpha", "phases"):
        mix.pop(key, None)
    for domain in mix["domains"]:
        domain.pop("weight", None)
        domain.pop("tokens", None)
    if len(stages) == 1:
        weights = rounded(stages[0].weights)
        mix["domains"] = [d | {"weight": weights[d["name"]]} for d in mix["domains"]
                          if d["name"] in weights]  # fmt: skip
    else:
        shares = rounded({str(n): stage.share for n, stage in enumerate(stages)})
        used = {name for stage in stages for name in stage.weights}
        mix["domains"] = [d for d in mix["domains"] if d["name"] in used]
        mix["phases"] = [
            {"name": f"stage-{n + 1}", "share": shares[str(n)], "weights": rounded(stage.weights)}
            for n, stage in enumerate(stages)
        ]
    section = yaml.safe_dump({"mix": mix}, sort_keys=False, allow_unicode=True, width=100)
    made, count = re.subn(
        r"^mix:.*?(?=^\S|\Z)", lambda _: section + "\n", text, flags=re.MULTILINE | re.DOTALL
    )
    if count != 1:
        raise ConfigError("the recipe's section mix: does not stand at the left margin")
    Recipe.parse(made, recipe.base)  # what is written is right
    return made


def mix_import(options: Namespace) -> int:
    """The verb ``mix import WEIGHTS RECIPE --out NEW``."""
    if len(options.things) != 2 or options.out is None:
        raise ConfigError(
            "mix import needs weights, a recipe and a name for the new one",
            hint="corpusmill mix import weights.json recipe.yaml --out weighted.yaml",
        )
    weights, source = (Path(thing) for thing in options.things)
    path = new_recipe(Path(options.out))
    if path.parent.resolve() != source.parent.resolve():
        raise ConfigError("the new recipe must lie beside the old one: paths in it are relative")
    names = {}
    for pair in options.map:
        old, sign, new = pair.rpartition("=")
        if not sign:
            raise ConfigError(f"--map {shown(pair)} is no NAME=DOMAIN")
        names[old] = new
    recipe = Recipe.load(source)
    shards = next((p for p in recipe.products if p.id == "shards"), None)
    domains = [d.name for d in shards.params.mix.domains] if shards else []
    stages = renamed(read_weights(weights), domains, names)
    text = with_weights(source.read_text(encoding="utf-8"), recipe, stages)
    write_atomic(path, text.encode())
    left_out = sorted(set(domains) - {n for stage in stages for n in stage.weights})
    print(f"{path} is written: {len(stages)} stage(s), {len(domains) - len(left_out)} domains")
    for name in left_out:
        print(f"{name} has no weight and is left out")
    return 0
