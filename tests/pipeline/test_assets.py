"""Assets are looked at when the plan is made: what is missing or of the wrong kind ends there."""

from __future__ import annotations

from pathlib import Path

import pytest

from corpusmill.pipeline.errors import AssetError
from corpusmill.pipeline.planning import make_plan
from corpusmill.pipeline.recipe import Recipe

HEAD = """
schema: corpusmill/recipe/1
name: assets
version: "1"
seed: 1
sources:
  - {name: s, stage: sources.jsonl, root: ., paths: ["*.jsonl"], licence: CC0-1.0}
steps:
"""


def plan(folder: Path, steps: str) -> None:
    (folder / "a.jsonl").write_text('{"text": "Some words."}\n')
    make_plan(Recipe.parse(HEAD + steps, folder))


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        (
            "- classifiers.fasttext_quality: {as: judge, model: page.html}",
            "step judge: model page.html is no fastText model: it starts with b'<htm'",
        ),
        (
            "- filters.url: {block: [here.txt, missing.txt]}",
            "step url: the asset 'missing.txt' does not exist",
        ),
        (
            "- filters.url: {allow: [page.html]}",
            "step url: list page.html begins with b'<html>sorry</html>', which is no domain or URL",
        ),
    ],
)
def test_the_step_and_the_file_are_named(tmp_path: Path, steps: str, said: str) -> None:
    (tmp_path / "page.html").write_text("<html>sorry</html>")
    (tmp_path / "here.txt").write_text("# a list\nhost.example\n")
    with pytest.raises(AssetError) as error:
        plan(tmp_path, steps)
    assert error.value.message == said


def test_assets_of_the_right_kind_pass(tmp_path: Path) -> None:
    (tmp_path / "here.txt").write_text("# a list\nhost.example\n")
    plan(tmp_path, "- filters.url: {block: [here.txt]}")
