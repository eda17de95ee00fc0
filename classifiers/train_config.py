"""What `train` needs to know, and its reading from a YAML file with strict keys."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar

from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.params import decode_dataclass
from corpusmill.pipeline.strict_yaml import read_yaml

from .linear_model import LinearParams
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
    be. `kind`: which model; `model` are fastText's hyperparameters, `linear` those of
    `linear_model.py`. `known_failures`: sentences for the card.
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
    kind: Literal["fasttext", "linear"] = "fasttext"
    model: FastTextParams = field(default_factory=FastTextParams)
    linear: LinearParams = field(default_factory=LinearParams)
    known_failures: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("labels", "holdout"):
            if not getattr(self, name):
                raise ConfigError(
                    f"{name} is empty", hint="a score needs texts held out to be judged"
                )
        if not 0.0 < self.keep_rate <= 1.0:
            raise ConfigError(f"keep_rate is {self.keep_rate}, must be above 0 and at most 1")


Config = TypeVar("Config")


def read_config(path: Path, kind: type[Config]) -> Config:
    """The configuration of a training run in the YAML file `path`, a dataclass `kind`. Raises
    ConfigError with place, key and value."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"{path.name} cannot be read: {reason}") from error
    made: Config = decode_dataclass(kind, read_yaml(text, path.name), path.name)
    return made
