from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import yaml

from corpusmill.classifiers import train_topics as train_topics_module
from corpusmill.classifiers.embedding import LENGTH, Embedder
from corpusmill.classifiers.metrics import accuracy_and_f1, calibration_error
from corpusmill.classifiers.page_model import load_page_model, page_features
from corpusmill.classifiers.shape import NAMES
from corpusmill.classifiers.shape import UNIT as SHAPE_UNIT
from corpusmill.classifiers.train_config import read_config
from corpusmill.classifiers.train_topics import (
    Examples,
    TopicsConfig,
    best_scale,
    held_out,
    train_topics,
)
from corpusmill.pipeline.errors import ConfigError

ROOT = Path(__file__).parents[2]
CONFIGS = ROOT / "configs" / "classifiers"
LABELS = ROOT / "tests" / "data" / "topics"
SEA = ("sea ship", "ship sail wave", "whale and sea", "the wave of the sea", "sail and ship")
FOOD = ("bread oven", "soup and salt", "flour of the oven", "bread and soup", "salt flour bread")
CLASSES = {"food": {"what": "Food.", "seeds": ["bread soup flour"]},
           "sea": {"what": "The sea.", "seeds": ["ship whale"]}}  # fmt: skip


@pytest.fixture(autouse=True)
def without_the_package(monkeypatch: pytest.MonkeyPatch, small_embedder: Embedder) -> None:
    monkeypatch.setattr(train_topics_module, "load_embedder", lambda what: small_embedder)


def train(folder: Path, **more: object) -> dict[str, object]:
    rows = [
        {"text": text, "label": label, "group": f"host{n}.example", "licence": "CC0-1.0",
         "source": "read" if n else "once", "url": f"https://host{n}.example/blog"}
        for label, texts in (("sea", SEA), ("food", FOOD)) for n, text in enumerate(texts)
    ]  # fmt: skip
    (folder / "labels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    config = {"name": "test", "signal": "topic", "labels": ["labels.jsonl"], "classes": CLASSES,
              "folds": 5, **more}  # fmt: skip
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    read = read_config(folder / "config.yaml", TopicsConfig)
    return train_topics(read, folder, folder / "out")


def test_a_trained_model_tells_the_classes_of_hosts_that_it_has_not_seen(
    tmp_path: Path, small_embedder: Embedder
) -> None:
    card = train(tmp_path, judged=["read"])
    held = card["heldout"]
    assert held["texts"] == 8  # type: ignore[index]
    assert held["accuracy"] == held["macro_f1"] == 1.0  # type: ignore[index]
    assert held["majority"] == {"accuracy": 0.5, "macro_f1": 0.3333}  # type: ignore[index]
    assert held["seed_words"]["accuracy"] == 0.875  # type: ignore[index]
    assert held["mistakes"] == []  # type: ignore[index]
    assert card["training"] == {"texts": 10, "seeds": 2, "by_class": {"food": 5, "sea": 5}}
    model = load_page_model(str(tmp_path / "out/model.jsonl"), "topic")
    vectors = small_embedder.vectors(["oven", "whale"])
    found = model.judge(page_features(vectors, ["", ""], ["", ""], False))
    assert [name for name, _ in found] == ["food", "sea"]


def test_the_shape_is_read_where_it_is_asked_for(tmp_path: Path) -> None:
    card = train(tmp_path, shape=True)
    assert card["params"]["shape"] is True  # type: ignore[index]
    assert load_page_model(str(tmp_path / "out/model.jsonl"), "topic").shape


