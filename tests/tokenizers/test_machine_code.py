"""Kernels that run without numba: kept, loaded, refused, and what takes their place."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corpusmill.tokenizers import fast, machine_code
from corpusmill.tokenizers.machine_code import are_kept, kernels

REFILL = ("corpusmill.tokenizers.piece_kernel.refill",)
SOURCES = (Path(__file__).resolve().parents[2] / "tokenizers" / "piece_kernel.py",)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(machine_code, "kept_folder", lambda: tmp_path)
    return tmp_path


def refilled(refill: Any) -> list[int]:
    """The numbers of a table of four rows, one of them in use, in one of eight."""
    older = np.zeros(16, dtype=np.uint64)
    older[8:12] = 97, 1 << 56, 5, 6
    table = np.zeros(32, dtype=np.uint64)
    refill(table, older)
    return sorted(table.tolist())[-4:]


def test_kept_and_loaded(folder: Path) -> None:
    assert not are_kept(REFILL, SOURCES)
    (refill,) = kernels(REFILL, SOURCES)
    assert refilled(refill) == [5, 6, 97, 1 << 56]
    assert are_kept(REFILL, SOURCES)
    (path,) = folder.iterdir()
    before = path.stat().st_mtime_ns
    (refill,) = kernels(REFILL, SOURCES)
    assert refill.__module__ == machine_code.__name__  # not numba's
    assert refilled(refill) == [5, 6, 97, 1 << 56]
    assert [p.stat().st_mtime_ns for p in folder.iterdir()] == [before]


def test_other_sources_are_compiled_again(folder: Path, tmp_path: Path) -> None:
    kernels(REFILL, SOURCES)
    changed = tmp_path / "changed.py"
    changed.write_text("# other")
    assert are_kept(REFILL, SOURCES)
    assert not are_kept(REFILL, (*SOURCES, changed))


def test_damaged_code_is_never_run(folder: Path) -> None:
    kernels(REFILL, SOURCES)
    (path,) = folder.iterdir()
    raw = bytearray(path.read_bytes())
    raw[-100] ^= 1
    path.write_bytes(raw)
    (refill,) = kernels(REFILL, SOURCES)
    assert "numba" in type(refill).__module__
    assert refilled(refill) == [5, 6, 97, 1 << 56]


def test_without_a_folder_or_fit_by_numba(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    needs_more = ("corpusmill.tokenizers.count_kernel.count_pieces",)
    assert "numba" in type(kernels(needs_more, SOURCES)[0]).__module__  # it allocates arrays
    assert list(folder.iterdir()) == []

    def nowhere() -> Path:
        raise OSError("read-only")

    monkeypatch.setattr(machine_code, "kept_folder", nowhere)
    assert not are_kept(REFILL, SOURCES)
    assert "numba" in type(kernels(REFILL, SOURCES)[0]).__module__


def test_another_numba_calls_its_kernels_itself(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine_code, "version", lambda name: "0.99.0")
    (refill,) = kernels(REFILL, SOURCES)
    assert "numba" in type(refill).__module__
    assert list(folder.iterdir()) == []


def test_other_arrays_are_refused() -> None:
    refill = fast.load()[2]
    table = np.zeros(32, dtype=np.uint64)
    for wrong in (table.astype(np.int64), table[::2], table.reshape(4, 8)):
        with pytest.raises(TypeError, match="in place of uint64"):
            refill(table, wrong)
    table.flags.writeable = False
    with pytest.raises(TypeError, match="refill: uint64"):
        refill(table, table)


def test_encoding_needs_no_numba() -> None:
    """In a process of its own, once the loops are compiled."""
    fast.load()
    code = "import sys; from corpusmill.tokenizers import fast; fast.load(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "llvmlite.binding" in loaded
    assert not {"numba", "corpusmill.tokenizers.encode_kernel"} & loaded
