"""The compiled loops over the n-grams of texts. Import inside functions only."""

from __future__ import annotations

import numpy as np

from corpusmill.stages import kernel_types as types
from corpusmill.stages.compiled import array, kernel, out
from corpusmill.stages.wide import load64
from corpusmill.stages.words import ALL_DIGITS

from .overlap import GRAM, MIX, ODD

_U8, _I32, _I64, _U64 = types.uint8, types.int32, types.int64, types.uint64
_A, _B, _C, _D, _E = (np.uint64(factor) for factor in ODD)
_1, _2, _3, _4, _7 = (np.uint64(n) for n in (1, 2, 3, 4, 7))
_NUMBER, _NUMBERS = np.uint8(ALL_DIGITS), np.uint64(0x0101010101010101 * ALL_DIGITS)


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


@kernel(_U64(_U64, _U64, _U64, _U64, _U64), inline=True)
def hash_of(a, b, c, d, e):  # type: ignore[no-untyped-def]
    """That of `overlap.grams`; of shorter n-grams, with 0 for the others."""
    total = a * _A + b * _B + c * _C + d * _D + e * _E
    return (total ^ (total >> MIX)) * _A


@kernel(_I64(array(_U64), array(_I64), array(_I64), array(_U8), out(_I64), out(_U64)))
def every_third(words, begin, stop, near, at, gram):  # type: ignore[no-untyped-def]
    """Fills `at` and `gram` with the places and hashes of n-grams of three words whose bit is set
    in `near`, of those that begin at every third word of a document; returns their number."""
    shift = shift_of(near)
    none = np.uint64(0)
    n = 0
    for d in range(len(begin)):
        for k in range((stop[d] - begin[d]) // 3):
            p = np.uint64(begin[d]) + np.uint64(k) * _3
            total = hash_of(words[p], words[p + _1], words[p + _2], none, none)
            at[n] = p
            gram[n] = total
            n += has_bit(near, total >> shift)
    return n


@kernel(_I64(array(_U64), array(_I64), array(_I64), array(_I64), out(_I64), out(_U64)))
def around(words, begin, stop, places, at, gram):  # type: ignore[no-untyped-def]
    """Fills `at` and `gram` with the n-grams of `GRAM` words that hold one of three at one of
    `places`, which ascend, and returns their number."""
    n = d = 0
    for k in range(len(places)):
        while places[k] >= stop[d]:
            d += 1
        low = max(begin[d], places[k] - (GRAM - 3))
        high = min(stop[d] - GRAM, places[k])
        for q in range(low, high + 1):
            p = np.uint64(q)
            at[n] = q
            gram[n] = hash_of(words[p], words[p + _1], words[p + _2], words[p + _3], words[p + _4])
            n += 1
    return n


@kernel(_I64(array(_U8), _I64, _I64), inline=True)
def next_number(flags, at, last):  # type: ignore[no-untyped-def]
    """Where the next word of ``at:last`` is that is a number, or `last`."""
    while at < last:
        if at + 8 <= last and not load64(flags, at) & _NUMBERS:
            at += 8
        elif flags[at] & _NUMBER:
            break
        else:
            at += 1
    return at


@kernel(
    _I64(array(_U64), array(_U8), array(_I64), array(_I64), array(_U8), _I64, out(_I64), out(_U64))
)
def over_numbers(words, flags, begin, stop, near, n, at, gram):  # type: ignore[no-untyped-def]
    """The same of the n-grams that have numbers between their words, those left out; of those
    whose first three have their bit set in `near`. Filled in behind `n` others. Returns the number
    of all."""
    shift = shift_of(near)
    none = np.uint64(0)
    for d in range(len(begin)):
        number = begin[d]
        while True:
            number = next_number(flags, number, stop[d])
            if number == stop[d]:
                break
            # From the fourth word before it that is no number on.
            p = number
            before = 0
            while p > begin[d] and before < GRAM - 1:
                p -= 1
                before += not flags[p] & _NUMBER
            a = b = c = e = f = none  # the last words that are no numbers, and where they stand
            pa = pb = pc = pe = pf = begin[d] - 1
            while p < stop[d] and pa <= number:
                if flags[p] & _NUMBER:
                    number = max(number, p)
                else:
                    a, b, c, e, f = b, c, e, f, words[p]
                    pa, pb, pc, pe, pf = pb, pc, pe, pf, p
                    if begin[d] <= pa < number:
                        at[n] = pa
                        gram[n] = hash_of(a, b, c, e, f)
                        n += has_bit(near, hash_of(a, b, c, none, none) >> shift)
                p += 1
            number = max(number + 1, p - 1)
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
