"""Names of persons, or what else a user's own token classifier finds, replaced by a tag.

    - clean.pii
    - classifiers.names: {model: person-names}

Rules cannot find names, so `corpusmill.stages.clean.pii` does not look for them. This stage takes a
model that the user trusts: a folder of Hugging Face's layout (see `model_folder`), which is the
asset whose digest the lock names. What the model marks with one of `labels` becomes ``<NAME>``,
whole words always. Tags that stand in the text stay; a second pass may find what a first one did
not, since the model then reads another text.

The text is read in windows of `max_tokens` tokens that overlap by a quarter; where two windows read
a token, the higher probability counts. One window at a time, in 32 bits on one thread, so that no
outcome hangs on neighbours. A probability is rounded to 4 decimals before it is compared; between
types of processors the last of them may differ.

Needs the extra ``hf``. How good it is, is the model's affair: none comes with Corpusmill.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

from corpusmill.pipeline.document import Document, Outcome
from corpusmill.pipeline.errors import AssetError, ConfigError
from corpusmill.pipeline.stage import Asset, Kind, Stage
from corpusmill.stages.clean.spans import LETTERS, TAG
from corpusmill.stages.measure.language_codes import check_codes

from .model_folder import check_length, check_window, checked_config, load
from .own_models import DECIMALS, in_languages

NAME: Final = "<NAME>"
_TAG: Final = re.compile(rf"{TAG.pattern}|{NAME}")
_WORD: Final = re.compile(rf"[{LETTERS}0-9]+")
_PREFIX: Final = re.compile(r"^[BIESLU][-_]")
"""Where a token stands in what it belongs to, before the label (``B-PER``)."""
_PIECE: Final = 20_000
"""Characters that are cut into tokens at once."""


@dataclass(frozen=True, slots=True)
class Params:
    """`model`: the folder. `labels`: classes of the model that are replaced, without ``B-`` and
    ``I-``. `policy`: "tag" what is found or only count it ("annotate"). `min_probability`: of a
    token, over all of `labels`. `languages`: documents whose signal ``lang`` is none of these are
    left alone; empty means every document. `max_tokens`: of a window, special ones included."""

    model: Asset
    labels: tuple[str, ...] = ("PER",)
    policy: Literal["tag", "annotate"] = "tag"
    min_probability: float = 0.5
    languages: tuple[str, ...] = ()
    max_tokens: int = 512

    def __post_init__(self) -> None:
        check_codes(self.languages, "languages")
        if not self.labels or "" in self.labels:
            raise ConfigError(
                f"classifiers.names: labels={list(self.labels)!r}",
                hint="name the classes of the model that are to be replaced",
            )
        if self.policy not in ("tag", "annotate"):
            raise ConfigError(
                f"classifiers.names: policy={self.policy!r}", hint="write tag or annotate"
            )
        if not 0 < self.min_probability <= 1:
            raise ConfigError(
                f"classifiers.names: min_probability={self.min_probability} is not in 0..1"
            )
        check_window("classifiers.names", self.max_tokens)


class Names(Stage):
    """Signal ``pii_name``: how many names were found."""

    name = "classifiers.names"
    version = 1
    kind: ClassVar[Kind] = "map"
    pins = ("torch", "transformers", "tokenizers")
    edits_text = True
    Params: ClassVar[type] = Params

    def __init__(self, params: Any) -> None:
        super().__init__(params)
        self.reads = ("lang",) if params.languages else ()
        self.writes = {"pii_name": "int"}
        self._model: Any = None
        self._tokenizer: Any = None
        self._places: list[int] = []

    def check_assets(self) -> None:
        self._config()

    def setup(self) -> None:
        """Loads model and tokenizer. Raises AssetError for a folder that is no token classifier,
        needs code of its own, has pickled weights, no offsets of tokens, or none of the labels."""
        p: Params = self.params
        folder = Path(p.model)
        config = self._config()
        self._model, self._tokenizer = load(folder, "AutoModelForTokenClassification")
        if not self._tokenizer.is_fast:
            raise AssetError(
                f"model {folder.name} has a tokenizer that does not say where its tokens stand",
                hint="save a fast tokenizer (tokenizer.json) beside the weights",
            )
        check_length(folder, config, self._tokenizer, p.max_tokens)
        self._places = _places(folder.name, self._model.config.id2label, p.labels)

    def _config(self) -> dict[str, Any]:
        folder = Path(self.params.model)
        return checked_config(folder, "ForTokenClassification", "token classifier")

    def apply(self, batch: Sequence[Document]) -> list[Outcome]:
        p: Params = self.params
        if self._model is None:
            raise ConfigError("classifiers.names: apply before setup")
        for doc in in_languages(batch, p.languages):
            spans = self.find(doc.text)
            doc.signals["pii_name"] = len(spans)
            if spans and p.policy == "tag":
                raw = doc.text.encode("utf-8", "surrogatepass")
                doc.meta.setdefault("text_sha256_raw", hashlib.sha256(raw).hexdigest())
                doc.text = tagged(doc.text, spans)
        return list(batch)

    def find(self, text: str) -> list[tuple[int, int]]:
        """Where names stand in `text`, sorted and disjoint, in characters."""
        clean = text.encode("utf-8", "replace").decode()
        marked = [
            (first + start, first + end)
            for first, piece in _pieces(clean)
            for start, end in self._tokens(piece)
        ]
        return _spans(clean, marked)

    def _tokens(self, text: str) -> Iterator[tuple[int, int]]:
        """Where the tokens stand that belong to a name."""
        p: Params = self.params
        windows = self._tokenizer(
            text, truncation=True, max_length=p.max_tokens, stride=p.max_tokens // 4,
            return_overflowing_tokens=True, return_offsets_mapping=True,
        )  # fmt: skip
        for n, offsets in enumerate(windows["offset_mapping"]):
            names = [k for k in self._tokenizer.model_input_names if k in windows]
            chances = self._chances({k: windows[k][n] for k in names})
            for (start, end), chance in zip(offsets, chances, strict=True):
                if start < end and chance >= p.min_probability:
                    yield start, end

    def _chances(self, window: Mapping[str, list[int]]) -> list[float]:
        import torch

        with torch.inference_mode():
            inputs = {name: torch.tensor([ids]) for name, ids in window.items()}
            classes = torch.softmax(self._model(**inputs).logits[0].double(), 1)
        return [round(float(row), DECIMALS) for row in classes[:, self._places].sum(1)]


def tagged(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """`text` with a tag in place of each of `spans`, which are sorted and disjoint."""
    pieces = []
    at = 0
    for start, end in spans:
        pieces += [text[at:start], NAME]
        at = end
    return "".join([*pieces, text[at:]])


def _places(model: str, labels: Mapping[int, str], wanted: Sequence[str]) -> list[int]:
    bare = {place: _PREFIX.sub("", label) for place, label in labels.items()}
    for label in wanted:
        if label not in bare.values():
            raise AssetError(
                f"model {model} has no class {label!r}; its classes: "
                f"{', '.join(sorted(set(bare.values()))[:8])}",
                hint="set `labels` to those that are to be replaced",
            )
    return [place for place, label in bare.items() if label in wanted]


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """The text in pieces, and where each begins: cut behind the last line, or else space."""
    at = 0
    while at < len(text):
        end = at + _PIECE
        if end < len(text):
            end = max(text.rfind("\n", at, end), text.rfind(" ", at, end)) + 1 or end
            end = max(end, at + _PIECE // 2)
        yield at, text[at:end]
        at = end


def _spans(text: str, marked: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Marked pieces of `text` as whole words; those with nothing but space between them are one.
    What touches a tag is none."""
    inside = bytearray(len(text))
    for start, end in marked:
        inside[start:end] = b"\1" * (end - start)
    for word in _WORD.finditer(text):
        if any(inside[word.start() : word.end()]):
            inside[word.start() : word.end()] = b"\1" * (word.end() - word.start())
    for tag in _TAG.finditer(text):
        inside[tag.start() : tag.end()] = bytes(tag.end() - tag.start())
    found: list[tuple[int, int]] = []
    for run in re.finditer(b"\1+", inside):
        start, end = run.span()
        start += len(text[start:end]) - len(text[start:end].lstrip())
        end = start + len(text[start:end].rstrip())
        if start == end:
            continue
        if found and text[found[-1][1] : start].strip(" ") == "":
            start = found.pop()[0]
        found.append((start, end))
    return found


STAGE = Names
