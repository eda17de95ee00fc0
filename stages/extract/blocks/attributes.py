# ruff: noqa: SIM109, SIM110, SIM905 - long tests compile to plain branches
"""The attributes of one tag, as far as the block model looks at them (part of `scan`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from corpusmill.stages import kernel_types as types
from corpusmill.stages.compiled import array, kernel, out

from .columns import (
    A_GROUPS,
    A_MARKS,
    A_NUMBER,
    A_PRUNE,
    A_SIGNATURE,
    A_TRANSLATION,
    ARIA_HIDDEN,
    HIDDEN,
    NOT_DISPLAYED,
    ROLE_MAIN,
)  # fmt: skip
from .vocabulary import FNV_PRIME, FNV_START, PRUNED_BIT, key_of

_int: Any = np.int64  # loads of bytes: mypy sees no scalars where the compiler does

# Hashes are unsigned: a signed product that overflows is undefined to the compiler.
_FNV_START, _FNV_PRIME, _SHIFT = np.uint64(FNV_START), np.uint64(FNV_PRIME), np.uint64(20)


def _name(name: str) -> np.uint64:
    return np.uint64(key_of(name))


_CLASS, _ID, _ROLE, _ITEMPROP, _STYLE, _HIDDEN, _ARIA, _STARTS, _VALUE = (
    _name(name) for name in "class id role itemprop style hidden aria-hidden start value".split()
)
_ROLE_MAIN = _name("main")
_PRUNED_ROLES = tuple(_name(r) for r in "navigation menu contentinfo search dialog".split())
_R0, _R1, _R2, _R3, _R4 = _PRUNED_ROLES
_PRUNED_CLASS = 1 << PRUNED_BIT
_HREFLANG = np.frombuffer(b"hreflang", np.uint8)
_REL = np.frombuffer(b"rel", np.uint8)
_ALTERNATE = np.frombuffer(b"alternate", np.uint8)


@kernel(types.boolean(array(types.uint8), types.int64, array(types.uint8)))
def _stands_at(data, i, word):  # type: ignore[no-untyped-def]
    """Whether `word` stands at `i`, which may be outside of `data`."""
    if i < 0 or i + word.shape[0] > data.shape[0]:
        return False
    for j in range(word.shape[0]):
        if data[i + j] != word[j]:
            return False
    return True


@kernel(
    types.int64(
        array(types.uint8), types.int64, types.uint64, types.boolean, array(types.uint64),
        array(types.int64), out(types.int64),
    )
)  # fmt: skip
def read_attributes(  # type: ignore[no-untyped-def]
    data, i, key, wanted, class_keys, class_values, found
):
    """Reads from `i` (after the name) to the closing ``>``, whose place it returns; `key` is the
    hash of the tag's name. Fills `found` (columns ``A_…``); if not `wanted`, only `A_PRUNE` and
    `A_TRANSLATION`: whether it is a link to this page in another language."""
    n = data.shape[0]
    if not wanted:
        found[A_PRUNE] = 0
        in_language = False
        alternate = False
        while i < n and data[i] != 62:
            if data[i] == 61 and i + 1 < n and data[i + 1] == 34:
                if data[i - 1] == 103 and _stands_at(data, i - 8, _HREFLANG):
                    in_language = True
                elif data[i - 1] == 108 and _stands_at(data, i - 3, _REL):
                    alternate = _stands_at(data, i + 2, _ALTERNATE)
                i += 2
                while i < n and data[i] != 34:
                    i += 1
            i += 1
        found[A_TRANSLATION] = in_language and alternate
        return i
    class_slots = np.uint64(class_keys.shape[0] - 1)
    groups = 0
    marks = 0
    number = -1
    pruning = False
    signature = key
    while i < n and data[i] != 62:
        c = _int(data[i])
        if c <= 32 or c == 47:
            i += 1
            continue
        name = _FNV_START
        while i < n:
            c = _int(data[i])
            if c == 61 or c == 62 or c <= 32:
                break
            name = (name ^ np.uint64(c)) * _FNV_PRIME
            i += 1
        v0 = i
        v1 = i
        if i < n and data[i] == 61:
            i += 1
            if i < n and data[i] == 34:
                i += 1
                v0 = i
                while i < n and data[i] != 34:
                    i += 1
                v1 = i
                i += 1
            else:
                v0 = i
                while i < n and data[i] != 62 and data[i] > 32:
                    i += 1
                v1 = i
        if name == _CLASS or name == _ID or name == _ROLE or name == _ITEMPROP:
            word = _FNV_START
            length = 0
            lower = 0
            value = _FNV_START
            for j in range(v0, v1 + 1):
                c = _int(data[j]) if j < v1 else 32
                upper = c >= 65 and c <= 90
                if length > 0 and not ((c >= 97 and c <= 122) or (upper and lower == 0)):
                    slot = (word >> _SHIFT) & class_slots
                    while class_keys[slot] != 0 and class_keys[slot] != word:
                        slot = (slot + np.uint64(1)) & class_slots
                    if class_keys[slot] != 0:
                        groups |= class_values[slot]
                    word = _FNV_START
                    length = 0
                if upper or (c >= 97 and c <= 122):
                    word = (word ^ np.uint64(c | 32)) * _FNV_PRIME
                    length += 1
                    lower = 0 if upper else 1
                if j < v1:
                    value = (value ^ np.uint64(c)) * _FNV_PRIME
            if name == _CLASS:
                signature = (signature ^ value) * _FNV_PRIME
            elif name == _ROLE:
                if value == _ROLE_MAIN:
                    marks |= ROLE_MAIN
                elif value == _R0 or value == _R1 or value == _R2 or value == _R3 or (value == _R4):
                    pruning = True
        elif name == _HIDDEN:
            marks |= HIDDEN
        elif name == _ARIA:
            if v1 - v0 == 4:
                marks |= ARIA_HIDDEN
        elif name == _STYLE:
            j = v0
            while j + 8 < v1:
                if (
                    data[j] == 100
                    and data[j + 1] == 105
                    and data[j + 4] == 108
                    and (data[j + 6] == 121)
                ):
                    j += 7
                    while j < v1 and (data[j] == 58 or data[j] <= 32):
                        j += 1
                    if j + 4 <= v1 and data[j] == 110 and data[j + 3] == 101:
                        marks |= NOT_DISPLAYED
                j += 1
        elif (name == _STARTS or name == _VALUE) and v1 > v0 and v1 - v0 <= 9:
            number = 0
            for j in range(v0, v1):
                if data[j] < 48 or data[j] > 57:
                    number = -1
                    break
                number = number * 10 + _int(data[j]) - 48
    found[A_GROUPS] = groups
    found[A_MARKS] = marks
    found[A_SIGNATURE] = _int(signature)
    found[A_NUMBER] = number
    found[A_PRUNE] = pruning or (groups & _PRUNED_CLASS) != 0
    found[A_TRANSLATION] = 0
    return i
