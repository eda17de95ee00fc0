from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from corpusmill.pipeline.cli import main
from corpusmill.pipeline.context import MemoryContext
from corpusmill.pipeline.errors import AssetError
from corpusmill.tokenizers.bpe import BpeParams, train_bpe
from corpusmill.tokenizers.checkup import Group, check, open_any, read_groups, shown
from corpusmill.tokenizers.encode import load

from .conftest import make_text


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return [make_text(i, 60) for i in range(200, 280)]


def test_figures(tokenizer: MemoryContext, texts: list[str]) -> None:
    encoder = load(tokenizer.files())
    half = len(texts) // 2
    found = check(encoder, [Group("one", texts[:half]), Group("two", texts[half:])])
    figures = found.figures
    ids, lengths = encoder.encode_batch(texts)
    assert figures["tokens"] == len(ids) == int(lengths.sum())
    assert figures["texts"] == 80
    assert (figures["vocabulary"], figures["special"], figures["missing_bytes"]) == (600, 1, 0)
    assert (figures["unreachable"], figures["lossy_texts"]) == (0, 0)
    used = set(ids.tolist())
    assert figures["never_produced"] == len({*range(257, 600)} - used)
    assert figures["bytes_never_produced"] == len({*range(1, 257)} - used)
    one = found.groups["one"]
    size = sum(len(t.encode()) for t in texts[:half])
    assert one["bytes"] == str(size)
    assert one["bytes_per_token"] == f"{size / int(lengths[:half].sum()):.4f}"
    assert 0.3 < float(figures["renyi_efficiency"]) < float(figures["shannon_efficiency"]) < 1
    # 10 digits, and as many longer numbers as the text gave
    assert figures["digits"]["1"] == 10
    assert any("holes" in f for f in found.faults) == (figures["digits"]["2"] not in (0, 100))


def test_one_trained_badly_shows(
    texts: list[str], tmp_path: Path, tokenizer: MemoryContext
) -> None:
    """One file, over and over: tokens that other text never produces."""
    junk = ["TreeListenerFactoryBean extends IAERES_TREE_LISTENER\n" * 9] * 60
    raw = train_bpe(junk, BpeParams(vocab_size=600, min_frequency=1, allow_smaller=True))
    (tmp_path / "tokenizer.json").write_bytes(raw)
    bad = check(open_any(tmp_path), [Group("x", texts)])
    good = check(load(tokenizer.files()), [Group("x", texts)])
    shares = [f.figures["never_produced"] / (f.figures["vocabulary"] - 257) for f in (bad, good)]
    assert shares[0] > 2 * shares[1]
    assert any("never produced" in f for f in bad.faults)
    assert float(bad.groups["x"]["bytes_per_token"]) < float(good.groups["x"]["bytes_per_token"])


def test_tokens_of_one_text_are_named(texts: list[str], tokenizer: MemoryContext) -> None:
    encoder = load(tokenizer.files())
    token = encoder.decode_bytes([590]).decode()
    plain = [t for t in texts if token not in t]
    found = check(encoder, [Group("x", [*plain, f"{token} " * 40])])
    if encoder.encode_batch([token])[1][0] == 1:
        assert found.figures["of_one_text"] >= 1


def test_lossy_tokenizer_of_others(
    tmp_path: Path, texts: list[str], tokenizer: MemoryContext
) -> None:
    """Hugging Face's format with a normaliser: text does not come back, specials are seen."""
    raw = next(p for n, p in tokenizer.files().items() if n.endswith("tokenizer.json")).read_bytes()
    model = json.loads(raw)
    model["normalizer"] = {"type": "Lowercase"}
    path = tmp_path / "their.json"
    path.write_text(json.dumps(model))
    found = check(open_any(path), [Group("x", ["Müller", "low"])])
    assert found.figures["lossy_texts"] > 1
    assert any("do not come back" in f for f in found.faults)
    vocab = model["model"]["vocab"]
    model["normalizer"] = None
    del model["model"]["merges"][100]  # its token can no longer be made, nor what is made of it
    path.write_text(json.dumps(model))
    missing = check(open_any(path), [Group("x", texts)]).figures["unreachable"]
    assert 1 <= missing < len(vocab)
    path.write_text("{}")
    with pytest.raises(AssetError, match="no byte-level BPE"):
        open_any(path)
    with pytest.raises(AssetError, match="cannot read"):
        open_any(tmp_path / "nothing")


def test_groups(tmp_path: Path) -> None:
    rows = [{"text": "a", "lang": "en"}, {"text": "b", "lang": "de"}, {"text": "c", "lang": "en"}]
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    (tmp_path / "y.txt").write_text("d")
    by = {g.name: list(g.texts) for g in read_groups([path, tmp_path / "y.txt"])}
    assert by == {"x.jsonl": ["a", "b", "c"], "y.txt": ["d"]}
    assert {g.name: list(g.texts) for g in read_groups([path], "lang")} == {
        "de": ["b"],
        "en": ["a", "c"],
    }
    path.write_text('{"body": "x"}\n')
    with pytest.raises(AssetError, match="no field 'text'"):
        read_groups([path])


