"""Document ids as pairs of 64-bit integers, for tables of many rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt


def split_ids(ids: Sequence[str]) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """The leading and trailing 64 bits of each id (32 hexadecimal digits)."""
    raw = np.frombuffer(bytes.fromhex("".join(ids)), ">u8").reshape(len(ids), 2)
    return raw[:, 0].astype(np.uint64), raw[:, 1].astype(np.uint64)


def join_ids(high: npt.NDArray[np.uint64], low: npt.NDArray[np.uint64]) -> npt.NDArray[Any]:
    """The ids as 16-byte strings (dtype S16), which sort and search as the ids do.

    NumPy strips trailing zero bytes on access to single values, but not in the buffer.
    """
    raw = np.empty((len(high), 2), ">u8")
    raw[:, 0], raw[:, 1] = high, low
    return raw.view("S16").reshape(len(high))


def hex_ids(packed: npt.NDArray[Any]) -> list[str]:
    """The 32 hexadecimal digits of each id of a packed array."""
    digits = np.ascontiguousarray(packed).tobytes().hex()
    return [digits[at : at + 32] for at in range(0, len(digits), 32)]
