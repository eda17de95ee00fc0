"""Buckets: ranks by hand, the better of two models, files that cannot be used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from corpusmill.classifiers.buckets import Buckets, Params
from corpusmill.pipeline import Document
from corpusmill.pipeline.errors import AssetError, ConfigError
from corpusmill.pipeline.stage import Asset

EDGES = {"score": [0.1, 0.2, 0.2, 0.9], "perplexity": [10.0, 20.0, 30.0, 40.0]}


def written(folder: Path, **change: Any) -> Asset:
    made = {"schema": "corpusmill/quantiles/1", "signals": EDGES} | change
    (folder / "edges.json").write_text(json.dumps(made))
    return Asset(str(folder / "edges.json"))


def judged(params: Params, **signals: float) -> tuple[Any, Any]:
    stage = Buckets(params)
    stage.setup()
    doc = Document(text="x", id="d", source="s")
    doc.signals.update(signals)
    assert stage.apply([doc]) == [doc]
    return doc.signals.get("quality_bucket"), doc.signals.get("quality_spread")


@pytest.mark.parametrize(
    ("signals", "largest", "mean"),
    [
        ({"score": 0.05, "perplexity": 50.0}, (0, 0), (0, 0)),
        ({"score": 0.1, "perplexity": 15.0}, (3, 2), (2, 2)),
        ({"score": 0.2, "perplexity": 40.0}, (3, 3), (1, 3)),
        ({"score": 0.95, "perplexity": 9.0}, (4, 0), (4, 0)),
        ({"score": 0.15}, (1, 0), (1, 0)),
        ({}, (None, None), (None, None)),
    ],
)
def test_ranks(tmp_path: Path, signals: dict[str, float], largest: Any, mean: Any) -> None:
    params = Params(signals=("score",), lower=("perplexity",), edges=written(tmp_path))
    assert judged(params, **signals) == largest
    mixed = Params(("score",), written(tmp_path), ("perplexity",), "mean")
    assert judged(mixed, **signals) == mean


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "other"}, "its schema is 'other'"),
        ({"signals": {"score": [1]}}, "no 'perplexity'"),
        ({"signals": EDGES | {"score": [2, 1, 3, 4]}}, "score is not in order"),
        ({"signals": EDGES | {"score": [1]}}, "of other length"),
        ({"signals": EDGES | {"score": ["x"]}}, "cannot be used"),
    ],
)
def test_wrong_edges(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    stage = Buckets(Params(("score",), written(tmp_path, **change), ("perplexity",)))
    with pytest.raises(AssetError, match=message):
        stage.setup()


def test_a_score_named_twice(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="name each score once"):
        Params(("score",), written(tmp_path), ("score",))
