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

from .spans import TYPES
from .tables import IBAN_LENGTHS

if TYPE_CHECKING:
    import numpy.typing as npt

    U8 = npt.NDArray[np.uint8]

_MARGIN: Final = 24
"""Characters behind a window that decide whether a number ends there: an extension and two more."""

BITS: Final = {type_: 1 << n for n, type_ in enumerate(TYPES)}
_FOREIGN: Final = 1 << 10
_IP6: Final = 1 << 11
_LISTED: Final = 1 << 12

_PHONE_WORDS: Final = """
tel iph sma pho tlf fax fak wha vib sms gsm hot hel han ruf mob cel con off hom wor dir tol mov móv
tél por puh num des mai cal dia rin ran rea tex ans mes anr app lla chi lig voi
те фа мо τη טל ها تل 電 电 手 傳 传 携 전 휴 팩
"""
_SSN_WORDS: Final = "ssn ss# s.s soc tax seg soz"
_NATIONAL_WORDS: Final = """
nir séc sec n°␣ n°s ins id␣ ide sou aad uid आध cpf rij reg num nis pes fød per d-n ste idn t.c tc␣
tc. tck kim sam pnr rod rč r␣č r.č r.␣ cpr nhs nin nat ni␣ bsn bur sof nif con dni nie doc sin soc
tfn tax
"""
WORDS: Final = ((1, _PHONE_WORDS), (2, _SSN_WORDS), (4, _NATIONAL_WORDS))
"""(bit, how the words begin that a telephone, a social security or a national number may have
near it), as words of three bytes or more; ``␣`` is a space. `corpusmill.stages.clean.digits` and
`corpusmill.stages.clean.national` have the words themselves."""

Window = tuple[int, int]


def _kinds() -> U8:
    """What is looked at at each byte: see the constants of `windows_kernel`."""
    table = np.zeros(256, np.uint8)
    for kind, members in enumerate(("0123456789", "@", ":", "-_.", "AJwW", "LMD"), 1):
        table[[ord(c) for c in members]] = kind
    table[[0xD9, 0xDB, 0xE0, 0xEF]] = 7
    table[0x80:0xC0] = 8
    return table


def _words() -> U8:
    """The bits of `WORDS`, by a hash of three bytes with ASCII letters in lower case."""
    table = np.zeros(1 << 15, np.uint8)
    for bit, words in WORDS:
        for word in words.replace("␣", "\0").split():
            spelled = word.replace("\0", " ")
            for form in _cases(spelled):
                code = 0
                for b in form.encode()[:3]:
                    code = code << 5 ^ (b + 32 if 65 <= b <= 90 else b)
                table[code & 0x7FFF] |= bit
    return table


def _cases(word: str) -> set[str]:
    """`word` with its letters in either case, for the few letters that are no ASCII."""
    forms = {""}
    for c in word:
        forms = {form + x for form in forms for x in {c, c.upper()} if len(x) == 1}
    return forms


@lru_cache(maxsize=1)
def _tables() -> tuple[U8, U8, U8]:
    lengths = np.zeros(26 * 26, np.uint8)
    for country, length in IBAN_LENGTHS.items():
        lengths[26 * (ord(country[0]) - 65) + ord(country[1]) - 65] = length
    return _kinds(), lengths, _words()


@dataclass(frozen=True, slots=True)
class Windows:
    """What one pass found in a text. Places are in characters."""

    mask: int
    """The types that there may be, as `BITS`."""
    rows: tuple[tuple[int, int, int], ...]
    """(start, end, bits): places of ``@`` and of the heads of IBANs, chains of digits, runs of
    hexadecimal digits and colons."""

    def may(self, type_: str) -> bool:
        """Whether there can be such a span."""
        return bool(self.mask & BITS[type_])

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


def whole(text: str) -> Windows:
    """As if the windows were the whole text: with these each detector looks everywhere."""
    size = len(text)
    every = (1 << len(TYPES)) - 1
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
