"""The promises in docs/engines.md: each names tests that are there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAMED = re.compile(r"`([a-z_/]+\.py)::(test_[a-z0-9_]+)`")


def rows() -> list[list[str]]:
    """The cells of the table of promises, its head left out."""
    page = (ROOT / "docs/engines.md").read_text("utf-8")
    table = page.partition("## Promises")[2].partition("\n## ")[0]
    lines = [line for line in table.splitlines() if line.startswith("| ")][1:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text("utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_promise_has_tests_that_exist() -> None:
    table = [row for row in rows() if not row[0].startswith("---")]
    assert len(table) >= 20
    for row in table:
        assert len(row) == 4, row[0]
        named = NAMED.findall(row[2])
        assert named, row[0]
        assert row[2].count("::") == len(named), row[0]
        for file, name in named:
            assert name in functions(ROOT / "tests" / file), (file, name)
