"""The word kernel against a plain Python reading of the word rule."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.stages import unicode_data as u
from corpusmill.stages import words

UGLY = st.text(
    st.one_of(
        st.sampled_from("aAzZ09 _'-.\n\r\t\u00ad\u200d\u200b\u0345\u0301\u0327\u0308\u0323\u3099"),
        st.sampled_from("ßẞİıſŉǅΣςᾳᾼΐﬁＡｶﾞ가각日本かガไทยกำ๕ខ្មែរမြန်မာèé٣"),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=60,
)
TEXTS = st.lists(UGLY, max_size=5)


def oracle(text: str) -> list[tuple[int, int, int, str, int]]:
    """Words as (start, end) in characters, length, folded form, flags; written for plainness."""
    kind: list[str] = []
    for char in text:
        f = u.flags_of(char)
        if f & u.IGNORABLE:
            kind.append("i")
        elif not f & u.WORD:
            kind.append(" ")
        elif f & u.MARK and [k for k in kind if k != "i"][-1:] in (["s"], ["u"], ["m"], ["v"]):
            last = [k for k in kind if k != "i"][-1]
            kind.append("m" if last in "sm" else "v")  # mark within a spaced, an unspaced run
        else:
            kind.append("u" if f & u.UNSPACED else "s")
    found: list[tuple[int, int, int, str, int]] = []

    def add(members: list[int], unspaced: int) -> None:
        chars = [text[m] for m in members]
        start, end = members[0], members[-1] + 1
        flags = unspaced
        if any(u.flags_of(c) & u.ALPHA for c in chars):
            flags |= words.HAS_ALPHA
        if not unspaced and all(u.flags_of(c) & u.DIGIT for c in chars):
            flags |= words.ALL_DIGITS
        if not text[start:end].isascii():
            flags |= words.NON_ASCII
        found.append((start, end, len(members), u.fold(text[start:end]), flags))

    runs: list[tuple[str, list[int]]] = []
    for at, k in enumerate(kind):
        if k == "i":
            continue
        group = {"s": "s", "m": "s", "u": "u", "v": "u", " ": " "}[k]
        if runs and runs[-1][0] == group:
            runs[-1][1].append(at)
        else:
            runs.append((group, [at]))
    for group, members in runs:
        if group == "s":
            add(members, 0)
        elif group == "u":
            units: list[list[int]] = []
            for m in members:
                if kind[m] == "v":
                    units[-1].append(m)
                else:
                    units.append([m])
            if len(units) == 1:
                add(units[0], words.IN_UNSPACED | words.RUN_START | words.LONE)
            for n, (a, b) in enumerate(pairwise(units)):
                add(a + b, words.IN_UNSPACED | (words.RUN_START if n == 0 else 0))
    return found


def hash_oracle(folded: str) -> int:
    mask = 2**64 - 1
    h = 0x9E3779B97F4A7C15
    for char in folded:
        h = (h ^ ord(char)) * 0xD6E8FEB86659FD93 & mask
        h ^= h >> 32
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        h = (h ^ h >> 33) * factor & mask
    return h ^ h >> 33


def read(table: words.WordTable, texts: list[str]) -> list[list[tuple[int, int, int, int, int]]]:
    rows = []
    for d, text in enumerate(texts):
        raw = text.encode("utf-8", "surrogatepass")
        rows.append([
            (
                len(raw[: table.start[w]].decode("utf-8", "surrogatepass")),
                len(raw[: table.end[w]].decode("utf-8", "surrogatepass")),
                int(table.chars[w]), int(table.hash[w]), int(table.flags[w]),
            )
            for w in range(table.doc_start[d], table.doc_start[d + 1])
        ])  # fmt: skip
    return rows


@settings(derandomize=True, deadline=None, max_examples=250)
@given(TEXTS)
def test_kernel_equals_oracle(texts: list[str]) -> None:
    table = words.tokenise(texts)
    want = [[(s, e, n, hash_oracle(f), flags) for s, e, n, f, flags in oracle(t)] for t in texts]
    assert read(table, texts) == want
    assert table.documents == len(texts)
    assert len(table) == sum(map(len, want))


@settings(derandomize=True, deadline=None, max_examples=100)
@given(TEXTS)
def test_a_document_does_not_depend_on_its_batch(texts: list[str]) -> None:
    together = read(words.tokenise(texts), texts)
    assert together == [read(words.tokenise([t]), [t])[0] for t in texts]


def in_words(text: str) -> list[str]:
    table = words.tokenise([text])
    return [table.text(0, w) for w in range(len(table))]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("", []),
        (
            "don't snake_case 3.14 naïve x\u00adray",
            ["don", "t", "snake", "case", "3", "14", "naïve", "x\xadray"],
        ),
        ("日本語", ["日本", "本語"]),
        ("猫", ["猫"]),
        ("iPhoneを買う2台", ["iPhone", "を買", "買う", "2", "台"]),
        ("カ\u3099ラ", ["カ\u3099ラ"]),
        ("ที่นี่", ["ที่นี่"]),
        ("ไป๕", ["ไป", "๕"]),
        ("한국어 대한", ["한국어", "대한"]),
        ("a\u200bb", ["a", "b"]),
        ("\u0301a \u0e31", ["\u0301a", "\u0e31"]),
        ("\ud800a\udfff", ["a"]),
    ],
)
def test_word_rule(text: str, want: list[str]) -> None:
    assert in_words(text) == want


def test_spellings_share_hashes_and_others_do_not() -> None:
    same = words.word_hashes(["École", "ÉCOLE", "e\u0301cole", "E\u0301COLE"])
    assert len(set(same.tolist())) == 1
    assert len(set(words.word_hashes(["ecole", "école", "ab", "ba", "a", "aa"]).tolist())) == 6
    kana = words.word_hashes(["ガガ", "ｶﾞｶﾞ", "カ\u3099カ\u3099"])
    assert len(set(kana.tolist())) == 1


def test_word_hashes_refuses_what_is_not_one_word() -> None:
    with pytest.raises(ValueError, match=r"\"don't\" is not one word by the rule corpusmill/1"):
        words.word_hashes(["the", "don't"])


def test_hashes_of_many_words_do_not_collide() -> None:
    names = [f"w{n}" for n in range(50_000)] + [str(n) for n in range(50_000)]
    assert len(np.unique(words.word_hashes(names))) == 100_000


def test_long_runs() -> None:
    table = words.tokenise(["a" * 300_000, "e" + "\u0301\u0323" * 50_000, "字" * 1000])
    assert np.diff(table.doc_start).tolist() == [1, 1, 999]
    assert table.chars[:2].tolist() == [300_000, 100_001]
    assert len(set(table.hash[2:].tolist())) == 1


@settings(derandomize=True, deadline=None, max_examples=150)
@given(TEXTS)
def test_lines_equal_oracle(texts: list[str]) -> None:
    import re

    table = words.lines(texts)
    at = 0
    for d, text in enumerate(texts):
        assert table.doc_start[d] == at
        want = re.split("\r\n|\r|\n", text)
        if want[-1] == "":
            want.pop()
        raw = text.encode()
        for line in want:
            assert raw[table.start[at] : table.end[at]].decode() == line
            trimmed = raw[table.text_start[at] : table.text_end[at]].decode()
            assert trimmed == line.strip()
            assert table.chars[at] == len(trimmed)
            assert table.hash[at] == hash_oracle(trimmed)
            at += 1
    assert table.doc_start[-1] == at == len(table.hash)


def test_no_texts() -> None:
    assert words.tokenise([]).doc_start.tolist() == [0]
    assert words.lines([]).doc_start.tolist() == [0]


def test_eight_bytes_lie_behind_what_is_encoded() -> None:
    for texts in (["é", "", "ab"], [""], []):
        data, starts, longest = words.encoded(texts)
        assert data.tobytes() == "".join(texts).encode()
        assert starts[-1] == len(data)
        assert data.base is not None
        assert data.base.nbytes == len(data) + 8
        assert longest == max(map(len, map(str.encode, texts)), default=0)


def test_fold_pieces_are_what_folds() -> None:
    pieces = words.fold_pieces()
    for char in "aAé́ßﬁǅΐ가が日ͅǖ٣٠":
        entry = int(pieces[ord(char)])
        if entry == 0xFFFFFFFFFFFFFFFF:
            assert len(u.fold(char)) > 2
            continue
        points = [entry >> shift & 0x1FFFFF for shift in (0, 21, 42)]
        assert "".join(chr(p) for p in points if p) == u.fold(char)
        last = int(u.tables().ccc[ord(u.fold(char)[-1])]) > 0 or char == "ͅ"
        assert bool(entry >> 63) == last
    assert int((pieces == 0xFFFFFFFFFFFFFFFF).sum()) < 1000


def test_documents_picked_from_tables() -> None:
    one, two = ["é A1 b", "", "漢字 c, d"], ["e", "f g"]
    tables = words.tokenise(one), words.tokenise(two)
    places = [(0, 2), (1, 0), (1, 1), (0, 0), (0, 1), (0, 1)]
    picked_table = words.picked([(tables[t], n) for t, n in places])
    expected = words.tokenise([(one, two)[t][n] for t, n in places])
    for name in words.WordTable.__slots__:
        assert np.array_equal(getattr(picked_table, name), getattr(expected, name)), name
    assert len(words.picked([])) == 0
