"""The transformer of ``ablate``: it learns, equally for equal seeds, and finds the better side."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path

import numpy as np
import pytest

from corpusmill.classifiers.ablate import AblateParams, ablate
from corpusmill.classifiers.ablate_transformer import TransformerParams, fit_transformer
from corpusmill.pipeline.errors import ConfigError

LABELS = Path(__file__).resolve().parents[3] / "configs/sample/labels/high.jsonl.gz"
TINY = TransformerParams(layers=1, width=48, context=64, batch=4, rate=4e-3)
START = 20  # of a vocabulary of 21


def line(*pieces: int) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.array([START, *pieces, 0], np.int32)


def test_what_was_seen_often_costs_little_and_only_what_is_predicted_costs() -> None:
    known = line(3, 1, 4, 1, 5, 9, 2, 6)
    ask, size = fit_transformer([known] * 1500, 21, 1, TINY)
    assert size == 21 * 48 + 64 * 48 + 12 * 48 * 48 + 13 * 48 + 2 * 48
    predicted = len(known) - 1
    assert 0 < ask([known]) < 0.5 * predicted  # of 4.4 bits a piece
    # Nine pieces of 21, none of them in its place.
    assert ask([line(7, 8, 7, 8, 7, 8, 7, 8)]) > predicted * math.log2(21)
    assert ask([]) == 0.0
    # A line more adds what it costs; longer than a context, too.
    one, many = ask([known] * 2), ask([known] * 40)
    assert one < many < 40 * 0.5 * predicted
    again, _ = fit_transformer([known] * 1500, 21, 1, TINY)
    assert again([known]) == ask([known])
    other, _ = fit_transformer([known] * 1500, 21, 2, TINY)
    assert other([known]) != ask([known])


def test_what_comes_later_changes_nothing_before_it() -> None:
    ask, _ = fit_transformer([line(3, 1, 4)] * 50, 21, 1, TINY)
    first, end = line(5, 6, 7)[:-1], np.array([0], np.int32)
    alone = ask([first])
    for last in (end, np.array([9], np.int32)):
        assert ask([np.concatenate([first, last])]) > alone
    costs = [ask([np.concatenate([first, np.array([n], np.int32)])]) - alone for n in range(START)]
    # The chances of what can follow, the start of a line aside, sum to less than one by that one's.
    assert 0.9 < sum(2.0**-cost for cost in costs) < 1.0


def test_text_teaches_more_than_the_same_backwards() -> None:
    rows = [json.loads(row) for row in gzip.decompress(LABELS.read_bytes()).splitlines()]
    held = [r["text"] for r in rows if r["group"] == "introduction-philosophy"][:10]
    good = [r["text"] for r in rows if r["group"] != "introduction-philosophy"][:200]
    params = AblateParams(tokens=12_000, seeds=2, pieces=600, model="transformer", transformer=TINY)
    found = ablate(good[::2], [t[::-1] for t in good[1::2]], {"book": held}, params)
    assert found["heldout"]["book"]["difference"] < -0.2
    assert found["model"]["kind"] == "transformer"
    assert found["model"]["size"] > 50_000
    assert found["tokens"] == 12_000


def test_no_device_is_named_as_such() -> None:
    import torch

    if not torch.cuda.is_available():
        with pytest.raises(ConfigError, match="torch sees no cuda device"):
            fit_transformer([line(1)], 21, 1, TransformerParams(device="cuda"))
