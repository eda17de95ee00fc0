"""The table of n-grams, against looking at each of them."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.stages.decontaminate.grams import COMMON, Candidate, GramTable
from corpusmill.stages.decontaminate.overlap import GRAM, grams
from corpusmill.stages.words import word_hashes

WORDS = st.lists(st.sampled_from("abc"), max_size=14)


def candidates(
    entries: list[list[str]], percent: list[int], documents: list[list[str]]
) -> list[Candidate]:
    table = GramTable([word_hashes(e) for e in entries], percent)
    start = np.cumsum([0, *map(len, documents)]).astype(np.int64)
    words = word_hashes([word for document in documents for word in document])
    return list(table.candidates(words, start))


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


def test_the_kernel_has_the_hash_of_overlap() -> None:
    from corpusmill.stages.decontaminate.grams_kernel import passing

    words = word_hashes([f"w{n}" for n in range(60)])
    start = np.array([0, 20, 20, 23, 60], np.int64)
    every = np.full(1 << 6, 255, np.uint8)
    at, gram = np.empty(60, np.int64), np.empty(60, np.uint64)
    n = passing(words, start, every, every, at, gram)
    inside = [*range(16), *range(23, 56)]
    assert at[:n].tolist() == inside
    assert np.array_equal(gram[:n], grams(words)[inside])
    some = every.copy()
    some[:32] = 0  # the lower half of all hashes
    n = passing(words, start, every, some, at, gram)
    assert 0 < n < len(inside)
    assert (gram[:n] >> np.uint64(63)).all()
    assert passing(words, start, some, every, at, gram) == n
