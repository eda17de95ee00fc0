"""Kernels: what they take and give, when they are compiled, and what takes their place."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from corpusmill.stages import compiled, kernel_types, machine_code

Make = Callable[..., ModuleType]

HEAD = """
import numpy as np
from corpusmill.stages import kernel_types as types
from corpusmill.stages.compiled import array, kernel, out
"""
TRIPLED = f"""{HEAD}
STEP = 3

@kernel(types.int64(types.int64))
def tripled(n):
    return STEP * n
"""
USER = f"""{HEAD}
from tripling import tripled

@kernel(types.int64(types.int64))
def more(n):
    return tripled(n) + 1
"""
RESULTS = f"""{HEAD}
@kernel(types.Tuple((types.uint64, types.boolean, types.uint8, types.float64))(types.float64))
def several(x):
    return np.uint64(1 << 63), x > 1.5, np.uint8(7), x / 2

@kernel(types.boolean(types.uint64))
def high(n):
    return n > np.uint64(1 << 63)

@kernel(types.void(array(types.uint16, dims=2), types.uint8, out(types.int64)))
def sums(rows, most, result):
    room = np.zeros(rows.shape[0], np.int64)
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            room[i] += min(np.int64(rows[i, j]), np.int64(most))
    for i in range(len(result)):
        result[i] = room[i]

@kernel(types.int64(types.int64, types.int64))
def shared(a, b):
    return a // b

@kernel(types.int64(types.int64))
def large(n):
    room = np.empty(n, np.uint8)
    room[n - 1] = 1
    return np.int64(room[n - 1])
"""


def importing(folder: Path, patch: pytest.MonkeyPatch) -> Make:
    """Imports a module of a text, as in a process that starts; its code is kept in `folder`."""
    (folder / "kept").mkdir()
    patch.setenv("NUMBA_CACHE_DIR", str(folder / "kept"))
    patch.setattr(compiled, "_OF_MODULE", dict(compiled._OF_MODULE))
    # Bytecode is taken for that of a file of the same second and size, as these often are.
    patch.setattr(sys, "dont_write_bytecode", True)

    def imported(name: str, text: str) -> ModuleType:
        path = folder / f"{name}.py"
        path.write_text(text)
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        made = importlib.util.module_from_spec(spec)
        patch.setitem(sys.modules, name, made)
        compiled.digest.cache_clear()
        spec.loader.exec_module(made)
        return made

    return imported


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    return importing(tmp_path, monkeypatch)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        module = importing(tmp_path_factory.mktemp("results"), patch)("results", RESULTS)
        compiled.load("results")
        return module


def kept(tmp_path: Path) -> list[str]:
    return sorted(p.name for p in (tmp_path / "kept").glob("*.o"))


def test_compiled_once(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = make("tripling", TRIPLED)
    assert not compiled.is_kept("tripling")
    assert kept(tmp_path) == []  # until it is called
    assert module.tripled(7) == 21
    assert not module.tripled.by_numba
    assert len(kept(tmp_path)) == 1

    module = make("tripling", TRIPLED)
    assert compiled.is_kept("tripling")
    monkeypatch.setattr(compiled, "_compiled", lambda kernels: pytest.fail("compiled again"))
    assert module.tripled(-7) == -21


def test_what_a_kernel_uses_of_other_modules_counts(make: Make, tmp_path: Path) -> None:
    """Sources, kernels, numbers and arrays; numba itself looks at the kernel's own file only."""
    make("tripling", TRIPLED)
    assert make("using", USER).more(2) == 7
    make("tripling", TRIPLED.replace("STEP * n", "STEP + n"))
    assert make("using", USER).more(2) == 6
    assert len(kept(tmp_path)) == 2

    constants = f"{HEAD}\nfrom numbers_of import NUMBERS\n\n@kernel(types.int64())\ndef second():\n"
    constants += "    return NUMBERS[1]\n"
    said = []
    for text in ("(1, 2)", "(1, 3)", "np.array([1, 4])", "np.array([1, 5])"):
        make("numbers_of", f"import numpy as np\nNUMBERS = {text}\n")
        said.append(make("constant", constants).second())
    assert said == [2, 3, 4, 5]

    make("numbers_of", "NUMBERS = ['a']\n")
    with pytest.raises(TypeError, match="constant: a kernel cannot use \\['a'\\]"):
        make("constant", constants).second()


def test_a_file_that_changes_after_its_import(make: Make) -> None:
    module = make("tripling", TRIPLED)
    Path(str(module.__file__)).write_text(TRIPLED.replace("STEP = 3", "STEP = 5"))
    assert module.tripled(2) == 6
    assert make("tripling", TRIPLED.replace("STEP = 3", "STEP = 5")).tripled(2) == 10
    assert make("tripling", TRIPLED).tripled(2) == 6


def test_results_and_failures(results: ModuleType) -> None:
    assert results.several(3) == (1 << 63, True, 7, 1.5)
    assert results.several(1.0) == (1 << 63, False, 7, 0.5)
    assert results.high((1 << 63) + 1) is True
    assert results.high(np.uint64(1 << 63)) is False
    rows = np.array([[1, 2, 300], [65535, 5, 6]], dtype=np.uint16)
    rows.flags.writeable = False
    filled = np.zeros(2, dtype=np.int64)
    assert results.sums(rows, np.uint8(200), filled) is None
    assert filled.tolist() == [203, 211]
    assert results.shared(np.int32(-7), 2) == -4
    with pytest.raises(ZeroDivisionError):
        results.shared(1, 0)
    with pytest.raises(MemoryError):
        results.large(1 << 62)
    assert results.large(1 << 20) == 1


