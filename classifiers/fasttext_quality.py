"""Quality by a fastText classifier: the share of a text's look that is "good" to the model.

The method is that of DCLM (Li et al. 2024, section 4.4 and appendix F): a linear bag-of-n-grams
model, trained on texts taken as good against texts taken as poor. Its score means no more than its
labels do; the card that training writes beside a model says which they were, for which languages,
and how the score did on groups held out. This stage only measures: decide with
``filters.threshold`` on ``quality_score``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from corpusmill.pipeline.document import Document, Outcome
from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.stage import Asset, Kind, Stage
from corpusmill.stages.measure.language_codes import check_codes

from .fasttext_models import check_label, load_model
from .own_models import in_languages
from .quality_text import MAX_CHARS, scores


@dataclass(frozen=True, slots=True)
class Params:
    """`model`: a fastText file (``.bin`` or ``.ftz``). `label`: the model's name of the good class.
    `languages`: documents whose signal ``lang`` is none of these get no score (a model of English
    says nothing of Korean); empty means every document. `max_chars`: characters read of each."""

    model: Asset
    label: str = "high"
    languages: tuple[str, ...] = ()
    max_chars: int = MAX_CHARS

    def __post_init__(self) -> None:
        check_codes(self.languages, "languages")
        if not self.label:
            raise ConfigError("classifiers.fasttext_quality: label is empty")
        if self.max_chars < 1:
            raise ConfigError(
                f"classifiers.fasttext_quality: max_chars is {self.max_chars}, must be 1 or more"
            )


class FastTextQuality(Stage):
    """Writes `quality_score`: the model's probability of the good class, 0 to 1, 4 decimals."""

    name = "classifiers.fasttext_quality"
    version = 1
    kind: ClassVar[Kind] = "measure"
    pins = ("fasttext-community",)
    Params: ClassVar[type] = Params

    writes = {"quality_score": "float"}  # noqa: RUF012 - declared by the base class

    def __init__(self, params: Any) -> None:
        super().__init__(params)
        self.reads = ("lang",) if params.languages else ()
        self._model: Any = None

    def check_assets(self) -> None:
        check_label(self.params.model, self.params.label)

    def setup(self) -> None:
        self._model = load_model(self.params.model, self.params.label)

    def apply(self, batch: Sequence[Document]) -> list[Outcome]:
        p: Params = self.params
        chosen = in_languages(batch, p.languages)
        values = scores(self._model, [doc.text for doc in chosen], p.label, p.max_chars)
        for doc, value in zip(chosen, values, strict=True):
            doc.signals["quality_score"] = value
        return list(batch)


STAGE = FastTextQuality
