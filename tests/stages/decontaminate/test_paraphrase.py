"""Items told in other words."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.stages.decontaminate.benchmarks import Benchmark, Item, load
from corpusmill.stages.decontaminate.index import ContaminationIndex, Hit
from corpusmill.stages.decontaminate.overlap import heaviest_common
from corpusmill.stages.decontaminate.rules import Rules

QUESTION = (
    "Nora picks 18 plums from each of her seven trees and gives a third of them to the school "
    "kitchen. She boils the rest to jam, which takes nine plums a jar. How many jars does Nora "
    "fill if two of them break on the way to the cellar?"
)
TOLD = (
    "From every one of the 7 trees she owns, Nora picked eighteen plums; 1/3 went to the kitchen "
    "of a school. With nine plums per jar the remainder was boiled into jam. Taking it to the "
    "cellar, Nora broke 2 jars. What is the number of filled ones?"
)
AGAIN = (
    "Nora owns seven plum trees, picks 18 plums off each and gives the school's kitchen one third. "
    "What remains she boils: jam, nine plums for one jar. Two jars break on the cellar stairs. "
    "How many are filled?"
)
OTHER = (
    "Nora buys 18 stamps from each of her seven uncles and sends a third of them to her cousin. "
    "She sticks the rest in an album, which takes nine stamps a page. How many pages does Nora "
    "fill if two of them tear?"
)
FILLER = (
    "The harbour office opens at nine and closes when the last ferry is in. Whoever wants to take "
    "a bicycle on board pays at the counter, since the machine on the quay takes no coins. In "
    "winter the upper deck is shut; the crew hands out tea on the lower one. "
)


@cache
def nora() -> ContaminationIndex:
    return ContaminationIndex.build([Benchmark("set", "1", "CC0-1.0", "0" * 64, (item(),))])


def item() -> Item:
    return Item("q", QUESTION, "12")


def found(text: str) -> list[Hit]:
    return nora().find([text])[0]


@pytest.mark.parametrize("text", [TOLD, AGAIN, FILLER + TOLD + FILLER, TOLD.upper()])
def test_other_words(text: str) -> None:
    (hit,) = found(text)
    assert (hit.item, hit.method) == ("q", "paraphrase")
    assert 0.54 <= hit.coverage < 1
    shown = text[hit.start : hit.end].lower()
    assert shown.startswith(("trees", "nora"))
    assert "jar" in shown


@pytest.mark.parametrize("text", [OTHER, FILLER * 40, " ".join(TOLD.split()[::3])])
def test_another_problem_is_not_it(text: str) -> None:
    assert found(text) == []


def test_a_text_on_the_same_matter_shares_words_but_is_not_it() -> None:
    """The same words, each on several pages of the text: a chapter on plum jam."""
    words = "plums trees kitchen school jam jars cellar nora boil pick fill break".split()
    chapter = [f"On {w} and how one thinks of {w} elsewhere. {FILLER}" for w in words * 4]
    assert [h.method for h in found(TOLD)] == ["paraphrase"]
    assert found(" ".join(chapter) + TOLD) == []


def test_several_tellings_do_not_hide_each_other() -> None:
    (hit,) = found(f"{TOLD}\n{FILLER * 3}\n{AGAIN}\n{FILLER * 3}\n{TOLD}")
    assert hit.method == "paraphrase"


def test_ten_thousand_tellings_are_judged_by_a_few() -> None:
    (hit,) = found(f"{TOLD}\n" * 10_000)
    assert hit.method == "paraphrase"


def test_what_is_found_word_for_word_is_no_paraphrase_as_well() -> None:
    twin = Item("twin", TOLD)
    index = ContaminationIndex.build([Benchmark("set", "1", "CC0-1.0", "0" * 64, (item(), twin))])
    assert [(h.item, h.method) for h in index.find([QUESTION])[0]] == [("q", "ngram")]
    assert [(h.item, h.method) for h in index.find([TOLD])[0]] == [("twin", "ngram")]


def test_switched_off() -> None:
    index = ContaminationIndex.build(
        [Benchmark("set", "1", "CC0-1.0", "0" * 64, (item(),))], Rules(paraphrase_words=0)
    )
    assert index.find([TOLD]) == [[]]


def test_items_in_other_languages_are_not_judged_by_english_rarity() -> None:
    question = (
        "Nora pflückt von jedem ihrer sieben Bäume achtzehn Pflaumen und gibt ein Drittel davon "
        "der Küche der Schule. Den Rest kocht sie zu Mus, und zwar neun Pflaumen für ein Glas. "
        "Wie viele Gläser füllt Nora, wenn zwei davon auf dem Weg in den Keller zerbrechen?"
    )
    index = ContaminationIndex.build(
        [Benchmark("set", "1", "CC0-1.0", "0" * 64, (Item("de", question), item()))]
    )
    assert index._paraphrases is not None
    assert [index.entries[n].item for n, _ in index._paraphrases.items] == ["q"]


def test_nothing_depends_on_the_batch() -> None:
    texts = [TOLD, "", FILLER, AGAIN, OTHER, FILLER + TOLD, TOLD.split(".")[0]]
    assert nora().find(texts) == [found(text) for text in texts]
    halves = [TOLD[: len(TOLD) // 2], TOLD[len(TOLD) // 2 :]]
    assert [len(hits) for hits in nora().find(halves)] == [len(found(t)) for t in halves]


def test_more_windows_than_there_is_room_for() -> None:
    texts = [TOLD] * 1500
    assert [len(hits) for hits in nora().find(texts)] == [1] * 1500


@settings(derandomize=True, deadline=None, max_examples=100)
@given(
    st.lists(st.integers(0, 3), max_size=7),
    st.lists(st.integers(0, 3), max_size=7),
    st.lists(st.integers(0, 5), min_size=7, max_size=7),
)
def test_heaviest_common(item: list[int], window: list[int], weights: list[int]) -> None:
    def best(i: int, j: int) -> int:
        if i == len(item) or j == len(window):
            return 0
        skip = max(best(i + 1, j), best(i, j + 1))
        return max(skip, weights[i] + best(i + 1, j + 1)) if item[i] == window[j] else skip

    arrays = np.array(item, np.int32), np.array(window, np.int32)
    assert heaviest_common(*arrays, np.array(weights[: len(item)], np.int64)) == best(0, 0)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 40_000)), min_size=3, max_size=12))
def test_the_third_last_anchor(met: list[tuple[int, int]]) -> None:
    """Of what is kept of an item: the place of the last anchor but two other ones, modulo 2**16."""
    from corpusmill.stages.decontaminate.paraphrase_kernel import moved_on

    state, place = np.uint64(2**64 - 1), 0
    last: dict[int, int] = {}
    for slot, step in met:
        place += step
        last[slot] = place
        state = np.uint64(moved_on(state, np.uint64(slot), np.uint64(place % 2**16)))
    others = sorted(last.values(), reverse=True)
    if len(others) >= 3:
        assert int(state) >> 32 & 0xFFFF == others[2] % 2**16
    assert int(state) & 0xFFFF == others[0] % 2**16


def test_a_telling_as_far_behind_as_places_are_told_apart() -> None:
    """The second one's anchors stand 2**16 words after the first one's."""
    filler = "nothing " * (2**16 - len(TOLD.replace("/", " ").split()))
    (hit,) = found(TOLD + " " + filler + TOLD)
    assert hit.method == "paraphrase"
    part = " ".join(TOLD.split()[:12])
    assert found(part) == []
    assert found(part + " " + filler + part) == []


@pytest.mark.fulldata
@pytest.mark.parametrize(
    ("place", "least"), [(str, 0.57), (lambda t: FILLER + t + "\n" + FILLER, 0.54)]
)
def test_rewordings_by_a_language_model(place: Callable[[str], str], least: float) -> None:
    """660 rewordings of GSM8K. The figures were set on every other one and hold on both halves
    (measured when written, alone: 0.576 and 0.612)."""
    if "CORPUSMILL_DATA" not in os.environ:
        pytest.skip("CORPUSMILL_DATA is not set")
    data = Path(os.environ["CORPUSMILL_DATA"])
    index = ContaminationIndex.build(load(data / "benchmarks"))
    path = data / "rephrase" / "gsm8k_rephrased_even.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    texts = [place(r["text"].removeprefix("Question: ").split("\nAnswer:")[0]) for r in rows]
    names = [[(h.name, h.method) for h in hits] for hits in index.find(texts)]
    right = [
        any(name == f"gsm8k/{r['item']}" for name, _ in hits)
        for r, hits in zip(rows, names, strict=True)
    ]
    assert len(right) == 660
    for half in (right[::2], right[1::2]):
        assert sum(half) >= (least - 0.03) * len(half)
    assert sum(right) >= least * len(right)
    assert replace(index.rules) == Rules()
