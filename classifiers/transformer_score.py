"""A user's own sequence classifier in a folder of Hugging Face's layout.

    - classifiers.transformer_score: {model: edu-classifier, signal: edu_score}

The folder holds ``config.json``, weights as safetensors and a tokenizer; all of it is the asset
whose digest the lock names. Nothing is fetched, no code from the folder is run, and pickled weights
are not read. A text is cut to `max_tokens`, its beginning.

The model works in 32 bits on one thread of the CPU, one document at a time: in batches the last
bits of a score hang on the neighbours, and at 512 tokens they gain a tenth. The score, rounded to
4 decimals, is the same on machines of one processor type; between types its last digit may differ.

Needs the extra ``hf``. This stage only measures: decide with ``filters.threshold``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from corpusmill.pipeline.document import Document, Outcome
from corpusmill.pipeline.errors import AssetError, ConfigError
from corpusmill.pipeline.stage import Asset, Kind, Stage
from corpusmill.stages.measure.language_codes import check_codes

from .model_folder import check_length, check_window, checked_config, load
from .own_models import DECIMALS, check_names, in_languages, place_of_label

Head = Literal["number", "one_of", "any_of"]
"""What a model gives: a number; one of several classes; or each class by itself."""
_CHARS_A_TOKEN = 50
"""Characters read for each token asked for: a huge text is not cut into tokens for nothing."""


@dataclass(frozen=True, slots=True)
class Params:
    """`model`: the folder. `label`: the class whose probability is the score (a name of
    ``id2label`` in its config.json); None for a model with one output, which is the score as it is.
    `signal`: the name that the score gets. `languages`: documents whose signal ``lang`` is none of
    these get no score; empty means every document. `max_tokens`: read of each, special ones
    included."""

    model: Asset
    label: str | None = None
    signal: str = "transformer_score"
    languages: tuple[str, ...] = ()
    max_tokens: int = 512

    def __post_init__(self) -> None:
        check_codes(self.languages, "languages")
        check_names("classifiers.transformer_score", self.signal, self.label)
        check_window("classifiers.transformer_score", self.max_tokens)


class TransformerScore(Stage):
    """Writes the signal that `signal` names: a probability, or the model's number, 4 decimals."""

    name = "classifiers.transformer_score"
    version = 1
    kind: ClassVar[Kind] = "measure"
    pins = ("torch", "transformers", "tokenizers")
    Params: ClassVar[type] = Params

    def __init__(self, params: Any) -> None:
        super().__init__(params)
        self.reads = ("lang",) if params.languages else ()
        self.writes = {params.signal: "float"}
        self._model: Any = None
        self._tokenizer: Any = None
        self._place = 0
        self._head: Head = "number"

    def check_assets(self) -> None:
        self._config()

    def setup(self) -> None:
        """Loads model and tokenizer. Raises AssetError for a folder that is no classifier, needs
        code of its own, has pickled weights, or no class `label`."""
        p: Params = self.params
        folder = Path(p.model)
        config = self._config()
        self._model, self._tokenizer = load(folder, "AutoModelForSequenceClassification")
        labels: Mapping[int, str] = self._model.config.id2label
        self._head = _head(self._model.config)
        if self._head != "number":
            self._place = place_of_label(folder.name, labels, p.label)
        elif p.label is not None:
            raise AssetError(f"model {folder.name} gives one number and has no class {p.label!r}")
        check_length(folder, config, self._tokenizer, p.max_tokens)

    def _config(self) -> dict[str, Any]:
        folder = Path(self.params.model)
        return checked_config(folder, "ForSequenceClassification", "sequence classifier")

    def apply(self, batch: Sequence[Document]) -> list[Outcome]:
        p: Params = self.params
        if self._model is None:
            raise ConfigError("classifiers.transformer_score: apply before setup")
        for doc in in_languages(batch, p.languages):
            doc.signals[p.signal] = self._score(doc.text)
        return list(batch)

    def _score(self, text: str) -> float:
        import torch

        p: Params = self.params
        clean = text[: p.max_tokens * _CHARS_A_TOKEN].encode("utf-8", "replace").decode()
        encoded = self._tokenizer(
            clean, truncation=True, max_length=p.max_tokens, return_tensors="pt"
        )
        with torch.inference_mode():
            outputs = self._model(**encoded).logits[0].double()
        if self._head == "one_of":
            outputs = torch.softmax(outputs, 0)
        elif self._head == "any_of":
            outputs = torch.sigmoid(outputs)
        return round(float(outputs[self._place]), DECIMALS)


def _head(config: Any) -> Head:
    if config.num_labels == 1:
        return "number"
    return "any_of" if config.problem_type == "multi_label_classification" else "one_of"


STAGE = TransformerScore
