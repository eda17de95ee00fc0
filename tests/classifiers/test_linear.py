"""The linear quality model: features, file, calibration, training, the committed model."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from corpusmill.classifiers.linear_model import (
    LinearModel,
    LinearParams,
    calibrated,
    calibration,
    fit_linear,
    load_linear,
)
from corpusmill.classifiers.linear_quality import STAGE, Params
from corpusmill.classifiers.train import train, train_classifier
from corpusmill.classifiers.train_config import TrainConfig, read_config
from corpusmill.pipeline.document import Document
from corpusmill.pipeline.errors import AssetError, ConfigError
from corpusmill.pipeline.stage import Asset

ROOT = Path(__file__).resolve().parents[2]
CONFIG = ROOT / "configs" / "classifiers" / "quality_linear.yaml"
MODELS = ROOT / "configs" / "sample" / "models"
LINEAR = MODELS / "quality_linear.lin"
GOOD = "the careful study of nature and history took the whole long summer"
POOR = "buy cheap pills now click here for free coupons and cheap deals"


def test_score_is_the_mean_weight_of_words_and_pairs() -> None:
    weights = np.arange(256, dtype=np.int32)
    model = LinearModel("high", weights, 0)
    one, two, both = model.logits(["alpha", "beta", "alpha beta"])
    assert one is not None
    assert two is not None
    assert both is not None
    # Three features and 16 of weight 0; less the words' own, that is the pair's, a whole number.
    pair = 512 * (19 * both - 17 * one - 17 * two)
    assert pair == pytest.approx(round(pair))
    assert 0 <= round(pair) < 256
    assert model.logits(["beta alpha"]) != [both]
    assert model.logits(["", "  "]) == [None, None]
    assert model.scores(["", "alpha"]) == [0.0, round(1 / (1 + math.exp(-one)), 4)]


def test_file_round_trip_and_damage(tmp_path: Path) -> None:
    model = fit_linear([GOOD, POOR] * 4, [True, False] * 4, "high", LinearParams(bits=8), 1)
    path = tmp_path / "model.lin"
    raw = model.to_bytes()
    path.write_bytes(raw)
    again = load_linear(path, "high")
    assert again.scores([GOOD, POOR]) == model.scores([GOOD, POOR])
    assert again.scores([GOOD])[0] > 0.8
    assert again.scores([POOR])[0] < 0.2
    with pytest.raises(AssetError, match="good class 'high', not 'good'"):
        load_linear(path, "good")
    for broken, message in (
        (raw[:-2], "255 weights"), (raw[:-1], "damaged"), (raw[:30], "damaged"), (b"PK", "no linear")
    ):  # fmt: skip
        path.write_bytes(broken)
        with pytest.raises(AssetError, match=message):
            load_linear(path, "high")
    with pytest.raises(AssetError, match="cannot be read"):
        load_linear(tmp_path / "none.lin", "high")


def test_calibration() -> None:
    # Of 100 texts at logit 2, 60 are good; at -2, 40: the right logits are ln(60/40) and its minus.
    logits = [2.0] * 100 + [-2.0] * 100
    good = [True] * 60 + [False] * 40 + [True] * 40 + [False] * 60
    slope, shift = calibration(logits, good)
    assert slope == pytest.approx(math.log(1.5) / 2, abs=1e-3)
    assert shift == pytest.approx(0.0, abs=1e-3)
    assert calibration([1.0, 2.0], [True, True]) == (1.0, 0.0)
    model = LinearModel("high", np.full(256, 512, np.int32), 0)
    assert calibrated(model, 0.5, 0.25).logits(["word"]) == [0.5 / 17 + 0.25]


@pytest.mark.parametrize(
    "change", [{"bits": 4}, {"epochs": 0}, {"rate": 0.0}, {"decay": -1.0}]
)  # fmt: skip
def test_impossible_parameters(change: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        replace(LinearParams(), **change)  # type: ignore[arg-type]


def labels(folder: Path) -> TrainConfig:
    rows = [
        {
            "text": f"{text} {chr(97 + i)}", "label": label, "group": f"{label}-{i % 4}",
            "licence": "CC0-1.0", "source": "one", "language": ("en", "de")[i % 2],
        }
        for i in range(24)
        for label, text in (("high", GOOD), ("low", POOR))
    ]  # fmt: skip
    (folder / "labels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return TrainConfig(
        name="small", labels=("labels.jsonl",), holdout=("high-2", "low-2", "high-3", "low-3"),
        kind="linear", linear=LinearParams(bits=10),
    )  # fmt: skip


def test_training_writes_the_same_bytes_twice(tmp_path: Path) -> None:
    config = labels(tmp_path)
    cards = [train(config, tmp_path, tmp_path / name) for name in ("a", "b")]
    assert cards[0] == cards[1]
    assert (tmp_path / "a/model.lin").read_bytes() == (tmp_path / "b/model.lin").read_bytes()
    held = cards[0]["heldout"]
    assert held["auc"] == 1.0
    assert held["ablation"]["matched_source_only"] == 0.5
    assert held["ablation"]["matched_texts"] == held["texts"] == 24
    assert {name: row["texts"] for name, row in held["languages"].items()} == {"de": 12, "en": 12}
    card = (tmp_path / "a/CARD.md").read_text("utf-8")
    assert "| source alone | 0.5 | 0.5 |" in card
    assert "| en | 12 | 6 |" in card


def test_stage() -> None:
    stage = STAGE(Params(model=Asset(str(LINEAR)), languages=("en",)))
    assert stage.reads == ("lang",)
    stage.setup()
    documents = [
        Document("0" * 32, text, "s", signals={"lang": lang})
        for text, lang in ((GOOD, "en"), (POOR, "en"), (GOOD, "fi"), ("", "en"), ("a\r\nb", "en"))
    ]
    assert stage.apply(documents) == documents
    found = [document.signals.get("quality_linear_score") for document in documents]
    assert isinstance(found[0], float)
    assert isinstance(found[1], float)
    assert found[0] > 0.6 > 0.3 > found[1]
    assert found[2] is None
    assert found[3] == 0.0
    with pytest.raises(ConfigError, match="label is ''"):
        Params(model=Asset("x"), label="")
    with pytest.raises(ConfigError, match="before setup"):
        STAGE(Params(model=Asset("x"))).apply([])


def test_committed_model_and_card_agree() -> None:
    card = json.loads((MODELS / "quality_linear.card.json").read_text("utf-8"))
    assert card["model"]["sha256"] == hashlib.sha256(LINEAR.read_bytes()).hexdigest()
    config = read_config(CONFIG, TrainConfig)
    assert config.kind == "linear"
    assert config.linear == LinearParams()
    other = json.loads((MODELS / "quality.card.json").read_text("utf-8"))
    assert config.holdout == read_config(CONFIG.with_name("quality.yaml"), TrainConfig).holdout
    for name in ("model", "matched_model"):
        assert card["heldout"]["ablation"][name] > other["heldout"]["ablation"][name]
    assert card["heldout"]["auc"] >= 0.985
    assert card["heldout"]["ablation"]["matched_model"] >= 0.96
    assert card["heldout"]["calibration_error"] <= 0.07


@pytest.mark.slow
def test_training_again_gives_the_committed_model(tmp_path: Path) -> None:
    train_classifier(CONFIG, tmp_path)
    for made, kept in (("model.lin", "lin"), ("card.json", "card.json"), ("CARD.md", "card.md")):
        assert (tmp_path / made).read_bytes() == (MODELS / f"quality_linear.{kept}").read_bytes()
