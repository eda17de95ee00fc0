"""The table of n-grams, against looking at each of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.stages.decontaminate import grams as grams_module
from corpusmill.stages.decontaminate.grams import (
    COMMON,
    INNER,
    Candidate,
    GramTable,
    bit_filter,
)
from corpusmill.stages.decontaminate.overlap import GRAM, grams
from corpusmill.stages.words import ALL_DIGITS, tokenise, word_hashes

WORDS = st.lists(st.sampled_from("abc"), max_size=14)


def candidates(
    entries: list[list[str]],
    percent: list[int],
    documents: list[list[str]],
    numbers: list[bool] | None = None,
) -> list[Candidate]:
    own = [word_hashes(e) for e in entries]
    table = GramTable(own, percent, [True] * len(own) if numbers is None else numbers)
    start = np.cumsum([0, *map(len, documents)]).astype(np.int64)
    words = tokenise([" ".join(word for document in documents for word in document)])
    return list(table.candidates(words.hash, words.flags, start[:-1], start[1:]))


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    st.lists(st.lists(st.sampled_from("abc"), min_size=GRAM, max_size=9), min_size=1, max_size=5),
    st.lists(WORDS, max_size=4),
    st.sampled_from([20, 50, 100]),
)
def test_candidates(entries: list[list[str]], documents: list[list[str]], percent: int) -> None:
    def of(words: list[str]) -> list[str]:
        return ["".join(words[i : i + GRAM]) for i in range(len(words) - GRAM + 1)]

    expected = {}
    for d, document in enumerate(documents):
        for e, entry in enumerate(entries):
            own, there = of(entry), of(document)
            pairs = [(p, q) for q, gram in enumerate(own) for p, g in enumerate(there) if g == gram]
            if pairs and 100 * len({q for _, q in pairs}) >= percent * len(own):
                expected[d, e] = sorted(pairs)
    found = candidates(entries, [percent] * len(entries), documents)
    assert {
        (c.document, c.entry): list(zip(c.places.tolist(), c.entry_places.tolist(), strict=True))
        for c in found
    } == expected
    assert [(c.document, c.entry) for c in found] == sorted(expected)


def test_a_common_gram_proposes_nobody_who_has_a_rarer_one() -> None:
    stock = list("abcde")
    others = [[*stock, f"x{n}"] for n in range(COMMON)]
    found = candidates([*others, stock], [50] * (COMMON + 1), [stock])
    assert [c.entry for c in found] == [COMMON]
    found = candidates([*others[1:], stock], [50] * COMMON, [stock])
    assert len(found) == COMMON


def test_nothing_to_look_for_or_in() -> None:
    assert candidates([], [], [list("abcde")]) == []
    assert candidates([list("abcde")], [20], []) == []
    assert candidates([list("abcde")], [20], [[], list("abcd"), list("e")]) == []


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    st.lists(st.sampled_from("ab"), min_size=GRAM, max_size=7),
    st.lists(st.lists(st.sampled_from("ab17"), max_size=16), max_size=3),
)
def test_numbers_hide_no_entry_that_has_none(entry: list[str], documents: list[list[str]]) -> None:
    """As if the documents had no numbers; places are those among all words."""
    kept = [[n for n, word in enumerate(words) if word in "ab"] for words in documents]
    bare = [[words[n] for n in own] for words, own in zip(documents, kept, strict=True)]
    found = candidates([entry], [50], documents, [False])
    plain = candidates([entry], [50], bare)
    assert [c.document for c in found] == [c.document for c in plain]
    for one, other in zip(found, plain, strict=True):
        pairs = sorted(zip(one.places.tolist(), one.entry_places.tolist(), strict=True))
        there = zip(other.places.tolist(), other.entry_places.tolist(), strict=True)
        assert pairs == sorted((kept[one.document][p], q) for p, q in there)


def test_an_entry_with_numbers_is_not_looked_for_without_them() -> None:
    document = [*list("abc"), "7", *list("de")]
    assert candidates([list("abcde")], [20], [document], [True]) == []
    (found,) = candidates([list("abcde")] * 2, [20] * 2, [document], [True, False])
    assert (found.entry, found.places.tolist(), found.entry_places.tolist()) == (1, [0], [0])


def test_documents_that_are_passed_over() -> None:
    words = word_hashes(list("abcde") * 3)
    table = GramTable([words[:5]], [100], [True])
    begin, stop = np.array([0, 5, 10]), np.array([0, 10, 10])
    found = table.candidates(words, np.zeros(15, np.uint8), begin, stop)
    assert [c.document for c in found] == [1]


def test_the_kernels_have_the_hash_of_overlap() -> None:
    from corpusmill.stages.decontaminate import grams_kernel as kernel

    words = word_hashes([f"w{n}" for n in range(60)])
    begin, stop = np.array([0, 20, 20, 23]), np.array([20, 20, 23, 60])
    every = np.full(1 << 6, 255, np.uint8)
    at, gram = np.empty(120, np.int64), np.empty(120, np.uint64)
    n = kernel.every_third(words, begin, stop, every, at, gram)
    thirds = [*range(0, 18, 3), 20, *range(23, 58, 3)]
    assert at[:n].tolist() == thirds
    assert np.array_equal(gram[:n], grams(words, INNER)[thirds])

    some = every.copy()
    some[:32] = 0
    upper = kernel.every_third(words, begin, stop, some, at, gram)
    assert 0 < upper < n
    assert (gram[:upper] >> np.uint64(63)).all()
    assert kernel.thinned(every, 0, upper, 0, at, gram) == upper
    odd = [int(g) & 256 for g in gram[:upper]]  # of 512 values of the lowest bits, the upper half
    behind = kernel.thinned(some, 0, upper, 0, at, gram)
    assert behind == sum(map(bool, odd)) > 0
    assert (gram[:behind] & np.uint64(256)).all()

    m = kernel.around(words, begin, stop, np.array(thirds), at, gram)
    inside = [*range(16), *range(23, 56)]
    assert at[:m].tolist() == inside
    assert np.array_equal(gram[:m], grams(words)[inside])


def test_the_kernels_have_the_hash_of_n_grams_over_numbers() -> None:
    from corpusmill.stages.decontaminate import grams_kernel as kernel

    words = word_hashes([f"w{n}" for n in range(60)])
    begin, stop = np.array([0, 20, 20, 23]), np.array([20, 20, 23, 60])
    every = np.full(1 << 6, 255, np.uint8)
    at, gram = np.empty(120, np.int64), np.empty(120, np.uint64)
    flags = np.zeros(60, np.uint8)
    numbers = [2, 3, 19, 20, 30, 36, 37, 41, 56, 59]
    flags[numbers] = ALL_DIGITS
    m = kernel.over_numbers(words, flags, begin, stop, every, 5, at, gram)
    found = dict(zip(at[5:m].tolist(), gram[5:m].tolist(), strict=True))
    expected = {}
    for first, last in zip(begin.tolist(), stop.tolist(), strict=True):
        left = [n for n in range(first, last) if n not in numbers]
        for own in zip(*(left[k:] for k in range(5)), strict=False):
            if own[-1] - own[0] > 4:
                expected[own[0]] = int(grams(words[list(own)])[0])
    assert len(found) == m - 5
    assert found == expected
    assert list(found) == sorted(found)
    assert sorted(found) == [0, 1, 26, 27, 28, 29, 32, 33, 34, 35, 38, 39, 40, 52, 53]
    some = every.copy()
    some[:32] = 0
    upper = kernel.over_numbers(words, flags, begin, stop, some, 0, at, gram)
    inner = {n: int(grams(words[[p for p in range(n, 60) if p not in numbers][:3]], 3)[0])
             for n in expected}  # fmt: skip
    assert at[:upper].tolist() == [n for n in expected if inner[n] >> 63]


def test_grams_that_are_in_the_table_have_their_numbers() -> None:
    from corpusmill.stages.decontaminate import grams_kernel as kernel

    top = 1 << 63
    known = np.array([0, 7, top, top + 1, top + 9, 2**64 - 1], np.uint64)
    heads = grams_module._heads(known)
    assert heads.tolist() == [0, 2, 2, 2, 2, 5, 5, 5, 6]  # by the highest three bits
    gram = np.array([9, 2**64 - 1, 8, 0, top + 9, top + 2, 7], np.uint64)
    at, slot = np.arange(7, dtype=np.int64), np.empty(7, np.int64)
    assert kernel.found(known, heads, 1, 7, 0, at, gram, slot) == 4
    assert at[:4].tolist() == [1, 3, 4, 6]
    assert slot[:4].tolist() == [5, 0, 4, 1]


@pytest.mark.parametrize("lowest", [False, True])
def test_a_filter_has_the_bit_of_each_hash(lowest: bool) -> None:
    hashes = np.array([0, 1 << 63 | 1, (1 << 63) + (1 << 62) + 5], np.uint64)
    bits = bit_filter(hashes, 2, lowest=lowest)  # two bits for three hashes, and two more: 16
    expected = {0, 1, 5} if lowest else {0, 8, 12}
    assert {n for n in range(16) if bits[n >> 3] >> (n & 7) & 1} == expected
    assert len(bits) == 2
