from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from corpusmill.pipeline.context import MemoryContext
from corpusmill.pipeline.errors import ConfigError, StageError
from corpusmill.tokenizers.bpe import Bpe, BpeParams, check_bpe, train_bpe
from corpusmill.tokenizers.bpe_engine import byte_alphabet
from corpusmill.tokenizers.sampling import SampleParams
from corpusmill.tokenizers.splits import PATTERNS


def trained(
    folder: Path, docs: pa.Table, helpers: Mapping[str, Any], partitions: int, **params: Any
) -> dict[str, bytes]:
    ctx = MemoryContext(folder, partitions=partitions, seed=7)
    helpers["fill"](ctx, docs, pieces=1 + partitions % 5)
    ctx.run_phases(Bpe(BpeParams(**params)))
    return {n: p.read_bytes() for n, p in ctx.files().items()}


def test_same_bytes_for_any_partitions_and_order(
    tmp_path: Path, helpers: Mapping[str, Any]
) -> None:
    docs = helpers["make_docs"](90)
    params = {"vocab_size": 400, "sample": SampleParams(bytes=12_000)}
    one = trained(tmp_path / "1", docs, helpers, 1, **params)
    assert sorted(one) == ["tokenizer/card.json", "tokenizer/tokenizer.json"]
    for partitions in (4, 16):
        shuffled = docs.take(list(reversed(range(docs.num_rows))))
        assert trained(tmp_path / str(partitions), shuffled, helpers, partitions, **params) == one
    card = json.loads(one["tokenizer/card.json"])
    sample = card["sample"]
    assert sample["bytes"] <= 12_000
    assert sample["bytes"] > 11_000
    assert sum(d["taken_documents"] for d in sample["domains"].values()) == sample["documents"]


def test_all_bytes_and_specials_first(tokenizer: MemoryContext) -> None:
    model = json.loads(tokenizer.files()["tokenizer/tokenizer.json"].read_bytes())
    vocab = model["model"]["vocab"]
    assert vocab["<|endoftext|>"] == 0
    assert len(vocab) == 600
    assert sorted(vocab.values()) == list(range(600))
    # GPT-2's own table, spelled out for the bytes that are easiest to get wrong
    assert byte_alphabet()["Ġ"] == 0x20
    assert byte_alphabet()["Ċ"] == 0x0A
    assert byte_alphabet()["Ā"] == 0x00
    assert byte_alphabet()["Ń"] == 0xAD
    assert set(byte_alphabet().values()) == set(range(256))
    assert set(byte_alphabet()) <= set(vocab)


def test_heldout_text_is_not_trained_on(tmp_path: Path, helpers: Mapping[str, Any]) -> None:
    docs = helpers["make_docs"](30)
    marked = [
        t + " zyzzyvaqq" * 50 if s == "heldout" else t
        for t, s in zip(
            docs.column("text").to_pylist(), docs.column("split").to_pylist(), strict=True
        )
    ]
    docs = docs.set_column(docs.column_names.index("text"), "text", pa.array(marked, pa.string()))
    files = trained(tmp_path, docs, helpers, 2, vocab_size=400)
    assert "zyzz" not in files["tokenizer/tokenizer.json"].decode()


def test_newline_with_indent_is_learnt(helpers: Mapping[str, Any]) -> None:
    texts = ["def f(x):\n\n\n    return x\n\n\n    pass\n" * 20]
    model = json.loads(train_bpe(texts, BpeParams(vocab_size=290, allow_smaller=True)))
    assert "ĊĊĊ" in model["model"]["vocab"]  # a file read by lines never shows three newlines


@pytest.mark.parametrize(("style", "pieces"), [("gpt4", ["123", "4"]), ("digits1", list("1234"))])
def test_digits(style: str, pieces: list[str]) -> None:
    from tokenizers import Regex, pre_tokenizers

    split = pre_tokenizers.Split(Regex(PATTERNS[style]), behavior="isolated")
    assert [piece for piece, _ in split.pre_tokenize_str("1234")] == pieces


def test_same_bytes_for_any_number_of_threads() -> None:
    code = (
        "from corpusmill.tokenizers.bpe import BpeParams, train_bpe\n"
        "import hashlib\n"
        "texts = [f'{i * i} the {i % 97} mill {i % 13}x turns\\n' * 3 for i in range(400)]\n"
        "raw = train_bpe(texts, BpeParams(vocab_size=500, allow_smaller=True))\n"
        "print(hashlib.sha256(raw).hexdigest())\n"
    )
    digests = set()
    for parallel, threads in (("false", "1"), ("true", "1"), ("true", "4")):
        env = {**os.environ, "TOKENIZERS_PARALLELISM": parallel, "RAYON_NUM_THREADS": threads}
        done = subprocess.run(
            [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
        )
        digests.add(done.stdout.strip())
    assert len(digests) == 1
    assert len(digests.pop()) == 64


def test_too_little_text_is_an_error() -> None:
    with pytest.raises(StageError, match="not vocab_size 5000"):
        train_bpe(["a little text, a little text"], BpeParams(vocab_size=5000))
    raw = train_bpe(["a little text, a little text"],
                    BpeParams(vocab_size=5000, allow_smaller=True))  # fmt: skip
    assert 257 < len(json.loads(raw)["model"]["vocab"]) < 300


def test_special_that_text_can_become_is_refused() -> None:
    params = BpeParams(vocab_size=300, special_tokens=("stop",), allow_smaller=True)
    with pytest.raises(StageError, match="merged into the special token 'stop'"):
        train_bpe(["stop stop stop stop"] * 9, params)


def test_missing_byte_is_seen(tokenizer: MemoryContext) -> None:
    model = json.loads(tokenizer.files()["tokenizer/tokenizer.json"].read_bytes())
    vocab = model["model"]["vocab"]
    vocab["nowhere"] = vocab.pop("ÿ")
    with pytest.raises(StageError, match="1 bytes are not in the vocabulary"):
        check_bpe(model, ("<|endoftext|>",))


def test_no_documents_is_an_error(tmp_path: Path, helpers: Mapping[str, Any]) -> None:
    with pytest.raises(StageError, match="no document to train"):
        trained(tmp_path, helpers["make_docs"](0), helpers, 1)


def test_params() -> None:
    with pytest.raises(ConfigError, match="below 257"):
        BpeParams(vocab_size=256)
    with pytest.raises(ConfigError, match="distinct"):
        BpeParams(special_tokens=("<a>", "<a>"))
    with pytest.raises(ConfigError, match=r"sample\.bytes"):
        SampleParams(bytes=2**31)
