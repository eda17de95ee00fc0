"""Counts words of the public lists of bad words, by language. Decides nothing.

The lists (``stages/data_lists/bad_words``, 27 languages, CC-BY-4.0) hold words and phrases, many of
them harmless in medicine, law, or a report on abuse: C4's rule to drop each page with one (Raffel
et al. 2020, section 2.2) took out more than its share of the texts by and about minorities (Dodge
et al. 2021). So these are signals first; `filters.threshold` can bound them.

- `bad_words`: how often a word or phrase of the lists occurs, as whole words of
  `corpusmill.stages.words` (case and accents' composition do not count; in scripts without spaces
  pairs of characters are compared). Phrases within each other each count.
- `bad_words_share`: their number over all words.
- `bad_words_list`: whose list it was. The signals are absent where the language has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from corpusmill.pipeline.document import Document, Outcome
from corpusmill.pipeline.errors import AssetError, ConfigError
from corpusmill.pipeline.stage import Kind, SignalType, Stage

from .text_tables import ratio, word_counts

if TYPE_CHECKING:
    import numpy.typing as npt

_FOLDER = Path(__file__).resolve().parent.parent / "data_lists" / "bad_words"
_SAME = {"nb": "no", "nn": "no", "tl": "fil", "zh-Hant": "zh"}
"""Languages that `measure.language` has under another name than the lists."""

LANGUAGES = (
    "ar", "cs", "da", "de", "en", "eo", "es", "fa", "fi", "fil", "fr", "hi", "hu", "it", "ja",
    "kab", "ko", "nl", "no", "pl", "pt", "ru", "sv", "th", "tlh", "tr", "zh",
)  # fmt: skip
"""Languages that have a list, by its own code."""


@dataclass(frozen=True, slots=True)
class Params:
    """Parameters of `measure.bad_words`."""

    language: str | None = None
    """Whose list; None: that of each document's signal `lang`."""

    def __post_init__(self) -> None:
        if self.language is not None and _list_of(self.language) is None:
            raise ConfigError(
                f"measure.bad_words: there is no list for language {self.language!r}",
                hint=f"one of {', '.join(LANGUAGES)}; or leave it out and run measure.language",
            )


class MeasureBadWords(Stage):
    """`measure.bad_words`: see the module docstring."""

    name: ClassVar[str] = "measure.bad_words"
    version: ClassVar[int] = 1
    kind: ClassVar[Kind] = "measure"
    Params: ClassVar[type] = Params

    writes: Mapping[str, SignalType] = {
        "bad_words": "int",
        "bad_words_share": "float",
        "bad_words_list": "str",
    }

    def __init__(self, params: Any) -> None:
        super().__init__(params)
        self.reads = () if params.language is not None else ("lang",)

    def setup(self) -> None:
        """Compiles or loads the kernels."""
        word_counts(())

    def apply(self, batch: Sequence[Document]) -> list[Outcome]:
        """The documents, with the signals filled in where their language has a list."""
        counts = word_counts([document.text for document in batch])
        table = counts.table
        by_list: dict[str, list[int]] = {}
        for i, document in enumerate(batch):
            name = _list_of(self.params.language or str(document.signals.get("lang", "")))
            if name is not None:
                by_list.setdefault(name, []).append(i)
        for name, documents in by_list.items():
            listed = bad_words(name)
            for i in documents:
                signals = batch[i].signals
                found = listed.count(table.hash[table.doc_start[i] : table.doc_start[i + 1]])
                signals["bad_words"] = found
                signals["bad_words_share"] = ratio(found, int(counts.count[i]))
                signals["bad_words_list"] = name
        return list(batch)


@dataclass(frozen=True, slots=True)
class WordList:
    """Words and phrases as hashes."""

    first: npt.NDArray[np.uint64]
    """First words, sorted, each once."""
    phrases: tuple[tuple[tuple[int, ...], ...], ...]
    """For each of `first`: what follows it in each phrase that it begins."""

    def count(self, hashes: npt.NDArray[np.uint64]) -> int:
        """How often a phrase of the list stands in a document of these words."""
        at = np.minimum(np.searchsorted(self.first, hashes), len(self.first) - 1)
        found = 0
        for place in np.flatnonzero(self.first[at] == hashes).tolist():
            for rest in self.phrases[at[place]]:
                stop = place + 1 + len(rest)
                found += not rest or tuple(hashes[place + 1 : stop].tolist()) == rest
        return found


@lru_cache(maxsize=len(LANGUAGES))
def bad_words(name: str) -> WordList:
    """The list of a language. Raises AssetError where it cannot be read."""
    from corpusmill.stages.words import tokenise

    path = _FOLDER / f"{name}.txt"
    try:
        lines = [line.strip() for line in path.read_text(encoding="utf-8").split("\n")]
    except (OSError, ValueError) as error:
        raise AssetError(f"list {path.name} cannot be read: {error}") from error
    table = tokenise([line for line in lines if line])
    phrases: dict[int, set[tuple[int, ...]]] = {}
    for start, stop in zip(table.doc_start[:-1], table.doc_start[1:], strict=True):
        hashes = table.hash[start:stop].tolist()
        if hashes:  # an entry of signs only has no word
            phrases.setdefault(hashes[0], set()).add(tuple(hashes[1:]))
    first = sorted(phrases)
    return WordList(np.array(first, np.uint64), tuple(tuple(sorted(phrases[h])) for h in first))


def _list_of(language: str) -> str | None:
    name = _SAME.get(language, language)
    return name if name in LANGUAGES else None


STAGE = MeasureBadWords

__all__ = ["LANGUAGES", "STAGE", "MeasureBadWords", "Params", "WordList", "bad_words"]
