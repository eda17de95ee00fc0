"""Where in a text personal data of a kind can stand at all, found in one pass over a batch.

A detector then looks at these windows only. They are wider than what it finds, never narrower: a
number lies in one chain of digits, an IPv6 address in one run of hexadecimal digits and colons.
Texts without any candidate, which most are, cost nothing but the pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from . import near_words
from .spans import SCANNED, Span
from .tables import IBAN_LENGTHS

if TYPE_CHECKING:
    import numpy.typing as npt

    U8 = npt.NDArray[np.uint8]
    U16 = npt.NDArray[np.uint16]

_MARGIN: Final = 24
"""Characters behind a window that decide whether a number ends there: an extension and two more."""

BITS: Final = {type_: 1 << n for n, type_ in enumerate(SCANNED)}
_FOREIGN: Final = 1 << 11
_IP6: Final = 1 << 12
_LISTED: Final = 1 << 13

Window = tuple[int, int]


def _kinds() -> U8:
    """What is looked at at each byte: see the constants of `windows_kernel`."""
    table = np.zeros(256, np.uint8)
    for kind, members in enumerate(("0123456789", "@", ":", "-_.", "AJwW", "LMD"), 1):
        table[[ord(c) for c in members]] = kind
    table[[0xD9, 0xDB, 0xE0, 0xEF]] = 7
    table[0x80:0xC0] = 8
    return table


@lru_cache(maxsize=1)
def _tables() -> tuple[U8, U8, U16, U8]:
    lengths = np.zeros(26 * 26, np.uint8)
    for country, length in IBAN_LENGTHS.items():
        lengths[26 * (ord(country[0]) - 65) + ord(country[1]) - 65] = length
    return _kinds(), lengths, *near_words.table()


@dataclass(frozen=True, slots=True)
class Windows:
    """What one pass found in a text. Places are in characters."""

    mask: int
    """The types that there may be, as `BITS`."""
    rows: tuple[tuple[int, int, int], ...]
    """(start, end, bits): places of ``@``, where IBANs, keys, wallets and hardware addresses can
    begin, chains of digits, runs of hexadecimal digits and colons."""

    def may(self, type_: str) -> bool:
        """Whether there can be such a span; of streets the pass knows nothing."""
        return bool(self.mask & BITS.get(type_, 0))

    @property
    def foreign(self) -> bool:
        """Whether there are digits of other scripts, which were not looked at."""
        return bool(self.mask & _FOREIGN)

    def of(self, type_: str) -> list[Window]:
        """Where a span of that type can be; of chains and of what is looked for from a place."""
        bit = BITS[type_]
        return [(low, high) for low, high, bits in self.rows if bits & bit]

    def phones(self) -> list[tuple[int, int, bool]]:
        """Where a telephone number can be, and whether it needs one before it."""
        bit = BITS["phone"]
        return [
            (low, high, not bits & bit) for low, high, bits in self.rows if bits & (bit | _LISTED)
        ]

    def hexes(self) -> list[Window]:
        """Where an IPv6 address can be."""
        return [(low, high) for low, high, bits in self.rows if bits & _IP6]


def scan_all(texts: Sequence[str]) -> list[Windows]:
    """The windows of each text. Lone surrogates are taken as they are."""
    from . import windows_kernel

    raw = [text.encode("utf-8", "surrogatepass") for text in texts]
    data = np.frombuffer(b"".join(raw), np.uint8)
    starts = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(r) for r in raw], out=starts[1:])
    masks, first = np.empty(len(texts), np.int64), np.empty(len(texts) + 1, np.int64)
    # A row for a chain of four digits, an @ with five characters, or a run with two colons; a
    # chain may have a head beside.
    events = np.empty((len(data) // 2 + 2, 3), np.int32)
    n = windows_kernel.scan(data, starts, *_tables(), masks, first, events)
    rows = [(low, high, bits) for low, high, bits in events[:n].tolist()]
    borders = first.tolist()
    return [
        Windows(mask, tuple(rows[borders[d] : borders[d + 1]])) if mask else NOTHING
        for d, mask in enumerate(masks.tolist())
    ]


NOTHING: Final = Windows(0, ())


def scan(text: str) -> Windows:
    """The windows of one text."""
    return scan_all([text])[0]


_REACH: Final = 300
"""More characters than lie between a place and what the pass looks at there: 262, a label with its
dots behind an ``@``."""


def rescan(windows: Windows, work: str, changed: Sequence[Span]) -> Windows:
    """The windows of `work`, which had `windows` before `changed` (sorted) were blanked in it.

    Only the lines around are looked at again: but for keys, which begin a few characters before
    their mark, nothing that the pass finds goes on over the end of a line.
    """
    regions = _lines(work, changed)
    if 2 * sum(high - low for low, high in regions) > len(work):
        return scan(work)
    rows: list[tuple[int, int, int]] = []
    done = 0
    for low, high in regions:
        rows += [row for row in windows.rows if done <= row[0] < low]
        first = max(0, low - _REACH)
        rows += [
            (first + a, first + b, bits)
            for a, b, bits in scan(work[first : high + _REACH]).rows
            if low <= first + a < high
        ]
        done = high
    rows += [row for row in windows.rows if done <= row[0]]
    return Windows(_mask(rows), tuple(rows))


def _lines(work: str, changed: Sequence[Span]) -> list[Window]:
    """The lines around `changed`, neighbours joined."""
    regions: list[Window] = []
    for span in changed:
        low = work.rfind("\n", 0, max(0, span.start - _REACH)) + 1
        high = work.find("\n", span.end + _REACH) + 1 or len(work)
        if regions and low <= regions[-1][1] + _REACH:
            low = regions.pop()[0]
        regions.append((low, high))
    return regions


def _mask(rows: Iterable[tuple[int, int, int]]) -> int:
    bits = 0
    for row in rows:
        bits |= row[2]
    return bits & ~(_IP6 | _LISTED) | (BITS["ip"] if bits & _IP6 else 0)


def whole(text: str) -> Windows:
    """As if the windows were the whole text: with these each detector looks everywhere."""
    size = len(text)
    every = (1 << len(SCANNED)) - 1
    heads = [(place, place + 4, BITS["iban"]) for place in range(size)]
    signs = [(place, place + 1, BITS["email"]) for place, c in enumerate(text) if c == "@"]
    chains = every & ~BITS["iban"] & ~BITS["email"] | _IP6
    return Windows(every, (*heads, *signs, (0, size, chains)))


def matches(
    pattern: re.Pattern[str], work: str, windows: Iterable[Window], early: int = 0
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


def beginning(pattern: re.Pattern[str], work: str, windows: Iterable[Window]) -> Iterator[Any]:
    """The matches of `pattern` that begin in a window, each tried at every place of it: those that
    ``finditer`` over the whole text would give, if every match begins in one."""
    at = 0
    for low, high in windows:
        for start in range(max(at, low), high):
            m = pattern.match(work, start)
            if m is not None and start >= at:
                at = m.end()
                yield m
