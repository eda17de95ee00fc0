"""Compiled kernels use no function of numba's that loads much more with the kernel.

A kernel that has ``x.sum()`` and the like in it keeps a reference to numba's module of array
functions; with it every process that loads the kernel from the cache imports scipy, half a
CPU-second.
"""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ARRAY_FUNCTIONS = {
    "all", "any", "argmax", "argmin", "argsort", "clip", "cumprod", "cumsum", "diff", "dot", "max",
    "mean", "median", "min", "nonzero", "prod", "ptp", "searchsorted", "sort", "std", "sum", "var",
    "where",
}  # fmt: skip


def kernels(path: Path) -> list[ast.FunctionDef]:
    return [
        node
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
        and any(isinstance(d, ast.Call) and ast.unparse(d.func) == "kernel"
                for d in node.decorator_list)
    ]  # fmt: skip


def array_calls(function: ast.FunctionDef) -> list[str]:
    return [
        ast.unparse(node)
        for node in ast.walk(function)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ARRAY_FUNCTIONS
    ]


def test_kernels_call_no_array_functions() -> None:
    found = 0
    wrong = []
    for room in ("stages", "classifiers", "tokenizers"):
        for path in sorted((ROOT / room).rglob("*.py")):
            for function in kernels(path):
                found += 1
                wrong += [f"{path.relative_to(ROOT)}: {call}" for call in array_calls(function)]
    assert found > 40
    assert wrong == []


def test_they_would_be_seen() -> None:
    source = "def f(x):\n    return x.sum() + np.max(x) + max(x[0], 1)\n"
    function = ast.parse(source).body[0]
    assert isinstance(function, ast.FunctionDef)
    assert array_calls(function) == ["x.sum()", "np.max(x)"]
