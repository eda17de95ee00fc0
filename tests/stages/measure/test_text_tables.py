"""The shared loops against plain Python and against datatrove's functions on the same tokens."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.stages.measure import text_tables
from corpusmill.stages.measure.spacy_words import Cutter
from corpusmill.stages.measure.text_tables import (
    DUP_SIZES,
    TOP_SIZES,
    line_counts,
    marked_tokens,
    word_counts,
)
from corpusmill.stages.words import tokenise

VERDICTS = Path(__file__).parents[2] / "data" / "filters" / "datatrove_verdicts.jsonl.gz"
EXAMPLES = settings(derandomize=True, deadline=None, max_examples=60)
TEXT = st.text(st.characters(codec="utf-8"), max_size=80)
UGLY = st.one_of(
    TEXT,
    st.lists(
        st.sampled_from(
            ["a", "Word", " ", "\n", "\r\n", "\r", ".", "...", "…", "!", "”", ")", "[1]", "[", "1",
             "3.14", "你", "好", "。", "！", "「", "」", "ไทย", "ก", "é", "e\u0301", "\u200b",
             "\xa0",
             "#", "- ", "-", "• ", "\x00", "\u3000", "\ufeff", "🙂", "ｶﾞ"]
        ),
        max_size=40,
    ).map("".join),
)  # fmt: skip


def arrays(
    documents: Sequence[Sequence[str]],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.uint64]]:
    """doc_start, lengths, and a hash for each different word."""
    numbers: dict[str, int] = {}
    words = [w for document in documents for w in document]
    hashes = [numbers.setdefault(w, (len(numbers) + 1) * 0x9E3779B97F4A7C15 % 2**64) for w in words]
    starts = np.cumsum([0, *map(len, documents)]).astype(np.int64)
    return starts, np.array([len(w) for w in words], np.int32), np.array(hashes, np.uint64)


WORDS = st.lists(
    st.lists(st.sampled_from(["a", "bb", "ccc", "dddd", "eeeee"]), max_size=60), max_size=4
)


@EXAMPLES
@given(WORDS)
def test_repeats_against_datatrove(documents: list[list[str]]) -> None:
    from datatrove.pipeline.filters.gopher_repetition_filter import find_duplicates

    count, amount = text_tables.repeats(*arrays(documents))
    wanted = [find_duplicates(d) for d in documents]
    assert list(zip(count.tolist(), amount.tolist(), strict=True)) == wanted


@EXAMPLES
@given(WORDS)
def test_ngrams_against_datatrove(documents: list[list[str]]) -> None:
    from datatrove.pipeline.filters.gopher_repetition_filter import (
        find_all_duplicate,
        find_top_duplicate,
        get_n_grams,
    )

    starts, lengths, hashes = arrays(documents)
    spaced = np.zeros(len(documents), np.bool_)
    top, dup = text_tables.ngram_repeats(starts, lengths, hashes, spaced)
    for i, words in enumerate(documents):
        for k, n in enumerate(TOP_SIZES):
            grams = get_n_grams(words, n)
            repeated = len(set(grams)) < len(grams)  # theirs counts a single occurrence too
            assert top[i, k] == (find_top_duplicate(grams) if repeated else 0)
        for k, n in enumerate(DUP_SIZES):
            # Letters and word borders agree here: a run of equal letters is one word.
            assert dup[i, k] == find_all_duplicate([f"<{w}>" for w in words], n) - 2 * n * (
                _repeats_found(words, n)
            )


def _repeats_found(words: list[str], n: int) -> int:
    seen: set[tuple[str, ...]] = set()
    found = at = 0
    while at + n <= len(words):
        gram = tuple(words[at : at + n])
        found += gram in seen
        at += n if gram in seen else 1
        seen.add(gram)
    return found


def test_ngrams_of_pairs_are_twice_as_many_characters() -> None:
    # Pairs of "abcdabcd": ab bc cd da ab bc cd. A 2-gram is 4 characters, 3 pairs: "abcd" twice.
    pairs = ["ab", "bc", "cd", "da", "ab", "bc", "cd"]
    starts, _, hashes = arrays([pairs])
    own = np.array([2, 1, 1, 1, 1, 1, 1], np.int32)
    top, dup = text_tables.ngram_repeats(starts, own, hashes, np.array([True]))
    assert top.tolist() == [[8, 0, 0]]
    assert dup.tolist() == [[0, 0, 0, 0, 0, 0]]


def test_words_of_spaced_and_unspaced_texts() -> None:
    counts = word_counts(
        ["Don't stop, 3.14!", "今天天气很好。", "今天 is a day in June", "", "ไทย ก"]
    )
    assert counts.unspaced.tolist() == [False, True, False, False, True]
    # don t stop 3 14; six Han characters are three words; two Han characters are one pair.
    assert counts.count.tolist() == [5, 3, 6, 0, 2]
    # Each character is counted once, though pairs overlap.
    first, last = counts.table.doc_start[1:3].tolist()
    assert counts.own[first:last].tolist() == [2, 1, 1, 1, 1]


@EXAMPLES
@given(st.lists(UGLY, max_size=4))
def test_features_against_plain_python(texts: list[str]) -> None:
    from corpusmill.stages.measure.text_kernel import (
        ALPHA_TOKENS,
        CHARS,
        ELLIPSES,
        HASHES,
        LETTERS,
        THAI_LAO,
        TOKENS,
    )
    from corpusmill.stages.unicode_data import ALPHA, collapse_space, tables

    flags = tables().flags
    for text, row in zip(texts, word_counts(texts).features.tolist(), strict=True):
        plain = collapse_space(text)
        tokens = plain.split(" ") if plain else []
        letters = [c for c in plain if flags[ord(c)] & ALPHA]
        assert row[CHARS] == len(plain)
        assert row[HASHES] == plain.count("#")
        assert row[ELLIPSES] == plain.count("...") + plain.count("…")
        assert row[TOKENS] == len(tokens)
        assert row[ALPHA_TOKENS] == sum(any(c in letters for c in t) for t in tokens)
        assert row[LETTERS] == len(letters)
        assert row[THAI_LAO] == sum("\u0e00" <= c <= "\u0eff" for c in letters)


@EXAMPLES
@given(st.lists(UGLY, max_size=4))
def test_batches_do_not_matter(texts: list[str]) -> None:
    together, lines = word_counts(texts), line_counts(texts)
    flags = [lines.flags[a:b].tolist() for a, b in _spans(lines.table.doc_start)]
    sentences = [lines.sentences[a:b].tolist() for a, b in _spans(lines.table.doc_start)]
    own = [together.own[a:b].tolist() for a, b in _spans(together.table.doc_start)]
    for i, text in enumerate(texts):
        alone, its_lines = word_counts([text]), line_counts([text])
        assert alone.features.tolist() == [together.features[i].tolist()]
        assert alone.own.tolist() == own[i]
        assert its_lines.flags.tolist() == flags[i]
        assert its_lines.sentences.tolist() == sentences[i]


def _spans(starts: npt.NDArray[np.int64]) -> list[tuple[int, int]]:
    return list(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True))


def ends(line: str) -> str:
    """The marks of one line: T terminal, Q quotation, D dots, B bullet."""
    flags = int(line_counts([line]).flags[0])
    return "".join(letter for bit, letter in enumerate("TQDB") if flags & 1 << bit)


def test_line_ends() -> None:
    assert ends("It ends.") == "T"
    assert ends("It ends.  ") == "T"
    assert ends("He said “yes.”") == "TQ"
    assert ends('He said "yes"') == "Q"
    assert ends("(He left.)") == "T"
    assert ends("As was shown.[12][3]") == "T"
    assert ends("An index [12]") == ""
    assert ends("Empty brackets []") == ""
    assert ends("And so on...") == "TD"
    assert ends("And so on…") == "TD"
    assert ends("「そうです。」") == "TQ"
    assert ends("今天天气很好！") == "T"
    assert ends("यह एक वाक्य है।") == "T"
    assert ends("هل هذا سؤال؟") == "T"
    assert ends("A title") == ""
    assert ends("A colon:") == ""
    assert ends(".") == "T"


def test_bullets() -> None:
    assert ends("• item") == "B"
    assert ends("•item") == "B"
    assert ends("- item") == "B"
    assert ends("  * item.") == "TB"
    assert ends("-5 degrees") == ""
    assert ends("-") == "B"
    assert ends("— Добрый день") == ""  # a dialogue


def sentences(line: str) -> int:
    return int(line_counts([line]).sentences[0])


def test_sentences() -> None:
    assert sentences("One. Two! Three?") == 3
    assert sentences("One. Two without an end") == 2
    assert sentences("Version 3.14 of e.g. this.") == 1
    assert sentences("(One.) Two.") == 2
    assert sentences("“One.” Two.") == 2
    assert sentences("一。二！三？") == 3
    assert sentences("「一。」二") == 2
    assert sentences("Wait... What?") == 2
    assert sentences("!!! ???") == 0  # no word


def test_words_of_the_last_batch_are_known() -> None:
    texts = [f"a text of {n} words" for n in ("four", "five", "six")]
    table = text_tables.word_counts(texts).table
    assert text_tables.known_words(list(texts)) is table
    some = text_tables.known_words([texts[0], texts[2]])
    assert some is not None
    assert [some.text(1, n) for n in range(5)] == ["a", "text", "of", "six", "words"]
    assert text_tables.known_words([texts[2], texts[0]]) is None  # in another order
    assert text_tables.known_words([*texts, "more"]) is None
    text_tables.word_counts(["another"])
    assert text_tables.known_words(texts) is None


@pytest.mark.parametrize(
    ("text", "tokens", "with_letter"),
    [
        ("", 0, 0),
        ("don't stop", 2, 2),
        ('(see "that").', 7, 2),  # ( see " that " ) .
        ("wait.... Well...", 4, 2),  # a run of full stops is one
        (".htaccess e.g. a.b", 5, 3),  # . htaccess e.g . a.b
        ("and/or well-known a,b x=y", 12, 8),
        ("1/2 3-4 10-fold key:7", 6, 2),  # only before a letter: 1/2 3-4 10 - fold key:7
        ("-v --all /etc/hosts me@a.b C:\\x", 7, 6),  # only /etc / hosts is parted
        ("f(x) []{} <b>", 9, 2),  # f(x ) [ ] { } < b >
        ("https://a-b.org/c/d, x", 3, 2),  # an address stays whole
        ("é\u0301-à 日本-x", 6, 4),
        ("-- — . ..", 4, 0),
        ("!\u3000?", 2, 0),
    ],
)
def test_words_and_marks_by_hand(text: str, tokens: int, with_letter: int) -> None:
    found = marked_tokens(tokenise(["ab", text, "!"]))
    assert [part.tolist() for part in found] == [[1, tokens, 1], [1, with_letter, 0]]


def test_words_and_marks_are_near_spacys() -> None:
    with gzip.open(VERDICTS, "rt", encoding="utf-8") as file:
        texts = [row["text"] for row in map(json.loads, file) if not row["id"].startswith("drawn:")]
    tokens, with_letter = marked_tokens(tokenise(texts))
    cutter = Cutter()
    near = 0
    for text, n, letters in zip(texts, tokens.tolist(), with_letter.tolist(), strict=True):
        words = [word for piece in text.split() for word in cutter.words(piece)]
        wanted = sum(any(c.isalpha() for c in word) for word in words)
        near += abs(letters * len(words) - wanted * n) <= 0.02 * n * len(words)
    assert near >= 0.85 * len(texts)


@EXAMPLES
@given(UGLY)
def test_words_and_marks_are_no_more_than_characters(text: str) -> None:
    (tokens,), (with_letter,) = (part.tolist() for part in marked_tokens(tokenise([text])))
    assert with_letter <= tokens <= sum(not c.isspace() for c in text)
    assert (tokens > 0) == any(not c.isspace() for c in text)
