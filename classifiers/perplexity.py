"""Perplexity under an n-gram model of good text, and the third of the web that a text lies in.

CCNet (Wenzek et al. 2020, 3.4): a 5-gram Kneser-Ney model over sentencepiece pieces, one a
language, trained on Wikipedia; the web's texts are split into thirds by it, head, middle and tail.
Low is near to what the model was trained on, which is not the same as good: lists and repeated
lines are low too, poems and code are high. This stage only measures: decide with
``filters.threshold`` on ``perplexity``, or by ``perplexity_bucket`` in a mix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from corpusmill.pipeline.document import Document, Outcome
from corpusmill.pipeline.errors import AssetError, ConfigError
from corpusmill.pipeline.stage import Asset, Kind, Stage
from corpusmill.stages.measure.language_codes import check_codes

from .ngram_model import UNIT, NgramModel, check_ngrams, load_ngrams
from .perplexity_text import MAX_CHARS, Cutter, cutter, plain_lines

OTHERS = "*"
"""The key of the model for documents of all languages without one of their own."""
BUCKETS = ("head", "middle", "tail")


@dataclass(frozen=True, slots=True)
class Params:
    """`models`: a model file for each language (a value of the signal ``lang``); ``*`` for all
    others. A document whose language has none gets no signal. `max_chars`: characters read of
    each."""

    models: Mapping[str, Asset]
    max_chars: int = MAX_CHARS

    def __post_init__(self) -> None:
        if not self.models or self.max_chars < 1:
            raise ConfigError(
                f"classifiers.perplexity: {len(self.models)} models, max_chars {self.max_chars}",
                hint="name a model for a language, or for '*'; read at least one character",
            )
        check_codes(set(self.models) - {OTHERS}, "models")


@dataclass(frozen=True, slots=True)
class Judge:
    """A model with its cutter."""

    model: NgramModel
    cutter: Cutter
    cutoffs: tuple[float, ...]

    def perplexities(self, texts: Sequence[str], max_chars: int = MAX_CHARS) -> list[float | None]:
        """Of each text, per piece and line end, 2 decimals; None for one without a line."""
        lines = [plain_lines(text, max_chars) for text in texts]
        pieces = self.cutter.cut([line for some in lines for line in some])
        bits = iter(self.model.bits(pieces))
        sizes = iter([len(p) - 1 for p in pieces])
        made: list[float | None] = []
        for some in lines:
            total = sum(next(bits) for _ in some)
            count = sum(next(sizes) for _ in some)
            made.append(round(2.0 ** (total / UNIT / count), 2) if count else None)
        return made

    def bucket(self, value: float) -> str:
        """head, middle or tail."""
        return BUCKETS[sum(value > cut for cut in self.cutoffs)]


def load_judge(path: str) -> Judge:
    """The judge in a model file. Raises AssetError where it is none."""
    model = load_ngrams(path)
    cutoffs = tuple(float(value) for value in model.head.get("cutoffs", ()))
    if not model.extra or len(cutoffs) not in (0, 2):
        raise AssetError(
            f"model {path} has no pieces to cut texts with, or cutoffs {list(cutoffs)}",
            hint="train it with `corpusmill train perplexity`",
        )
    made = cutter(model.extra)
    if made.vocabulary != model.head["vocabulary"]:
        raise AssetError(f"model {path}: its pieces are not those it was trained on")
    return Judge(model, made, cutoffs)


class Perplexity(Stage):
    """Writes `perplexity`, 1 and above, and `perplexity_bucket` (head, middle, tail) where the
    model has cutoffs."""

    name = "classifiers.perplexity"
    version = 1
    kind: ClassVar[Kind] = "measure"
    pins: ClassVar[tuple[str, ...]] = ("sentencepiece",)
    Params: ClassVar[type] = Params

    writes = {"perplexity": "float", "perplexity_bucket": "str"}  # noqa: RUF012 - by the base class

    def __init__(self, params: Any) -> None:
        super().__init__(params)
        self.reads = ("lang",) if set(params.models) - {OTHERS} else ()
        self._judges: dict[str, Judge] = {}

    def check_assets(self) -> None:
        for path in self.params.models.values():
            check_ngrams(path)

    def setup(self) -> None:
        p: Params = self.params
        self._judges = {key: load_judge(str(p.models[key])) for key in sorted(p.models)}
        for judge in self._judges.values():
            judge.perplexities(["Warm."])

    def apply(self, batch: Sequence[Document]) -> list[Outcome]:
        p: Params = self.params
        chosen: dict[str, list[Document]] = {}
        for doc in batch:
            lang = str(doc.signals.get("lang", OTHERS))
            key = lang if lang in self._judges else OTHERS
            if key in self._judges:
                chosen.setdefault(key, []).append(doc)
        for key, docs in chosen.items():
            judge = self._judges[key]
            values = judge.perplexities([doc.text for doc in docs], p.max_chars)
            for doc, value in zip(docs, values, strict=True):
                if value is None:
                    continue
                doc.signals["perplexity"] = value
                if judge.cutoffs:
                    doc.signals["perplexity_bucket"] = judge.bucket(value)
        return list(batch)


STAGE = Perplexity
