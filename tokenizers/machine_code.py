"""Kernels as machine code that runs without numba.

To import numba, and to have it load a kernel that it compiled before, takes most of a CPU-second:
more than encoding 20 MB. Here the machine code is kept by itself and given to LLVM's loader; numba
compiles it, once for a machine's type of CPU, and where that cannot be kept or loaded the kernels
are called through numba as ever. Fit for this are kernels that allocate nothing and raise nothing.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from corpusmill.pipeline.errors import IntegrityError
from corpusmill.stages.kept import kept_folder

Kernel = Callable[..., None]

_DIGEST_BYTES = 32
_NUMBAS = ("0.68.",)
"""Versions whose calls are known to be as `_caller` makes them: with others the kernels are called
through numba, since a call that is put together wrongly may end the process."""
_FREE = "NRT_MemInfo_call_dtor"
"""What numba's code calls to free an array of its own. Ours have another owner: it never is."""

_UNFIT = (AttributeError, ImportError, OSError, RuntimeError)
"""What other inner parts of numba or LLVM raise, and a machine with nowhere to keep code."""

_KEEPERS: list[Any] = []
"""Loaded code lives as long as the process."""


def kernels(names: Sequence[str], sources: Sequence[Path]) -> list[Kernel]:
    """Kernels by module and name (``package.module.name``), which return nothing and are made of
    `sources`."""
    try:
        import llvmlite.binding as llvm

        path = _place(llvm, names, sources)
        return _loaded(llvm, path) or _loaded(llvm, _compile(llvm, names, path))
    except _UNFIT:
        return [_by_numba(n) for n in names]


def are_kept(names: Sequence[str], sources: Sequence[Path]) -> bool:
    """Whether `kernels` has nothing to compile."""
    try:
        import llvmlite.binding as llvm

        return _place(llvm, names, sources).exists()
    except _UNFIT:
        return False


def _by_numba(name: str) -> Any:
    module, _, function = name.rpartition(".")
    return getattr(import_module(module), function)


def _place(llvm: Any, names: Sequence[str], sources: Sequence[Path]) -> Path:
    """The file of the machine code: its name has a digest of all that it depends on."""
    found = find_spec("numba")
    if found is None or found.origin is None:
        raise ImportError("numba is not installed")
    if not version("numba").startswith(_NUMBAS):
        raise ImportError("nobody has looked at how this numba calls")
    cpu = (llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
    h = hashlib.sha256(repr((names, cpu, llvm.llvm_version_info)).encode())
    for path in (Path(found.origin).with_name("_version.py"), *sources):
        h.update(path.read_bytes())
    return kept_folder() / f"kernels-{h.hexdigest()[:24]}.o"


def _target(llvm: Any) -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(),
        opt=3, codemodel="jitdefault", jit=True,
    )  # fmt: skip


def _compile(llvm: Any, names: Sequence[str], path: Path) -> Path:
    """Writes the machine code of kernels to `path`: a digest, a line that says what is in it, and
    the object code. Raises RuntimeError for a kernel that needs numba when it runs."""
    target = _target(llvm)
    whole = llvm.parse_assembly(f"define void @{_FREE}(ptr %0) {{ ret void }}")
    functions = []
    for name in names:
        kernel = _by_numba(name)
        (types,) = kernel.nopython_signatures
        made = kernel.overloads[types.args]
        symbol = made.fndesc.llvm_func_name
        functions.append((name, symbol, [_described(t) for t in types.args]))
        module = made.library._get_module_for_linking().clone()
        whole.link_in(_alone(llvm, target, module, symbol))
    code = json.dumps(functions).encode() + b"\n" + target.emit_object(whole)
    part = path.with_suffix(f".{os.getpid()}")
    part.write_bytes(hashlib.sha256(code).digest() + code)
    os.replace(part, path)
    return path


def _alone(llvm: Any, target: Any, module: Any, symbol: str) -> Any:
    """A module with one function, and what it calls, only."""
    for function in module.functions:
        if not function.is_declaration:
            function.linkage = "external" if function.name == symbol else "internal"
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options()))
    strange = [
        f.name for f in module.functions
        if f.is_declaration and not f.name.startswith(("llvm.", "mem")) and f.name != _FREE
    ]  # fmt: skip
    if strange:
        raise RuntimeError(f"{symbol} needs {strange} to run")
    return module


def _described(kind: Any) -> tuple[str, bool]:
    """Name of a type's numbers, and whether it is an array that is written to; ``""`` for a number
    of 64 bits."""
    return (str(kind.dtype), kind.mutable) if hasattr(kind, "dtype") else ("", False)


def _loaded(llvm: Any, path: Path) -> list[Kernel]:
    """Kernels from a file, none if there is none. Raises RuntimeError if it is not whole."""
    if not path.exists():
        return []
    raw = path.read_bytes()
    code = raw[_DIGEST_BYTES:]
    if hashlib.sha256(code).digest() != raw[:_DIGEST_BYTES]:
        raise RuntimeError(f"{path} is not whole")
    head, _, binary = code.partition(b"\n")
    target = _target(llvm)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target)
    engine.add_object_file(llvm.ObjectFileRef.from_data(binary))
    engine.finalize_object()
    _KEEPERS.append(engine)
    return [
        _caller(name, engine.get_function_address(symbol), kinds)
        for name, symbol, kinds in json.loads(head)
    ]


def _caller(name: str, address: int, kinds: Sequence[tuple[str, bool]]) -> Kernel:
    """Calls a function as numba's do one another: where the result and the error go, then every
    number as it is, every array as owner, parent, size, width of an item, place, shape, stride."""
    words = sum(7 if dtype else 1 for dtype, _ in kinds)
    function = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * words)(
        address
    )

    def call(*arguments: Any) -> None:
        result, error = ctypes.c_void_p(), ctypes.c_void_p()
        flat: list[int] = []
        for (dtype, written), given in zip(kinds, arguments, strict=True):
            if not dtype:
                flat.append(int(given))
                continue
            fits = given.dtype == np.dtype(dtype) and given.ndim == 1
            if not fits or not given.flags.c_contiguous or (written and not given.flags.writeable):
                raise TypeError(f"{name}: {given.dtype}{given.shape} in place of {dtype}")
            width = given.itemsize
            flat += [0, 0, given.size, width, given.ctypes.data, given.size, width]
        if code := function(ctypes.byref(result), ctypes.byref(error), *flat):
            raise IntegrityError(f"the kernel {name} ended with code {code}")

    return call
