from __future__ import annotations

import json
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from corpusmill.pipeline.cli import main
from corpusmill.pipeline.context import MemoryContext
from corpusmill.pipeline.errors import AssetError, ConfigError
from corpusmill.tokenizers import pairs
from corpusmill.tokenizers.bpe import BpeParams, train_bpe
from corpusmill.tokenizers.bpe_engine import BpeEngine, byte_alphabet
from corpusmill.tokenizers.pairs import KINDS, Pairs, joined, kind_of, write_pairs
from corpusmill.tokenizers.splits import PATTERNS, pieces

from .conftest import make_text

HELDOUT = [make_text(i, 60) for i in range(300, 400)]


@pytest.fixture(scope="module")
def raw(tokenizer: MemoryContext) -> bytes:
    return next(
        p for n, p in tokenizer.files().items() if n.endswith("tokenizer.json")
    ).read_bytes()


def all_of(raw: bytes) -> Any:
    found = Pairs.of(json.loads(raw))
    every = np.arange(len(found.pieces), dtype=np.int32)
    return found.impossible(every, every)


def seen(raw: bytes, texts: list[str]) -> set[tuple[int, int]]:
    return {pair for ids in BpeEngine(raw).encode(texts) for pair in pairwise(ids)}


@pytest.mark.parametrize("split", ["gpt2", "gpt4", "o200k", "digits1", "digits2"])
def test_borders_are_where_the_pattern_has_them(split: str) -> None:
    """All texts of five characters, in one: what is never parted is just what is said."""
    alphabet = "Aa水\u03011 \n\t/("
    assert [KINDS[kind_of(c)] for c in alphabet] == list(KINDS)
    text = "".join(map("".join, product(alphabet, repeat=4)))
    parted = np.zeros((len(KINDS), len(KINDS)), dtype=bool)
    for a, b in pairwise(pieces(text, split)):
        parted[kind_of(a[-1]), kind_of(b[0])] = True
    assert (parted == ~joined(split)).all()


SLOW = [pytest.param(s, marks=pytest.mark.slow) for s in sorted(PATTERNS.keys() - {"gpt2", "gpt4"})]


@pytest.mark.parametrize("split", ["gpt2", "gpt4", *SLOW])
def test_brute_force_with_a_tiny_vocabulary(split: Any) -> None:
    """Among the tokens that texts of up to four characters have, just those pairs are listed that
    no text has: neither these, nor any with both tokens' text between some others."""
    sample = [
        "aab abA Ab 'll she'll 1ab 22 aé éa (a) ((a\n\n a",
        "abab aaa aab 's 'sa",
        "  a   b\n  (\n\n\n1",
    ] * 3
    raw = train_bpe(sample, BpeParams(vocab_size=290, split=split, allow_smaller=True))
    there = seen(raw, ["".join(t) for n in (1, 2, 3, 4) for t in product("abAé1' \n(", repeat=n)])
    used = sorted({i for pair in there for i in pair})
    text = {i: Pairs.of(json.loads(raw)).pieces[i].decode() for i in used}
    around = list(product(["", "a", "A", "1", "11", " ", "\n", "(", "x'"], ["", "a", " "]))
    left = {*product(used, used)} - there
    there |= seen(raw, [x + text[a] + text[b] + y for a, b in left for x, y in around])
    there |= seen(raw, ["".join(t) for t in product("abls' A", repeat=4)])
    impossible = all_of(raw)
    listed = {(a, b) for a, b in product(used, used) if impossible[a, b]}
    assert listed == {*product(used, used)} - there
    assert not any(impossible[pair] for pair in there)
    assert len(listed) > 25


def test_heldout_text_has_none(raw: bytes) -> None:
    impossible = all_of(raw)
    there = seen(raw, HELDOUT)
    assert len(there) > 1000
    assert not any(impossible[pair] for pair in there)
    assert 0.2 < impossible.mean() < 0.3
    assert not impossible[0].any()  # end of text
    assert not impossible[:, 0].any()


