"""Items told in other words."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.stages.decontaminate.benchmarks import Benchmark, Item, load
from corpusmill.stages.decontaminate.index import ContaminationIndex, Hit
from corpusmill.stages.decontaminate.overlap import heaviest_common
from corpusmill.stages.decontaminate.paraphrase import Paraphrases
from corpusmill.stages.decontaminate.rules import Rules
from corpusmill.stages.words import word_hashes

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


def test_an_item_of_two_benchmarks_is_found_for_both() -> None:
    sets = [
        Benchmark(name, "1", "CC0-1.0", digit * 64, (*others, item()))
        for name, digit, others in (("all", "0", (Item("o", OTHER, "3"),)), ("part", "1", ()))
    ]
    (hits,) = ContaminationIndex.build(sets).find([TOLD])
    assert [(h.benchmark, h.item, h.method) for h in hits] == [
        ("all", "q", "paraphrase"), ("part", "q", "paraphrase"),
    ]  # fmt: skip


@pytest.mark.parametrize("question", [QUESTION, QUESTION.replace("cellar", "cellars")])
def test_of_items_that_are_alike_one_is_found(question: str) -> None:
    alike = Item("r", question, "12")
    one = [Benchmark("set", "1", "CC0-1.0", "0" * 64, (item(), alike))]
    two = [Benchmark(b, "1", "CC0-1.0", b * 64, (i,)) for b, i in (("1", item()), ("2", alike))]
    for sets, most in ((one, 1), (two, 2 if question == QUESTION else 1)):
        (hits,) = ContaminationIndex.build(sets).find([TOLD])
        assert len(hits) == most


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


COMMON = "the of and to in is that for it was as on be with".split()
RARE = "plum jar cellar harbour ferry counter quay bicycle deck tea".split()


FEW = [
    [*COMMON[:8], *RARE[:5], *COMMON[:12]],
    [*RARE[2:8], *COMMON[3:14] * 2],
    [*COMMON, *RARE[::3], *COMMON[:8] * 3],
]


@cache
def items_of_few_words() -> Paraphrases:
    """Three items that share rare words; wide and narrow ones."""
    stem_of = dict(zip(word_hashes([*COMMON, *RARE]).tolist(), [*COMMON, *RARE], strict=True))
    rules = Rules(paraphrase_bits=16)
    return Paraphrases([(n, word_hashes(words)) for n, words in enumerate(FEW)], stem_of, rules)


def words_of(piece: str | tuple[int, int, int]) -> list[str]:
    """A word, or some of an item's: its number, the first, how many."""
    return [piece] if isinstance(piece, str) else FEW[piece[0]][piece[1] :][: piece[2]]


def windows_by_hand(p: Paraphrases, classes: list[int], begin: int, stop: int) -> dict[int, Any]:
    """Item → (first word, word behind the last, bits), ... of the document ``begin:stop``."""
    found: dict[int, Any] = {}
    bits_of = p._bits.tolist()
    for item, row in enumerate(p._anchors.items.tolist()):
        own = {a >> 8: a & 255 for a in row[:12] if a}
        needed, low, high, least = row[12:]
        all_of = {a >> 8 for a in p._classes[low:high].tolist()}
        kept: list[tuple[int, int, int]] = []
        for q in range(begin, stop):
            first = max(begin, q - int(p._width[item]) + 1)
            there = set(classes[first : q + 1]) & set(own)
            enough = len(there) >= 3 and sum(own[c] for c in there) >= needed
            if classes[q] not in own or not enough:
                continue
            places = [n for n in range(first, min(stop, q + 8)) if classes[n] in all_of]
            held = sum(bits_of[c] for c in {classes[n] for n in places})
            telling = [n for n in places if bits_of[classes[n]] >= 4]
            window = telling[0], telling[-1] + 1, held
            if held < least:
                continue
            if kept and window[0] < kept[-1][1]:
                if held > kept[-1][2]:
                    kept[-1] = window
            else:
                kept.append(window)
        if kept:
            found[item] = kept
    return found


def windows_found(documents: list[list[str]]) -> tuple[list[Any], list[Any]]:
    """(document, item, first word, word behind the last, bits) of the windows, and those by hand."""
    p = items_of_few_words()
    bounds = np.cumsum([0, *map(len, documents)])
    words = word_hashes([word for document in documents for word in document])
    classes = np.empty(len(words), np.int32)
    p._kernel.classify(words, p._slots, classes)
    expected = []
    for d, (begin, stop) in enumerate(pairwise(bounds.tolist())):
        for item, own in windows_by_hand(p, classes.tolist(), begin, stop).items():
            expected += [(d, item, *window) for window in own]
    rows = p._scan(words, bounds[:-1], bounds[1:])
    return sorted(map(tuple, rows.tolist())), expected


@pytest.mark.parametrize("item", range(3))
def test_windows_as_wide_as_an_item_may_be(item: int) -> None:
    """Some of its rare words, one of them just within the width or just outside, first or last."""
    rare = [word for word in dict.fromkeys(FEW[item]) if word in RARE]
    width = int(items_of_few_words()._width[item])
    documents = []
    for many in range(2, len(rare) + 1):
        for one, *others in combinations(rare, many):
            for gap in (width - 3, width - 2, width - 1):
                far = ["nothing"] * (gap - len(COMMON) - len(others) + 1)
                documents += [
                    [one, *COMMON, *far, *others],
                    [*others, *COMMON, *far, one],
                ]
    found, expected = windows_found(documents)
    assert found == expected
    own = {row[0] for row in found if row[1] == item}
    assert own
    assert (len(own) < len(documents)) == (item < 2)  # the common words of the last do, with two


@settings(derandomize=True, deadline=None, max_examples=250)
@given(
    st.lists(
        st.lists(
            st.one_of(
                st.tuples(st.sampled_from(range(3)), st.integers(0, 40), st.integers(1, 14)),
                st.sampled_from([*RARE, "nothing"]),
            ),
            max_size=16,
        ),
        max_size=3,
    ),
    st.booleans(),
)
def test_windows_are_those_that_hold_enough(
    pieces: list[list[str | tuple[int, int, int]]], again: bool
) -> None:
    """Of documents that are pieces of the items, with single words between them."""
    documents = [[word for piece in own for word in words_of(piece)] for own in pieces]
    if again:
        items_of_few_words()._anchors._due = 1  # other anchors are asked for
    found, expected = windows_found(documents)
    assert found == expected


def test_a_telling_far_behind_another() -> None:
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
