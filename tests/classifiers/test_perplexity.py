"""The perplexity stage and its training, on the labels of the sample."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from corpusmill.classifiers.ngram_model import fit_ngrams
from corpusmill.classifiers.perplexity import Params, Perplexity, load_judge
from corpusmill.classifiers.perplexity_text import plain_lines
from corpusmill.classifiers.train_perplexity import (
    PerplexityConfig,
    train_perplexity,
    train_perplexity_file,
)
from corpusmill.pipeline import Document
from corpusmill.pipeline.errors import AssetError, ConfigError
from corpusmill.pipeline.stage import Asset

ROOT = Path(__file__).resolve().parents[2]
LABELS = ROOT / "configs" / "sample" / "labels"
CONFIG = ROOT / "configs" / "classifiers" / "perplexity.yaml"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """Card and folder of a model of the sample's labels."""
    out = tmp_path_factory.mktemp("perplexity")
    return train_perplexity_file(CONFIG, out), out


def document(text: str, lang: str = "en") -> Document:
    doc = Document(text=text, id="d", source="s")
    doc.signals["lang"] = lang
    return doc


def test_good_text_is_likelier_than_poor(made: tuple[dict[str, Any], Path]) -> None:
    card, _ = made
    held = card["heldout"]
    assert held["texts"] == 235
    assert held["auc"] > 0.72
    groups = {name: row["median"] for name, row in held["groups"].items()}
    # Prose of books that it has not seen, below menus of a manual, below spam.
    assert groups["introduction-philosophy"] < groups["menus docs.snake-lang.example"]
    assert groups["menus docs.snake-lang.example"] < groups["own comment-spam"]


def test_stage(made: tuple[dict[str, Any], Path]) -> None:
    card, out = made
    stage = Perplexity(Params(models={"en": Asset(str(out / "model.ngram"))}))
    stage.setup()
    prose = "The philosophers of the school held that knowledge begins with the senses."
    salad = "Senses the begins with philosophers that knowledge of held the school the."
    docs = [
        document(prose),
        document(salad),
        document(prose, "de"),
        document(" \n\t"),
        document(prose.upper()),
    ]
    assert stage.apply(docs) == docs
    first, second = (docs[i].signals["perplexity"] for i in (0, 1))
    assert isinstance(first, float)
    assert isinstance(second, float)
    assert 1 < first < second
    assert docs[4].signals["perplexity"] == first
    low, high = card["cutoffs"]
    assert docs[0].signals["perplexity_bucket"] == (
        "head" if first <= low else "middle" if first <= high else "tail"
    )
    assert "perplexity" not in docs[2].signals  # no model for German
    assert "perplexity" not in docs[3].signals  # nothing to judge
    stage = Perplexity(Params(models={"*": Asset(str(out / "model.ngram"))}))
    stage.setup()
    stage.apply(docs[2:3])
    assert docs[2].signals["perplexity"] == first


def test_a_third_of_the_unseen_texts_is_in_each_bucket(made: tuple[dict[str, Any], Path]) -> None:
    card, out = made
    judge = load_judge(str(out / "model.ngram"))
    rows = [
        json.loads(line)
        for name in ("high", "low")
        for line in gzip.decompress((LABELS / f"{name}.jsonl.gz").read_bytes()).splitlines()
    ]
    config = CONFIG.read_text()
    unseen = [r["text"] for r in rows if r["label"] == "low" or f"- {r['group']}\n" in config]
    values = [v for v in judge.perplexities(unseen) if v is not None]
    buckets = [judge.bucket(v) for v in values]
    for name in ("head", "middle", "tail"):
        assert buckets.count(name) == pytest.approx(len(values) / 3, abs=15)
    assert card["params"]["pieces"] == 4000


def test_normalisation() -> None:
    assert plain_lines("École “N° 125”—OK\n\n \u2581\tZwei\u00a0 Wörter") == [
        'ecole "n° 000"-ok',
        "zwei worter",
    ]
    assert plain_lines("İstanbul ΣΊΓΜΑΣ 12\r\nx", 100) == plain_lines("i\u0307stanbul σίγμασ 34\nX")
    assert plain_lines("abcdef", 3) == ["abc"]


def test_same_bytes_for_any_order_of_rows(tmp_path: Path) -> None:
    rows = [
        {"text": f"Line {i} of a {'good' if i % 3 else 'poor'} text.\nIt has {i % 7} more words to say.",
         "label": "high" if i % 3 else "low", "group": f"g{i % 5}", "licence": "CC0-1.0", "source": "s"}
        for i in range(200)
    ]  # fmt: skip
    config = PerplexityConfig(
        "t", "en", ("l.jsonl",), ("g1",), pieces=400, order=3, reference=("l.jsonl",)
    )
    models = []
    for turn in (rows, rows[::-1]):
        (tmp_path / "l.jsonl").write_text("".join(json.dumps(r) + "\n" for r in turn))
        train_perplexity(config, tmp_path, tmp_path / "out")
        models.append((tmp_path / "out" / "model.ngram").read_bytes())
    assert models[0] == models[1]
    with pytest.raises(ConfigError, match="nowhere"):
        train_perplexity(replace(config, holdout=("nowhere",)), tmp_path, tmp_path / "out")
    with pytest.raises(ConfigError, match="order is 9"):
        replace(config, order=9)


def test_wrong_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.ngram"
    import numpy as np

    path.write_bytes(fit_ngrams([np.array([0, 2, 1])], 5).to_bytes())
    with pytest.raises(AssetError, match="no pieces"):
        load_judge(str(path))
    with pytest.raises(ConfigError, match="0 models"):
        Params(models={})
