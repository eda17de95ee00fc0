"""How numba kernels are compiled: with explicit signatures, into a cache, lazily imported.

A module of kernels is imported inside a stage's `setup` (or a function), never at the top of
another module: importing it imports numba and compiles or loads its kernels. Rules for kernels:
explicit signatures, no ``fastmath``, no ``parallel``, integers rather than floats, so that the
result is a function of the input alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba import types

Function = Callable[..., Any]


def array(scalar: Any, *, dims: int = 1) -> Any:
    """Type of a C-contiguous input array. Read-only, so that arrays of both kinds are taken."""
    return types.Array(scalar, dims, "C", readonly=True)


def out(scalar: Any, *, dims: int = 1) -> Any:
    """Type of a C-contiguous array that the kernel writes to."""
    return types.Array(scalar, dims, "C")


def kernel(signature: Any) -> Callable[[Function], Function]:
    """Decorator: compiles a function for `signature`, releasing the GIL when it runs.

    The machine code is cached where numba finds a folder to write to: ``NUMBA_CACHE_DIR`` where
    set, else beside the module, else the user's cache folder. Where there is none, the function
    is compiled again in each process.
    """

    def compile_it(function: Function) -> Function:
        try:
            made: Function = numba.njit(signature, cache=True, nogil=True)(function)
        except RuntimeError as exc:
            if "cannot cache function" not in str(exc):
                raise
            made = numba.njit(signature, nogil=True)(function)
        return made

    return compile_it
