"""A block of datatrove as a stage: one document at a time, its reasons as ours.

    - filters.datatrove:
        {block: GopherQualityFilter, words: whitespace, params: {min_doc_words: 30}}

The blocks were tried one by one, and only those are let in whose outcome depends on the document
alone. The others are refused with the reason (`REFUSED`).

Several blocks need words. datatrove takes them from spaCy and other packages, by language, which
are not part of the base installation: `words` says what to use instead, and changes the outcome.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from corpusmill.pipeline.document import Document, Drop, Failure, Outcome
from corpusmill.pipeline.errors import AssetError, ConfigError, StageError
from corpusmill.pipeline.stage import Kind, Stage

if TYPE_CHECKING:
    from datatrove.utils.word_tokenizers import WordTokenizer


@dataclass(frozen=True, slots=True)
class Block:
    """A block that may be used: its module below ``datatrove.pipeline``, whether it needs words,
    and the reasons that it gives."""

    module: str
    needs_words: bool
    reasons: tuple[str, ...]
    formats: bool = False
    """A formatter: it changes text and drops nothing."""


ALLOWED: dict[str, Block] = {
    "GopherQualityFilter": Block(
        "filters.gopher_quality_filter",
        True,
        (
            "gopher_short_doc",
            "gopher_long_doc",
            "gopher_below_avg_threshold",
            "gopher_above_avg_threshold",
            "gopher_too_many_hashes",
            "gopher_too_many_ellipsis",
            "gopher_too_many_bullets",
            "gopher_too_many_end_ellipsis",
            "gopher_below_alpha_threshold",
            "gopher_enough_stop_words",
        ),
    ),
    "GopherRepetitionFilter": Block(
        "filters.gopher_repetition_filter",
        True,
        (
            "empty",
            "dup_para_frac",
            "dup_para_char_frac",
            "dup_line_frac",
            "dup_line_char_frac",
            "top_n_gram",
            "duplicated_n_grams",
        ),
    ),
    "C4QualityFilter": Block(
        "filters.c4_filters", True, ("lorem_ipsum", "curly_bracket", "too_few_sentences")
    ),
    "C4ParagraphFilter": Block("filters.c4_filters", False, ("paragraphs",)),
    "FineWebQualityFilter": Block(
        "filters.fineweb_quality_filter",
        True,
        ("empty", "line_punct_ratio", "short_line_ratio", "char_dup_ratio", "list_ratio"),
    ),
    "RegexFilter": Block("filters.regex_filter", False, ("dropped",)),
    "SymbolLinesFormatter": Block("formatters.symbol_lines_remover", False, (), formats=True),
    "FTFYFormatter": Block("formatters.ftfy", False, (), formats=True),
}
"""Blocks of datatrove that were tried and may be used."""

REFUSED: dict[str, str] = {
    "PIIFormatter": "its replacements rotate with the documents before (use clean.pii)",
    "MinhashDedupSignature": "deduplication is a barrier here (use dedup.minhash)",
    "SamplerFilter": "it draws from a stream of random numbers, so that the outcome depends on "
    "the documents before",
    "C4BadWordsFilter": "it downloads its lists while it runs and draws random numbers",
    "LanguageFilter": "it downloads its model while it runs (use measure.language)",
    "FastTextClassifierFilter": "it downloads its model while it runs (use classifiers.fasttext)",
    "UnigramLogProbFilter": "it downloads its table while it runs",
    "URLFilter": "it unpacks lists into a cache of the user and asks the network for public "
    "suffixes (use filters.url)",
    "LambdaFilter": "code cannot be part of a recipe",
    "Trafilatura": "with deduplicate its outcome depends on the pages before (use "
    "extract.trafilatura)",
}
"""Blocks that are refused, and why."""

_SENTENCE = re.compile(r".+?(?:[.!?\u3002\uff01\uff1f]+[\"'\u201d\u2019)]*(?=\s|$)|$)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Params:
    """Parameters of `filters.datatrove`."""

    block: str
    params: Mapping[str, Any] = field(default_factory=dict)
    """The block's own parameters, by name."""
    words: Literal["datatrove", "whitespace", "corpusmill"] = "datatrove"
    """Where the block's words come from: datatrove's tokenizer for its `language`; runs without
    white space; or the words of `corpusmill.stages.words` (no punctuation)."""
    word_packages: tuple[str, ...] = ("spacy",)
    """With ``words: datatrove``: the packages behind that tokenizer, whose versions are pinned."""

    def __post_init__(self) -> None:
        if self.block in REFUSED:
            raise ConfigError(
                f"filters.datatrove: {self.block} is refused: {REFUSED[self.block]}",
                hint=f"blocks that may be used: {', '.join(sorted(ALLOWED))}",
            )
        if self.block not in ALLOWED:
            raise ConfigError(
                f"filters.datatrove: {self.block!r} is not among the blocks that were tried",
                hint=f"blocks that may be used: {', '.join(sorted(ALLOWED))}",
            )
        if "exclusion_writer" in self.params:
            raise ConfigError(
                "filters.datatrove: exclusion_writer cannot be set",
                hint="dropped documents are kept in the run's rejects",
            )