def test_other_arguments_are_refused(results: ModuleType) -> None:
    sums = results.sums
    rows, filled = np.zeros((4, 4), dtype=np.uint16), np.zeros(4, dtype=np.int64)
    for wrong in (
        rows.astype(np.int16), rows.astype(">u2"), rows.T[:2], rows[:, ::2], rows[0], rows.tolist(),
        np.frombuffer(b"\0" * 9, np.uint8)[1:].view(np.uint16).reshape(2, 2), None, np.uint16(3),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=r"results\.sums: .* in place of Array.*uint16.*dims=2"):
            sums(wrong, 1, filled)
    filled.flags.writeable = False
    with pytest.raises(TypeError, match=r"results\.sums: int64\(4,\) in place of .*written=True"):
        sums(rows, 1, filled)
    for number in (1.0, "1", None):
        with pytest.raises(TypeError):
            sums(rows, number, filled.copy())
    with pytest.raises(TypeError, match="sums takes 3 arguments, not 4"):
        sums(rows, 1, filled, 5)


def test_damaged_code_is_never_run(make: Make, tmp_path: Path) -> None:
    make("tripling", TRIPLED).tripled(1)
    (path,) = (tmp_path / "kept").glob("*.o")
    whole = path.read_bytes()
    for damaged in (whole[:-1], whole[:200] + b"\0\1\2" + whole[203:], b""):
        path.write_bytes(damaged)
        assert make("tripling", TRIPLED).tripled(5) == 15
        assert len(path.read_bytes()) == len(whole)


def test_numba_calls_where_code_cannot_be_kept(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nowhere() -> Path:
        raise OSError("read-only")

    for place in (machine_code, compiled):
        monkeypatch.setattr(place, "kept_folder", nowhere)
    module = make("tripling", TRIPLED)
    assert not compiled.is_kept("tripling")
    assert module.tripled(4) == 12
    assert module.tripled.by_numba
    assert list((tmp_path / "kept").iterdir()) == []


@pytest.mark.parametrize("other", ["numba", "Python"])
def test_a_machine_that_nobody_has_looked_at(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    """numba calls the kernels, and keeps them; what another module has changed is seen there too."""
    if other == "numba":
        monkeypatch.setattr(machine_code, "_NUMBAS", re.compile(rb"0\.67"))
    else:
        monkeypatch.setattr(machine_code, "layout_is_known", lambda: False)
    machine_code._machine.cache_clear()
    make("tripling", TRIPLED)
    module = make("using", USER)
    assert module.more(2) == 7
    assert module.more.by_numba
    assert kept(tmp_path) == []
    make("tripling", TRIPLED.replace("STEP = 3", "STEP = 4"))
    assert make("using", USER).more(2) == 9
    assert len(list((tmp_path / "kept").rglob("using.more*.nbi"))) == 2
    machine_code._machine.cache_clear()


def modules_of_kernels() -> list[str]:
    root = Path(__file__).resolve().parents[2]
    return sorted(
        "corpusmill." + ".".join(path.relative_to(root).with_suffix("").parts)
        for room in ("stages", "classifiers", "tokenizers")
        for path in (root / room).rglob("*.py")
        if "\n@kernel(" in path.read_text()
    )


def test_no_kernel_of_ours_needs_numba() -> None:
    names = modules_of_kernels()
    assert len(names) >= 30
    for name in names:
        module = importlib.import_module(name)
        kernels = [v for v in vars(module).values() if isinstance(v, compiled.Kernel)]
        assert kernels, name
        assert not [k.name for k in kernels if k.by_numba]


def test_work_imports_no_numba() -> None:
    """In a process of its own, once all is compiled: words, a page by the tier own, encoding."""
    code = """
import sys
from corpusmill.stages.extract.page import page_function
from corpusmill.stages.words import tokenise
from corpusmill.tokenizers import fast
config = {"tier": "own", "form": "text", "metadata": False, "limits": {}}
page = page_function(config)({}, b"<body><p>" + b"A page of words. " * 30)
print(len(tokenise(["one two"]).start), page["words"], fast.compiled(), *sys.modules)
"""
    for name in ("encode_kernel", "piece_kernel"):
        compiled.load(importlib.import_module(f"corpusmill.tokenizers.{name}").__name__)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    words, page, ready, *loaded = done.stdout.split()
    assert (words, page, ready) == ("2", "120", "True")
    assert "llvmlite.binding" in loaded
    assert "numba" not in loaded


def test_a_kernel_is_a_function_of_a_module() -> None:
    wrong: Any = len
    with pytest.raises(TypeError, match="is no function"):
        compiled.kernel(kernel_types.int64())(wrong)
    with pytest.raises(TypeError, match="only kernels have instructions"):
        importlib.import_module("corpusmill.stages.wide").load8(np.zeros(1, np.uint8), 0)
