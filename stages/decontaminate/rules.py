"""When an item counts as found: the numbers, and what they mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from corpusmill.pipeline.errors import ConfigError

from .overlap import GRAM

METHODS: Final = ("ngram", "run", "window", "short", "half", "part", "paraphrase")
"""In the order in which they are tried; an item is found by the first that fits."""

HALF_ANYWHERE: Final = {"half_words": 5, "half_bits": 8}
"""Of `Rules`: with these a first half counts where the line goes on behind it, as it does where the
text breaks off. It has false alarms of its own."""


@dataclass(frozen=True)
class Rules:
    """When an item counts as found; see `corpusmill.stages.decontaminate.index`. Shares are in
    per cent of the item's words.

    `candidate_percent`: share of an item's 5-grams that makes a candidate. `long_words`: items of
    as many words or more are long, judged by ngram (`ngram_words`, `ngram_percent`), run
    (`run_words`, also the least that ngram takes; `run_percent`), window (`window_percent`;
    below `free_words` words `order_percent`, in order, or `pieces_percent`, three by three) and
    part. For shorter ones, `alone_words`:
    words of a question that counts without an answer; `near_words`: how many words from the
    question the answer may begin or end; `short_evidence`: words of question and answers together.

    `half_percent`: share of what a page tells of an item that its first words must be to stand
    for it; `half_words`, `half_bits`: how many they must be, and how rare together (so many words
    and no more: by three bits more); `cut_words`, `cut_bits`: the same where the text breaks off
    behind them: with the line, or where it ends.

    `part_bits`: rarity that a run of words must have to stand for its item, of which it must be
    `part_percent` (0, the default: no such search). `paraphrase_bits`, `paraphrase_percent`,
    `paraphrase_order`: rarity that the shared words must have, their share of the item's, and the
    share in the item's order, for items of `paraphrase_words` or more (0: no such search).
    """

    candidate_percent: int = 20
    ngram_words: int = 8
    ngram_percent: int = 50
    run_words: int = 13
    run_percent: int = 40
    window_percent: int = 60
    order_percent: int = 75
    pieces_percent: int = 85
    free_words: int = 25
    long_words: int = 13
    near_words: int = 50
    short_evidence: int = 8
    alone_words: int = 8
    half_words: int = 7
    half_bits: int = 12
    half_percent: int = 40
    cut_words: int = 5
    cut_bits: int = 8
    part_percent: int = 0
    part_bits: int = 24
    paraphrase_words: int = 25
    paraphrase_percent: int = 54
    paraphrase_order: int = 35
    paraphrase_bits: int = 40

    def __post_init__(self) -> None:
        for name in (
            "candidate_percent", "ngram_percent", "run_percent", "window_percent", "order_percent",
            "pieces_percent", "half_percent", "paraphrase_percent",
        ):  # fmt: skip
            if not 0 < getattr(self, name) <= 100:
                raise ConfigError(f"decontaminate: {name}={getattr(self, name)} is not in 1..100")
        for name in ("part_percent", "paraphrase_order"):
            if not 0 <= getattr(self, name) <= 100:
                raise ConfigError(f"decontaminate: {name}={getattr(self, name)} is not in 0..100")
        for name in (
            "ngram_words",
            "run_words",
            "long_words",
            "short_evidence",
            "alone_words",
            "half_words",
            "cut_words",
        ):
            if getattr(self, name) < GRAM:
                raise ConfigError(
                    f"decontaminate: {name}={getattr(self, name)} is less than {GRAM}",
                    hint=f"candidates are found by {GRAM}-grams",
                )
        for name in ("near_words", "free_words", "half_bits", "cut_bits", "part_bits"):
            if getattr(self, name) < 0:
                raise ConfigError(f"decontaminate: {name}={getattr(self, name)} is negative")
        if self.paraphrase_words and self.paraphrase_words < self.long_words:
            raise ConfigError(
                f"decontaminate: paraphrase_words={self.paraphrase_words} is less than "
                f"long_words={self.long_words}",
                hint="write 0 to search for no paraphrases",
            )
        if self.paraphrase_bits < 16:
            raise ConfigError(
                f"decontaminate: paraphrase_bits={self.paraphrase_bits} is less than 16",
                hint="so few bits are shared by chance in every long text",
            )
