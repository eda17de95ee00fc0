"""Types of kernels' arguments and results, named as numba names them.

A kernel says with them what it takes and gives: ``int64(array(uint8), int64)``. They are names
only: numba itself is imported when there is something to compile.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number, or nothing."""

    name: str

    def __call__(self, *arguments: Type) -> Signature:
        return Signature(self, arguments)


@dataclass(frozen=True, slots=True)
class Tuple:
    """Several numbers, as a result."""

    members: tuple[Scalar, ...]

    def __call__(self, *arguments: Type) -> Signature:
        return Signature(self, arguments)


@dataclass(frozen=True, slots=True)
class Array:
    """A C-contiguous array of numpy's."""

    scalar: Scalar
    dims: int
    written: bool
    """Whether the kernel writes to it; otherwise it may be read-only."""


Type = Scalar | Array


@dataclass(frozen=True, slots=True)
class Signature:
    """What a kernel gives, and what it takes."""

    result: Scalar | Tuple
    arguments: tuple[Type, ...]


def UniTuple(scalar: Scalar, count: int) -> Tuple:
    return Tuple((scalar,) * count)


void, boolean = Scalar("void"), Scalar("boolean")
int8, int16, int32, int64 = (Scalar(f"int{bits}") for bits in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (Scalar(f"uint{bits}") for bits in (8, 16, 32, 64))
float32, float64 = Scalar("float32"), Scalar("float64")
