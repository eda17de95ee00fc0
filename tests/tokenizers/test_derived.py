from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from corpusmill.pipeline.cli import main
from corpusmill.pipeline.context import MemoryContext
from corpusmill.pipeline.errors import ConfigError
from corpusmill.tokenizers.bpe import BpeParams, train_bpe
from corpusmill.tokenizers.bpe_engine import BpeEngine
from corpusmill.tokenizers.derived import cut, cut_model, ranks, write_ranks
from corpusmill.tokenizers.encode import load

from .conftest import make_text

TEXTS = [make_text(i, 60) for i in range(80)]


@pytest.fixture
def folder(tokenizer: MemoryContext, tmp_path: Path) -> Path:
    place = tmp_path / "whole"
    place.mkdir()
    for name, path in tokenizer.files().items():
        (place / name.rsplit("/", 1)[-1]).write_bytes(path.read_bytes())
    return place


@pytest.mark.parametrize("size", [257, 258, 300, 555])
def test_cut_is_a_smaller_training(size: int) -> None:
    larger = json.loads(train_bpe(TEXTS, BpeParams(vocab_size=600)))
    smaller = json.loads(train_bpe(TEXTS, BpeParams(vocab_size=size)))
    assert cut_model(larger, size) == smaller


def test_two_ways_to_one_token() -> None:
    """A merge that makes a known token stays if a larger token comes after it, as in training."""
    model = json.loads(train_bpe(["x"], BpeParams(vocab_size=257)))
    vocab, merges = model["model"]["vocab"], model["model"]["merges"]
    merges += [["a", "b"], ["b", "c"], ["ab", "c"], ["a", "bc"], ["abc", "d"]]
    vocab |= {"ab": 257, "bc": 258, "abc": 259, "abcd": 260}
    assert cut_model(model, 260)["model"]["merges"] == merges[:3]
    assert cut_model(model, 259)["model"]["merges"] == merges[:2]
    assert ranks(cut_model(model, 260)).splitlines()[-1] == b"YWJj 259"
    with pytest.raises(ConfigError, match="two merges make the same token"):
        ranks(model)


def test_sizes_that_cannot_be(folder: Path, tmp_path: Path) -> None:
    for size in (256, 600, 9999):
        with pytest.raises(ConfigError, match="cannot be cut from 600"):
            cut(folder, size, tmp_path / "x")
    with pytest.raises(ConfigError, match="is not empty"):
        cut(folder, 300, folder)


def test_folder_of_a_cut_is_a_tokenizer(folder: Path, tmp_path: Path) -> None:
    card = cut(folder, 400, tmp_path / "cut")
    encoder = load(tmp_path / "cut")
    assert (encoder.vocab_size, encoder.eos_id, encoder.digest) == (400, 0, card["digest"])
    assert card["cut_from"] == {"digest": load(folder).digest, "vocab_size": 600}
    ids, _ = encoder.encode_batch(TEXTS)
    assert int(ids.max()) <= 399
    assert encoder.decode_bytes(ids) == "".join(TEXTS).encode()


def test_tiktoken_gives_our_ids(folder: Path, tmp_path: Path) -> None:
    import tiktoken

    about = write_ranks(folder, tmp_path / "ranks")
    lines = (tmp_path / "ranks/ranks.tiktoken").read_text().splitlines()
    table = {base64.b64decode(token): int(rank) for token, rank in map(str.split, lines)}
    assert len(table) == len(lines) == 599
    theirs = tiktoken.Encoding(
        about["name"], pat_str=about["pat_str"], mergeable_ranks=table,
        special_tokens=about["special_tokens"], explicit_n_vocab=about["explicit_n_vocab"],
    )  # fmt: skip
    engine = BpeEngine((folder / "tokenizer.json").read_bytes())
    assert [theirs.encode_ordinary(t) for t in TEXTS] == engine.encode(TEXTS)


def test_verbs(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    word = ["tokenizer", "cut", str(folder)]
    assert main([*word, "--size", "300", "--out", str(tmp_path / "a"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["vocab_size"] == 300
    assert main([*word, "--out", str(tmp_path / "b")]) == 2
    assert main(["tokenizer", "ranks", str(folder), "--out", str(tmp_path / "r")]) == 0
    assert capsys.readouterr().out.endswith("ranks.tiktoken, tiktoken.json\n")
