"""Byte-level BPE, trained on a keyed sample of the training documents.

The trainer is Hugging Face `BpeTrainer` in iterator mode with the document as unit: in file
mode it reads line by line and never learns a newline with the next line's indent. All 256 bytes
are in the vocabulary from the start (without that, unseen bytes are silently dropped at
encoding). What it gives is bit-identical for any number of threads and order of documents in
our measurements; the order is fixed all the same. It costs some 600 CPU seconds per GB of
sample, and 8 bytes of memory per byte.

The split patterns are those of GPT-2 (``gpt2``) and GPT-4 (``gpt4``: digits in groups of three,
left to right), and GPT-4's with each digit alone (``digits1``: 1.6 % to 4 % more tokens on text,
arithmetic without chunks that misalign place values). Contractions are spelled out in both
cases instead of GPT-4's case-insensitive group, so that U+017F ``ſ`` is no ``s`` to any engine.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from corpusmill.pipeline.errors import ConfigError, StageError
from corpusmill.pipeline.identity import pretty, sha256_hex
from corpusmill.pipeline.stage import AuxPhase, Sink

from . import sampling
from .encode import CARD, CARD_SCHEMA, bpe_digest, byte_alphabet
from .sampling import SampleParams

if TYPE_CHECKING:
    from corpusmill.pipeline.context import TaskContext

EOS = "<|endoftext|>"

_CONTRACTION = r"'(?:[sdmtSDMT]|[lL][lL]|[vV][eE]|[rR][eE])"
_GPT4 = (
    _CONTRACTION + r"|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{digits}"
    r"| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
PATTERNS: Mapping[str, str] = {
    "gpt2": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "gpt4": _GPT4.format(digits="{1,3}"),
    "digits1": _GPT4.format(digits=""),
}
"""Split patterns by style, in the syntax that Oniguruma, PCRE and fancy-regex share."""


def check_specials(tokens: tuple[str, ...]) -> None:
    """Raises ConfigError unless the special tokens are distinct, visible strings."""
    if not tokens:
        raise ConfigError("special_tokens is empty", hint=f"the first ends documents: {EOS}")
    for token in tokens:
        if not token or token != token.strip():
            raise ConfigError(f"special token {token!r} is empty or has outer spaces")
    if len(set(tokens)) != len(tokens):
        raise ConfigError(f"special_tokens {tokens!r} are not distinct")


@dataclass(frozen=True, slots=True)
class BpeParams:
    """Parameters of `Bpe`.

    `vocab_size` counts everything: special tokens (ids from 0, the first ends documents), 256
    bytes, merges. A pair is merged only if it occurs `min_frequency` times. Too little text for
    the size is an error unless `allow_smaller`.
    """

    vocab_size: int = 32_768
    sample: SampleParams = field(default_factory=SampleParams)
    special_tokens: tuple[str, ...] = (EOS,)
    split: Literal["gpt2", "gpt4", "digits1"] = "gpt4"
    min_frequency: int = 2
    allow_smaller: bool = False

    def __post_init__(self) -> None:
        check_specials(self.special_tokens)
        least = 256 + len(self.special_tokens)
        if not least <= self.vocab_size < 2**31:
            raise ConfigError(f"vocab_size {self.vocab_size} is below {least} or above 2^31 - 1")
        if self.min_frequency < 1:
            raise ConfigError(f"min_frequency {self.min_frequency} is below 1")


class Bpe(Sink):
    """Writes ``tokenizer/tokenizer.json`` (Hugging Face's format) and ``tokenizer/card.json``."""

    name: ClassVar[str] = "tokenizers.bpe"
    version: ClassVar[int] = 1
    pins: ClassVar[tuple[str, ...]] = ("tokenizers",)
    Params: ClassVar[type] = BpeParams
    phases: ClassVar[tuple[AuxPhase, ...]] = sampling.PHASES

    params: BpeParams

    def setup(self) -> None:
        """One process uses one slot of the machine: no threads of the library's own."""
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

    def measure(self, ctx: TaskContext) -> None:
        sampling.measure(ctx, self.params.sample)

    def select(self, ctx: TaskContext) -> None:
        sampling.select(ctx, self.params.sample)

    def collect(self, ctx: TaskContext) -> None:
        sampling.collect(ctx, self.params.sample)

    def train(self, ctx: TaskContext) -> None:
        texts, figures = sampling.texts(ctx)
        raw = train_bpe(texts, self.params)
        model = json.loads(raw)
        vocab = model["model"]["vocab"]
        specials = {t: vocab[t] for t in self.params.special_tokens}
        card = {
            "schema": CARD_SCHEMA,
            "family": "bpe",
            "digest": bpe_digest(model),
            "files": {"tokenizer.json": sha256_hex(raw)},
            "vocab_size": len(vocab),
            "vocab_size_asked": self.params.vocab_size,
            "eos": {"id": specials[self.params.special_tokens[0]],
                    "token": self.params.special_tokens[0]},
            "special_tokens": specials,
            "special_strings_in_text": "ordinary text",
            "split": {"style": self.params.split, "pattern": PATTERNS[self.params.split]},
            "min_frequency": self.params.min_frequency,
            "sample": figures,
            "trainer": f"tokenizers {version('tokenizers')}",
        }  # fmt: skip
        ctx.new_file("tokenizer/tokenizer.json").write_bytes(raw)
        ctx.new_file(f"tokenizer/{CARD}").write_bytes(pretty(card))
        ctx.note("digest", card["digest"])
        ctx.note("vocab_size", card["vocab_size"])


def train_bpe(texts: list[str], params: BpeParams) -> bytes:
    """A tokenizer.json trained on `texts`, checked. Raises StageError if it is not sound or
    the text is too little for the size."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    splits: list[Any] = [
        pre_tokenizers.Split(Regex(PATTERNS[params.split]), behavior="isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(splits)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=params.vocab_size,
        min_frequency=params.min_frequency,
        special_tokens=list(params.special_tokens),
        initial_alphabet=sorted(byte_alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer=trainer)
    model = json.loads(tokenizer.to_str())
    check_bpe(model, params.special_tokens)
    size = len(model["model"]["vocab"])
    if size < params.vocab_size and not params.allow_smaller:
        raise StageError(
            f"the sample gives {size} tokens, not vocab_size {params.vocab_size}",
            hint="lower vocab_size, give more text, or set allow_smaller: true",
        )
    text = json.dumps(model, ensure_ascii=False, indent=1)
    return (text + "\n").encode("utf-8")


def check_bpe(model: Mapping[str, Any], specials: tuple[str, ...]) -> None:
    """Raises StageError unless a tokenizer.json has ids 0 … n-1, the special tokens first, all
    256 bytes, and a merge of known tokens for every other token."""
    vocab: dict[str, int] = model["model"]["vocab"]
    if sorted(vocab.values()) != list(range(len(vocab))):
        raise StageError("the trained vocabulary's ids are not 0 … n-1")
    for i, token in enumerate(specials):
        if vocab.get(token) != i:
            raise StageError(f"special token {token!r} has id {vocab.get(token)}, not {i}")
    base = set(byte_alphabet())
    missing = sorted(base - vocab.keys())
    if missing:
        raise StageError(f"{len(missing)} bytes are not in the vocabulary: {missing[:5]}")
    made = set()
    for left, right in model["model"]["merges"]:
        if not {left, right, left + right} <= vocab.keys():
            raise StageError(f"the merge {left!r} {right!r} uses an unknown token")
        made.add(left + right)
    if clash := sorted(made & set(specials)):
        raise StageError(
            f"ordinary text was merged into the special token {clash[0]!r}",
            hint="choose a string that the split pattern cuts, such as <|endoftext|>",
        )
    orphans = vocab.keys() - base - made - set(specials)
    if orphans:
        raise StageError(f"no merge makes {sorted(orphans)[:5]}")


STAGE = Bpe
