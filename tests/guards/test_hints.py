"""What a hint tells people to type exists: every verb and every option in it."""

from __future__ import annotations

import argparse
import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("classifiers", "pipeline", "stages", "tokenizers")
OTHERS = {"--name"}
"""Options in hints that stand for any option."""
WORDS = {"again", "itself", "that", "with"}
"""What may follow the name in a sentence."""


def hints() -> list[tuple[str, str]]:
    """Place and constant text of every ``hint=`` (of a formatted one what is constant)."""
    found = []
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if not isinstance(node, ast.keyword) or node.arg != "hint":
                    continue
                parts = [
                    n.value
                    for n in ast.walk(node.value)
                    if isinstance(n, ast.Constant) and isinstance(n.value, str)
                ]
                place = f"{path.relative_to(ROOT)}:{node.value.lineno}"
                found.append((place, " … ".join(parts)))
    return found


def test_verbs_and_options_of_hints_exist() -> None:
    from corpusmill.pipeline.cli import parser

    (group,) = (a for a in parser()._actions if isinstance(a, argparse._SubParsersAction))
    options = {o for sub in group.choices.values() for o in sub._option_string_actions}
    wrong = []
    seen = 0
    for place, text in hints():
        for verb in re.findall(r"\bcorpusmill ([a-z][a-z-]+)", text):
            seen += 1
            if verb not in group.choices and verb not in WORDS:
                wrong.append(f"{place}: corpusmill {verb}")
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", text):
            seen += 1
            if option not in options | OTHERS:
                wrong.append(f"{place}: {option}")
    assert wrong == []
    assert seen > 15
