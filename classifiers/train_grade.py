"""Trains a model of grades on texts that were graded by reading, and says how it ranks others.

Ridge regression in closed form on standardised features; every figure is of texts whose group, a
host, the model of their fold has not seen. Weights are rounded to 6 decimals, so that the last bits
of a machine's linear algebra do not reach the file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from corpusmill.pipeline.document import Document
from corpusmill.pipeline.errors import ConfigError
from corpusmill.stages.measure import language

from .grade import MEASURES, MOST, GradeModel, features, signal_names
from .metrics import spearman
from .train import LabelledText, licences_of, read_label_files
from .train_config import read_config

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

SCHEMA = "corpusmill/grade-card/1"


@dataclass(frozen=True, slots=True)
class GradeConfig:
    """A training run.

    `labels`: label files as for a quality classifier, whose labels are grades from 0 to 5.
    `folds`: parts of the groups, each graded by a model of the others. `penalty` of the weights
    (ridge, Hoerl and Kennard 1970).
    """

    name: str
    labels: tuple[str, ...]
    folds: int = 10
    penalty: float = 10.0
    known_failures: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.labels or self.folds < 2 or self.penalty <= 0:
            raise ConfigError(
                f"{len(self.labels)} label files, folds {self.folds}, penalty {self.penalty}",
                hint="name a file, two folds or more, a penalty above 0",
            )


def measured(texts: list[str]) -> list[Document]:
    """The texts as documents with their signals."""
    docs = [Document(id=str(n), text=text, source="labels") for n, text in enumerate(texts)]
    for kind in (language.STAGE, *MEASURES):
        stage = kind(kind.Params())
        stage.setup()
        try:
            stage.apply(docs)
        finally:
            stage.close()
    return docs


def fit(x: Floats, grades: Floats, penalty: float) -> tuple[Floats, float]:
    """Weights and intercept for features as they are."""
    middle, spread = x.mean(axis=0), x.std(axis=0)
    spread[spread < 1e-9] = 1.0
    z = (x - middle) / spread
    left = z.T @ z + penalty * np.eye(z.shape[1])
    weights = np.linalg.solve(left, z.T @ (grades - grades.mean())) / spread
    return weights, float(grades.mean() - middle @ weights)


def held_out(
    x: Floats, grades: Floats, groups: Sequence[str], folds: int, penalty: float
) -> Floats:
    """The grade of each row by a model that has not seen its group, nor the others of its fold."""
    found = np.zeros(len(grades))
    names = sorted(set(groups))
    for fold in range(folds):
        aside = np.isin(groups, names[fold::folds])
        weights, intercept = fit(x[~aside], grades[~aside], penalty)
        found[aside] = np.clip(x[aside] @ weights + intercept, 0, MOST)
    return found


def train_grade(config: GradeConfig, base: Path, out: Path) -> dict[str, Any]:
    """Trains, judges and writes ``model.json`` and ``card.json`` to `out`; returns the card.

    Raises ConfigError for a label that is no grade or too few groups, InputError for a label file.
    """
    rows, data = read_label_files(config.labels, base)
    rows.sort(key=lambda r: (r.group, r.text))
    grades = np.array([_grade(r) for r in rows])
    groups = sorted({r.group for r in rows})
    if len(groups) < config.folds:
        raise ConfigError(f"{len(groups)} groups are fewer than {config.folds} folds")
    names = signal_names()
    docs = measured([r.text for r in rows])
    x = np.array([features(doc, names) for doc in docs])
    found = held_out(x, grades, [r.group for r in rows], config.folds, config.penalty)
    weights, intercept = fit(x, grades, config.penalty)
    model = GradeModel(names, tuple(round(float(w), 6) for w in weights), round(intercept, 6))
    out.mkdir(parents=True, exist_ok=True)
    raw = model.to_bytes()
    (out / "model.json").write_bytes(raw)
    card: dict[str, Any] = {
        "schema": SCHEMA, "name": config.name,
        "model": {"file": "model.json", "size": len(raw),
                  "sha256": hashlib.sha256(raw).hexdigest()},
        "params": {"folds": config.folds, "penalty": config.penalty},
        "data": data,
        "licences": licences_of(rows),
        "heldout": {
            "texts": len(rows), "groups": len(groups), "auc": None,
            "spearman": spearman(found.tolist(), grades.tolist()),
            "spearman_length": spearman([len(r.text) for r in rows], grades.tolist()),
            "sources": _by_source(rows, found.tolist(), grades.tolist()),
        },
        "known_failures": list(config.known_failures),
    }  # fmt: skip
    text = json.dumps(card, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    (out / "card.json").write_text(text, encoding="utf-8", newline="\n")
    return card


def _by_source(
    rows: list[LabelledText], found: list[float], grades: list[float]
) -> dict[str, dict[str, Any]]:
    """The same figures by the rows' source, where it has more than two."""
    made: dict[str, dict[str, Any]] = {}
    for source in sorted({r.source for r in rows}):
        of = [i for i, r in enumerate(rows) if r.source == source]
        if len(of) > 2:
            theirs = [grades[i] for i in of]
            made[source] = {
                "texts": len(of),
                "spearman": spearman([found[i] for i in of], theirs),
                "spearman_length": spearman([len(rows[i].text) for i in of], theirs),
            }
    return made


def _grade(row: LabelledText) -> float:
    try:
        value = float(row.label)
    except ValueError:
        value = -1.0
    if not 0 <= value <= MOST:
        raise ConfigError(f"label {row.label!r} is no grade", hint="write numbers from 0 to 5")
    return value


def train_grade_file(path: Path, out: Path) -> dict[str, Any]:
    """`train_grade` with the configuration in a YAML file."""
    return train_grade(read_config(path, GradeConfig), path.resolve().parent, out)
