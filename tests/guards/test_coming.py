"""The page for people who come from another system: its recipes load, its datatrove calls work."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from corpusmill.pipeline import Recipe

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/coming.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)


OURS = [block for block in blocks("yaml") if block.startswith("schema: corpusmill")]


def test_a_recipe_of_ours_for_each_system() -> None:
    assert len(OURS) == 3


@pytest.mark.parametrize("number", range(len(OURS)))
def test_a_recipe_loads_and_lists_its_steps(tmp_path: Path, number: int) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text(OURS[number])
    recipe = Recipe.load(path)
    assert [step.stage for step in recipe.steps][-1] in {"dedup.minhash", "dedup.exact"}


def test_datatrove_knows_what_its_side_calls() -> None:
    """Every name is there, and takes the arguments. (To make the objects would need packages that
    only their work needs.)"""
    (block,) = blocks("python")
    tree = ast.parse(block)
    names: dict[str, Any] = {}
    imports: list[ast.stmt] = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    exec(compile(ast.Module(imports, []), "docs/coming.md", "exec"), names)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    assert len(calls) == 23
    for call in calls:
        assert isinstance(call.func, ast.Name)
        takes = inspect.signature(names[call.func.id].__init__)
        takes.bind(None, *call.args, **{str(word.arg): word.value for word in call.keywords})
