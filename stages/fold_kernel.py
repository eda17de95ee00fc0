"""The compiled steps of folding and hashing characters. Import inside functions only.

The input is valid UTF-8 (surrogates encoded as three bytes are let through), so that the width of a
character is known from its first byte.
"""

from __future__ import annotations

import numpy as np

from . import kernel_types as types
from .compiled import array, kernel, out
from .unicode_data import IGNORABLE

_U8, _I64, _U64 = types.uint8, types.int64, types.uint64
_U16, _U32, _BOOL = types.uint16, types.uint32, types.boolean

POINT = np.uint64(0x1FFFFF)
MARK_LAST = np.uint64(1 << 63)
NO_ENTRY = np.uint64(0xFFFFFFFFFFFFFFFF)
"""An entry of `words.fold_pieces`: up to three code points of 21 bits, the first in the lowest;
whether the last is a mark (combining class above 0)."""

SEED = np.uint64(0x9E3779B97F4A7C15)
"""The hash of nothing."""

_STEP = np.uint64(0xD6E8FEB86659FD93)
_MIX_1 = np.uint64(0xFF51AFD7ED558CCD)
_MIX_2 = np.uint64(0xC4CEB9FE1A85EC53)
_21, _32, _33 = np.uint64(21), np.uint64(32), np.uint64(33)
_LOW_63 = np.uint64((1 << 63) - 1)

_IOTA_SUBSCRIPT, _IOTA = 0x345, 0x3B9
_SHORT = 32


@kernel(_U64(_U64, _I64), inline=True)
def step(h, code):  # type: ignore[no-untyped-def]
    """The hash `h` of a prefix, extended by one code point (or byte)."""
    h = (h ^ np.uint64(code)) * _STEP
    return h ^ (h >> _32)


@kernel(_U64(_U64), inline=True)
def mix(h):  # type: ignore[no-untyped-def]
    """The 64-bit finaliser of MurmurHash3 (Appleby, public domain)."""
    h = (h ^ (h >> _33)) * _MIX_1
    h = (h ^ (h >> _33)) * _MIX_2
    return h ^ (h >> _33)


@kernel(types.void(out(_U32), out(_U32), out(_I64), _I64, array(_U8)))
def order_marks(pend, spare, places, count, ccc):  # type: ignore[no-untyped-def]
    """Canonical ordering: sorts ``pend[:count]`` by combining class, stably."""
    if count <= _SHORT:
        for i in range(1, count):
            mark = pend[i]
            rank = ccc[mark]
            j = i - 1
            while j >= 0 and ccc[pend[j]] > rank:
                pend[j + 1] = pend[j]
                j -= 1
            pend[j + 1] = mark
        return
    # By counting: a run of marks may be as long as a document.
    for rank in range(257):
        places[rank] = 0
    for i in range(count):
        places[ccc[pend[i]] + 1] += 1
    for rank in range(256):
        places[rank + 1] += places[rank]
    for i in range(count):
        rank = ccc[pend[i]]
        spare[places[rank]] = pend[i]
        places[rank] += 1
    for i in range(count):
        pend[i] = spare[i]


@kernel(types.UniTuple(_I64, 2)(array(_U8), _I64), inline=True)
def decode(data, i):  # type: ignore[no-untyped-def]
    """Code point and width of the character that begins at ``data[i]``, not an ASCII one."""
    code = np.int64(data[i])
    if code < 0xE0:
        return (code & 0x1F) << 6 | (data[i + 1] & 0x3F), 2
    if code < 0xF0:
        return (code & 0x0F) << 12 | (data[i + 1] & 0x3F) << 6 | (data[i + 2] & 0x3F), 3
    return (
        (code & 0x07) << 18 | (data[i + 1] & 0x3F) << 12
        | (data[i + 2] & 0x3F) << 6 | (data[i + 3] & 0x3F)
    ), 4  # fmt: skip


@kernel(
    types.UniTuple(_I64, 3)(
        array(_U8), _I64, _I64, _I64, array(_U8), array(_U8), array(_U16), array(_U32),
        array(_U32), out(_U32), out(_U32), out(_I64)),
    inline=True,
)  # fmt: skip
def fold_next(  # type: ignore[no-untyped-def]
    data, i, k, stop, flags, ccc, fold, offsets, pool, pend, spare, places
):
    """Writes to `pend` the next folded code point and the marks behind it, in canonical order.

    They begin with point `k` of what the character at ``data[i]`` folds to. Returns how many they
    are, and `i` and `k` of what comes next. IGNORABLE code points are left out.
    """
    count = 0
    open_ = True
    while open_ and i < stop:
        code = np.int64(data[i])
        width = 1
        if code >= 0x80:
            code, width = decode(data, i)
        sequence = np.int64(fold[code])
        at = np.int64(0)
        length = np.int64(1)
        if sequence > 0:
            at = np.int64(offsets[sequence - 1])
            length = np.int64(offsets[sequence]) - at
        if flags[code] & IGNORABLE:
            length = np.int64(0)
        while k < length:
            piece = np.int64(pool[at + k]) if sequence > 0 else code
            if count > 0 and ccc[piece] == 0:
                open_ = False
                break
            pend[count] = piece
            count += 1
            k += 1
        if open_:
            i += width
            k = 0
    if count > 1:
        order_marks(pend, spare, places, count, ccc)  # what they stand behind has class 0
    for j in range(count):
        if pend[j] == _IOTA_SUBSCRIPT:
            pend[j] = _IOTA
    return count, i, k


@kernel(
    _U64(array(_U8), _I64, _I64, array(_U8), array(_U8), array(_U16), array(_U32), array(_U32),
         out(_U32), out(_U32), out(_I64))
)  # fmt: skip
def fold_hash(  # type: ignore[no-untyped-def]
    data, first, stop, flags, ccc, fold, offsets, pool, pend, spare, places
):
    """Hash of the folded code points of ``data[first:stop]``, IGNORABLE ones left out."""
    h = SEED
    i = first
    k = 0
    while i < stop:
        count, i, k = fold_next(
            data, i, k, stop, flags, ccc, fold, offsets, pool, pend, spare, places
        )
        for j in range(count):
            h = step(h, np.int64(pend[j]))
    return mix(h)


@kernel(types.Tuple((_U64, _I64, _BOOL))(_U64, _I64, _BOOL, array(_U64), _I64))
def extend(h, mark, slow, pieces, code):  # type: ignore[no-untyped-def]
    """The hash `h` of a folded prefix, extended by what `code` folds to (`words.fold_pieces`).

    A mark waits in `mark` (0: none) for what follows it. `slow` tells that it cannot go on in this
    way: a second mark came, and they may have to change places, or a character without an entry.
    """
    entry = pieces[code] if code < len(pieces) else NO_ENTRY
    if entry == NO_ENTRY:
        return h, mark, True
    rest = entry & _LOW_63
    if mark:
        if entry != rest and rest <= POINT:
            return h, mark, True
        h = step(h, mark)
    while rest > POINT:
        h = step(h, np.int64(rest & POINT))
        rest >>= _21
    if entry & MARK_LAST:
        return h, np.int64(rest), slow
    return step(h, np.int64(rest)), 0, slow
