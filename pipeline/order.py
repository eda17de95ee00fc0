"""Keyed orders: where a document stands follows from (seed, id, copy) and nothing else.

Sorting by these keys shuffles; a prefix of the order is a sample. Any part of it can be
recomputed anywhere, so neither the number of tasks nor the order of files can matter.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

_PURPOSES = {
    "order": b"corpusmill-order",
    "place": b"corpusmill-place",
    "sample": b"corpusmill-sampl",
    "subset": b"corpusmill-subst",
}

Keys = npt.NDArray[np.uint64]
"""Keyed hashes: shape (n, 2), the upper and the lower 64 bits."""


def order_key(seed: int, id: str, copy: int, purpose: str = "order") -> bytes:
    """The 16 bytes that place one copy of a document in the keyed order. `purpose` gives
    independent orders: "order" (selection), "place" (position in the shards), "sample"
    (tokenizer sample), "subset" (the records of a sample run)."""
    h = hashlib.blake2b(
        bytes.fromhex(id), digest_size=16, key=str(seed).encode(), person=_PURPOSES[purpose]
    )
    h.update(copy.to_bytes(4, "little"))
    return h.digest()


def order_keys(seed: int, ids: Iterable[str], copy: int, purpose: str = "order") -> Keys:
    """`order_key` for many ids, comparable as numbers: column 0 first, then column 1."""
    raw = b"".join(order_key(seed, i, copy, purpose) for i in ids)
    return np.frombuffer(raw, dtype=">u8").astype(np.uint64).reshape(-1, 2)


def sorted_by(keys: Keys) -> npt.NDArray[np.int64]:
    """The rows of `keys` in ascending order."""
    return np.lexsort((keys[:, 1], keys[:, 0])).astype(np.int64)


def key_hex(key: npt.NDArray[np.uint64]) -> str:
    """One key as 32 hexadecimal digits (they sort as the keys do)."""
    return f"{int(key[0]):016x}{int(key[1]):016x}"


def below(keys: Keys, bound: str) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Which keys are less than `bound` (32 hex digits), and which equal it."""
    hi, lo = np.uint64(int(bound[:16], 16)), np.uint64(int(bound[16:], 16))
    equal_hi = keys[:, 0] == hi
    less = (keys[:, 0] < hi) | (equal_hi & (keys[:, 1] < lo))
    return less, equal_hi & (keys[:, 1] == lo)
