"""Ablation: finds the better side, finds none between halves of one set, keeps held-out text out."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pytest

from corpusmill.classifiers.ablate import AblateParams, ablate, choose, student
from corpusmill.pipeline.errors import ConfigError

LABELS = Path(__file__).resolve().parents[2] / "configs/sample/labels/high.jsonl.gz"
SMALL = AblateParams(seeds=4, pieces=600, order=3)


def texts() -> tuple[list[str], list[str]]:
    """Texts of the sample's good label, and others of a book that is held out."""
    rows = [json.loads(line) for line in gzip.decompress(LABELS.read_bytes()).splitlines()]
    held = [r["text"] for r in rows if r["group"] == "introduction-philosophy"]
    return [r["text"] for r in rows if r["group"] != "introduction-philosophy"][:400], held


def backwards(text: str) -> str:
    return text[::-1]


def test_text_teaches_more_than_the_same_backwards() -> None:
    good, held = texts()
    found = ablate(good[::2], map(backwards, good[1::2]), {"book": held}, SMALL)
    book = found["heldout"]["book"]
    assert book["better"] == "a"
    assert book["low"] < book["high"] < 0
    assert book["difference"] == pytest.approx(book["a"] - book["b"], abs=1e-3)
    other = ablate(map(backwards, good[1::2]), good[::2], {"book": held}, SMALL)
    assert other["heldout"]["book"]["better"] == "b"
    assert other["heldout"]["book"]["difference"] == -book["difference"]


def test_halves_of_one_set_are_equal_and_order_does_not_matter() -> None:
    good, held = texts()
    found = ablate(good[::2], good[1::2], {"book": held}, SMALL)
    assert found["heldout"]["book"]["better"] is None
    assert found == ablate(good[::2][::-1], good[1::2][::-1], {"book": held}, SMALL)
    assert found["tokens"] == min(s["tokens"] for s in found["sides"].values()) // 2


def test_documents_with_held_out_lines_are_left_out() -> None:
    good, held = texts()
    line = max(held, key=len)
    leaky = [*good[:100], f"A heading\n{line}\nmore", f"Short\n{line[:50]}"]
    found = ablate(leaky, good[100:200], {"book": [line]}, SMALL)
    assert found["sides"]["a"] | {"tokens": 0} == {"documents": 102, "tokens": 0, "left_out": 1}
    assert found["sides"]["b"]["left_out"] == 0


def test_what_is_held_in_memory_has_the_smallest_keys() -> None:
    many = [f"document {i} " * 5 for i in range(100)]
    some = choose(many, 2000)
    assert some == choose(reversed(many), 2000) == choose(many, 10**9)[: len(some)]
    assert 1000 < sum(map(len, some)) <= 2000
    assert choose(["a", "a", " \n"], 10) == ["a"]
    # Of every size, in bytes, in any order: a small one that comes after a large one had no room
    # does not slip in.
    uneven = [f"é{i}" * (1 + 37 * i % 50) for i in range(60)]
    whole = choose(uneven, 10**9)
    for turn in range(30):
        shuffled = random.Random(turn).sample(uneven, len(uneven))
        found = choose(shuffled, 1500)
        assert found == whole[: len(found)]
        fits = sum(len(text.encode()) for text in whole[: len(found) + 1])
        assert sum(len(text.encode()) for text in found) <= 1500 < fits


def test_quantiles() -> None:
    # Of a printed table: 10, 30 and 120 degrees of freedom.
    assert [round(student(n), 3) for n in (1, 4, 10, 30, 120)] == [
        12.706,
        2.776,
        2.228,
        2.042,
        1.98,
    ]


@pytest.mark.parametrize(
    ("a", "held", "params", "message"),
    [
        (["one"], ["x"], SMALL, "side a has 1 documents"),
        (None, [" "], SMALL, "no held-out text"),
        (None, None, AblateParams(tokens=10**9, pieces=600), "tokens asked for"),
    ],
)
def test_too_little(
    a: list[str] | None, held: list[str] | None, params: AblateParams, message: str
) -> None:
    good, book = texts()
    with pytest.raises(ConfigError, match=message):
        ablate(a or good[:100], good[100:200], {"h": held or book}, params)
