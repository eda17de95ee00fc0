"""Our encoding loops beside Hugging Face's encoder, and when they are believed."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from corpusmill.pipeline.context import MemoryContext
from corpusmill.pipeline.errors import ConfigError, IntegrityError
from corpusmill.tokenizers import bpe_engine, fast, splits
from corpusmill.tokenizers.bpe import BpeParams, train_bpe
from corpusmill.tokenizers.bpe_engine import BpeEngine, byte_alphabet, engine_of
from corpusmill.tokenizers.encode import BpeEncoder, load
from corpusmill.tokenizers.splits import joined

from .conftest import TEXT, make_text

CHARACTERS = (
    "aAbBzZ'sStTdDlLvVeErR019  \t\n\r..,/!-\u00a0\u0301éÉʰ中文ʼǅſ\u2028😀\u0660Ⅷ\u200d\u0085ªßK"
)
ASCII = "aaabcdeeeSTt'  \n\r\t.,/()=_0123 "
SPLITS = ["gpt2", "gpt4", "o200k", "digits1", "digits2"]


def model_of(split: str, texts: Sequence[str], size: int = 700) -> bytes:
    params = BpeParams(vocab_size=size, split=split, allow_smaller=True)  # type: ignore[arg-type]
    return train_bpe(list(texts), params)


def loops_of(raw: bytes) -> fast.Loops:
    model = json.loads(raw)
    split = fast.suits(model, byte_alphabet())
    assert split is not None
    return fast.Loops(model, split, byte_alphabet())


def encoded(loops: fast.Loops, texts: Sequence[str]) -> list[list[int]]:
    ids, lengths = loops.encode(*joined([t.encode() for t in texts]))
    assert ids.dtype == np.uint32
    ends = np.cumsum(lengths).tolist()
    return [ids[a:b].tolist() for a, b in zip([0, *ends], ends, strict=False)]


def wild_texts() -> list[str]:
    chosen = random.Random(17)
    found = ["".join(chosen.choices(CHARACTERS, k=chosen.randint(0, 60))) for _ in range(300)]
    found += ["".join(chosen.choices(ASCII, k=chosen.randint(0, 90))) for _ in range(300)]
    letters = [chosen.choice("abcde") * chosen.randint(1, 40) for _ in range(200)]
    return [
        *found,
        " ".join(letters),
        *bpe_engine.HARD_TEXTS,
        *(make_text(i, 40) for i in range(9)),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("split", SPLITS)
def test_ids_are_those_of_the_library(split: str) -> None:
    raw = model_of(split, [TEXT * 3, *(make_text(i, 60) for i in range(60))])
    texts = wild_texts()
    assert encoded(loops_of(raw), texts) == BpeEngine(raw).encode(texts)


@pytest.mark.slow
def test_pieces_of_long_texts() -> None:
    """Far from a text's end, where eight bytes are looked at together."""
    from tokenizers import Regex, pre_tokenizers

    chosen = random.Random(3)
    texts = ["".join(chosen.choices(ASCII + "é中'sSL", k=400)) for _ in range(120)]
    texts += ["x" * k + "Y" * (k % 3) + "z'll " * 9 for k in range(40)]
    for split in SPLITS:
        pre = pre_tokenizers.Split(Regex(splits.PATTERNS[split]), behavior="isolated")
        theirs = [[p for p, _ in pre.pre_tokenize_str(t)] for t in texts]
        assert [splits.pieces(t, split) for t in texts] == theirs


@pytest.mark.slow
def test_long_pieces(tokenizer: MemoryContext) -> None:
    """Above `KEPT` bytes with a heap, below without; a million in less than seconds."""
    raw = tokenizer.files()["tokenizer/tokenizer.json"].read_bytes()
    loops, engine = loops_of(raw), BpeEngine(raw)
    chosen = random.Random(9)
    texts = ["".join(chosen.choices("thelraین中", k=k)) for k in (15, 16, 254, 255, 256, 900, 9000)]
    texts += [" " * 5000, "\n" * 5000 + "x", "the" * 4000]
    assert encoded(loops, texts) == engine.encode(texts)
    assert encoded(loops, texts) == engine.encode(texts)  # from the table
    for text in (" " * 1_000_000, "a" * 1_000_000, "中" * 333_333):
        assert b"".join(engine.pieces[i] for i in encoded(loops, [text])[0]) == text.encode()


