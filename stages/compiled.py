"""Kernels: functions over numbers and arrays of numpy's, as machine code.

numba compiles them, once for a machine's type of CPU; from then on the code is loaded as it is
(`corpusmill.stages.machine_code`), and numba is not even imported: that, and having it load what it
compiled before, takes most of a CPU-second and 60 MB of every process. Under a numba that nobody
has looked at, and where there is no folder to keep code in, numba calls the kernels itself.

Rules for kernels: explicit signatures, no ``fastmath``, no ``parallel``, integers rather than
floats, so that the result is a function of the input alone. They may use numbers, arrays, kernels
and `Instruction`s that are global names. A module's code is loaded, or compiled, when one of its
kernels is called first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from . import kernel_types, machine_code
from .kept import kept_folder
from .kernel_types import Array, Scalar, Signature, Tuple

Function = Callable[..., Any]


@dataclass(slots=True)
class _Module:
    """A module as it was imported: its file may change while it is used."""

    names: dict[str, Any]
    source: bytes
    kernels: dict[str, Kernel]


_OF_MODULE: dict[str, _Module] = {}


def array(scalar: Scalar, *, dims: int = 1) -> Array:
    """Type of a C-contiguous input array. Read-only, so that arrays of both kinds are taken."""
    return Array(scalar, dims, written=False)


def out(scalar: Scalar, *, dims: int = 1) -> Array:
    """Type of a C-contiguous array that the kernel writes to."""
    return Array(scalar, dims, written=True)


def kernel(signature: Signature, *, inline: bool = False) -> Callable[[Function], Kernel]:
    """Decorator: makes a function of a module a kernel of `signature`, which releases the GIL when
    it runs.

    With `inline` it becomes a part of the kernels that call it: for small functions in innermost
    loops, where a call with arrays costs more than what it does.
    """

    def make(function: Function) -> Kernel:
        if not isinstance(function, FunctionType):
            raise TypeError(f"{function!r} is no function")
        made = Kernel(function, signature, inline)
        _module_of(function).kernels[function.__name__] = made
        return made

    return make


class Instruction:
    """Decorator: a machine instruction that numba has no name for. The function, which gets
    ``llvmlite.ir`` and ``numba.types``, returns what numba's ``intrinsic`` makes one of; it is
    called when there is something to compile."""

    def __init__(self, make: Callable[[Any, Any], Any]) -> None:
        self._make = make
        self._made: Any = None
        self.source = _source(make)
        self.__doc__ = make.__doc__

    def for_numba(self) -> Any:
        """The intrinsic."""
        if self._made is None:
            from llvmlite import ir
            from numba import types
            from numba.extending import intrinsic

            self._made = intrinsic(self._make(ir, types))
        return self._made

    def __call__(self, *arguments: Any) -> Any:
        raise TypeError("only kernels have instructions")


class Kernel:
    """A compiled function. Takes its arguments by place."""

    def __init__(self, function: FunctionType, signature: Signature, inline: bool) -> None:
        self.function = function
        self.signature = signature
        self.inline = inline
        self.name = f"{function.__module__}.{function.__name__}"
        self.__doc__ = function.__doc__
        self._call: Function = self._first_call

    def __call__(self, *arguments: Any) -> Any:
        return self._call(*arguments)

    def _first_call(self, *arguments: Any) -> Any:
        load(self.function.__module__)
        return self._call(*arguments)

    def runs_by(self, call: Function) -> None:
        """Has calls go to `call` from now on."""
        self._call = call

    @property
    def by_numba(self) -> bool:
        """Whether numba calls it."""
        load(self.function.__module__)
        return "numba" in type(self._call).__module__


def load(module: str) -> None:
    """Makes the kernels of an imported module ready; compiles them where that was not done yet."""
    kernels = _OF_MODULE[module].kernels
    if all(k._call != k._first_call for k in kernels.values()):
        return
    try:
        code = machine_code.loaded(module, digest(module), lambda: _compiled(kernels))
        for one in kernels.values():
            one.runs_by(code.caller(one.name, one.signature))
    except machine_code.UNFIT:
        for one in kernels.values():
            one.runs_by(_dispatcher(one, bare=False))


def load_imported() -> None:
    """`load`, of all modules with kernels that this process has imported."""
    for module in list(_OF_MODULE):
        load(module)


def is_kept(module: str) -> bool:
    """Whether `load` of an imported module has nothing to compile."""
    try:
        return machine_code.place(module, digest(module)).exists()
    except machine_code.UNFIT:
        return False


@cache
def digest(module: str) -> str:
    """Of all that the machine code of a module's kernels depends on but numba and the machine: its
    source, and whatever of other modules the kernels use."""
    found = _OF_MODULE[module]
    h = hashlib.sha256(found.source)
    for name, one in sorted(found.kernels.items()):
        for used, value in sorted(_used(one.function).items()):
            h.update(f"{name} {used} {_identity(value, module)}\n".encode())
    return h.hexdigest()


def _identity(value: Any, module: str) -> str:
    """Tells a value that a kernel uses from others. Raises TypeError where that cannot be."""
    if isinstance(value, Kernel):
        other = value.function.__module__
        return "here" if other == module else digest(other)
    if isinstance(value, Instruction):
        return hashlib.sha256(value.source).hexdigest()
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{hashlib.sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, tuple):
        return repr([_identity(v, module) for v in value])
    if value is np or isinstance(value, bool | int | float | np.generic):
        return repr(value)
    if isinstance(value, type) and issubclass(value, np.generic):
        return value.__name__
    raise TypeError(f"{module}: a kernel cannot use {value!r}")


def _module_of(function: FunctionType) -> _Module:
    found = _OF_MODULE.get(function.__module__)
    if found is None or found.names is not function.__globals__:
        found = _Module(function.__globals__, _source(function), {})
        _OF_MODULE[function.__module__] = found
    return found


def _source(function: Function) -> bytes:
    return Path(function.__code__.co_filename).read_bytes()


def _used(function: FunctionType) -> dict[str, Any]:
    """The global values that a function's code names."""
    known = function.__globals__
    return {n: known[n] for n in _names(function.__code__) if n in known}


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _compiled(kernels: Mapping[str, Kernel]) -> Iterator[machine_code.Made]:
    for one in kernels.values():
        (found,) = _dispatcher(one, bare=True).overloads.values()
        yield machine_code.Made(one.name, one.signature, found)


