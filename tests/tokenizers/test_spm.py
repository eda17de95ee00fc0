from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import sentencepiece

from corpusmill.pipeline.context import MemoryContext
from corpusmill.pipeline.errors import ConfigError, StageError
from corpusmill.tokenizers.checkup import Group, check
from corpusmill.tokenizers.encode import load
from corpusmill.tokenizers.spm import LINE_BYTES, Spm, SpmParams, lines_of, train_spm


@pytest.mark.parametrize("model_type", ["bpe", "unigram"])
def test_same_bytes_for_any_partitions(
    tmp_path: Path, helpers: Mapping[str, Any], model_type: str
) -> None:
    made = []
    for partitions in (1, 8):
        ctx = MemoryContext(tmp_path / str(partitions), partitions=partitions, seed=3)
        docs = helpers["make_docs"](80)
        docs = docs.take(list(range(0, 80, 2)) + list(range(1, 80, 2))) if partitions > 1 else docs
        helpers["fill"](ctx, docs)
        params: dict[str, Any] = {"model_type": model_type, "allow_smaller": True}
        ctx.run_phases(Spm(SpmParams(vocab_size=450, **params)))
        made.append({n: p.read_bytes() for n, p in ctx.files().items()})
    assert made[0] == made[1]
    assert sorted(made[0]) == ["tokenizer/card.json", "tokenizer/tokenizer.model"]
    assert str(tmp_path).encode() not in made[0]["tokenizer/tokenizer.model"]


def test_runs_are_symbols(spm: MemoryContext) -> None:
    encoder = load(spm.files())
    ids, _ = encoder.encode_batch(["\n\n\n\n" + " " * 16 + "\t"])
    assert len(ids) == 3
    ids, _ = encoder.encode_batch(["\n" * 1000])
    assert len(ids) == 250


def test_nothing_is_skipped() -> None:
    text = "abc\n" * 4000 + "é" * 10_000 + "\x00x▁y▅z"
    lines, removed = lines_of([text, "", "short"])
    assert removed == 3
    assert "".join(lines) == text.replace("\x00", "").replace("▁", "").replace("▅", "") + "short"
    assert max(len(line.encode()) for line in lines) <= LINE_BYTES
    assert len(lines[0].encode()) == LINE_BYTES  # 2048 lines of 4 bytes
    assert "" not in lines


def test_card_counts_what_is_left_out(tmp_path: Path, helpers: Mapping[str, Any]) -> None:
    docs = helpers["make_docs"](60)
    texts = docs.column("text").to_pylist()
    texts[0] += " ▁▁ ▅"
    docs = docs.set_column(2, "text", [texts])
    ctx = helpers["fill"](MemoryContext(tmp_path), docs)
    ctx.run_phases(Spm(SpmParams(vocab_size=420)))
    card = json.loads(ctx.files()["tokenizer/card.json"].read_bytes())
    assert card["sample"]["reserved_characters_left_out"] == 3
    assert card["sample"]["documents"] == 54
    assert card["vocab_size"] == 420


def test_nfkc_is_lossy_and_the_audit_says_so(tmp_path: Path, helpers: Mapping[str, Any]) -> None:
    made = {}
    for kind in ("identity", "nfkc"):
        ctx = helpers["fill"](MemoryContext(tmp_path / kind), helpers["make_docs"](60))
        params: dict[str, Any] = {"normalization": kind}
        ctx.run_phases(Spm(SpmParams(vocab_size=420, **params)))
        made[kind] = load(ctx.files())
        card = json.loads(ctx.files()["tokenizer/card.json"].read_bytes())
        assert card["normalization"] == kind
    text = "ﬁne ½ Ａ"
    back = {kind: one.decode(one.encode_batch([text])[0]) for kind, one in made.items()}
    assert back == {"identity": text, "nfkc": "fine 1⁄2 A"}
    found = check(made["nfkc"], [Group("x", [text, "plain"])])
    assert any("do not come back" in fault for fault in found.faults)
    sound = check(made["identity"], [Group("x", [text, "plain"])])
    assert sound.figures["digits"] == {"1": 10, "2": 0, "3": 0}  # a byte and a piece count once
    assert sound.figures["unreachable"] == 0  # nor is a byte whose piece is taken for it
    assert not any("do not come back" in fault for fault in sound.faults)


def test_pieces_across_spaces() -> None:
    lines = ["in the mill and on the hill"] * 30
    for many in (False, True):
        raw = train_spm(lines, SpmParams(vocab_size=330, multi_word=many, allow_smaller=True))
        encoder = sentencepiece.SentencePieceProcessor(model_proto=raw)
        pieces = [encoder.id_to_piece(i) for i in range(encoder.get_piece_size())]
        assert any("e▁" in p for p in pieces) is many


def test_impossible_sizes() -> None:
    with pytest.raises(ConfigError, match="vocab_size 267 is below 268"):
        SpmParams(vocab_size=267)  # 1 + 1 + 4 + 5 + 1 + 256 are 268
    with pytest.raises(StageError, match="could not train"):
        train_spm([chr(0x4E00 + i) for i in range(500)], SpmParams(vocab_size=300))