def test_the_same_bytes_again(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
        train(tmp_path / name)
    one, two = ((tmp_path / n / "out/model.jsonl").read_bytes() for n in "ab")
    assert one == two


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"classes": {"sea": CLASSES["sea"], "land": CLASSES["food"]}}, r"labels \['food'\]"),
        ({"folds": 6}, "5 groups are fewer than 6 folds"),
        ({"folds": 1}, "1 folds"),
        ({"ridge": 0.0}, r"ridge 0\.0"),
        ({"prior": 1.5}, r"prior 1\.5"),
        ({"signal": "colour"}, "colour"),
    ],
)
def test_what_cannot_be_trained_is_an_error(
    tmp_path: Path, more: dict[str, object], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        train(tmp_path, **more)


def test_a_weight_of_nothing_leaves_a_source_out(tmp_path: Path) -> None:
    for name, weight in (("a", 0.0), ("b", 1.0)):
        (tmp_path / name).mkdir()
        train(tmp_path / name, weights={"once": weight})
    one, two = ((tmp_path / n / "out/model.jsonl").read_bytes() for n in "ab")
    assert one != two


def test_the_scale_makes_probabilities_right() -> None:
    random = np.random.default_rng(1)
    truth = random.integers(0, 2, 4000)
    # Logits whose softmax is right, all five times too large.
    chance = random.uniform(0.01, 0.99, 4000)
    right = random.uniform(size=4000) < chance
    logit = np.log(chance / (1 - chance))
    first = np.where(right, truth, 1 - truth)
    logits = np.zeros((4000, 2))
    logits[np.arange(4000), first] = 5 * logit
    assert best_scale(logits, truth) == pytest.approx(0.2, abs=0.04)


def test_accuracy_and_f1_by_hand() -> None:
    found, truth = list("aabbbc"), list("aaabbb")
    # a: 2 of 2 and 2 of 3, so 4/5; b: 2 of 3 and 2 of 3, so 2/3; c is no class of the truth.
    assert accuracy_and_f1(found, truth) == {"accuracy": 0.6667, "macro_f1": 0.7333}


def kept_examples(signal: str) -> tuple[Examples, TopicsConfig, list[str], np.ndarray]:
    """The labelled pages and the seeds as numbers (``python -m bench.topics --features``)."""
    config = read_config(CONFIGS / f"{signal}s.yaml", TopicsConfig)
    with np.load(LABELS / "features.npz") as kept:
        chosen = kept[signal] != 255
        vectors, shapes, y, source, group = (
            kept[name][chosen] for name in ("vectors", "shapes", signal, "source", "group")
        )
        named = kept["sources"][source].tolist()
    x = vectors / float(LENGTH)
    if config.shape:
        assert shapes.shape[1] == len(NAMES)
        x = np.hstack([x, shapes / float(SHAPE_UNIT)])
    weights = {"seed": config.seed_weight, **config.weights}
    weight = np.array([weights.get(name, 1.0) for name in named])
    groups = ["" if name == "seed" else f"{n:04d}" for name, n in zip(named, group, strict=True)]
    judged = np.isin(named, config.judged)
    return Examples(x, y.astype(np.int64), weight, groups), config, sorted(config.classes), judged


@pytest.mark.parametrize(
    ("signal", "accuracy", "macro_f1", "error"),
    [("topic", 0.78, 0.68, 0.08), ("format", 0.64, 0.45, 0.13)],
)
def test_models_keep_their_floors_on_hosts_not_seen(
    signal: str, accuracy: float, macro_f1: float, error: float
) -> None:
    """A floor lies some points below what was measured (docs/classifiers.md); folds are drawn
    otherwise than in the card, since groups have numbers here."""
    examples, config, names, judged = kept_examples(signal)
    logits = held_out(examples, len(names), config)
    seeds = np.array(examples.group) == ""
    assert not logits[seeds].any()  # they are trained on in every fold, and judged in none
    logits = logits[judged]
    truth = examples.y[judged]
    found = logits.argmax(axis=1)
    figures = accuracy_and_f1([names[n] for n in found], [names[n] for n in truth])
    assert figures["accuracy"] >= accuracy
    assert figures["macro_f1"] >= macro_f1
    logits *= best_scale(logits, truth)
    top = 1 / np.exp(logits - logits.max(axis=1, keepdims=True)).sum(axis=1)
    assert calibration_error(top.tolist(), (found == truth).tolist()) <= error


def test_at_least_three_hundred_pages_of_the_crawl_were_read_twice() -> None:
    rows = [json.loads(line) for line in (LABELS / "read.jsonl").read_text().splitlines()]
    crawl = [row for row in rows if row["source"] == "crawl"]
    assert len(crawl) >= 300
    assert len({(row["file"], row["offset"]) for row in crawl}) == len(crawl)
    for signal in ("topic", "format"):
        classes = set(read_config(CONFIGS / f"{signal}s.yaml", TopicsConfig).classes)
        for row in rows:
            assert len(row[f"{signal}s"]) == 2
            assert {row[signal], *row[f"{signal}s"]} - {""} <= classes
