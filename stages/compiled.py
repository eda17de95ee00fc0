"""How numba kernels are compiled: with explicit signatures, into a cache, lazily imported.

A module of kernels is imported inside a stage's `setup` (or a function), never at the top of
another module: importing it imports numba and compiles or loads its kernels. Rules for kernels:
explicit signatures, no ``fastmath``, no ``parallel``, integers rather than floats, so that the
result is a function of the input alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numba
from numba import types

Function = Callable[..., Any]


@contextmanager
def _quick_loading() -> Iterator[None]:
    """Meanwhile numba loads what is cached without first importing all that it could compile.

    Before it looks for a cached kernel, numba fills its compiler's tables: half a CPU-second of
    every process, of which machine code that is ready needs only the runtime. A kernel that is not
    in the cache is compiled as ever: the compiler fills the tables itself. Under a numba that has
    other parts inside, nothing is changed.
    """
    try:
        from numba.core.caching import Cache
        from numba.core.runtime import rtsys

        whole, inner, spared = Cache.load_overload, Cache._load_overload, rtsys.initialize
    except (ImportError, AttributeError):
        yield
        return

    def load(self: Any, signature: Any, context: Any) -> Any:
        spared(context)
        with self._guard_against_spurious_io_errors():
            return inner(self, signature, context)

    Cache.load_overload = load
    try:
        yield
    finally:
        Cache.load_overload = whole


def array(scalar: Any, *, dims: int = 1) -> Any:
    """Type of a C-contiguous input array. Read-only, so that arrays of both kinds are taken."""
    return types.Array(scalar, dims, "C", readonly=True)


def out(scalar: Any, *, dims: int = 1) -> Any:
    """Type of a C-contiguous array that the kernel writes to."""
    return types.Array(scalar, dims, "C")


def kernel(signature: Any, *, inline: bool = False) -> Callable[[Function], Function]:
    """Decorator: compiles a function for `signature`, releasing the GIL when it runs.

    With `inline` it becomes a part of the kernels that call it: for small functions in innermost
    loops, where a call with arrays costs more than what it does.

    The machine code is cached where numba finds a folder to write to: ``NUMBA_CACHE_DIR`` where
    set, else beside the module, else the user's cache folder. Where there is none, the function
    is compiled again in each process.
    """
    options = {"nogil": True, "forceinline": inline}

    def compile_it(function: Function) -> Function:
        try:
            with _quick_loading():
                made: Function = numba.njit(signature, cache=True, **options)(function)
        except RuntimeError as exc:
            if "cannot cache function" not in str(exc):
                raise
            made = numba.njit(signature, **options)(function)
        return made

    return compile_it