CONFIG = """
schema: corpusmill/tokenizer-config/1
inputs: {code: ["*.jsonl"], prose: ["*.txt"]}
seed: 3
tokenizer:
  stage: tokenizers.bpe
  vocab_size: 400
  split: llama3
  sample: {weights: {code: 0.5, prose: 0.5}, bytes: 30000}
"""


@pytest.mark.slow
def test_train_audit_and_compare(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], texts: list[str]
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    rows = "".join(json.dumps({"text": t}) + "\n" for t in texts[:40])
    (folder / "a.jsonl").write_text(rows)
    for i, text in enumerate(texts[40:60]):
        (folder / f"{i}.txt").write_text(text)
    (folder / "config.yaml").write_text(CONFIG)
    made: list[dict[str, Any]] = []
    for name in ("one", "two"):
        words = ["tokenizer", "train", str(folder / "config.yaml"), "--out", str(tmp_path / name)]
        assert main([*words, "--json"]) == 0
        made.append(json.loads(capsys.readouterr().out))
    assert made[0] == made[1]
    assert made[0]["split"]["style"] == "llama3"
    assert set(made[0]["sample"]["domains"]) == {"code", "prose"}
    assert sorted(p.name for p in (tmp_path / "one").iterdir()) == ["card.json", "tokenizer.json"]
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []
    look = ["--texts", str(folder / "a.jsonl")]
    assert main(["tokenizer", "audit", str(tmp_path / "one"), *look]) in (0, 1)
    assert capsys.readouterr().out.startswith("vocabulary")
    both = [str(tmp_path / "one"), str(tmp_path / "two/tokenizer.json")]
    plot = ["--plot", str(tmp_path / "p.html")]
    assert main(["tokenizer", "compare", *both, *look, *plot]) == 0
    lines = capsys.readouterr().out.splitlines()
    row = next(line for line in lines if line.startswith("bytes/token a.jsonl"))
    assert len(set(row.split()[2:])) == 1
    assert "<svg" in (tmp_path / "p.html").read_text()
    assert main(["tokenizer", "audit", both[0]]) == 2
    (folder / "config.yaml").write_text(CONFIG.replace("*.txt", "*.md"))
    assert main([*words[:4], str(tmp_path / "three")]) == 2


@pytest.mark.slow
def test_a_tokenizer_trained_badly_beside_a_good_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], texts: list[str]
) -> None:
    """One document, again and again, makes tokens of that document."""
    for name, some in (("good", texts[:60]), ("bad", texts[:1] * 60)):
        folder = tmp_path / name
        folder.mkdir()
        rows = "".join(json.dumps({"text": t}) + "\n" for t in some)
        (folder / "x.jsonl").write_text(rows)
        (folder / "config.yaml").write_text(
            "schema: corpusmill/tokenizer-config/1\ninputs: {x: [x.jsonl]}\n"
            "tokenizer: {stage: tokenizers.bpe, vocab_size: 420, allow_smaller: true}\n"
        )
        words = [str(folder / "config.yaml"), "--out", str(tmp_path / f"tok-{name}")]
        assert main(["tokenizer", "train", *words]) == 0
    held_out = tmp_path / "held-out.jsonl"
    held_out.write_text("".join(json.dumps({"text": t}) + "\n" for t in texts[60:]))
    both = [str(tmp_path / "tok-good"), str(tmp_path / "tok-bad")]
    capsys.readouterr()
    assert main(["tokenizer", "audit", *both, "--texts", str(held_out)]) == 1
    said = capsys.readouterr().out
    rows_ = [line.rsplit(maxsplit=2) for line in said.splitlines() if not line.startswith("FAULT")]
    cells = {row[0]: row[1:] for row in rows_ if len(row) == 3}
    good, bad = (float(x) for x in cells["bytes/token held-out.jsonl"])
    assert good > 1.2 * bad
    good_size, bad_size = (int(x) for x in cells["vocabulary"])
    assert good_size == 420 > bad_size
    faults = [line for line in said.splitlines() if line.startswith(f"FAULT  {both[1]}: ")]
    assert any("are never produced by these texts" in line for line in faults)


@pytest.mark.parametrize(("piece", "text"), [
    (b" word", " word"), (b"\xb8", "\\xb8"), (b"a\xec\xa6", "a\\xec\\xa6"), (b"\n", "\\n"),
    ("\u00e9".encode(), "\u00e9"),
])  # fmt: skip
def test_pieces_are_shown(piece: bytes, text: str) -> None:
    assert shown(piece) == text