@cache
def _dispatcher(one: Kernel, *, bare: bool) -> Any:
    """The kernel by numba: `bare`, which Python cannot call, or else as kept by numba itself."""
    import numba

    names = dict(one.function.__globals__)
    for name, value in _used(one.function).items():
        if isinstance(value, Kernel):
            names[name] = _dispatcher(value, bare=bare)
        elif isinstance(value, Instruction):
            names[name] = value.for_numba()
    plain = FunctionType(one.function.__code__, names, one.function.__name__)
    plain.__module__ = one.function.__module__
    signature = _for_numba(numba.types, one.signature)
    options = {"nogil": True, "forceinline": one.inline}
    if bare:
        return numba.njit(signature, no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)(
            plain
        )
    try:
        folder = kept_folder() / f"numba-{digest(plain.__module__)[:24]}"
    except OSError:
        return numba.njit(signature, **options)(plain)
    before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(folder)
    try:  # numba itself would not see that another module has changed
        return numba.njit(signature, cache=True, **options)(plain)
    finally:
        numba.config.CACHE_DIR = before


def _for_numba(types: ModuleType, signature: Signature) -> Any:
    def of(kind: kernel_types.Type | Tuple) -> Any:
        if isinstance(kind, Array):
            return types.Array(of(kind.scalar), kind.dims, "C", readonly=not kind.written)
        if isinstance(kind, Tuple):
            return types.Tuple([of(m) for m in kind.members])
        return getattr(types, kind.name)

    return of(signature.result)(*map(of, signature.arguments))