@pytest.mark.slow
def test_tables_that_grow_or_are_emptied(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [make_text(i, 200) for i in range(60)]
    raw = model_of("gpt4", texts)
    expected = BpeEngine(raw).encode(texts)
    monkeypatch.setattr(fast, "SLICE_BYTES", 3000)
    monkeypatch.setattr(fast, "_FIRST_ROWS", 16)
    assert encoded(loops_of(raw), texts) == expected
    monkeypatch.setattr(fast, "MOST_ROWS", 64)
    small = loops_of(raw)
    assert encoded(small, texts) == expected
    assert len(small._table) == 64 * 4


@pytest.mark.slow
def test_columns_and_invalid_bytes(
    tokenizer: MemoryContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arrow slices of several chunks are read where they lie; bytes that are not UTF-8 are read as
    U+FFFD and counted, by either way."""
    engine_of.cache_clear()
    texts = [make_text(i, 30) for i in range(50)]
    column = pa.chunked_array([pa.array(texts[:20]), pa.array(["x", *texts[20:]]).slice(1)])
    bad = pa.array([b"a\xffb", "gut ü".encode()]).cast(pa.binary())
    broken = pa.chunked_array([bad.view(pa.string())])
    slow = load(tokenizer.files())
    expected = slow.encode_batch(texts)[0].tolist()
    assert slow.encode_column(column)[0].tolist() == expected
    said = slow.encode_column(broken)[0].tolist()
    assert (slow.decode(said), slow.invalid) == ("a\ufffdbgut ü", 1)
    monkeypatch.setattr(bpe_engine, "COMPILED_FROM", 1)
    quick = load(tokenizer.files())
    assert isinstance(quick, BpeEncoder)
    ids, lengths = quick.encode_column(column)
    assert (ids.tolist(), len(lengths)) == (expected, 50)
    assert quick._engine._loops is not None
    assert quick.encode_column(broken)[0].tolist() == said
    assert quick.invalid == 1
    assert quick.encode_column(pa.chunked_array([], pa.string()))[0].tolist() == []
    assert (
        quick.encode_batch(["a\ud800b"])[0].tolist() == slow.encode_batch(["a\ufffdb"])[0].tolist()
    )


@pytest.mark.slow
def test_other_ids_are_an_error(tokenizer: MemoryContext, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = tokenizer.files()["tokenizer/tokenizer.json"].read_bytes()
    monkeypatch.setattr(bpe_engine, "COMPILED_FROM", 1)
    made = fast.Loops.__init__

    def wrong(self: fast.Loops, *args: Any) -> None:
        made(self, *args)
        self._merges[3][300] += 1

    monkeypatch.setattr(fast.Loops, "__init__", wrong)
    with pytest.raises(IntegrityError, match="do not give Hugging Face's ids for"):
        BpeEngine(raw).loops(1, lambda: ["some text"])


def test_only_what_they_were_made_for(tokenizer: MemoryContext) -> None:
    raw = tokenizer.files()["tokenizer/tokenizer.json"].read_bytes()
    alphabet = byte_alphabet()
    assert fast.suits(json.loads(raw), alphabet) == "gpt4"
    changes: list[tuple[list[str | int], Any]] = [
        (["normalizer"], {"type": "NFC"}),
        (["pre_tokenizer"], {"type": "ByteLevel"}),
        (["pre_tokenizer", "pretokenizers", 0, "pattern"], {"Regex": r"\w+"}),
        (["pre_tokenizer", "pretokenizers", 0, "invert"], True),
        (["pre_tokenizer", "pretokenizers", 1, "add_prefix_space"], True),
        (["model", "ignore_merges"], True),
        (["model", "dropout"], 0.1),
        (["added_tokens", 0, "special"], False),
    ]
    for path, value in changes:
        model = json.loads(raw)
        place = model
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        assert fast.suits(model, alphabet) is None, path
    model = json.loads(raw)
    del model["model"]["vocab"]["Ā"]
    assert fast.suits(model, alphabet) is None


def test_little_text_keeps_to_the_reference(
    tokenizer: MemoryContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = tokenizer.files()["tokenizer/tokenizer.json"].read_bytes()
    least, most = bpe_engine.LOOPS_FROM, bpe_engine.COMPILED_FROM
    assert BpeEngine(raw).loops(least - 1, lambda: []) is None
    monkeypatch.setattr(fast, "compiled", lambda: False)
    assert BpeEngine(raw).loops(most - 1, lambda: []) is None
    monkeypatch.setattr(fast, "compiled", lambda: True)
    assert BpeEngine(raw).loops(least, lambda: []) is not None
    monkeypatch.setenv("CORPUSMILL_ENCODER", "reference")
    assert BpeEngine(raw).loops(most, lambda: []) is None
    monkeypatch.setenv("CORPUSMILL_ENCODER", "fastest")
    with pytest.raises(ConfigError, match="CORPUSMILL_ENCODER='fastest' is not known"):
        BpeEngine(raw)
