"""The compiled loop over the n-grams of texts. Import inside functions only."""

from __future__ import annotations

import numpy as np
from numba import types

from corpusmill.stages.compiled import array, kernel, out

from .overlap import GRAM, MIX, ODD

_U8, _I64, _U64 = types.uint8, types.int64, types.uint64
_A, _B, _C, _D, _E = (np.uint64(factor) for factor in ODD)
_1, _2, _3, _4, _7 = (np.uint64(n) for n in (1, 2, 3, 4, 7))


@kernel(_U64(array(_U8)))
def shift_of(bits):  # type: ignore[no-untyped-def]
    """How far a value is shifted so that its highest bits number those of a filter of 2**k."""
    shift = np.uint64(61)
    size = len(bits)
    while size > 1:
        size >>= 1
        shift -= _1
    return shift


@kernel(_I64(array(_U8), _U64))
def has_bit(bits, index):  # type: ignore[no-untyped-def]
    return (bits[index >> _3] >> (index & _7)) & 1


@kernel(_I64(array(_U64), array(_I64), array(_U8), array(_U8), out(_I64), out(_U64)))
def passing(words, doc_start, near, far, at, gram):  # type: ignore[no-untyped-def]
    """Fills `at` and `gram` with the places and hashes of the n-grams whose bit is set in both
    filters, and returns their number. The hash is that of `overlap.grams`.

    A look into `far`, which no cache holds, costs ten times one into `near`: so it comes second,
    in a loop of its own where the looks do not wait for each other.
    """
    near_shift, far_shift = shift_of(near), shift_of(far)
    n = 0
    for d in range(len(doc_start) - 1):
        if doc_start[d + 1] - doc_start[d] < GRAM:
            continue
        first = np.uint64(doc_start[d])
        a, b, c, e = words[first], words[first + _1], words[first + _2], words[first + _3]
        for p in range(first, np.uint64(doc_start[d + 1]) - _4):
            f = words[p + _4]
            total = a * _A + b * _B + c * _C + e * _D + f * _E
            a, b, c, e = b, c, e, f
            total = (total ^ (total >> MIX)) * _A
            at[n] = p
            gram[n] = total
            n += has_bit(near, total >> near_shift)
    kept = 0
    for k in range(n):
        at[kept] = at[k]
        gram[kept] = gram[k]
        kept += has_bit(far, gram[k] >> far_shift)
    return kept
