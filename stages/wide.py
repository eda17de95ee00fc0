"""Machine instructions that numba has no name for, for kernels."""

from __future__ import annotations

from typing import Any

from .compiled import Instruction


def _place(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Where an element of an array is."""
    begin = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    return builder.gep(begin, [arguments[1]])


@Instruction
def load64(ir: Any, types: Any) -> Any:
    """``load64(data, at)``: eight bytes of an array from byte `at` on as one number, the first as
    its lowest bits. Nothing checks that they are there."""

    def instruction(typing_context: Any, data: Any, at: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = _place(context, builder, signature, arguments)
            number = builder.load(builder.bitcast(place, ir.IntType(64).as_pointer()))
            number.align = 1
            return number

        return types.uint64(data, types.int64), code

    return instruction


@Instruction
def store64(ir: Any, types: Any) -> Any:
    """``store64(data, at, number)``: writes a number over eight bytes of an array from byte `at`
    on, its lowest bits first. Nothing checks that they are there."""

    def instruction(typing_context: Any, data: Any, at: Any, number: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = _place(context, builder, signature, arguments)
            word = builder.bitcast(place, ir.IntType(64).as_pointer())
            builder.store(arguments[2], word).align = 1
            return context.get_dummy_value()

        return types.void(data, types.int64, types.uint64), code

    return instruction


@Instruction
def zeros_below(ir: Any, types: Any) -> Any:
    """``zeros_below(number)``: how many bits of a number of 64 lie below its lowest 1; 64 of 0."""

    def instruction(typing_context: Any, number: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

        return types.int64(types.uint64), code

    return instruction


@Instruction
def load8(ir: Any, types: Any) -> Any:
    """``load8(data, at)``: one byte of an array, ``data[at]`` without asking whether `at` is below
    0."""

    def instruction(typing_context: Any, data: Any, at: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.load(_place(context, builder, signature, arguments))

        return types.uint8(data, types.int64), code

    return instruction


@Instruction
def fetch(ir: Any, types: Any) -> Any:
    """``fetch(table, at)``: asks memory for element `at` of an array, so that it is near when it is
    read."""

    def instruction(typing_context: Any, table: Any, at: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            word, byte = ir.IntType(32), ir.IntType(8).as_pointer()
            kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
            name = "llvm.prefetch.p0"
            known = builder.module.globals
            function = known[name] if name in known else ir.Function(builder.module, kind, name)
            place = builder.bitcast(_place(context, builder, signature, arguments), byte)
            builder.call(function, [place, word(0), word(3), word(1)])  # to read, to keep, data
            return context.get_dummy_value()

        return types.void(table, types.uint64), code

    return instruction
