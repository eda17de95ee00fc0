"""The compiled loops over the n-grams of texts. Import inside functions only."""

from __future__ import annotations

import numpy as np

from corpusmill.stages import kernel_types as types
from corpusmill.stages.compiled import array, kernel, out
from corpusmill.stages.words import ALL_DIGITS

from .overlap import GRAM, MIX, ODD

_U8, _I32, _I64, _U64 = types.uint8, types.int32, types.int64, types.uint64
_A, _B, _C, _D, _E = (np.uint64(factor) for factor in ODD)
_1, _2, _3, _4, _7 = (np.uint64(n) for n in (1, 2, 3, 4, 7))
_NUMBER = np.uint8(ALL_DIGITS)


@kernel(_U64(array(_U8)))
def shift_of(bits):  # type: ignore[no-untyped-def]
    """How far a value is shifted so that its highest bits number those of a filter of 2**k."""
    shift = np.uint64(61)
    size = len(bits)
    while size > 1:
        size >>= 1
        shift -= _1
    return shift


@kernel(_I64(array(_U8), _U64), inline=True)
def has_bit(bits, index):  # type: ignore[no-untyped-def]
    return (bits[index >> _3] >> (index & _7)) & 1


@kernel(_I64(array(_U64), array(_I64), array(_I64), array(_U8), out(_I64), out(_U64)))
def in_a_row(words, begin, stop, near, at, gram):  # type: ignore[no-untyped-def]
    """Fills `at` and `gram` with the places and hashes of the n-grams whose bit is set in `near`,
    and returns their number. The hash is that of `overlap.grams`."""
    shift = shift_of(near)
    n = 0
    for d in range(len(begin)):
        if stop[d] - begin[d] < GRAM:
            continue
        first = np.uint64(begin[d])
        a, b, c, e = words[first], words[first + _1], words[first + _2], words[first + _3]
        for p in range(first, np.uint64(stop[d]) - _4):
            f = words[p + _4]
            total = a * _A + b * _B + c * _C + e * _D + f * _E
            a, b, c, e = b, c, e, f
            total = (total ^ (total >> MIX)) * _A
            at[n] = p
            gram[n] = total
            n += has_bit(near, total >> shift)
    return n


@kernel(
    _I64(array(_U64), array(_U8), array(_I64), array(_I64), array(_U8), _I64, out(_I64), out(_U64))
)
def over_numbers(words, flags, begin, stop, near, n, at, gram):  # type: ignore[no-untyped-def]
    """The same of the n-grams that have numbers between their words, those left out; filled in
    behind `n` others. Returns the number of all."""
    shift = shift_of(near)
    none = np.uint64(0)
    for d in range(len(begin)):
        number = begin[d] - 1  # where the last one stands; before the first word there is none
        a = b = c = e = f = none  # the last words that are no numbers, and where they stand
        pa = pb = pc = pe = pf = number
        for p in range(begin[d], stop[d]):
            if flags[p] & _NUMBER:
                number = p
                continue
            a, b, c, e, f = b, c, e, f, words[p]
            pa, pb, pc, pe, pf = pb, pc, pe, pf, p
            if begin[d] <= pa < number:
                total = a * _A + b * _B + c * _C + e * _D + f * _E
                total = (total ^ (total >> MIX)) * _A
                at[n] = pa
                gram[n] = total
                n += has_bit(near, total >> shift)
    return n


@kernel(_I64(array(_U8), _I64, _I64, _I64, out(_I64), out(_U64)))
def thinned(far, first, last, to, at, gram):  # type: ignore[no-untyped-def]
    """Moves those of ``first:last`` whose bit is set in `far` to `to` and on; returns where they
    end. The lowest bits of a hash number those of `far`, so that it is no finer `near`.

    A look into `far`, which no cache holds, costs ten times one into `near`: so it comes second,
    in a loop of its own where the looks do not wait for each other.
    """
    mask = np.uint64(8 * len(far) - 1)
    for k in range(first, last):
        at[to] = at[k]
        gram[to] = gram[k]
        to += has_bit(far, gram[k] & mask)
    return to


@kernel(_I64(array(_U64), array(_I32), _I64, _I64, _I64, out(_I64), out(_U64), out(_I64)))
def found(grams, heads, first, last, to, at, gram, slot):  # type: ignore[no-untyped-def]
    """Moves those of ``first:last`` that stand in `grams` to `to` and on, with their numbers there
    in `slot`; returns where they end. `grams` ascend; ``heads[b]`` is the first of those whose
    highest bits are `b` or more, and one entry more has their number."""
    shift = np.uint64(64)
    size = len(heads) - 1
    while size > 1:
        size >>= 1
        shift -= _1
    for k in range(first, last):
        value = gram[k]
        bucket = value >> shift
        low, high = heads[bucket], heads[bucket + _1]
        while low < high and grams[low] < value:
            low += 1
        if low < high and grams[low] == value:
            at[to] = at[k]
            slot[to] = low
            to += 1
    return to
