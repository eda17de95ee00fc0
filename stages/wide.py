"""Machine instructions that numba has no name for. Import inside functions only."""

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
def store64(typing_context: Any, data: Any, at: Any, number: Any) -> Any:
    """Writes a number over eight bytes of an array from byte `at` on, its lowest bits first.
    Nothing checks that they are there."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        begin = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        place = builder.gep(begin, [arguments[1]])
        builder.store(arguments[2], builder.bitcast(place, ir.IntType(64).as_pointer())).align = 1
        return context.get_dummy_value()

    return types.void(data, types.int64, types.uint64), code


@intrinsic  # type: ignore[untyped-decorator]
def zeros_below(typing_context: Any, number: Any) -> Any:
    """How many bits of a number of 64 lie below its lowest 1; 64 of 0."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), code


@intrinsic  # type: ignore[untyped-decorator]
def load8(typing_context: Any, data: Any, at: Any) -> Any:
    """One byte of an array: ``data[at]`` without asking whether `at` is below 0."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        begin = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.load(builder.gep(begin, [arguments[1]]))

    return types.uint8(data, types.int64), code


@intrinsic  # type: ignore[untyped-decorator]
def fetch(typing_context: Any, table: Any, at: Any) -> Any:
    """Asks memory for element `at` of an array, so that it is near when it is read."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(32)
        place = builder.gep(
            context.make_array(signature.args[0])(context, builder, arguments[0]).data,
            [arguments[1]],
        )
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer(), word, word, word])
        name = "llvm.prefetch.p0"
        known = builder.module.globals
        function = known[name] if name in known else ir.Function(builder.module, kind, name)
        place = builder.bitcast(place, ir.IntType(8).as_pointer())
        builder.call(function, [place, word(0), word(3), word(1)])  # to read, to keep, data
        return context.get_dummy_value()

    return types.void(table, types.uint64), code
