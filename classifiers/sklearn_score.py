"""A user's own scikit-learn pipeline, from texts to a number, in a file of skops.

    - classifiers.sklearn_score: {model: good.skops, label: good, signal: good_score}

A pickle runs whatever its author put into it, so none is read. A file of skops (``skops.io.dump``)
names the types that it is made of, and is refused where one of them is neither scikit-learn's,
NumPy's nor SciPy's, nor one that `trusted` names. The pipeline gets the text as it is, up to
`max_chars`, one document at a time: what it says of a text does not hang on its neighbours.

Needs the extra ``sklearn``. This stage only measures: decide with ``filters.threshold``.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from corpusmill.pipeline.document import Document, Outcome
from corpusmill.pipeline.errors import AssetError, ConfigError
from corpusmill.pipeline.stage import Asset, Kind, Stage
from corpusmill.stages.measure.language_codes import check_codes

from .own_models import DECIMALS, check_names, extra_module, in_languages, place_of_label

EXTRA = "sklearn"
_ZIP = b"PK\x03\x04"


@dataclass(frozen=True, slots=True)
class Params:
    """`model`: a file of skops with a fitted pipeline whose first step takes strings. `label`: the
    class whose probability is the score; None for a pipeline that predicts a number. `signal`: the
    name that the score gets. `languages`: documents whose signal ``lang`` is none of these get no
    score; empty means every document. `max_chars`: characters read of each. `trusted`: names of
    types, beyond those of the three libraries, that the file may hold."""

    model: Asset
    label: str | None = None
    signal: str = "sklearn_score"
    languages: tuple[str, ...] = ()
    max_chars: int = 100_000
    trusted: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_codes(self.languages, "languages")
        check_names("classifiers.sklearn_score", self.signal, self.label)
        if self.max_chars < 1:
            raise ConfigError(
                f"classifiers.sklearn_score: max_chars is {self.max_chars}, must be 1 or more"
            )


class SklearnScore(Stage):
    """Writes the signal that `signal` names: a probability, or the predicted number, 4 decimals."""

    name = "classifiers.sklearn_score"
    version = 1
    kind: ClassVar[Kind] = "measure"
    pins = ("scikit-learn", "skops")
    Params: ClassVar[type] = Params

    def __init__(self, params: Any) -> None:
        super().__init__(params)
        self.reads = ("lang",) if params.languages else ()
        self.writes = {params.signal: "float"}
        self._model: Any = None
        self._place: int | None = None
        self._threads: Any = None

    def check_assets(self) -> None:
        check_archive(str(self.params.model))

    def setup(self) -> None:
        """Loads the pipeline. Raises AssetError for a file that is no such thing, holds a type that
        is not trusted, was written by another scikit-learn, or has no class `label`."""
        p: Params = self.params
        self._model = load_pipeline(str(p.model), p.trusted)
        self._place = _place(self._model, Path(p.model).name, p.label)
        # Sums in several threads come in any order.
        self._threads = extra_module("threadpoolctl", EXTRA).ThreadpoolController()

    def apply(self, batch: Sequence[Document]) -> list[Outcome]:
        p: Params = self.params
        if self._model is None:
            raise ConfigError("classifiers.sklearn_score: apply before setup")
        with self._threads.limit(limits=1):
            for doc in in_languages(batch, p.languages):
                doc.signals[p.signal] = self._score(doc.text[: p.max_chars])
        return list(batch)

    def _score(self, text: str) -> float:
        if self._place is None:
            return round(float(self._model.predict([text])[0]), DECIMALS)
        return round(float(self._model.predict_proba([text])[0][self._place]), DECIMALS)


def check_archive(path: str) -> None:
    """Raises AssetError for a file that cannot be read, or that skops did not write."""
    name = Path(path).name
    try:
        with open(path, "rb") as file:
            start = file.read(8)
    except OSError as error:
        raise AssetError(f"model {name} cannot be read: {error.strerror}") from error
    if not start.startswith(_ZIP):
        raise AssetError(
            f"model {name} is no file of skops: it starts with {start!r}",
            hint="save the pipeline by skops.io.dump(pipeline, FILE); pickles are not read",
        )


def load_pipeline(path: str, trusted: Sequence[str] = ()) -> Any:
    """The fitted estimator in a file of skops; see `SklearnScore.setup`."""
    name = Path(path).name
    skops = extra_module("skops.io", EXTRA)
    warning = extra_module("sklearn.exceptions", EXTRA).InconsistentVersionWarning
    check_archive(path)
    raw = Path(path).read_bytes()
    try:
        strange = sorted(set(skops.get_untrusted_types(data=raw)) - set(trusted))
        if strange:
            raise AssetError(
                f"model {name} holds types that are not trusted: {', '.join(strange)}",
                hint="if you know what each does, name them under `trusted`",
            )
        with warnings.catch_warnings():
            warnings.simplefilter("error", warning)
            return skops.loads(raw, trusted=list(trusted))
    except warning as error:
        raise AssetError(
            f"model {name} was saved by another version of scikit-learn: {error}",
            hint="save it again with the version that is installed, or install the other",
        ) from error
    except AssetError:
        raise
    except Exception as error:  # a damaged file raises whatever its parts raise
        raise AssetError(f"model {name} cannot be read: {error!r}") from error


def _place(model: Any, name: str, label: str | None) -> int | None:
    """The column of the probability of `label`; None where the model predicts a number."""
    from sklearn.base import is_classifier, is_regressor

    if is_regressor(model):
        if label is not None:
            raise AssetError(f"model {name} predicts a number and has no class {label!r}")
        return None
    if not (is_classifier(model) and hasattr(model, "predict_proba")):
        raise AssetError(
            f"model {name} is a {type(model).__name__} that gives no probabilities",
            hint="a classifier with predict_proba, or a regressor, as the last step",
        )
    return place_of_label(name, dict(enumerate(map(str, model.classes_))), label)


STAGE = SklearnScore
