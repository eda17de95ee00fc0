"""Byte-level BPE as a whole: the reference, and our loops once they were found to give its ids.

The reference is Hugging Face `tokenizers`. A process that has `LOOPS_FROM` bytes to encode goes
over to `fast.Loops`, if these give the same ids for hard texts, for the tokens of the vocabulary,
and for the beginning of the very texts in hand. Other ids are an error, never a choice.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from corpusmill.pipeline.errors import ConfigError, IntegrityError
from corpusmill.pipeline.identity import fingerprint

from . import fast
from .splits import joined

LOOPS_FROM = 1 << 19
"""Bytes to encode in one process from which loading and checking our loops takes less than it
saves."""

COMPILED_FROM = 4 << 20
"""The same on a machine that has to compile them first."""

WAY = "CORPUSMILL_ENCODER"
"""Environment variable: ``auto``, or ``reference`` to do without our loops. Ids are the same."""

CHECKED_CHARACTERS = 1 << 15
"""How much of the texts in hand is encoded in both ways."""

CHECKED_TOKENS = 2048
"""Of how many tokens of the vocabulary the text is encoded in both ways."""

HARD_TEXTS = (
    "it's IT'S we'll 'ſ don't DON'T'", "a" * 700, " " * 700 + "x", "\n" * 300 + " \t\r\n" * 80,
    "e\u0301" * 40 + "\u0300" * 300, "\U0001f468\u200d\U0001f469\u200d\U0001f467 " * 9,
    "\ufeffBOM\u2028x\u0085y\u00a0z\u3000", "12345 1234567890123456789 ٣٤٥ ½ Ⅷ x1y22z333",
    "水车慢慢转动。" * 60, "ไทยעבריתالعربية हिन्दी", "CamelCaseHTTPServer snake_case x=(y)[0];//z\n",
    "\x00\x01\x7f", "\U0010ffff\ufffe\uffff", "",
)  # fmt: skip


def byte_alphabet() -> dict[str, int]:
    """The character that byte-level BPE writes for each byte (GPT-2's table): printable
    Latin-1 characters stand for themselves, the others for U+0100 and on, in order."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    table = {chr(b): b for b in plain}
    others = [b for b in range(256) if chr(b) not in table]
    table.update({chr(0x100 + i): b for i, b in enumerate(others)})
    return table


def bpe_digest(model: Mapping[str, Any]) -> str:
    """Digest of what a tokenizer.json's ids depend on: vocabulary, merges, split, specials."""
    vocab = model["model"]["vocab"]
    return fingerprint(
        {
            "family": "bpe",
            "tokens": sorted(vocab, key=vocab.__getitem__),
            "merges": model["model"]["merges"],
            "pre_tokenizer": model["pre_tokenizer"],
            "special": [[t["id"], t["content"]] for t in model["added_tokens"]],
        }
    )


class BpeEngine:
    """One tokenizer.json. `pieces` are the bytes of every id; nothing about it changes but how
    fast it is."""

    def __init__(self, raw: bytes) -> None:
        from tokenizers import Tokenizer

        way = os.environ.get(WAY, "auto")
        if way not in ("auto", "reference"):
            raise ConfigError(f"{WAY}={way!r} is not known", hint="auto or reference")
        model = json.loads(raw)
        alphabet = byte_alphabet()
        as_bytes = str.maketrans({letter: chr(byte) for letter, byte in alphabet.items()})
        special = {t["id"]: t["content"] for t in model["added_tokens"]}
        vocab = model["model"]["vocab"]
        self.pieces = [b""] * (1 + max([*vocab.values(), *special]))
        for token, id_ in vocab.items():
            if id_ not in special:
                self.pieces[id_] = token.translate(as_bytes).encode("latin-1")
        for id_, token in special.items():
            self.pieces[id_] = token.encode("utf-8")
        self.digest = bpe_digest(model)
        self._reference = Tokenizer.from_str(raw.decode("utf-8"))
        self._reference.encode_special_tokens = True  # injected specials stay text
        self._split = fast.suits(model, alphabet) if way == "auto" else None
        self._model: Mapping[str, Any] = model
        self._seen = 0
        self._loops: fast.Loops | None = None

    def encode(self, texts: list[str]) -> list[list[int]]:
        """Ids of each text by the reference."""
        found = self._reference.encode_batch_fast(texts, add_special_tokens=False)
        return [e.ids for e in found]

    def loops(self, size: int, texts: Callable[[], Sequence[str]]) -> fast.Loops | None:
        """Our loops, if they are worth their start now that there are `size` more bytes, which are
        `texts`. Raises IntegrityError if they give other ids than the reference."""
        self._seen += size
        if self._loops is None and self._split is not None and self._worthwhile():
            loops = fast.Loops(self._model, self._split, byte_alphabet())
            self._compare(loops, [*self._own_texts(), *_beginning(texts())])
            self._loops, self._model = loops, {}  # which the loops have taken in
        return self._loops

    def _worthwhile(self) -> bool:
        return self._seen >= COMPILED_FROM or (self._seen >= LOOPS_FROM and fast.compiled())

    def _own_texts(self) -> list[str]:
        """Hard texts, and tokens from the whole of the vocabulary, special ones among them."""
        step = -(-len(self.pieces) // CHECKED_TOKENS)
        tokens = [p.decode("utf-8", "ignore") for p in self.pieces[::step]]
        return [*HARD_TEXTS, "".join(tokens), " ".join(tokens[::-1])]

    def _compare(self, loops: fast.Loops, texts: list[str]) -> None:
        ids, lengths = loops.encode(*joined([t.encode("utf-8", "replace") for t in texts]))
        ends = np.cumsum(lengths)
        for text, theirs, end, length in zip(
            texts, self.encode(texts), ends.tolist(), lengths.tolist(), strict=True
        ):  # fmt: skip
            if ids[end - length : end].tolist() != theirs:
                raise IntegrityError(
                    f"our loops do not give Hugging Face's ids for {text[:60]!r} …",
                    hint=f"please report it; {WAY}=reference encodes without them",
                )


def _beginning(texts: Sequence[str]) -> list[str]:
    """The first texts, `CHECKED_CHARACTERS` of them."""
    result = []
    left = CHECKED_CHARACTERS
    for text in texts:
        result.append(text[:left].encode("utf-8", "replace").decode("utf-8"))
        left -= len(result[-1])
        if left <= 0:
            break
    return result


@lru_cache(maxsize=2)
def engine_of(raw: bytes) -> BpeEngine:
    """The engine of a tokenizer.json. Every phase of a run asks for the same one, and reading a
    large vocabulary takes seconds."""
    return BpeEngine(raw)
