"""The held-out split: its share, its seed, and relatives on one side."""

from __future__ import annotations

from typing import Any

import pytest

from corpusmill.pipeline.document import Document, document_id
from corpusmill.pipeline.errors import ConfigError, StageError
from corpusmill.stages.measure.split import STAGE, SplitParams


def sides(params: SplitParams, docs: list[Document]) -> list[Any]:
    outcomes = STAGE(params).apply(docs)
    assert all(o is d for o, d in zip(outcomes, docs, strict=True))
    return [d.signals["split"] for d in docs]


def docs(count: int, **signals: Any) -> list[Document]:
    return [Document(document_id("s", "f", 1, n), "", "s", {}, dict(signals)) for n in range(count)]


def test_share_and_seed() -> None:
    split = sides(SplitParams(heldout="0.05", by="id"), docs(20_000))
    assert set(split) == {"train", "heldout"}
    assert abs(split.count("heldout") - 1000) < 4 * (1000 * 0.95) ** 0.5
    other = sides(SplitParams(heldout="0.05", by="id", seed=2), docs(20_000))
    both = sum(a == b == "heldout" for a, b in zip(split, other, strict=True))
    assert both < 100  # 50 expected
    assert set(sides(SplitParams(heldout="0", by="id"), docs(1000))) == {"train"}
    assert set(sides(SplitParams(heldout="1", by="id"), docs(1000))) == {"heldout"}


def test_a_larger_share_holds_the_smaller_one() -> None:
    small = sides(SplitParams(heldout="0.1", by="id"), docs(2000))
    large = sides(SplitParams(heldout="0.2", by="id"), docs(2000))
    assert all(b == "heldout" for a, b in zip(small, large, strict=True) if a == "heldout")


@pytest.mark.parametrize("by", ["cluster", "family"])
def test_relatives_stay_together(by: Any) -> None:
    for n in range(50):
        assert len(set(sides(SplitParams(heldout="0.5", by=by), docs(5, **{by: f"{n:032x}"})))) == 1


def test_it_does_not_change_without_the_version() -> None:
    split = sides(SplitParams(heldout="0.25", by="id"), docs(24))
    held = [n for n, side in enumerate(split) if side == "heldout"]
    assert (STAGE.version, held) == (1, [1, 4, 8, 15, 17])


def test_errors() -> None:
    with pytest.raises(StageError, match=r"no signal 'family'"):
        STAGE(SplitParams()).apply(docs(1))
    for wrong in ("half", "1.5", "-0.1", "nan"):
        with pytest.raises(ConfigError, match="heldout is"):
            SplitParams(heldout=wrong)
