"""Who may import whom, read from the source: one direction, one spelling, nothing heavy early."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINKED = ROOT / ".src/corpusmill"
ROOMS = ("classifiers", "configs", "pipeline", "stages", "tokenizers")
OF_PIPELINE = {
    "context", "document", "errors", "forking", "identity", "licences", "mix", "order", "params",
    "places", "stage", "strict_yaml",
}  # fmt: skip
HEAVY = (
    "boto3", "botocore", "brotli", "cchardet", "datasketch", "datatrove", "duckdb", "fasttext", "fastwarc", "huggingface_hub",
    "llvmlite", "lxml", "numba", "phonenumbers", "py3langid", "pyarrow", "pycld2", "ray",
    "re2", "resiliparse", "scipy", "selectolax", "sentencepiece", "tokenizers", "torch",
    "trafilatura", "zstandard",
)  # fmt: skip


def sources(*folders: str) -> list[Path]:
    return sorted(p for folder in folders for p in (ROOT / folder).rglob("*.py"))


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """All statements, however deep. An import is one, and expressions are most of a tree."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for node in getattr(tree, name, ()):
            yield node
            yield from statements(node)


def imports(tree: ast.AST) -> Iterator[tuple[int, int, str]]:
    """Line, level and dotted name of every import; ``from a import b`` gives ``a.b``."""
    for node in statements(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, 0, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = f"{node.module}.{alias.name}" if node.module else alias.name
                yield node.lineno, node.level, name


def typing_only(tree: ast.AST) -> set[int]:
    """Lines under ``if TYPE_CHECKING:``."""
    return {
        line
        for node in statements(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for inner in node.body
        for line in range(inner.lineno, (inner.end_lineno or inner.lineno) + 1)
    }


def wrong_imports(path: Path, text: str) -> list[str]:
    """What is wrong with the imports of one file, as ``line: why``."""
    room = path.relative_to(ROOT).parts[0]
    found = []
    for line, level, name in imports(ast.parse(text)):
        parts = name.split(".")
        if level > 1:
            found.append(f"{line}: relative import over more than one dot")
        if level == 1 and len(parts) > 2:
            found.append(f"{line}: relative import out of the folder: .{name}")
        if level == 0 and parts[0] in ROOMS and parts[0] != "tokenizers":
            found.append(f"{line}: {parts[0]} by its bare name; write corpusmill.{name}")
        if level or parts[0] != "corpusmill" or len(parts) < 2:
            continue
        if room == "pipeline" and parts[1] in ("stages", "classifiers", "tokenizers"):
            found.append(f"{line}: pipeline knows {parts[1]} only through the registry: {name}")
        if (
            room in ("stages", "classifiers", "tokenizers")
            and parts[1] == "pipeline"
            and (len(parts) < 3 or parts[2] not in OF_PIPELINE)
        ):
            found.append(f"{line}: {room} may import {sorted(OF_PIPELINE)} of pipeline: {name}")
    return found


@pytest.mark.parametrize(
    ("place", "text", "why"),
    [
        ("stages/x.py", "import pipeline", "bare name"),
        ("tests/x.py", "def f():\n    from stages.filters import url", "bare name"),
        ("stages/x.py", "from ..clean import pii", "more than one dot"),
        ("stages/x.py", "from .clean.pii import find", "out of the folder"),
        ("pipeline/x.py", "from corpusmill.stages import words", "registry"),
        ("stages/x.py", "from corpusmill.pipeline import plan", "may import"),
        ("tokenizers/x.py", "import corpusmill.pipeline.local", "may import"),
    ],
)
def test_the_rule_sees(place: str, text: str, why: str) -> None:
    (found,) = wrong_imports(ROOT / place, text)
    assert why in found


def test_an_import_is_seen_in_every_kind_of_block() -> None:
    text = """
try:
    import a
except OSError:
    import b
else:
    import c
finally:
    import d
async def f():
    match 1:
        case 1:
            with x:
                import e
    while y:
        for z in z:
            import g
        else:
            import h
class C:
    if x:
        import i
    elif y:
        import j
try:
    pass
except* OSError:
    import k
"""
    assert [name for _, _, name in imports(ast.parse(text))] == list("acdbegh") + list("ijk")


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("tokenizers/x.py", "from tokenizers import Tokenizer"),
        ("stages/filters/x.py", "from .url_lists import load"),
        ("stages/x.py", "from corpusmill.pipeline.stage import Stage"),
        ("pipeline/x.py", "from . import errors"),
    ],
)
def test_the_rule_allows(place: str, text: str) -> None:
    assert wrong_imports(ROOT / place, text) == []


def test_imports_go_one_way() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{problem}"
        for path in sources(*ROOMS, "tests", "bench")
        for problem in wrong_imports(path, path.read_text())
    ]
    assert wrong == []


def test_nothing_heavy_is_imported_at_the_top() -> None:
    """Of modules that every process loads: pipeline, and the files that hold a stage."""
    wrong = []
    for path in sources("pipeline", "stages", "classifiers", "tokenizers"):
        text = path.read_text()
        if path.parts[len(ROOT.parts)] != "pipeline" and "\nSTAGE = " not in text:
            continue
        tree = ast.parse(text)
        inside = {
            line
            for node in statements(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
        } | typing_only(tree)
        wrong += [
            f"{path.relative_to(ROOT)}:{line}: {name}"
            for line, level, name in imports(tree)
            if level == 0 and line not in inside and name.split(".")[0] in HEAVY
        ]
    assert wrong == []


def test_finding_every_stage_loads_nothing_heavy() -> None:
    """What a stage's file imports may import more: ask the interpreter."""
    names = [
        "corpusmill." + ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in sources("stages", "classifiers", "tokenizers")
        if "\nSTAGE = " in path.read_text()
    ]
    assert len(names) > 5
    code = (
        "import importlib, sys\n"
        f"for name in {names!r}:\n"
        "    importlib.import_module(name)\n"
        f"    heavy = sorted(set(sys.modules) & set({HEAVY!r}))\n"
        "    if heavy: sys.exit(f'{name} loads {heavy}')\n"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_links_are_what_is_imported() -> None:
    """An installed copy of another checkout would make every test here a lie."""
    code = "import corpusmill.pipeline as p; print(p.__file__)"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True)
    assert Path(done.stdout.strip()).parent.resolve() == (LINKED / "pipeline").resolve()
