from __future__ import annotations

from pathlib import Path

import pytest

from corpusmill.pipeline.tokenizer_verbs import read_config

FOLDER = Path(__file__).resolve().parents[2] / "configs/tokenizers"
SIZES = {
    "gpt2-50k": 50_257, "llama3-128k": 128_008, "multi-word-256k": 256_000, "spm-32k": 32_000,
    "spm-32k-nfkc": 32_000, "spm-256k": 256_000, "spm-256k-nfkc": 256_000,
}  # fmt: skip


def test_all_are_known() -> None:
    assert {p.stem for p in FOLDER.glob("*.yaml")} == set(SIZES)


@pytest.mark.parametrize("name", SIZES)
def test_is_what_its_name_says(name: str) -> None:
    _, sink = read_config(FOLDER / f"{name}.yaml")
    assert sink.params.vocab_size == SIZES[name]
    if name.startswith(("spm", "multi")):
        expected = "nfkc" if name.endswith("nfkc") else "identity"
        assert sink.params.normalization == expected
        assert sink.params.multi_word is (name == "multi-word-256k")