class DatatroveBlock(Stage):
    """`filters.datatrove`: see the module docstring. Reasons are ``datatrove_<reason>``."""

    name: ClassVar[str] = "filters.datatrove"
    version: ClassVar[int] = 1
    kind: ClassVar[Kind] = "map"
    pins: ClassVar[tuple[str, ...]] = ("datatrove",)
    edits_text: ClassVar[bool] = True
    Params: ClassVar[type] = Params

    errors: tuple[str, ...] = ("datatrove_error",)

    def __init__(self, params: Any) -> None:
        super().__init__(params)
        block = ALLOWED[params.block]
        self.reasons = tuple(f"datatrove_{reason}" for reason in block.reasons)
        extra: tuple[str, ...] = ()
        if block.needs_words and params.words == "datatrove":
            extra = params.word_packages
        if params.block == "FTFYFormatter":
            extra = ("ftfy",)
        # More packages determine the output of this one than of others of its class.
        self.__dict__["pins"] = (*type(self).pins, *extra)

    def setup(self) -> None:
        """Makes the block. Raises AssetError where a package that it needs is missing, and
        ConfigError for parameters that it does not take."""
        import importlib
        import inspect

        p: Params = self.params
        block = ALLOWED[p.block]
        try:
            module = importlib.import_module(f"datatrove.pipeline.{block.module}")
            cls: Any = getattr(module, p.block)
            known = inspect.signature(cls.__init__).parameters
            for key in p.params:
                if key not in known:
                    raise ConfigError(
                        f"filters.datatrove: {p.block} has no parameter {key!r}",
                        hint=f"it has: {', '.join(k for k in known if k != 'self')}",
                    )
            given = {
                k: v if known[k].annotation is str else _plain(v, known[k].default)
                for k, v in p.params.items()
            }
            if block.needs_words and p.words != "datatrove":
                given["language"] = word_source(p.words)
            self._block = cls(**given)
            if block.needs_words and p.words == "datatrove":
                from datatrove.utils.text import split_into_words

                split_into_words("A word.", self._block.language)
        except ImportError as error:
            raise AssetError(
                f"filters.datatrove: {p.block} cannot run: {error}",
                hint="install that package"
                + (", or set words: whitespace" if block.needs_words else ""),
            ) from error
        except (TypeError, ValueError, re.error) as error:
            raise ConfigError(f"filters.datatrove: {p.block} refused: {error}") from error

    def apply(self, batch: Sequence[Document]) -> list[Outcome]:
        """One outcome each; what the block raises is the Failure ``datatrove_error``."""
        formats = ALLOWED[self.params.block].formats
        return [self._format(d) if formats else self._filter(d) for d in batch]

    def _format(self, document: Document) -> Outcome:
        try:
            document.text = self._block.format(document.text)
        except Exception as error:  # noqa: BLE001 - foreign code; the record is accounted for
            return Failure("datatrove_error", f"{self.params.block}: {error!r}"[:300])
        return document

    def _filter(self, document: Document) -> Outcome:
        from datatrove.data import Document as TheirDocument
        from datatrove.pipeline.filters.base_filter import get_filter_result

        theirs = TheirDocument(
            text=document.text, id=document.id, metadata={**document.meta, **document.signals}
        )
        try:
            kept, reason = get_filter_result(self._block.filter(theirs))
        except Exception as error:  # noqa: BLE001 - foreign code; the record is accounted for
            return Failure("datatrove_error", f"{self.params.block}: {error!r}"[:300])
        if kept:
            document.text = theirs.text
            return document
        return self._drop(str(reason or "dropped"))

    def _drop(self, reason: str) -> Drop:
        """Their reason as one of ours; numbers in it become the value."""
        numbers = re.findall(r"[0-9]+", reason)
        code = re.sub(r"_[0-9]+(?=_)", "", reason) if "duplicated" in reason else reason
        code = re.sub(r"top_[0-9]+_gram", "top_n_gram", code)
        code = re.sub(r"[^a-z0-9]+", "_", code.lower()).strip("_")
        code = "paragraphs" if code.endswith("paragraphs") else code
        if f"datatrove_{code}" not in self.reasons:
            raise StageError(
                f"filters.datatrove: {self.params.block} gave the reason {reason!r}, which is new",
                hint="install the version of datatrove that the lock names",
            )
        return Drop(f"datatrove_{code}", int(numbers[0]) if numbers else None)


def _plain(value: Any, default: Any) -> Any:
    """`value` as the block takes it: numbers that a plan wrote as text are numbers again."""
    if isinstance(value, str) and not isinstance(default, str):
        if re.fullmatch(r"-?[0-9]+", value):
            return int(value)
        if re.fullmatch(r"-?[0-9]*\.[0-9]+", value):
            return float(value)
        return value
    if isinstance(value, list | tuple):
        first = default[0] if isinstance(default, tuple) and default else None
        return tuple(_plain(item, first) for item in value)
    return value


def word_source(name: str) -> WordTokenizer:
    """A tokenizer in datatrove's form: ``whitespace`` or ``corpusmill``."""
    from datatrove.utils.word_tokenizers import WordTokenizer

    from corpusmill.stages import words

    def own(text: str) -> list[str]:
        table = words.tokenise((text,))
        return [table.text(0, i) for i in range(len(table))]

    split: Callable[[str], list[str]] = str.split if name == "whitespace" else own

    class Words(WordTokenizer):  # type: ignore[misc]
        """Words by `split`; sentences end at a sentence mark before white space."""

        def word_tokenize(self, text: str) -> list[str]:
            return split(text)

        def sent_tokenize(self, text: str) -> list[str]:
            return [text[a:b].strip() for a, b in self.span_tokenize(text)]

        def span_tokenize(self, text: str) -> list[tuple[int, int]]:
            return [m.span() for m in _SENTENCE.finditer(text) if m[0].strip()]

    return Words()


STAGE = DatatroveBlock

__all__ = ["ALLOWED", "REFUSED", "STAGE", "Block", "DatatroveBlock", "Params", "word_source"]
