"""Cutting by tables of steps beside the walk over classes that it takes the place of."""

from __future__ import annotations

import random

import numpy as np
import pytest

from corpusmill.tokenizers import splits
from corpusmill.tokenizers.steps import ASK, HERE, ROW, steps_of

ALPHABET = "aabZsStTlLvVeErRd'’' \u00a0\u3000\t\n\r  ..,;/\u00e9É中\u0301ʰǅ019٣Ⅷ😀"


def walked(text: str, split: str) -> list[str]:
    """The pieces by `piece_end` alone."""
    from corpusmill.tokenizers.split_kernel import piece_end

    raw = text.encode()
    data = np.frombuffer(raw, dtype=np.uint8)
    classes, _, _, _, style, digits = splits.walk_of(split)
    found, at = [], 0
    while at < len(raw):
        end = piece_end(data, at, len(raw), classes, style, digits)
        found.append(raw[at:end].decode())
        at = end
    return found


@pytest.mark.parametrize("split", ["gpt2", "gpt4", "o200k", "digits1", "digits2"])
def test_steps_cut_as_the_walk_does(split: str) -> None:
    chosen = random.Random(5)
    few = " \n\ta.'"
    for letters, length in ((ALPHABET, 40), (few, 12), ("aB'\u00e9 l", 9), ("19\u0663 .", 14)):
        for _ in range(100):
            text = "".join(chosen.choices(letters, k=length))
            assert splits.pieces(text, split) == walked(text, split), text


@pytest.mark.parametrize(
    ("split", "pieces"),
    [
        ("gpt4", ["\n", "   ", " if", " (", "x", "[['", "a", "';\n\n", "  \n", "  ", " y", "123", "4",
                  " don", "'t", "\tz"]),
        ("gpt2", [" 12345", "\n ", " a", "'s", "...", "\n", " B"]),
        ("o200k", ["HTTPServer", "Name", "Case", " it's", ";\n/", " //"]),
    ],
)  # fmt: skip
def test_borders_by_hand(split: str, pieces: list[str]) -> None:
    assert splits.pieces("".join(pieces), split) == pieces


@pytest.mark.parametrize("split", ["gpt2", "gpt4", "o200k"])
def test_few_steps_are_left_to_the_walk(split: str) -> None:
    """English text and code are cut without asking, but for apostrophes and case that is unsure."""
    steps = splits.walk_of(split)[1].reshape(-1, 16)
    columns = range(9)
    asks = {c for c in columns if np.any(steps[:, c] & ASK)}
    asking = int(np.count_nonzero(steps[:, :9] & ASK))
    assert (asks, asking) == (({7}, 2) if split == "o200k" else (set(columns), 9))


def test_the_first_row_ends_nothing() -> None:
    for style, digits in ((0, 1), (1, 3), (2, 3)):
        steps = steps_of(style, digits).steps
        assert not np.any(steps[:9] & HERE)
        assert len(set((steps[:9] & ROW).tolist())) >= 6