def by_hand(*merges: tuple[str, str]) -> bytes:
    """A tokenizer of the bytes and these merges, whatever training would say."""
    model = json.loads(train_bpe(["x"], BpeParams(vocab_size=257)))
    vocab = model["model"]["vocab"]
    for left, right in merges:
        vocab.setdefault(left + right, len(vocab))
    model["model"]["merges"] = [list(m) for m in merges]
    return json.dumps(model).encode()


@pytest.mark.parametrize(
    ("merges", "left", "right", "expected"),
    [
        ([("a", "b")], "a", "b", True),
        ([("a", "b")], "b", "a", False),
        ([("b", "c"), ("a", "b")], "ab", "c", True),  # bc comes first
        ([("a", "b"), ("b", "c")], "ab", "c", False),
        ([("a", "a")], "a", "aa", True),  # from the left: aa, a
        ([("a", "a")], "aa", "a", False),
        ([("a", "b"), ("c", "d"), ("b", "cd")], "ab", "cd", False),
        ([("b", "cd"), ("c", "d"), ("a", "b")], "ab", "cd", True),  # a low rank that comes late
    ],
)
def test_merges_across(
    merges: list[tuple[str, str]], left: str, right: str, expected: bool
) -> None:
    raw = by_hand(*merges)
    vocab = json.loads(raw)["model"]["vocab"]
    pair = [vocab[left], vocab[right]]
    assert (BpeEngine(raw).encode([left + right])[0] != pair) is expected
    assert bool(all_of(raw)[tuple(pair)]) is expected


def test_bytes_that_are_no_text() -> None:
    raw = by_hand()
    vocab = json.loads(raw)["model"]["vocab"]
    letter = {byte: vocab[c] for c, byte in byte_alphabet().items()}
    impossible = all_of(raw)
    rows = {(a, b): bool(impossible[letter[a], letter[b]]) for a in range(256) for b in range(256)}
    assert rows[0xC3, 0x61]  # a lead byte, then a letter
    assert rows[0x61, 0xA9]  # a letter, then the rest of a character
    assert not rows[0xC3, 0xA9]
    assert not rows[0xA9, 0x61]
    assert not rows[0x61, 0xC3]


def test_file(
    raw: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tokenizer.json").write_bytes(raw)
    out = tmp_path / "pairs.parquet"
    assert main(["tokenizer", "pairs", str(tmp_path), "--out", str(out), "--json"]) == 0
    about = json.loads(capsys.readouterr().out)
    table = pq.read_table(out)
    impossible = all_of(raw)
    assert (about["tokens"], about["tried"], about["exact"]) == (600, 600, True)
    assert about["impossible"] == impossible.sum()
    assert json.loads(table.schema.metadata[b"corpusmill"]) == about
    for row in table.to_pylist():
        bits = np.unpackbits(np.frombuffer(row["never"], np.uint8), bitorder="little")[:600]
        assert (bits == impossible[row["id"]]).all()
        assert row["impossible"] == bits.sum()
    monkeypatch.setattr(pairs, "EXACT_UP_TO", 599)
    monkeypatch.setattr(pairs, "SAMPLE", 100)
    assert main(["tokenizer", "pairs", str(tmp_path), "--out", str(out)]) == 0
    assert "estimated from 100" in capsys.readouterr().out
    table = pq.read_table(out)
    some = impossible[:, pairs.sampled(600)].sum(axis=1)
    assert table["impossible"].to_pylist() == some.tolist()
    assert table["never"].null_count == 600


def test_refusals(raw: bytes, tmp_path: Path) -> None:
    with pytest.raises(AssetError, match="cannot read"):
        write_pairs(tmp_path, tmp_path / "x")
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(AssetError, match=r"no tokenizer\.json"):
        write_pairs(tmp_path, tmp_path / "x")
    model = json.loads(raw)
    model["normalizer"] = {"type": "Lowercase"}
    with pytest.raises(ConfigError, match="split by name"):
        Pairs.of(model)
    assert main(["tokenizer", "pairs", str(tmp_path)]) == 2
