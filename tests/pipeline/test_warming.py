"""`warm`: every part is found, in one process and in several."""

from __future__ import annotations

import json

import pytest

from corpusmill.pipeline.cli import main
from corpusmill.pipeline.warming import MODULES, STAGES, warm_kernels

PARTS = {"words", *MODULES, *STAGES, "extract.tiers own"}


def test_in_this_process() -> None:
    seconds = warm_kernels()
    assert seconds.keys() == PARTS
    assert all(float(s) >= 0 for s in seconds.values())


@pytest.mark.slow
def test_the_verb_in_several(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["warm", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["seconds"].keys() == PARTS
