"""Runs a measure on texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from corpusmill.pipeline.document import Document, Scalar
from corpusmill.pipeline.stage import Stage

Measure = Callable[..., list[dict[str, Scalar]]]


@pytest.fixture(scope="session")
def measure() -> Measure:
    """``measure(stage, texts, **signals)``: the signals of each text."""

    def run(stage: Stage, texts: Sequence[str], **signals: Any) -> list[dict[str, Scalar]]:
        stage.setup()
        documents = [Document("0" * 32, text, "s", {}, dict(signals)) for text in texts]
        assert stage.apply(documents) == documents
        for document in documents:
            for name, value in document.signals.items():
                if name not in signals:
                    assert type(value).__name__ == stage.writes[name]
        return [document.signals for document in documents]

    return run
