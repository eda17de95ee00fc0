"""The mixes that ship: valid, and for finished runs alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from corpusmill.pipeline import Recipe
from corpusmill.pipeline.catalogue import recipes

FOLDER = Path(__file__).resolve().parents[2] / "configs/mixes"
NAMES = ("free-licences", "languages", "two-phases")


def test_all_are_known_here_and_listed() -> None:
    assert sorted(p.stem for p in FOLDER.glob("*.yaml")) == sorted(NAMES)
    listed = {row["recipe"]: row["what"] for row in recipes()}
    assert {f"configs/mixes/{name}.yaml" for name in NAMES} <= listed.keys()
    assert all(listed.values())


@pytest.mark.parametrize("name", NAMES)
def test_it_mixes_finished_runs(name: str) -> None:
    recipe = Recipe.load(FOLDER / f"{name}.yaml")
    assert recipe.name == name
    assert {s.stage for s in recipe.sources} == {"sources.run"}
    assert all("split" in s.params["signals"] for s in recipe.sources)
    assert [p.id for p in recipe.products] == ["tokenizer", "shards"]


def test_two_phases_are_what_their_head_says() -> None:
    recipe = Recipe.load(FOLDER / "two-phases.yaml")
    mix = recipe.products[1].params.mix
    assert [(p.name, p.share) for p in mix.phases] == [("pretrain", 0.8), ("midtrain", 0.2)]
    assert mix.ladder == ("1/64", "1/16", "1/4")
