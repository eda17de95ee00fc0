"""Machine code of kernels, kept in files and given to LLVM's loader.

A file holds all kernels of one module, and for each a function that takes objects of Python:
numbers as they are, arrays of numpy's by what their heads say, which it checks (`calling`). Its
name has a digest of all that the code depends on, and inside is a checksum: what is stale or
damaged is never run. numba compiles the kernels; their code is as if numba called them.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .calling import caller, entry_name, entry_point, layout_is_known
from .kept import kept_folder
from .kernel_types import Signature

UNFIT = (AttributeError, ImportError, OSError, RuntimeError)
"""What other inner parts of numba or LLVM raise, and a machine with nowhere to keep code."""

_DIGEST_BYTES = 32
_NUMBAS = re.compile(rb'"version": "(0\.68\.\d+)"')
"""Versions whose calls are known to be as `calling` makes them: with others the kernels are called
through numba, since a call that is put together wrongly may end the process."""

_KNOWN_TO_PROCESS = ("llvm.", "mem", "malloc", "free", "sqrt")
"""Beginnings of names of functions that need no numba."""

_MEMORY = """
%block = type { i64, ptr, ptr, ptr, i64, ptr }
declare ptr @malloc(i64)
declare void @free(ptr)

define ptr @NRT_Allocate(i64 %size) {
  %place = call ptr @malloc(i64 %size)
  ret ptr %place
}

define void @NRT_Free(ptr %place) {
  call void @free(ptr %place)
  ret void
}

define ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %align) {
  %wide = zext i32 %align to i64
  %head = add i64 %wide, 48
  %most = add i64 %head, %size
  %block = call ptr @malloc(i64 %most)
  %none = icmp eq ptr %block, null
  br i1 %none, label %end, label %begin
begin:
  %first = ptrtoint ptr %block to i64
  %beyond = add i64 %first, %head
  %less = sub i64 0, %wide
  %at = and i64 %beyond, %less
  %data = inttoptr i64 %at to ptr
  store i64 1, ptr %block
  %place = getelementptr %block, ptr %block, i32 0, i32 3
  store ptr %data, ptr %place
  br label %end
end:
  ret ptr %block
}

define void @NRT_MemInfo_call_dtor(ptr %block) {
  call void @free(ptr %block)
  ret void
}
"""
"""What numba's code calls for arrays of its own: `%block` is how it counts who has one, and where
its data are."""


@dataclass(frozen=True)
class Made:
    """A kernel that numba has compiled."""

    name: str
    signature: Signature
    found: Any
    """numba's result."""


class Code:
    """Loaded machine code."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        _KEEPERS.append(engine)

    def caller(self, name: str, signature: Signature) -> Callable[..., Any]:
        """A kernel as a function. Raises RuntimeError if it is not there."""
        address = self._engine.get_function_address(entry_name(name))
        if not address:
            raise RuntimeError(f"no code for {name}")
        return caller(name, address, signature)


_KEEPERS: list[Any] = []
"""Loaded code lives as long as the process."""


def loaded(module: str, digest: str, make: Callable[[], Iterable[Made]]) -> Code:
    """The machine code of a module's kernels, which are compiled by `make` unless it is kept.
    Raises what `UNFIT` says."""
    path = place(module, digest)
    if (code := _read(path)) is None:
        _compile(path, make())
        code = _read(path)
    if code is None:
        raise RuntimeError(f"{path} was removed")
    return code


def place(module: str, digest: str) -> Path:
    """Where a module's code is kept. Raises what `UNFIT` says."""
    return kept_folder() / f"{module.rpartition('.')[2]}-{_here(digest, module)}.o"


def _here(digest: str, module: str) -> str:
    h = hashlib.sha256(f"{module} {digest} {_machine()}".encode())
    return h.hexdigest()[:24]


@cache
def _machine() -> str:
    """All that machine code depends on beside its source."""
    import llvmlite.binding as llvm

    found = find_spec("numba")
    if found is None or found.origin is None:
        raise ImportError("numba is not installed")
    version = _NUMBAS.search(Path(found.origin).with_name("_version.py").read_bytes())
    if version is None or not layout_is_known():
        raise ImportError("nobody has looked at how this numba calls")
    names = ("calling", "compiled", "machine_code")
    own = [Path(__file__).with_name(f"{name}.py").read_bytes() for name in names]
    return repr((
        llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten(), llvm.llvm_version_info,
        version[1].decode(), hashlib.sha256(b"".join(own)).hexdigest(),
    ))  # fmt: skip


def _target(llvm: Any) -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(),
        opt=3, codemodel="jitdefault", jit=True,
    )  # fmt: skip


def _compile(path: Path, kernels: Iterable[Made]) -> None:
    """Writes the machine code of kernels to `path`: a digest, and an object file. Raises
    RuntimeError for a kernel that needs numba when it runs."""
    import llvmlite.binding as llvm

    target = _target(llvm)
    whole = llvm.parse_assembly(_MEMORY)
    own = {f.name for f in whole.functions}
    for made in kernels:
        symbol = made.found.fndesc.llvm_func_name
        module = made.found.library._get_module_for_linking().clone()
        kinds = [str(a.type) for a in module.get_function(symbol).arguments]
        _strip(llvm, target, module, symbol, own)
        module.link_in(llvm.parse_assembly(entry_point(made.name, symbol, kinds, made.signature)))
        module.get_function(symbol).linkage = "internal"
        whole.link_in(module)
    code = target.emit_object(whole)
    part = path.with_suffix(f".{os.getpid()}")
    part.write_bytes(hashlib.sha256(code).digest() + code)
    os.replace(part, path)


def _strip(llvm: Any, target: Any, module: Any, symbol: str, own: set[str]) -> None:
    """Leaves in a module one function, and what it calls, only."""
    for function in module.functions:
        if not function.is_declaration:
            function.linkage = "external" if function.name == symbol else "internal"
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options()))
    strange = [
        f.name for f in module.functions
        if f.is_declaration and not f.name.startswith(_KNOWN_TO_PROCESS) and f.name not in own
    ]  # fmt: skip
    if strange:
        raise RuntimeError(f"{symbol} needs {strange} to run")


def _read(path: Path) -> Code | None:
    """The code in a file, None if there is none, or it is not whole."""
    import llvmlite.binding as llvm

    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return None
    code = raw[_DIGEST_BYTES:]
    if hashlib.sha256(code).digest() != raw[:_DIGEST_BYTES]:
        return None
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target(llvm))
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return Code(engine)
