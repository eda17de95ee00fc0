"""Sentencepiece, BPE or unigram, trained on a keyed sample of the training documents.

Set up to be lossless, which its defaults are not: identity normalisation (another only if asked
for), no dummy prefix, no removal of white space, byte fallback. Its pieces never cross a newline
or mix runs of spaces, so that runs of both, and the tab, are given as user-defined symbols;
without them a million newlines are a million tokens.

The trainer silently skips lines that are too long or hold U+0000, U+2581 or U+2585 (characters
it keeps for itself). Here nothing is skipped: documents are cut into lines of at most
`LINE_BYTES` bytes (after the last newline within it, else at a character border), those three
characters cut a line and are left out, and the card counts both. At encoding U+2581 becomes its
three byte pieces.

One thread trains (the model's file holds the thread count, and unigram's sums depend on it) and
the trainer's own sampling, which depends on the order of its input, is off. It costs some 200
CPU seconds and 10 GB of memory per GB of sample.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from corpusmill.pipeline.errors import ConfigError, StageError
from corpusmill.pipeline.identity import pretty, sha256_hex
from corpusmill.pipeline.stage import AuxPhase, Sink

from . import sampling
from .bpe import EOS, check_specials
from .encode import CARD, CARD_SCHEMA, SPACE_MARK, spm_digest
from .sampling import SampleParams

if TYPE_CHECKING:
    from corpusmill.pipeline.context import TaskContext

LINE_BYTES = 8192
"""Longest line that the trainer is given, in bytes. Only a cut within a word could matter."""

UNKNOWN = "<|unknown|>"
"""The piece that sentencepiece insists on; with byte fallback it is never produced."""

_RESERVED = re.compile("[\x00\u2581\u2585]")


@dataclass(frozen=True, slots=True)
class SpmParams:
    """Parameters of `Spm`.

    `vocab_size` counts everything: special tokens (ids from 0, the first ends documents), the
    unknown piece, runs, 256 bytes, pieces. `newline_runs` and `space_runs` are the lengths that
    are symbols of their own. `character_coverage` is the share of the sample's characters that
    are pieces; the rest is written as bytes (0.9995 is sentencepiece's own default). Too little
    text for the size is an error unless `allow_smaller`.

    With `normalization` ``nfkc`` text is changed before it is encoded, as Gopher's was (Rae et al.
    2021; Hoffmann et al. 2022 dropped it): what is decoded is not what was encoded, and the audit
    says so. `multi_word` lets pieces go across spaces, as Jurassic-1's do (Lieber et al. 2021).
    """

    vocab_size: int = 32_768
    model_type: Literal["bpe", "unigram"] = "bpe"
    sample: SampleParams = field(default_factory=SampleParams)
    special_tokens: tuple[str, ...] = (EOS,)
    split_digits: bool = True
    character_coverage: float = 0.9995
    newline_runs: tuple[int, ...] = (1, 2, 3, 4)
    space_runs: tuple[int, ...] = (2, 3, 4, 8, 16)
    allow_smaller: bool = False
    normalization: Literal["identity", "nfkc"] = "identity"
    multi_word: bool = False

    def __post_init__(self) -> None:
        check_specials(self.special_tokens)
        if UNKNOWN in self.special_tokens:
            raise ConfigError(f"special token {UNKNOWN!r} is sentencepiece's unknown piece")
        runs = (*self.newline_runs, *self.space_runs)
        if 1 not in self.newline_runs or not all(1 <= n <= 64 for n in runs):
            raise ConfigError("newline_runs needs 1, and all runs are within 1 and 64")
        if not 0.98 <= self.character_coverage <= 1:
            raise ConfigError(f"character_coverage {self.character_coverage} is not in 0.98 … 1")
        least = len(self.special_tokens) + 1 + len(self.symbols()) + 256
        if not least <= self.vocab_size < 2**31:
            raise ConfigError(f"vocab_size {self.vocab_size} is below {least} or above 2^31 - 1")

    def symbols(self) -> list[str]:
        """The user-defined symbols: runs of newlines and of spaces, longest first, and tab."""
        newlines = ["\n" * n for n in sorted(set(self.newline_runs), reverse=True)]
        spaces = [SPACE_MARK * n for n in sorted(set(self.space_runs), reverse=True)]
        return [*newlines, *spaces, "\t"]


class Spm(Sink):
    """Writes ``tokenizer/tokenizer.model`` and ``tokenizer/card.json``."""

    name: ClassVar[str] = "tokenizers.spm"
    version: ClassVar[int] = 2
    pins: ClassVar[tuple[str, ...]] = ("sentencepiece",)
    Params: ClassVar[type] = SpmParams
    phases: ClassVar[tuple[AuxPhase, ...]] = sampling.PHASES

    params: SpmParams

    def measure(self, ctx: TaskContext) -> None:
        sampling.measure(ctx, self.params.sample)

    def select(self, ctx: TaskContext) -> None:
        sampling.select(ctx, self.params.sample)

    def collect(self, ctx: TaskContext) -> None:
        sampling.collect(ctx, self.params.sample)

    def train(self, ctx: TaskContext) -> None:
        import sentencepiece

        texts, figures = sampling.texts(ctx)
        lines, removed = lines_of(texts)
        raw = train_spm(lines, self.params)
        processor = sentencepiece.SentencePieceProcessor(model_proto=raw)
        check_spm(processor, self.params)
        size = processor.get_piece_size()
        if size < self.params.vocab_size and not self.params.allow_smaller:
            raise StageError(
                f"the sample gives {size} pieces, not vocab_size {self.params.vocab_size}",
                hint="lower vocab_size, give more text, or set allow_smaller: true",
            )
        specials = {t: processor.piece_to_id(t) for t in self.params.special_tokens}
        card = {
            "schema": CARD_SCHEMA,
            "family": "spm",
            "digest": spm_digest(processor),
            "files": {"tokenizer.model": sha256_hex(raw)},
            "model_type": self.params.model_type,
            "normalization": self.params.normalization,
            "multi_word": self.params.multi_word,
            "vocab_size": size,
            "vocab_size_asked": self.params.vocab_size,
            "eos": {"id": 0, "token": self.params.special_tokens[0]},
            "special_tokens": specials,
            "special_strings_in_text": "ordinary text",
            "sample": {**figures, "lines": len(lines), "reserved_characters_left_out": removed},
            "trainer": f"sentencepiece {version('sentencepiece')}",
        }
        ctx.new_file("tokenizer/tokenizer.model").write_bytes(raw)
        ctx.new_file(f"tokenizer/{CARD}").write_bytes(pretty(card))
        ctx.note("digest", card["digest"])
        ctx.note("vocab_size", size)


def lines_of(texts: Iterable[str]) -> tuple[list[str], int]:
    """The lines to train on, none of which the trainer would skip, and how many reserved
    characters were left out between them."""
    lines: list[str] = []
    removed = 0
    for text in texts:
        parts = _RESERVED.split(text)
        removed += len(parts) - 1
        for part in parts:
            raw = part.encode("utf-8")
            at = 0
            while len(raw) - at > LINE_BYTES:
                end = raw.rfind(b"\n", at, at + LINE_BYTES) + 1
                if end == 0:
                    end = at + LINE_BYTES
                    while raw[end] & 0xC0 == 0x80:  # not within a character
                        end -= 1
                lines.append(raw[at:end].decode("utf-8"))
                at = end
            if at < len(raw):
                lines.append(raw[at:].decode("utf-8"))
    return lines, removed


def train_spm(lines: list[str], params: SpmParams) -> bytes:
    """A sentencepiece model trained on `lines`. Raises StageError if the trainer gives up."""
    import sentencepiece

    model = io.BytesIO()
    options: dict[str, Any] = {
        "vocab_size": params.vocab_size,
        "model_type": params.model_type,
        "character_coverage": params.character_coverage,
        "split_digits": params.split_digits,
        "control_symbols": list(params.special_tokens[1:]),
        "user_defined_symbols": params.symbols(),
        "eos_id": 0, "eos_piece": params.special_tokens[0],
        "unk_id": 1, "unk_piece": UNKNOWN, "bos_id": -1, "pad_id": -1,
        "normalization_rule_name": params.normalization,
        "add_dummy_prefix": False,
        "remove_extra_whitespaces": False,
        "byte_fallback": True,
        "hard_vocab_limit": False,
        "max_sentence_length": LINE_BYTES,
        "input_sentence_size": 0,
        "shuffle_input_sentence": False,
        "num_threads": 1,
        "minloglevel": 2,
    }  # fmt: skip
    if params.multi_word:  # the model holds every option that is given, its default too
        options["split_by_whitespace"] = False
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), model_writer=model, **options
        )
    except (RuntimeError, OSError) as error:
        raise StageError(
            f"sentencepiece could not train {params.vocab_size} pieces: {error}",
            hint="the message says whether vocab_size is too high for the text or too low for "
            "its characters (then lower character_coverage)",
        ) from error
    return model.getvalue()


def check_spm(processor: Any, params: SpmParams) -> None:
    """Raises StageError unless the model has the special tokens first (the unknown piece
    second) and all 256 bytes."""
    wanted = [params.special_tokens[0], UNKNOWN, *params.special_tokens[1:]]
    for i, token in enumerate(wanted):
        if processor.id_to_piece(i) != token:
            raise StageError(f"piece {i} is {processor.id_to_piece(i)!r}, not {token!r}")
    for byte in range(256):
        if not processor.is_byte(processor.piece_to_id(f"<0x{byte:02X}>")):
            raise StageError(f"byte {byte:#04x} is not in the vocabulary")


STAGE = Spm
