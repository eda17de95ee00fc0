"""The table of what users expect: every test that it names exists, every row is there once."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/expectations.md").read_text()


def test_every_expectation_has_a_row() -> None:
    assert [int(n) for n in re.findall(r"^\| (\d+) \|", PAGE, flags=re.MULTILINE)] == list(
        range(1, 26)
    )


def test_every_term_is_defined_once() -> None:
    """In bold where it is defined; pages that use the terms lead there."""
    page = (ROOT / "docs/concepts.md").read_text()
    terms = [term.removesuffix("s") for term in re.findall(r"\*\*([a-z]+)\*\*", page)]
    wanted = {"task", "phase", "stage", "step", "signal", "commit", "lock", "barrier", "sink"}
    assert wanted <= set(terms)
    assert len(terms) == len(set(terms))
    for name in ("README.md", "docs/index.md", "docs/recipe.md"):
        assert "concepts.md" in (ROOT / name).read_text(), name


def test_every_named_test_exists() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)
    assert len(named) > 20
    missing = []
    for path, name in named:
        tree = ast.parse((ROOT / path).read_text())
        if name not in {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}:
            missing.append(f"{path}::{name}")
    assert missing == []
