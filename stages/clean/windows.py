"""Where in a text personal data of a kind can stand at all, found in one pass over it.

A detector then looks at these windows only. They are wider than what it finds, never narrower: a
number lies in one chain of digits, an IPv6 address in one run of hexadecimal digits and colons, a
key in a text that has a long run of the characters of keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

GAP = 4
"""Separators between two digits of a telephone number, at most; no other number has more."""
_KEY_RUN = 14
"""The shortest key, a MAC address with dots: 14 characters in a row."""
_MARGIN = 24
"""Characters behind a window that decide whether a number ends there: an extension and two more."""

Window = tuple[int, int]


def _kinds() -> npt.NDArray[np.uint8]:
    """What each character below U+0100 is, as bits: see `windows_kernel.scan`."""
    digits, letters = "0123456789", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    table = np.zeros(256, np.uint8)
    for bit, members in (
        (1, digits), (2, "-./ ()\u00a0"), (4, digits + "ABCDEFabcdef:"), (8, letters),
        (16, digits + letters + "-._/+:"),
    ):  # fmt: skip
        table[[ord(c) for c in members]] |= bit
    return table


_KINDS = _kinds()


@dataclass(frozen=True, slots=True)
class Windows:
    """What one pass found. Places are in characters."""

    chains: npt.NDArray[np.int64]
    """Rows (start, end, digits, dots between them)."""
    hexes: npt.NDArray[np.int64]
    """Rows (start, end) of runs of hexadecimal digits and colons."""
    heads: npt.NDArray[np.int64]
    """Places of two letters before two digits."""
    longest: int
    """Characters of the longest run that could be a key or a path."""
    sixteen: bool
    """Whether there is a word of 16 letters and digits."""

    def numbers(self, digits: int, dots: int = 0) -> list[Window]:
        """The chains of at least so many digits, with at least so many dots between them."""
        enough = (self.chains[:, 2] >= digits) & (self.chains[:, 3] >= dots)
        return [(low, high) for low, high in self.chains[enough, :2].tolist()]

    def has_number(self, digits: int) -> bool:
        """Whether there is one."""
        return bool(len(self.chains)) and int(self.chains[:, 2].max()) >= digits

    @property
    def may_have_key(self) -> bool:
        """Whether a key, a wallet or a MAC address is not out of the question."""
        return self.longest >= _KEY_RUN


def scan(text: str) -> Windows:
    """The windows of a text. Lone surrogates are taken as they are."""
    from . import windows_kernel

    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    # As many as there can be: one apart at least, three and four characters long.
    chains = np.empty((len(codes) // 2 + 1, 4), np.int64)
    hexes = np.empty((len(codes) // 3 + 1, 2), np.int64)
    heads = np.empty(len(codes) // 4 + 1, np.int64)
    counts = windows_kernel.scan(codes, _KINDS, GAP, chains, hexes, heads)
    return Windows(
        chains[: counts[0]].copy(), hexes[: counts[1]].copy(), heads[: counts[2]].copy(),
        int(counts[3]), bool(counts[4]),
    )  # fmt: skip


def whole(text: str) -> Windows:
    """As if the windows were the whole text: with these each detector looks everywhere."""
    size = len(text)
    return Windows(
        np.array([[0, size, size, size]], np.int64), np.array([[0, size]], np.int64),
        np.arange(size, dtype=np.int64), size, True,
    )  # fmt: skip


def matches(
    pattern: re.Pattern[str], work: str, windows: list[Window], early: int = 0
) -> Iterator[Any]:
    """The matches of `pattern` that begin in a window or up to `early` characters before it: those
    that ``finditer`` over the whole text would give, if every match lies in one window but for what
    it may have at its ends."""
    at = 0
    for low, high in windows:
        at = max(at, low - early)
        for m in pattern.finditer(work, at, min(len(work), high + _MARGIN)):
            if m.start() >= high:
                break
            at = m.end()
            yield m
