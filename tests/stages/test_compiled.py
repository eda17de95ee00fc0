"""Kernels compile where no cache folder can be written to; other errors are not swallowed."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numba
import pytest
from numba import types

from corpusmill.stages import compiled

SIGNATURE = types.int64(types.int64)


def double(number: int) -> int:
    return 2 * number


def test_without_a_cache_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    real = numba.njit
    asked = []

    def njit(*args: Any, **options: Any) -> Any:
        asked.append(options.get("cache", False))
        if options.get("cache"):
            raise RuntimeError("cannot cache function 'double': no locator available for file 'x'")
        return real(*args, **options)

    monkeypatch.setattr(numba, "njit", njit)
    assert compiled.kernel(SIGNATURE)(double)(21) == 42
    assert asked[:2] == [True, False]  # numba may use it too


def test_other_errors_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    def njit(*args: Any, **options: Any) -> Any:
        raise RuntimeError("something else")

    monkeypatch.setattr(numba, "njit", njit)
    with pytest.raises(RuntimeError, match="something else"):
        compiled.kernel(SIGNATURE)(double)


LOAD = """
import sys
from corpusmill.stages.words import tokenise
assert len(tokenise(["one two"]).start) == 2
"""
QUICK = """
print("numba.np.linalg" in sys.modules)
import numba
assert numba.njit(lambda a: a.sum())(__import__("numpy").ones(3)) == 3.0
"""


def test_cached_kernels_load_without_the_compiler() -> None:
    """numba itself works on all the same."""
    said = [
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        for code in (LOAD, LOAD + QUICK)
    ]
    assert said[1].stdout == "False\n"


def test_numbas_own_way_of_loading_is_back_afterwards() -> None:
    from numba.core.caching import Cache

    before = Cache.load_overload
    compiled.kernel(SIGNATURE)(double)
    assert Cache.load_overload is before
