"""How the transformer of ``ablate`` is fed, without the library that trains it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from corpusmill.classifiers.ablate_transformer import (
    TransformerParams,
    _contexts,
    _share_of_rate,
    _windows,
)
from corpusmill.pipeline.errors import ConfigError


def test_lines_follow_each_other_and_their_starts_are_not_predicted() -> None:
    lines = [np.array(row, np.int32) for row in ([9, 1, 2, 0], [9, 3, 0])]
    given, wanted = _contexts(lines, 9, 4)
    assert given.tolist() == [[9, 1, 2, 0], [9, 3, 9, 9]]
    assert wanted.tolist() == [[1, 2, 0, -100], [3, 0, -100, -100]]
    assert sum(row.count(-100) for row in wanted.tolist()) == 8 - (3 + 2)


@pytest.mark.parametrize("length", [0, 1, 5, 8, 9, 100])
def test_every_place_is_judged_once_with_half_a_context_before_it(length: int) -> None:
    seen: list[int] = []
    for first, end, judged in _windows(length, 8):
        assert end - first <= 8
        assert judged - first == min(judged, 4)
        seen += range(judged, end)
    assert seen == list(range(length))


def test_rates() -> None:
    assert [_share_of_rate(step, 20) for step in (0, 1, 2)] == [0.5, 1.0, 1.0]
    assert _share_of_rate(11, 20) == pytest.approx(0.55)
    last = 0.1 + 0.9 * (1 + math.cos(math.pi * 17 / 18)) / 2
    assert _share_of_rate(19, 20) == pytest.approx(last)


def test_params() -> None:
    assert TransformerParams().heads == 6
    assert TransformerParams(width=48).heads == 1
    wrong: list[dict[str, Any]] = [
        {"width": 200}, {"layers": 0}, {"context": 1}, {"rate": 1.0}, {"device": "tpu"},
    ]  # fmt: skip
    for params in wrong:
        with pytest.raises(ConfigError, match="transformer"):
            TransformerParams(**params)
