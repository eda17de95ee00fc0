"""A grade from 0 to 5 from what has been measured: a linear model of signals, read as numbers.

What readers call good is, on natural pages, seen less in the words than in the shape of a text: how
long it is, how its lines end, how much repeats, how many words are common ones. The stage reads
what the measures have written, with their default parameters, and of the text its length. It only
measures: decide with ``filters.threshold`` on ``grade``, or name it in ``classifiers.buckets``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from corpusmill.pipeline.document import Document, Outcome, Scalar
from corpusmill.pipeline.errors import AssetError, ConfigError
from corpusmill.pipeline.stage import Asset, Kind, Stage
from corpusmill.stages.measure import c4, fineweb, gopher, repetition, text_kind
from corpusmill.stages.measure.language_codes import check_codes

from .own_models import in_languages

SCHEMA = "corpusmill/grade-model/1"
LENGTH = "characters"
"""The feature that is no signal: the length of the text."""
MOST = 5.0
MEASURES = (gopher.STAGE, repetition.STAGE, c4.STAGE, fineweb.STAGE, text_kind.STAGE)


def signal_names() -> tuple[str, ...]:
    """The signals that a model may use: the numbers that `MEASURES` write, by name."""
    return tuple(sorted(
        name for stage in MEASURES for name, kind in stage.writes.items()
        if kind in ("int", "float")
    ))  # fmt: skip


def features(doc: Document, names: Sequence[str]) -> list[float]:
    """The logarithm of 1 and more of each signal (0 where there is none), and of the length."""
    made = [_logarithm(doc.signals.get(name, 0)) for name in names]
    return [*made, math.log1p(len(doc.text))]


def _logarithm(value: Scalar) -> float:
    number = float(value)
    return math.copysign(math.log1p(abs(number)), number)


@dataclass(frozen=True, slots=True)
class GradeModel:
    """`weights` of the features, `signals` and then the length, and the grade of a text whose
    features are all 0."""

    signals: tuple[str, ...]
    weights: tuple[float, ...]
    intercept: float

    def grade(self, doc: Document) -> float:
        """0 to 5, 2 decimals."""
        given = features(doc, self.signals)
        total = math.fsum(
            [self.intercept, *(w * x for w, x in zip(self.weights, given, strict=True))]
        )
        return round(min(MOST, max(0.0, total)), 2)

    def to_bytes(self) -> bytes:
        """The file of the model."""
        head = {
            "schema": SCHEMA, "intercept": self.intercept,
            "weights": dict(zip((*self.signals, LENGTH), self.weights, strict=True)),
        }  # fmt: skip
        return (json.dumps(head, indent=1, sort_keys=True) + "\n").encode()


def load_grades(path: str) -> GradeModel:
    """The model in a file. Raises AssetError where it is missing, or of other signals."""
    try:
        with open(path, encoding="utf-8") as file:
            found: Mapping[str, Any] = json.load(file)
        if found["schema"] != SCHEMA:
            raise ValueError(f"its schema is {found['schema']!r}, not {SCHEMA!r}")
        weights = {str(name): float(value) for name, value in found["weights"].items()}
        intercept = float(found["intercept"])
        length = weights.pop(LENGTH)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise AssetError(f"model {path} is no model of grades: {error}") from error
    unknown = weights.keys() - set(signal_names())
    if unknown:
        raise AssetError(f"model {path} has weights for signals that are not measured: "
                         f"{', '.join(sorted(unknown))}")  # fmt: skip
    names = tuple(sorted(weights))
    return GradeModel(names, (*(weights[name] for name in names), length), intercept)


@dataclass(frozen=True, slots=True)
class Params:
    """`model`: a file of `corpusmill train grade`. `languages`: documents whose signal ``lang`` is
    none of these get no grade; empty means every document."""

    model: Asset
    languages: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_codes(self.languages, "languages")


class Grade(Stage):
    """Writes `grade`, 0 to 5."""

    name = "classifiers.grade"
    version = 1
    kind: ClassVar[Kind] = "measure"
    Params: ClassVar[type] = Params

    writes = {"grade": "float"}  # noqa: RUF012 - declared by the base class

    def __init__(self, params: Any) -> None:
        super().__init__(params)
        self.reads = (*signal_names(), *(("lang",) if params.languages else ()))
        self._model: GradeModel | None = None

    def check_assets(self) -> None:
        load_grades(str(self.params.model))

    def setup(self) -> None:
        self._model = load_grades(str(self.params.model))

    def apply(self, batch: Sequence[Document]) -> list[Outcome]:
        p: Params = self.params
        if self._model is None:
            raise ConfigError("classifiers.grade: apply before setup")
        for doc in in_languages(batch, p.languages):
            doc.signals["grade"] = self._model.grade(doc)
        return list(batch)


STAGE = Grade
