from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.pipeline.context import MemoryContext
from corpusmill.pipeline.errors import AssetError, IntegrityError
from corpusmill.tokenizers.bpe_engine import byte_alphabet
from corpusmill.tokenizers.encode import Encoder, load
from corpusmill.tokenizers.splits import PATTERNS

UGLY = [
    "", " ", "\n", "\x00\x01\x02", "a" * 3000, " " * 5000, " " * 5000 + "x", "\n" * 3000,
    "\t\r\n" * 300, "e\u0301" * 50 + "\u0300" * 200, "👨‍👩‍👧‍👦" * 20, "\ufeffBOM\u2028x",
    "naïve ſtraße I'LL don't DON'T 'ſ", "水车慢慢转动。ไทย العربية עברית", "12345 ٣٤٥ ½ Ⅷ",
    "▁▁ under ▁ block ▅ and ▁", "<|endoftext|>", "foo <|endoftext|> bar<|endoftext|>",
    "<0x0A> <0xE2> <|unknown|> <s> </s>", "\U0010ffff\ufffe\uffff",
]  # fmt: skip


@pytest.fixture(scope="module", params=["tokenizer", "spm"])
def encoder(request: pytest.FixtureRequest) -> Encoder:
    ctx: MemoryContext = request.getfixturevalue(request.param)
    return load(ctx.files())


def encode_one(encoder: Encoder, text: str) -> list[int]:
    ids, lengths = encoder.encode_batch([text])
    assert lengths.tolist() == [len(ids)]
    return [int(i) for i in ids]


def test_round_trip_of_ugly_text(encoder: Encoder) -> None:
    ids, lengths = encoder.encode_batch(UGLY)
    assert ids.dtype == np.uint32
    assert lengths.dtype == np.int64
    assert encoder.decode_bytes(ids) == "".join(UGLY).encode()
    ends = np.cumsum(lengths)
    for text, begin, end in zip(UGLY, [0, *ends[:-1].tolist()], ends.tolist(), strict=True):
        assert encoder.decode(ids[begin:end]) == text
        assert encode_one(encoder, text) == ids[begin:end].tolist()  # batches do not matter


@settings(derandomize=True, deadline=None, max_examples=80)
@given(text=st.text(max_size=60))
def test_round_trip_of_any_text(encoder: Encoder, text: str) -> None:
    text = text.encode("utf-8", "ignore").decode()
    ids = encode_one(encoder, text)
    assert encoder.decode_bytes(ids) == text.encode()
    assert not set(ids) & set(encoder.special_tokens.values())


def test_special_strings_in_text_stay_text(encoder: Encoder) -> None:
    assert encoder.eos_id == 0
    for token, number in encoder.special_tokens.items():
        ids = encode_one(encoder, f"foo {token} bar {token}")
        assert number not in ids
        assert encoder.decode(ids) == f"foo {token} bar {token}"


def test_every_byte_has_a_token(encoder: Encoder) -> None:
    single = {encoder.decode_bytes([i]) for i in range(encoder.vocab_size)}
    assert {bytes([b]) for b in range(256)} <= single
    assert encoder.max_id == encoder.vocab_size - 1


def test_lone_surrogates_are_replaced_and_counted(encoder: Encoder) -> None:
    before = encoder.invalid
    ids = encode_one(encoder, "a\ud800b\udfffc")
    assert encoder.decode(ids) == "a\ufffdb\ufffdc"
    assert encoder.invalid == before + 1


def test_a_million_spaces(encoder: Encoder) -> None:
    ids = encode_one(encoder, " " * 1_000_000)
    assert len(encoder.decode_bytes(ids)) == 1_000_000


def test_foreign_ids_are_refused(encoder: Encoder) -> None:
    with pytest.raises(IntegrityError, match="is not within"):
        encoder.decode([encoder.vocab_size])


def test_bpe_equals_tiktoken(tokenizer: MemoryContext, helpers: Any) -> None:
    import tiktoken

    encoder = load(tokenizer.files())
    model = json.loads(tokenizer.files()["tokenizer/tokenizer.json"].read_bytes())
    alphabet = byte_alphabet()
    ranks = {
        bytes(alphabet[c] for c in t): i
        for t, i in model["model"]["vocab"].items() if i > 0
    }  # fmt: skip
    oracle = tiktoken.Encoding(
        "ours", pat_str=PATTERNS["gpt4"], mergeable_ranks=ranks,
        special_tokens={"<|endoftext|>": 0},
    )  # fmt: skip
    texts = [*UGLY, *(helpers["make_text"](i, 300) for i in range(500, 520))]
    for text in texts:
        assert encode_one(encoder, text) == oracle.encode_ordinary(text)


def test_sentencepiece_mark_is_three_bytes(spm: MemoryContext) -> None:
    encoder = load(spm.files())
    ids = encode_one(encoder, "a▁b")
    assert [encoder.decode_bytes([i]) for i in ids[1:4]] == [b"\xe2", b"\x96", b"\x81"]
    assert encode_one(encoder, "a b") != ids


def test_load_refuses_what_is_not_its_card(tokenizer: MemoryContext, tmp_path: Path) -> None:
    with pytest.raises(AssetError, match=r"no card\.json"):
        load(tmp_path)
    for path in tokenizer.files().values():
        shutil.copy(path, tmp_path)
    assert load(tmp_path).digest == load(tokenizer.files()).digest
    model = tmp_path / "tokenizer.json"
    model.write_bytes(model.read_bytes().replace(b'"use_regex": false', b'"use_regex": true'))
    with pytest.raises(IntegrityError, match="not what its card says"):
        load(tmp_path)
    model.unlink()
    with pytest.raises(AssetError, match="is missing"):
        load(tmp_path)
