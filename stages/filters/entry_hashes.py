"""64-bit hashes of list entries, millions a second: of spans of bytes, in whole columns of eight.

The hash of an entry of up to `LONGEST` bytes is a sum over its words of eight bytes, each
multiplied by a number of its place and mixed; that of a longer one is XXH3's. There is no seed:
whoever makes a domain up to collide with a listed one has it dropped.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

LONGEST = 256
"""Bytes of the longest entry that is hashed in columns."""
_WHOLE = 3
"""Words that are read of every span, shorter ones too: most domains have so many."""
PADDING = bytes(8 * _WHOLE)
"""What must follow the last span in its buffer."""

PLACE = np.uint64(0x9E3779B97F4A7C15)
BY = np.uint64(0xD6E8FEB86659FD93)
LAST = np.uint64(0xFF51AFD7ED558CCD)
"""The numbers of the sum: of places (times 1, 3, 5, …), of what was mixed, of the whole."""

LONGEST_HOST = 253
"""Characters of the longest host name."""

_MOVED = 1 << 16
_32 = np.uint64(32)
_MASKS = np.array([(1 << 8 * size) - 1 for size in range(9)], np.uint64)

Hashes = npt.NDArray[np.uint64]


def of_spans(
    raw: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64]
) -> Hashes:
    """The hash of each ``raw[start:start + size]``; `PADDING` follows the last of them."""
    words = np.ndarray((max(0, len(raw) - 7),), "<u8", raw, strides=(1,))
    found = sizes.astype(np.uint64) * BY
    for place in range(_WHOLE):
        found += _mixed(words[starts + 8 * place], sizes - 8 * place, place)
    place = _WHOLE
    live = np.flatnonzero(sizes > 8 * place)
    while len(live):
        found[live] += _mixed(words[starts[live] + 8 * place], sizes[live] - 8 * place, place)
        place += 1
        live = live[sizes[live] > 8 * place]
    found ^= found >> _32
    found *= LAST
    return np.asarray(found ^ (found >> _32))


def _mixed(words: Hashes, sizes: npt.NDArray[np.int64], place: int) -> Hashes:
    """What the words at a place add to the hash, of which `sizes` bytes (0 or less: none) count."""
    own = (words & _MASKS[np.clip(sizes, 0, 8)]) * np.uint64((2 * place + 1) * int(PLACE) % 2**64)
    own ^= own >> _32
    return np.asarray(own * BY)


def of_texts(entries: Sequence[str]) -> Hashes:
    """The hash of each text's UTF-8."""
    encoded = [entry.encode("utf-8", "surrogatepass") for entry in entries]
    sizes = np.fromiter(map(len, encoded), np.int64, len(encoded))
    long = np.flatnonzero(sizes > LONGEST).tolist()
    raw = np.frombuffer(b"".join(encoded) + PADDING, np.uint8)
    starts = np.cumsum(sizes) - sizes
    sizes[long] = 0
    found = of_spans(raw, starts, sizes)
    if long:
        import xxhash

        for i in long:
            found[i] = xxhash.xxh3_64_intdigest(encoded[i])
    return found


def table(hashes: bytearray) -> Hashes:
    """All hashes (eight bytes each), sorted, each once. They are sorted and moved together where
    they are: of millions a copy counts. (`numpy.unique` takes fifty times as long on millions.)"""
    found = np.frombuffer(hashes, np.uint64)
    found.sort()
    first = np.ones(len(found), np.bool_)
    np.not_equal(found[1:], found[:-1], out=first[1:])
    count = 0
    for start in range(0, len(found), _MOVED):
        moved = found[start : start + _MOVED][first[start : start + _MOVED]]
        found[count : count + len(moved)] = moved
        count += len(moved)
    return found[:count]


def contains(sorted_hashes: Hashes, keys: Hashes) -> npt.NDArray[np.bool_]:
    """Which of `keys` are among `sorted_hashes`."""
    if not len(sorted_hashes):
        return np.zeros(len(keys), np.bool_)
    at = np.minimum(np.searchsorted(sorted_hashes, keys), len(sorted_hashes) - 1)
    return np.asarray(sorted_hashes[at] == keys)


__all__ = [
    "BY", "LAST", "LONGEST", "LONGEST_HOST", "PADDING", "PLACE", "Hashes", "contains", "of_spans",
    "of_texts", "table",
]  # fmt: skip
