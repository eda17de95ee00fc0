"""Two machine instructions that numba has no name for. Import inside functions only."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


@intrinsic  # type: ignore[untyped-decorator]
def load64(typing_context: Any, data: Any, at: Any) -> Any:
    """Eight bytes of an array from byte `at` on as one number, the first as its lowest bits.
    Nothing checks that they are there."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        begin = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        place = builder.gep(begin, [arguments[1]])
        number = builder.load(builder.bitcast(place, ir.IntType(64).as_pointer()))
        number.align = 1
        return number

    return types.uint64(data, types.int64), code


@intrinsic  # type: ignore[untyped-decorator]
def load8(typing_context: Any, data: Any, at: Any) -> Any:
    """One byte of an array: ``data[at]`` without asking whether `at` is below 0."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        begin = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.load(builder.gep(begin, [arguments[1]]))

    return types.uint8(data, types.int64), code


@intrinsic  # type: ignore[untyped-decorator]
def zeros_below(typing_context: Any, number: Any) -> Any:
    """How many zero bits a number has below its lowest one; 64 if it is 0."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), code
