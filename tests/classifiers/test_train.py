"""Training: same bytes twice, groups held out, strict configuration, the committed model."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from corpusmill.classifiers.fasttext_models import load_model
from corpusmill.classifiers.quality_text import scores
from corpusmill.classifiers.train import read_labels, train, train_classifier
from corpusmill.classifiers.train_config import FastTextParams, TrainConfig, read_config
from corpusmill.pipeline.errors import ConfigError, InputError

ROOT = Path(__file__).resolve().parents[2]
CONFIG = ROOT / "configs" / "classifiers" / "quality.yaml"
MODELS = ROOT / "configs" / "sample" / "models"

GOOD = "The harbour board of {n} decided in {n} to repair the old pier, because storms had moved"
POOR = "Buy {n} now, best price {n}, click here for cheap {n} deals, free {n} coupon, order today"
NOUNS = ["stone", "apple", "river", "copper", "wool", "paper", "glass", "salt", "timber", "oil"]


def small(folder: Path, *, quantise: bool = False) -> TrainConfig:
    rows = []
    for i, noun in enumerate(NOUNS * 4):
        for label, line in (("high", GOOD), ("low", POOR)):
            if label == "low" and i % 2:
                continue
            rows.append({
                "text": line.format(n=noun) + f" {NOUNS[i // 10]}", "label": label,
                "group": f"{label}-{i // 10}", "licence": "CC0-1.0", "source": "test",
            })  # fmt: skip
    (folder / "labels.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    return TrainConfig(
        name="small", labels=("labels.jsonl",), holdout=("high-3", "low-3"),
        keep_rate=0.6, model=FastTextParams(dim=8, epoch=40, bucket=500, quantise=quantise),
    )  # fmt: skip


def test_same_bytes_twice(tmp_path: Path) -> None:
    config = small(tmp_path)
    cards = [train(config, tmp_path, tmp_path / name) for name in ("a", "b")]
    assert cards[0] == cards[1]
    for name in ("model.bin", "card.json", "CARD.md"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert not list(tmp_path.rglob("*.partial"))
    other = train(replace(config, seed=2), tmp_path, tmp_path / "c")
    assert other["model"]["sha256"] != cards[0]["model"]["sha256"]


def test_the_order_of_rows_does_not_matter(tmp_path: Path) -> None:
    config = small(tmp_path)
    first = train(config, tmp_path, tmp_path / "a")
    labels = tmp_path / "labels.jsonl"
    labels.write_text("".join(sorted(labels.read_text().splitlines(keepends=True))[::-1]))
    assert train(config, tmp_path, tmp_path / "b")["model"]["sha256"] == first["model"]["sha256"]


def test_card(tmp_path: Path) -> None:
    card = train(small(tmp_path), tmp_path, tmp_path / "out")
    held = card["heldout"]
    # Fourth repetition of ten nouns: ten high, five low; the rest is trained on.
    assert (held["texts"], held["good"]) == (15, 10)
    assert (card["training"]["texts"], card["training"]["good"]) == (45, 30)
    assert not set(card["training"]["groups"]) & {"high-3", "low-3"}
    assert held["auc"] == 1.0
    assert held["share_kept"] >= 0.6
    assert held["groups"]["high-3"]["mean_score"] > held["groups"]["low-3"]["mean_score"]
    assert sum(b["count"] for b in held["reliability"]) == 15
    model = tmp_path / "out" / "model.bin"
    assert card["model"]["sha256"] == hashlib.sha256(model.read_bytes()).hexdigest()
    digest = hashlib.sha256((tmp_path / "labels.jsonl").read_bytes()).hexdigest()
    assert card["data"] == [{"file": "labels.jsonl", "sha256": digest, "texts": 60}]
    assert json.loads((tmp_path / "out" / "card.json").read_text("utf-8")) == card
    assert "| high-3 | 10 | 10 |" in (tmp_path / "out" / "CARD.md").read_text("utf-8")


def test_a_text_on_both_sides_is_not_trained_on(tmp_path: Path) -> None:
    config = small(tmp_path)
    labels = tmp_path / "labels.jsonl"
    row = json.loads(labels.read_text().splitlines()[-1])
    labels.write_text(labels.read_text() + json.dumps(row | {"group": "elsewhere"}) + "\n")
    card = train(config, tmp_path, tmp_path / "out")
    assert card["training"]["texts"] == 45
    assert "elsewhere" not in card["training"]["groups"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"holdout": ("nowhere",)}, "nowhere"),
        ({"holdout": ("high-3",)}, "one class only"),
        ({"holdout": ("high-0", "high-1", "high-2", "high-3", "low-3")}, "one class only"),
    ],
)
def test_impossible_holdout(tmp_path: Path, change: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        train(replace(small(tmp_path), **change), tmp_path, tmp_path / "out")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"text": "x", "label": "high"}', "labels.jsonl line 1: KeyError"),
        (
            '{"text": "", "label": "a", "group": "g", "licence": "l", "source": "s"}',
            "line 1: a field",
        ),
        ("[]", "line 1: TypeError"),
        ("not json", "line 1: JSONDecodeError"),
    ],
)
def test_bad_rows(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(InputError, match=message):
        read_labels(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_labels(tmp_path / "none.jsonl")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: a\nlabels: [x]\nholdout: [g]\nkeeprate: 1", "did you mean 'keep_rate'"),
        ("name: a\nlabels: [x]\nholdout: [g]\nmodel: {dims: 3}", "did you mean 'dim'"),
        ("name: a\nlabels: [x]\nholdout: [g]\nmodel: {dim: '3'}", "a whole number is needed"),
        ("name: a\nlabels: [x]\nholdout: [g]\nbalance: 1", "true or false is needed"),
        ("name: a\nlabels: x\nholdout: [g]", "labels: a list is needed"),
        ("name: a\nlabels: [x]\nholdout: []", "holdout is empty"),
        ("name: a\nlabels: [x]\nholdout: [g]\nkeep_rate: 0", "keep_rate is 0.0"),
        ("name: a\nlabels: [x]", "the key 'holdout' is missing"),
        ("- a", "a mapping of keys is needed"),
        ("a: [", "is not valid YAML"),
        ("name: a\nlabels: [x]\nholdout: [g]\nfolder: /", "unknown key 'folder'"),
    ],
)
def test_strict_configuration(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_config(path, TrainConfig)


def test_configuration_of_the_sample() -> None:
    config = read_config(CONFIG, TrainConfig)
    assert config.model == FastTextParams()
    assert config.languages == ("en",)


def test_committed_model_and_card_agree() -> None:
    card = json.loads((MODELS / "quality.card.json").read_text("utf-8"))
    raw = (MODELS / "quality.ftz").read_bytes()
    assert len(raw) <= 600_000
    assert card["model"]["sha256"] == hashlib.sha256(raw).hexdigest()
    for data in card["data"]:
        path = ROOT / "configs" / data["file"].removeprefix("package:")
        assert data["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    # The floors of the held-out figures; see docs/decisions before lowering one.
    assert card["heldout"]["auc"] >= 0.95
    assert card["heldout"]["precision"] >= 0.85
    assert card["heldout"]["recall"] >= 0.92


def test_committed_model_on_pages_of_other_kinds() -> None:
    """Forum, news and shop pages are in no label; junk of kinds that are must stay below them."""
    import gzip

    raw = gzip.decompress((ROOT / "tests/data/crawl_gold/own_main_text.jsonl.gz").read_bytes())
    own = [r for r in map(json.loads, raw.decode().splitlines()) if r["lang"] == "en"]
    model = load_model(MODELS / "quality.ftz", "high")
    values = scores(model, [r["text"] for r in own], "high")
    assert len(values) == 24
    assert min(values) > 0.75
    junk = ["best price " * 60, "cheap pills online " * 40, "Lorem ipsum dolor sit amet, " * 20]
    assert max(scores(model, junk, "high")) < 0.5


@pytest.mark.slow
def test_training_again_gives_the_committed_model(tmp_path: Path) -> None:
    card = train_classifier(CONFIG, tmp_path)
    committed = (MODELS / "quality.ftz").read_bytes()
    assert card["model"]["sha256"] == hashlib.sha256(committed).hexdigest()
    assert (tmp_path / "card.json").read_bytes() == (MODELS / "quality.card.json").read_bytes()
    assert (tmp_path / "CARD.md").read_bytes() == (MODELS / "quality.card.md").read_bytes()
