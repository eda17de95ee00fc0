"""The recipes that ship: valid, honest about what differs, with the published numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from corpusmill.pipeline import Recipe
from corpusmill.pipeline.advice import order_warnings
from corpusmill.pipeline.trying import page_of_file, ready_steps, walk

FOLDER = Path(__file__).resolve().parents[2] / "configs/recipes"
PUBLISHED = (
    "c4", "ccnet", "dclm-baseline", "dolma3", "fineweb", "fineweb-2", "massivetext", "refinedweb",
)  # fmt: skip
PAGE = FOLDER.parent / "sample/own/harbourtown-2026-03-old-crane-saved.html"


def load(name: str) -> Recipe:
    return Recipe.load(FOLDER / f"{name}.yaml")


def params(recipe: Recipe, stage: str) -> Any:
    (step,) = (s for s in recipe.steps if s.stage == stage)
    return step.params


def test_all_are_known_here() -> None:
    assert sorted(p.stem for p in FOLDER.glob("*.yaml")) == sorted([*PUBLISHED, "sample", "web"])


@pytest.mark.parametrize("name", PUBLISHED)
def test_it_is_valid_and_says_what_differs(name: str) -> None:
    text = (FOLDER / f"{name}.yaml").read_text()
    head = text.partition("\nschema:")[0]
    assert "# Differences from the publication:\n#   - " in head
    assert "yaml-language-server: $schema=" in head
    recipe = load(name)
    assert recipe.name == name
    assert len(ready_steps(recipe)) == len(recipe.steps)  # every file that it names is there
    # CCNet finds paragraphs before languages, FineWeb-2 duplicates before the rules: as published.
    assert order_warnings(recipe) == []


def test_the_numbers_are_those_of_the_publications() -> None:
    fineweb = load("fineweb")
    minhash = params(fineweb, "dedup.minhash")
    assert (minhash.bands, minhash.rows, minhash.ngram) == (14, 8, 5)
    assert params(fineweb, "filters.language").min_score == 0.65
    assert params(fineweb, "filters.fineweb").min_line_punct == 0.12
    assert not params(fineweb, "measure.c4").terminal
    dolma = params(load("dolma3"), "dedup.minhash")
    assert (dolma.bands, dolma.rows, dolma.min_jaccard, dolma.keep) == (26, 11, 0.8, "newest")
    assert params(load("dolma3"), "dedup.substrings").length == 500
    assert params(load("c4"), "filters.c4").min_sentences == 5
    assert params(load("c4"), "filters.c4_lines").rules.min_words == 3
    assert params(load("massivetext"), "dedup.minhash").ngram == 13
    refined = params(load("refinedweb"), "dedup.substrings")
    assert (refined.unit, refined.length) == ("words", 50)
    assert params(load("ccnet"), "dedup.lines").unit == "paragraph"
    assert params(load("dclm-baseline"), "extract.tiers").tier == "resiliparse"


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLISHED)
def test_a_page_goes_through(name: str, tmp_path: Path) -> None:
    """Stages set up and judge: what the recipe names works, not only is there."""
    recipe = load(name)
    path = PAGE
    if recipe.sources[0].stage == "sources.wet":
        path = tmp_path / "page.txt"
        path.write_text("The old crane of the harbour was saved by those who live there. " * 20)
    item: Any = page_of_file(path, "https://harbourtown.example/crane").outcome
    views = list(walk(item, ready_steps(recipe)))
    assert {v.verdict for v in views} <= {"kept", "dropped", "skipped"}
    assert len(views) == len(recipe.steps)
    dropped = [(v.step, v.reason) for v in views if v.verdict == "dropped"]
    assert len(dropped) <= 2, dropped
