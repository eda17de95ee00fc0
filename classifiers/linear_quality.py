"""Quality by a linear model over hashed words and word pairs, the second model beside fastText's.

What `classifiers.fasttext_quality` says of its score holds for this one. Two models that were
trained alike and disagree on a text say that the text is unlike what they were trained on. This
stage only measures: decide with ``filters.threshold`` on ``quality_linear_score``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from corpusmill.pipeline.document import Document, Outcome
from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.stage import Asset, Kind, Stage
from corpusmill.stages.measure.language_codes import check_codes

from .linear_model import LinearModel, load_linear
from .own_models import in_languages
from .quality_text import MAX_CHARS


@dataclass(frozen=True, slots=True)
class Params:
    """`model`: a ``.lin`` file. `label`: its good class. `languages`: documents whose signal
    ``lang`` is none of these get no score; empty means every document. `max_chars`: characters
    read of each."""

    model: Asset
    label: str = "high"
    languages: tuple[str, ...] = ()
    max_chars: int = MAX_CHARS

    def __post_init__(self) -> None:
        check_codes(self.languages, "languages")
        if not self.label or self.max_chars < 1:
            raise ConfigError(
                f"classifiers.linear_quality: label is {self.label!r}, max_chars {self.max_chars}",
                hint="name the good class; read at least one character",
            )


class LinearQuality(Stage):
    """Writes `quality_linear_score`: the model's probability of the good class, 4 decimals."""

    name = "classifiers.linear_quality"
    version = 1
    kind: ClassVar[Kind] = "measure"
    Params: ClassVar[type] = Params

    writes = {"quality_linear_score": "float"}  # noqa: RUF012 - declared by the base class

    def __init__(self, params: Any) -> None:
        super().__init__(params)
        self.reads = ("lang",) if params.languages else ()
        self._model: LinearModel | None = None

    def check_assets(self) -> None:
        load_linear(self.params.model, self.params.label)

    def setup(self) -> None:
        self._model = load_linear(self.params.model, self.params.label)
        self._model.scores(("",))

    def apply(self, batch: Sequence[Document]) -> list[Outcome]:
        p: Params = self.params
        model = self._model
        if model is None:
            raise ConfigError("classifiers.linear_quality: apply before setup")
        chosen = in_languages(batch, p.languages)
        values = model.scores([doc.text for doc in chosen], p.max_chars)
        for doc, value in zip(chosen, values, strict=True):
            doc.signals["quality_linear_score"] = value
        return list(batch)


STAGE = LinearQuality
