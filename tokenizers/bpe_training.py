"""Merges of a byte-level BPE from counted pieces: the numbers in and out of `merge_kernel`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from corpusmill.pipeline.errors import StageError

from .bpe_engine import byte_alphabet
from .splits import PATTERNS, Counts, count_pieces

_PRIME = (1 << 31) - 1
_BASES = (1_000_003, 998_244_353)
"""Bases of the two hashes by which tokens of equal bytes are recognised; that they never erred
is checked at the end, on the bytes."""

Merges = list[tuple[str, str]]


SMALL_BYTES = 32 << 20
"""Below it Hugging Face's trainer is asked: compiling our loops, which a machine does once, takes
as long as it takes for so much text. The merges are the same."""


def learn(
    texts: Sequence[str], split: str, vocab_size: int, specials: tuple[str, ...], least: int
) -> tuple[dict[str, int], Merges]:
    """Vocabulary (special tokens, 256 bytes, merged tokens) and merges, learnt from `texts`, a
    document each, split by the pattern named `split`. A pair is merged if it occurs `least`
    times. The vocabulary is smaller than `vocab_size` if the texts give no more."""
    way = learn_by_library if sum(map(len, texts)) < SMALL_BYTES else learn_by_kernel
    return way(texts, split, vocab_size, specials, least)


def learn_by_library(
    texts: Sequence[str], split: str, vocab_size: int, specials: tuple[str, ...], least: int
) -> tuple[dict[str, int], Merges]:
    """`learn` by Hugging Face `BpeTrainer` in iterator mode."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    splits: list[Any] = [
        pre_tokenizers.Split(Regex(PATTERNS[split]), behavior="isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(splits)
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size, min_frequency=least, special_tokens=list(specials),
        initial_alphabet=sorted(byte_alphabet()), show_progress=False,
    )  # fmt: skip
    tokenizer.train_from_iterator(texts, trainer=trainer)
    model = json.loads(tokenizer.to_str())["model"]
    return model["vocab"], [(left, right) for left, right in model["merges"]]


def learn_by_kernel(
    texts: Iterable[str], split: str, vocab_size: int, specials: tuple[str, ...], least: int
) -> tuple[dict[str, int], Merges]:
    """`learn` by loops of our own. One thread; the order of the texts does not matter."""
    counted = count_pieces(texts, split)
    letters = sorted(byte_alphabet())
    tokens = [*specials, *letters]
    alphabet = byte_alphabet()
    id_of_byte = np.zeros(256, dtype=np.int32)
    for number, letter in enumerate(letters, len(specials)):
        id_of_byte[alphabet[letter]] = number
    made = _merge(counted, id_of_byte, len(tokens), len(specials), vocab_size, least)
    ranks: dict[tuple[str, str], int] = {}
    for rank, (left, right, token) in enumerate(made.tolist()):
        whole = tokens[left] + tokens[right]
        if token == len(tokens):
            if whole in specials:
                raise StageError(
                    f"ordinary text was merged into the special token {whole!r}",
                    hint="choose a string that the split pattern cuts, such as <|endoftext|>",
                )
            tokens.append(whole)
        elif tokens[token] != whole:
            raise StageError(f"two tokens have the same hash: {whole!r} and {tokens[token]!r}")
        ranks[tokens[left], tokens[right]] = rank
    vocabulary = {token: i for i, token in enumerate(tokens)}
    if len(vocabulary) != len(tokens):
        raise StageError("two tokens are the same, which their hashes did not show")
    return vocabulary, sorted(ranks, key=ranks.__getitem__)


def _merge(
    counted: Counts, id_of_byte: np.ndarray, known: int, specials: int, vocab_size: int, least: int
) -> np.ndarray:
    """Rows of left, right and merged token, in order."""
    from .merge_kernel import train

    size = max(vocab_size, known) + 1
    hashes = [np.zeros(size, dtype=np.int64) for _ in _BASES]
    powers = np.ones(2 * size, dtype=np.int64)
    for number in range(known):
        for which, base in enumerate(_BASES):
            # a special token's own hash must be met by nothing: a number that no byte has
            value = 1000 + number if number < specials else 1 + number - specials
            hashes[which][number] = value
            powers[2 * number + which] = base
    room = 2 * size
    while True:
        merges = np.zeros(3 * room, dtype=np.int32)
        symbols = id_of_byte[counted.arena]
        count = train(
            symbols, counted.begins, counted.counts, *(h.copy() for h in hashes), powers.copy(),
            known, vocab_size, least, merges,
        )  # fmt: skip
        if count >= 0:
            return merges[: 3 * count].reshape(-1, 3)
        room *= 4
