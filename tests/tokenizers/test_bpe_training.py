"""Our own splitting and merging beside Hugging Face's, which does the encoding."""

from __future__ import annotations

import random
from collections import Counter
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from corpusmill.pipeline.errors import StageError
from corpusmill.tokenizers import bpe_training, splits
from corpusmill.tokenizers.bpe_training import learn, learn_by_kernel, learn_by_library

pytestmark = pytest.mark.slow  # compiling the loops takes longer than all the tests

ROOT = Path(__file__).resolve().parents[2]
EOS = ("<|endoftext|>",)
LETTERS = str.maketrans("0123456789", "abcdefghij")
CHARACTERS = (
    "aAbBzZ'sStTdDlLvVeErR019  \t\n\r..,/!-\u00a0\u0301éÉʰ中文ʼǅſ\u2028😀\u0660Ⅷ\u200d\u0085ªßK"
)


def theirs(split: str, text: str) -> list[str]:
    from tokenizers import Regex, pre_tokenizers

    pre = pre_tokenizers.Split(Regex(splits.PATTERNS[split]), behavior="isolated")
    return [piece for piece, _ in pre.pre_tokenize_str(text)]


@pytest.mark.parametrize("split", splits.PATTERNS)
def test_splits_are_those_of_the_patterns(split: str) -> None:
    chosen = random.Random(5)
    texts = ["".join(chosen.choices(CHARACTERS, k=chosen.randint(0, 24))) for _ in range(800)]
    texts += ["", "'", "x'", "it's IT'S we'll 'ſ", " " * 50, "\n \n  a", "12345 6 78", "é'ré"]
    assert [splits.pieces(t, split) for t in texts] == [theirs(split, t) for t in texts]


def test_classes_are_those_of_the_library() -> None:
    """Letters, numbers and spaces are the same to both, in all planes with any."""
    from tokenizers import Regex, pre_tokenizers

    points = [p for p in range(0x34000) if not 0xD800 <= p < 0xF900] + [*range(0xE0000, 0xE0200)]
    table = splits.class_table()[points]
    for name, flag in (("L", splits.LETTER), ("N", splits.NUMBER), ("Z", splits.SPACE)):
        regex = r"\s" if name == "Z" else rf"\p{{{name}}}"
        pre = pre_tokenizers.Split(Regex(f"{regex}+"), behavior="removed")
        found = np.ones(len(points), dtype=bool)
        text = "".join(map(chr, points))
        for _, (start, end) in pre.pre_tokenize_str(text):
            found[start:end] = False
        differ = [hex(points[i]) for i in np.flatnonzero(found != (table & flag > 0))]
        assert differ == [], f"{name}: {len(differ)}"


@lru_cache(maxsize=1)  # of files that may be changed while the loops are compiled
def texts() -> list[str]:
    found = [p.read_text() for p in sorted((ROOT / "docs").glob("*.md"))[:8]]
    found += [p.read_text() for p in sorted((ROOT / "pipeline").glob("*.py"))[:30]]
    return [*found, "aaaaaaaa aaaa aaa", "", "\n" * 300, "мир миру 世界世界 " * 40]


@pytest.mark.parametrize("split", ["gpt2", "gpt4", "o200k", "qwen2"])
def test_merges_are_those_of_the_library(split: str) -> None:
    ours = learn_by_kernel(texts(), split, 3000, EOS, 2)
    assert ours == learn_by_library(texts(), split, 3000, EOS, 2)
    assert len(ours[0]) == 3000


def test_smaller_than_asked_for_and_repeated_letters() -> None:
    few = ["abcabcabc aaaaaaaaaaaa abab aaa bb"] * 3
    for least in (1, 2, 5, 1000):
        ours = learn_by_kernel(few, "gpt4", 4000, EOS, least)
        assert ours == learn_by_library(few, "gpt4", 4000, EOS, least)
    assert learn_by_kernel([], "gpt4", 300, EOS, 2)[1] == []


def test_order_of_texts_does_not_matter() -> None:
    one = learn_by_kernel(texts(), "gpt4", 1500, EOS, 2)
    assert learn_by_kernel(texts()[::-1], "gpt4", 1500, EOS, 2) == one


def test_small_samples_go_to_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    said = []
    for name in ("learn_by_library", "learn_by_kernel"):
        monkeypatch.setattr(bpe_training, name, lambda *a, name=name: said.append(name))
    learn(["x"], "gpt4", 300, EOS, 2)
    monkeypatch.setattr(bpe_training, "SMALL_BYTES", 1)
    learn(["x"], "gpt4", 300, EOS, 2)
    assert said == ["learn_by_library", "learn_by_kernel"]


def test_special_that_text_can_become_is_refused() -> None:
    with pytest.raises(StageError, match="merged into the special token 'stop'"):
        learn_by_kernel(["stop stop stop stop"] * 9, "gpt4", 300, ("stop",), 2)


def test_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables that grow, and batches of a few bytes: the same counts as a plain counter."""
    some = [t[:3000] for t in texts()]
    monkeypatch.setattr(splits, "_BATCH_BYTES", 2000)
    expected = Counter(p.encode() for t in some for p in splits.pieces(t, "gpt4"))
    counted = splits.count_pieces(some, "gpt4")
    assert dict(counted.items()) == expected
    many = [f"w{i}".translate(LETTERS) for i in range(140_000)]
    counts = splits.count_pieces([".".join(many)], "qwen2")
    assert len(counts) == 140_000  # each with the full stop before it, but the first
    assert set(counts.counts.tolist()) == {1}
