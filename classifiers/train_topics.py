"""Trains a model of topics or of formats from seeds and labelled pages, and judges it on others.

Linear discriminant analysis (Fisher 1936, Rao 1948): one covariance for all classes, to whose
diagonal a part of itself is added, since classes have few texts. It is solved at once, without
steps or chance. Every figure is of texts whose group, a host or a book, the model of their fold has
not seen; the logits are scaled so that the probabilities of these are right (Guo et al. 2017).
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from corpusmill.pipeline.errors import ConfigError

from .embedding import LENGTH, NAME, Embedder, load_embedder
from .metrics import accuracy_and_f1, calibration_error, reliability
from .page_model import UNIT, PageModel, likeliest, page_features
from .seed_words import guesses
from .shape import UNIT as SHAPE_UNIT
from .train import LabelledText, licences_of, read_label_files
from .train_config import read_config

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Fitted = tuple[Floats, Floats]

SCHEMA = "corpusmill/page-card/1"
_SOFT = 1.0
"""Texts at the middle of all that every class has besides its own."""


@dataclass(frozen=True, slots=True)
class PageClass:
    """`what` belongs to a class, and `seeds`: short texts that do, written for training."""

    what: str
    seeds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TopicsConfig:
    """A training run.

    `signal`: what the model answers. `labels`: label files as for a quality classifier, whose
    labels are of `classes`; the field `url` is used where a row has it. `judged`: the sources whose
    texts the card's figures are of; empty means all. `weights`: what a text of a source counts in
    training, 1 where it is not named; a seed counts `seed_weight`. `shape`: whether the model reads
    the text's shape too. `folds` of the groups. `ridge`: the part that is added to the variances.
    `prior`: how far the classes' sizes count, 0 to 1.
    """

    name: str
    signal: Literal["topic", "format"]
    labels: tuple[str, ...]
    classes: Mapping[str, PageClass]
    judged: tuple[str, ...] = ()
    weights: Mapping[str, float] = field(default_factory=dict)
    seed_weight: float = 0.5
    shape: bool = False
    folds: int = 10
    ridge: float = 0.3
    prior: float = 0.5
    known_failures: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.labels or len(self.classes) < 2 or self.folds < 2:
            raise ConfigError(
                f"{len(self.labels)} label files, {len(self.classes)} classes, {self.folds} folds",
                hint="name a file, two classes or more, two folds or more",
            )
        if self.ridge <= 0 or not 0 <= self.prior <= 1 or self.seed_weight < 0:
            raise ConfigError(
                f"ridge {self.ridge}, prior {self.prior}, seed_weight {self.seed_weight}",
                hint="ridge above 0, prior 0 to 1, seed_weight not below 0",
            )


@dataclass(frozen=True, slots=True)
class Examples:
    """Labelled pages and then seeds: features, classes, what each counts, groups (of seeds "")."""

    x: Floats
    y: npt.NDArray[np.int64]
    weight: Floats
    group: list[str]


def fit(examples: Examples, chosen: npt.NDArray[np.bool_], k: int, config: TopicsConfig) -> Fitted:
    """Weights (features, classes) and biases from the chosen examples."""
    x, y, w = examples.x[chosen], examples.y[chosen], examples.weight[chosen]
    count = np.bincount(y, weights=w, minlength=k)
    middle = (w @ x) / w.sum()
    sums = np.zeros((k, x.shape[1]))
    np.add.at(sums, y, w[:, None] * x)
    means = (sums + _SOFT * middle) / (count[:, None] + _SOFT)
    rest = (x - means[y]) * np.sqrt(w / w.sum())[:, None]
    spread = rest.T @ rest
    # A feature that never varies, in texts that all lack it, must not be divided by nothing.
    variances = np.maximum(np.diag(spread), 1e-6)
    weights = np.linalg.solve(spread + config.ridge * np.diag(variances), means.T)
    prior = np.log((count + _SOFT) / (count + _SOFT).sum())
    return weights, config.prior * prior - 0.5 * (means.T * weights).sum(axis=0)


def examples_of(
    rows: list[LabelledText], names: Sequence[str], config: TopicsConfig, embedder: Embedder
) -> Examples:
    seeds = [(seed, name) for name in names for seed in config.classes[name].seeds]
    texts = [row.text for row in rows] + [seed for seed, _ in seeds]
    urls = [row.url for row in rows] + [""] * len(seeds)
    whole = page_features(embedder.vectors(texts), texts, urls, config.shape).astype(np.float64)
    vectors = embedder.table.shape[1]
    whole[:, :vectors] /= LENGTH
    whole[:, vectors:] /= SHAPE_UNIT
    labels = [row.label for row in rows] + [name for _, name in seeds]
    weight = [config.weights.get(row.source, 1.0) for row in rows]
    return Examples(
        whole, np.array([names.index(label) for label in labels], np.int64),
        np.array(weight + [config.seed_weight] * len(seeds)),
        [row.group for row in rows] + [""] * len(seeds),
    )  # fmt: skip


def held_out(examples: Examples, k: int, config: TopicsConfig) -> Floats:
    """Logits of every example with a group by the model of the other folds."""
    groups = sorted(set(examples.group) - {""})
    if len(groups) < config.folds:
        raise ConfigError(f"{len(groups)} groups are fewer than {config.folds} folds")
    # In an order of their own, so that hosts whose names are alike do not lie in one fold.
    groups.sort(key=lambda name: hashlib.blake2b(name.encode(), digest_size=8).digest())
    fold_of = {"": -1, **{name: n % config.folds for n, name in enumerate(groups)}}
    folds = np.array([fold_of[name] for name in examples.group])
    found = np.zeros((len(examples.y), k))
    for fold in range(config.folds):
        aside = folds == fold
        weights, biases = fit(examples, ~aside, k, config)
        found[aside] = examples.x[aside] @ weights + biases
    return found


def best_scale(logits: Floats, y: npt.NDArray[np.int64]) -> float:
    """The factor, of 40 from 0.05 on, each a tenth larger, with the smallest mean squared gap
    between the likeliest class's probability and whether it is right (Brier 1950). The log loss,
    which is commonly taken, hangs on the few texts whose logits are far off."""
    right = logits.argmax(axis=1) == y
    gaps = logits - logits.max(axis=1, keepdims=True)

    def loss(scale: float) -> float:
        chance = 1.0 / np.exp(scale * gaps).sum(axis=1)
        return float(((chance - right) ** 2).mean())

    return min((0.05 * 1.1**step for step in range(40)), key=loss)


def _whole_numbers(fitted: Fitted, scale: float, names: Sequence[str], config: TopicsConfig,
                   vectors: int) -> PageModel:  # fmt: skip
    weights, biases = fitted
    per = np.full(len(weights), float(SHAPE_UNIT))
    per[:vectors] = LENGTH
    whole = np.rint(weights.T * scale / per * UNIT).astype(np.int64)
    return PageModel(
        config.signal, tuple(names), config.shape, whole,
        np.rint(biases * scale * UNIT).astype(np.int64),
    )  # fmt: skip


def train_topics(config: TopicsConfig, base: Path, out: Path) -> dict[str, Any]:
    """Trains, judges and writes ``model.jsonl`` and ``card.json`` to `out`; returns the card.

    Raises ConfigError for a label that is no class or too few groups, InputError for a label file,
    StageError where the extra is missing.
    """
    rows, data = read_label_files(config.labels, base)
    rows.sort(key=lambda row: (row.group, row.text))
    names = sorted(config.classes)
    unknown = {row.label for row in rows} - set(names)
    if unknown:
        raise ConfigError(f"labels {sorted(unknown)} are no classes", hint=f"classes: {names}")
    embedder = load_embedder("train topics")
    examples = examples_of(rows, names, config, embedder)
    logits = held_out(examples, len(names), config)
    judged = [n for n, row in enumerate(rows) if not config.judged or row.source in config.judged]
    scale = best_scale(logits[judged], examples.y[judged])
    everything = np.ones(len(examples.y), np.bool_)
    fitted = fit(examples, everything, len(names), config)
    model = _whole_numbers(fitted, scale, names, config, embedder.table.shape[1])
    raw = model.to_bytes()
    out.mkdir(parents=True, exist_ok=True)
    (out / "model.jsonl").write_bytes(raw)
    card: dict[str, Any] = {
        "schema": SCHEMA, "name": config.name, "signal": config.signal, "embedding": NAME,
        "model": {"file": "model.jsonl", "size": len(raw),
                  "sha256": hashlib.sha256(raw).hexdigest()},
        "params": {key: value for key, value in asdict(config).items()
                   if key in ("weights", "seed_weight", "shape", "folds", "ridge", "prior")}
        | {"scale": round(scale, 4)},
        "classes": {name: config.classes[name].what for name in names},
        "data": data,
        "licences": licences_of(rows),
        "training": {"texts": len(rows), "seeds": len(examples.y) - len(rows),
                     "by_class": dict(sorted(Counter(row.label for row in rows).items()))},
        "heldout": _figures([rows[n] for n in judged], scale * logits[judged], names, config),
        "known_failures": list(config.known_failures),
    }  # fmt: skip
    text = json.dumps(card, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    (out / "card.json").write_text(text, encoding="utf-8", newline="\n")
    return card


def _figures(
    rows: Sequence[LabelledText], logits: Floats, names: Sequence[str], config: TopicsConfig
) -> dict[str, Any]:
    truth = [row.label for row in rows]
    judged = [likeliest(row, names) for row in logits.tolist()]
    found, scores = [name for name, _ in judged], [score for _, score in judged]
    right = [a == b for a, b in zip(found, truth, strict=True)]
    most = max(sorted(set(truth)), key=truth.count)
    seeds = {name: config.classes[name].seeds for name in names}
    by_words = guesses([row.text for row in rows], seeds, most)
    by_source = {}
    for source in sorted({row.source for row in rows}):
        mine = [n for n, row in enumerate(rows) if row.source == source]
        kind = [truth[n] for n in mine]
        by_source[source] = {
            "texts": len(mine), **accuracy_and_f1([found[n] for n in mine], kind),
            "majority": accuracy_and_f1([max(sorted(set(kind)), key=kind.count)] * len(kind), kind),
            "seed_words": accuracy_and_f1([by_words[n] for n in mine], kind),
        }  # fmt: skip
    mistakes = Counter((a, b) for a, b in zip(truth, found, strict=True) if a != b)
    return {
        "texts": len(rows), "groups": len({row.group for row in rows}),
        **accuracy_and_f1(found, truth),
        "majority": accuracy_and_f1([most] * len(truth), truth),
        "seed_words": accuracy_and_f1(by_words, truth),
        "calibration_error": calibration_error(scores, right),
        "reliability": reliability(scores, right),
        "sources": by_source,
        "mistakes": [[a, b, n] for (a, b), n in sorted(
            mistakes.items(), key=lambda item: (-item[1], item[0]))[:12]],
    }  # fmt: skip


def train_topics_file(path: Path, out: Path) -> dict[str, Any]:
    """`train_topics` with the configuration in a YAML file."""
    return train_topics(read_config(path, TopicsConfig), path.resolve().parent, out)
