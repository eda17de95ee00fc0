"""What `train` needs to know, and its reading from a YAML file with strict keys."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from corpusmill.pipeline.errors import ConfigError

from .quality_text import MAX_CHARS


@dataclass(frozen=True, slots=True)
class FastTextParams:
    """Hyperparameters of fastText (Joulin et al. 2017), named as there. `min_count`: words seen
    less often are left out. `quantise`: write a product-quantised ``.ftz`` instead of a ``.bin``.

    `epoch` and `lr` are fastText's own defaults; `dim` (100 there) and `bucket` (2 million) are
    small since the labels of the sample are few and its model is committed.
    """

    dim: int = 16
    epoch: int = 5
    lr: float = 0.1
    word_ngrams: int = 2
    bucket: int = 20_000
    min_count: int = 2
    quantise: bool = True


@dataclass(frozen=True, slots=True)
class TrainConfig:
    """A training run.

    `labels`: JSONL files (``.gz`` or plain) whose rows have `text`, `label`, `group`, `licence`,
    `source`; relative to the configuration's folder, or ``package:`` for a file inside
    ``corpusmill.configs``. `good`: the label of the good class; the others are the poor one.
    `holdout`: groups that are not trained on; every figure in the card is of these. `languages`:
    what the texts are written in, for the card. `keep_rate`: share of the held-out texts that the
    recommended threshold keeps. `balance`: repeat the rows of the smaller class until the two are
    about equal, so that the score's middle does not depend on how many of each there happened to
    be. `known_failures`: sentences for the card.
    """

    name: str
    labels: tuple[str, ...]
    holdout: tuple[str, ...]
    good: str = "high"
    languages: tuple[str, ...] = ()
    keep_rate: float = 0.5
    balance: bool = True
    seed: int = 1
    max_chars: int = MAX_CHARS
    model: FastTextParams = field(default_factory=FastTextParams)
    known_failures: tuple[str, ...] = ()
    folder: Path = Path()
    """Where the configuration lies; set by `read_config`."""

    def __post_init__(self) -> None:
        for name in ("labels", "holdout"):
            if not getattr(self, name):
                raise ConfigError(
                    f"{name} is empty", hint="a score needs texts held out to be judged"
                )
        if not 0.0 < self.keep_rate <= 1.0:
            raise ConfigError(f"keep_rate is {self.keep_rate}, must be above 0 and at most 1")


def _strict(kind: type, given: Any, place: str) -> dict[str, Any]:
    """The mapping `given`, its keys checked against the fields of the dataclass `kind`."""
    if not isinstance(given, Mapping):
        raise ConfigError(f"{place} is {given!r}, must be a mapping")
    known = {f.name for f in fields(kind)} - {"folder"}
    for key in given:
        if key not in known:
            near = difflib.get_close_matches(str(key), sorted(known), 1)
            raise ConfigError(
                f"{place}: unknown key {key!r}",
                hint=f"did you mean {near[0]!r}?" if near else f"known keys: {sorted(known)}",
            )
    return {str(k): v for k, v in given.items()}


def _typed(kind: type, values: dict[str, Any], place: str) -> dict[str, Any]:
    """Checks each value against the annotation of its field; lists become tuples of strings."""
    out = {}
    for f in fields(kind):
        if f.name not in values:
            continue
        value = values[f.name]
        wanted = str(f.type)
        if wanted == "tuple[str, ...]":
            right = isinstance(value, list | tuple) and all(isinstance(v, str) for v in value)
            out[f.name] = tuple(value) if right else value
        elif wanted == "float":
            right = isinstance(value, int | float) and not isinstance(value, bool)
            out[f.name] = float(value) if right else value
        else:
            types = {"str": str, "int": int, "bool": bool}
            right = wanted not in types or type(value) is types[wanted]
            out[f.name] = value
        if not right:
            raise ConfigError(f"{place}.{f.name} is {value!r}, must be of type {wanted}")
    return out


def read_config(path: Path) -> TrainConfig:
    """The configuration in the YAML file `path`. Raises ConfigError with key and value."""
    import yaml

    try:
        given = yaml.safe_load(path.read_text("utf-8"))
    except OSError as error:
        raise ConfigError(f"{path.name} cannot be read: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path.name} is not YAML: {error}") from error
    values = _strict(TrainConfig, given, path.name)
    for key in ("name", "labels", "holdout"):
        if key not in values:
            raise ConfigError(f"{path.name}: {key} is missing")
    model = _strict(FastTextParams, values.pop("model", {}), f"{path.name}: model")
    params = FastTextParams(**_typed(FastTextParams, model, f"{path.name}: model"))
    return TrainConfig(
        **_typed(TrainConfig, values, path.name), model=params, folder=path.resolve().parent
    )
