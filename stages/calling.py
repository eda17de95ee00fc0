"""How Python calls machine code: by `ctypes`, with objects, which an entry takes apart.

There is one for each kernel, written in LLVM's language. It takes numbers as they are and arrays as
objects, looks at each array's head (type, number of dimensions, order, place: what numpy's
`PyArrayObject` holds, which numpy has promised to other compiled code) and hands numba's function
what that expects of an array: owner, parent, size, width of an item, place, shape, strides. Ours
have another owner, so it is told of none. A call takes some microseconds, a few more than one by
numba: kernels are called for batches and pages.
"""

from __future__ import annotations

import ctypes
import operator
import pickle
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from corpusmill.pipeline.errors import IntegrityError

from .kernel_types import Array, Scalar, Signature, Tuple

_REFUSED = -1000
"""The code for the first argument, if it is not as the signature says; one less for each other."""

_TYPE, _DATA, _NDIM, _SHAPE, _DTYPE, _FLAGS = 8, 16, 24, 32, 56, 64
"""Where an array has its type, data, number of dimensions, shape, type of numbers and flags."""
_ORDER, _NUMBER = 26, 28
"""Where a type of numbers has the order of its bytes, and its number."""
_CONTIGUOUS, _ALIGNED, _WRITABLE = 0x1, 0x100, 0x400

_WIDTHS = {
    "boolean": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4,
    "float32": 4, "int64": 8, "uint64": 8, "float64": 8,
}  # fmt: skip
_C_TYPES: dict[str, Any] = {
    "boolean": ctypes.c_bool, "int8": ctypes.c_int8, "uint8": ctypes.c_uint8,
    "int16": ctypes.c_int16, "uint16": ctypes.c_uint16, "int32": ctypes.c_int32,
    "uint32": ctypes.c_uint32, "float32": ctypes.c_float, "int64": ctypes.c_int64,
    "uint64": ctypes.c_uint64, "float64": ctypes.c_double,
}  # fmt: skip


def entry_name(kernel: str) -> str:
    """The symbol of a kernel's entry."""
    return f"enter.{kernel}"


def entry_point(kernel: str, symbol: str, kinds: Sequence[str], signature: Signature) -> str:
    """LLVM's text of a kernel's entry; `kinds` are the types that numba's `symbol` takes."""
    code = _Entry()
    given = ["ptr %type", "ptr %result"]
    handed = ["ptr %result", "ptr %error"]
    left = list(kinds[2:])
    for place, kind in enumerate(signature.arguments):
        name = f"%a{place}"
        if isinstance(kind, Array):
            given.append(f"ptr {name}")
            handed += code.array(name, kind, _REFUSED - place)
            del left[: 5 + 2 * kind.dims]
            continue
        wanted = left.pop(0)
        given.append(f"{_passed(kind)} {name}")
        handed.append(f"{wanted} {code.number(name, _passed(kind), wanted)}")
    return f"""
declare i32 @"{symbol}"({", ".join(kinds)})
define i32 @"{entry_name(kernel)}"({", ".join(given)}, ptr %error) {{
{code.text}  %code = call i32 @"{symbol}"({", ".join(handed)})
  ret i32 %code
{code.refusals}}}
"""


def _passed(kind: Scalar) -> str:
    """How a number comes from Python."""
    return "double" if kind.name.startswith("float") else "i64"


class _Entry:
    """The lines of an entry, one after the other."""

    def __init__(self) -> None:
        self.text = ""
        self.refusals = ""
        self._names = 0

    def _new(self, what: str) -> str:
        self._names += 1
        name = f"%v{self._names}"
        self.text += f"  {name} = {what}\n"
        return name

    def _at(self, base: str, offset: int, kind: str) -> str:
        place = self._new(f"getelementptr i8, ptr {base}, i64 {offset}")
        return self._new(f"load {kind}, ptr {place}")

    def _unless(self, condition: str, label: str) -> None:
        """Goes to `label` unless the condition holds."""
        self._names += 1
        self.text += f"  br i1 {condition}, label %on{self._names}, label %{label}\n"
        self.text += f"on{self._names}:\n"

    def number(self, name: str, passed: str, wanted: str) -> str:
        """A number in the width that is wanted."""
        if wanted == passed:
            return name
        return self._new(
            f"{'fptrunc' if passed == 'double' else 'trunc'} {passed} {name} to {wanted}"
        )

    def array(self, name: str, kind: Array, refusal: int) -> list[str]:
        """What is handed on of an array, once it is seen to be as `kind` says."""
        label = f"refused{-refusal}"
        self.refusals += f"{label}:\n  ret i32 {refusal}\n"
        self._unless(self._new(f"icmp eq ptr {self._at(name, _TYPE, 'ptr')}, %type"), label)
        flags = self._at(name, _FLAGS, "i32")
        needed = _CONTIGUOUS | _ALIGNED | (_WRITABLE if kind.written else 0)
        masked = self._new(f"and i32 {flags}, {needed}")
        self._unless(self._new(f"icmp eq i32 {masked}, {needed}"), label)
        dims = self._at(name, _NDIM, "i32")
        self._unless(self._new(f"icmp eq i32 {dims}, {kind.dims}"), label)
        dtype = self._at(name, _DTYPE, "ptr")
        order = self._at(dtype, _ORDER, "i8")
        self._unless(self._new(f"icmp ne i8 {order}, {ord('>')}"), label)
        number = self._at(dtype, _NUMBER, "i32")
        either = [self._new(f"icmp eq i32 {number}, {n}") for n in _numbers(kind.scalar)]
        known = either[0] if len(either) == 1 else self._new(f"or i1 {', '.join(either)}")
        self._unless(known, label)
        return self._parts(name, kind)

    def _parts(self, name: str, kind: Array) -> list[str]:
        lengths = self._at(name, _SHAPE, "ptr")
        shape = [self._at(lengths, 8 * d, "i64") for d in range(kind.dims)]
        size = "1"
        strides: list[str] = []
        width = _WIDTHS[kind.scalar.name]
        for length in reversed(shape):
            strides.insert(0, self._new(f"mul i64 {size}, {width}"))
            size = self._new(f"mul i64 {size}, {length}")
        data = self._at(name, _DATA, "ptr")
        return [
            "ptr null", "ptr null", f"i64 {size}", f"i64 {width}", f"ptr {data}",
            *(f"i64 {length}" for length in shape), *(f"i64 {s}" for s in strides),
        ]  # fmt: skip


