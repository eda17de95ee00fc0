from __future__ import annotations

import json

import pytest

from bench import tokenizer


@pytest.mark.slow
def test_quick(capsys: pytest.CaptureFixture[str]) -> None:
    assert tokenizer.main(["--quick", "--json", "--split", "gpt4", "--megabytes", "0.5"]) == 0
    made = json.loads(capsys.readouterr().out)
    ours, library, *_, pieces = made["rows"]
    assert [r["trainer"] for r in (ours, library, pieces)] == [
        "ours", "Hugging Face", "sentencepiece",
    ]  # fmt: skip
    assert library["merges equal"] is True
    assert ours["MB"] >= 0.5
    assert made["bars"]["times less CPU than Hugging Face, gpt4"]["bar"] == 8.0
