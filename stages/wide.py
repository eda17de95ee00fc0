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


def _equal32(ir: Any, builder: Any, place: Any, byte: Any) -> Any:
    """Which of 32 bytes are `byte`: a vector of as many bits."""
    vector = ir.VectorType(ir.IntType(8), 32)
    bytes_there = builder.load(builder.bitcast(place, vector.as_pointer()))
    bytes_there.align = 1
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), byte, ir.IntType(32)(0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), 32), [0] * 32)
    same = builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), zeros)
    return builder.icmp_unsigned("==", bytes_there, same)


@Instruction
def byte32(ir: Any, types: Any) -> Any:
    """``byte32(data, at, byte)``: a number with a bit for each of the 32 bytes of an array from
    byte `at` on that is `byte`, the first as its lowest. Nothing checks that they are there."""

    def instruction(typing_context: Any, data: Any, at: Any, byte: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = _place(context, builder, signature, arguments)
            return builder.bitcast(_equal32(ir, builder, place, arguments[2]), ir.IntType(32))

        return types.uint32(data, types.int64, types.uint8), code

    return instruction


@Instruction
def pair32(ir: Any, types: Any) -> Any:
    """``pair32(data, at, first, second)``: the same of each byte that is `first` and has `second`
    behind it, so that 33 are read."""

    def instruction(typing_context: Any, data: Any, at: Any, first: Any, second: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = _place(context, builder, signature, arguments)
            behind = builder.gep(place, [ir.IntType(64)(1)])
            both = builder.and_(
                _equal32(ir, builder, place, arguments[2]),
                _equal32(ir, builder, behind, arguments[3]),
            )
            return builder.bitcast(both, ir.IntType(32))

        return types.uint32(data, types.int64, types.uint8, types.uint8), code

    return instruction


@Instruction
def upper16(ir: Any, types: Any) -> Any:
    """``upper16(data, at, number, shift)``: a number with a bit for each of the 16 numbers of 32
    bits of an array from element `at` on whose bits from `shift` on are `number`, the first as its
    lowest. Nothing checks that they are there."""

    def instruction(typing_context: Any, data: Any, at: Any, number: Any, shift: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            vector = ir.VectorType(ir.IntType(32), 16)
            place = _place(context, builder, signature, arguments)
            there = builder.load(builder.bitcast(place, vector.as_pointer()))
            there.align = 4
            wanted, by = (_sixteen(ir, builder, vector, a) for a in arguments[2:])
            same = builder.icmp_unsigned("==", builder.lshr(there, by), wanted)
            return builder.zext(builder.bitcast(same, ir.IntType(16)), ir.IntType(32))

        return types.uint32(data, types.int64, types.uint32, types.uint32), code

    return instruction


def _sixteen(ir: Any, builder: Any, vector: Any, number: Any) -> Any:
    """A vector with `number` in each place."""
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), number, ir.IntType(32)(0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), 16), [0] * 16)
    return builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), zeros)