def _numbers(scalar: Scalar) -> list[int]:
    """numpy's numbers of a type; where C has two names for one, both."""
    if scalar.name == "boolean":
        return [np.dtype(np.bool_).num]
    found = np.dtype(scalar.name)
    return sorted({np.dtype(c).num for c in "bBhHiIlLqQfd" if np.dtype(c) == found})


@cache
def layout_is_known() -> bool:
    """Whether arrays lie in memory as the entries read them: a Python that was built otherwise has
    other heads."""
    if sys.implementation.name != "cpython" or object.__basicsize__ != _DATA:
        return False
    probe = np.zeros((2, 3), dtype=np.uint16)
    probe.flags.writeable = False

    def at(base: int, offset: int, kind: Any) -> int:
        return int(kind.from_address(base + offset).value or 0)

    dtype = at(id(probe), _DTYPE, ctypes.c_void_p)
    shape = at(id(probe), _SHAPE, ctypes.c_void_p)
    return (
        at(id(probe), _TYPE, ctypes.c_void_p) == id(np.ndarray)
        and at(id(probe), _DATA, ctypes.c_void_p) == probe.ctypes.data
        and at(id(probe), _NDIM, ctypes.c_int32) == 2
        and (at(shape, 0, ctypes.c_int64), at(shape, 8, ctypes.c_int64)) == (2, 3)
        and dtype == id(probe.dtype)
        and at(dtype, _NUMBER, ctypes.c_int32) == probe.dtype.num
        and at(dtype, _ORDER, ctypes.c_uint8) == ord("=")
        and at(id(probe), _FLAGS, ctypes.c_int32) & (_CONTIGUOUS | _ALIGNED | _WRITABLE)
        == _CONTIGUOUS | _ALIGNED
    )


def caller(name: str, address: int, signature: Signature) -> Callable[..., Any]:
    """A function that calls the entry at `address`."""
    kinds = [
        ctypes.py_object if isinstance(k, Array)
        else ctypes.c_double if _passed(k) == "double" else ctypes.c_int64
        for k in signature.arguments
    ]  # fmt: skip
    pointer = ctypes.c_void_p
    enter = ctypes.CFUNCTYPE(ctypes.c_int32, pointer, pointer, *kinds, pointer)(address)
    count, array = len(kinds), id(np.ndarray)
    make, read = _result(signature.result)

    def call(*arguments: Any) -> Any:
        if len(arguments) != count:
            raise TypeError(f"{name} takes {count} arguments, not {len(arguments)}")
        result, error = make(), pointer()
        into, failure = ctypes.byref(result), ctypes.byref(error)
        try:
            code = enter(array, into, *arguments, failure)
        except ctypes.ArgumentError:  # numbers of numpy's
            code = enter(array, into, *_plain(signature, arguments), failure)
        if code:
            raise _failure(name, code, error, signature, arguments)
        return read(result)

    return call


def _plain(signature: Signature, arguments: Sequence[Any]) -> list[Any]:
    """Arguments with numbers of Python's. Raises TypeError for what is none."""
    return [
        given if isinstance(kind, Array)
        else float(given) if _passed(kind) == "double" else operator.index(given)
        for kind, given in zip(signature.arguments, arguments, strict=True)
    ]  # fmt: skip


def _result(kind: Scalar | Tuple) -> tuple[Callable[[], Any], Callable[[Any], Any]]:
    """What makes room for a result, and what reads it."""
    if isinstance(kind, Scalar):
        if kind.name == "void":
            return ctypes.c_void_p, lambda room: None
        return _C_TYPES[kind.name], operator.attrgetter("value")
    names = [f"m{n}" for n in range(len(kind.members))]
    fields = [(n, _C_TYPES[m.name]) for n, m in zip(names, kind.members, strict=True)]
    room = type("Room", (ctypes.Structure,), {"_fields_": fields})
    return room, operator.attrgetter(*names)


def _failure(
    name: str, code: int, error: ctypes.c_void_p, signature: Signature, arguments: Sequence[Any]
) -> Exception:
    """What a code other than 0 means."""
    if code <= _REFUSED:
        kind, given = signature.arguments[_REFUSED - code], arguments[_REFUSED - code]
        found = f"{given.dtype}{given.shape}" if isinstance(given, np.ndarray) else repr(given)
        return TypeError(f"{name}: {found} in place of {kind}")
    if code < 1 or not error.value:
        return IntegrityError(f"the kernel {name} ended with code {code}")
    place = ctypes.c_void_p.from_address(error.value).value or 0
    size = ctypes.c_int32.from_address(error.value + 8).value
    raised, values, _ = pickle.loads(ctypes.string_at(place, size))
    return raised(*values or ())  # type: ignore[no-any-return]
