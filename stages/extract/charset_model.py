"""How well a text reads in the best of 51 languages: what tells encodings of one script apart.

A model of pairs of characters for each language that is, or was, written in an encoding other
than UTF-8, trained on the Universal Declaration of Human Rights (``data/build_charset.py``). Every
letter of an alphabet is a class of its own; Chinese characters are classes by the standards that
have them among the frequent ones, so that an encoding's rare half shows. Symbols have fixed rates.
Only pairs with a character beyond ASCII count. All figures are integers, 1/64 of a nat: the result
is the same on every machine.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corpusmill.pipeline.errors import AssetError

from .charset_chars import FREQUENT

MODEL = Path(__file__).resolve().parent / "data" / "charset.bin"
SHA256 = "20b3d435582b556f6de0ee63c427e67257e9434c791ada93231a81c715b03c0b"
"""Of the file. `Stage.version` must rise when it changes."""

UNIT = 64
"""A nat, in the integers of `scores`."""

LETTERS = (
    (0xAA, 0xAA), (0xB5, 0xB5), (0xBA, 0xBA), (0xC0, 0xD6), (0xD8, 0xF6), (0xF8, 0x24F),
    (0x300, 0x33F), (0x386, 0x386), (0x388, 0x3CE), (0x401, 0x45F), (0x490, 0x491),
    (0x5B0, 0x5F2), (0x60C, 0x60C), (0x61B, 0x61B), (0x61F, 0x61F), (0x621, 0x669),
    (0x670, 0x6D3), (0xE01, 0xE5B), (0x1E00, 0x1EFF), (0x3041, 0x3096), (0x30A1, 0x30FC),
)  # fmt: skip
"""Ranges whose every character is a class."""
_RATES: tuple[tuple[str, float], ...] = (
    ("\u00a0", -5.5), ("’‘“”«»„–—…•©", -7.0), ("°§·®™€£¿¡›‹‚´", -9.0),
    ("²³½¼¾±×µªº¹¶¦÷¬¢¥†‡‰\u00ad", -11.0),
    ("、。「」・，（）：；！？【】《》『』～", -5.0), ("\u3000", -6.5),
)  # fmt: skip
_SYMBOL, _GREEK_MATH, _FULLWIDTH, _HALF_KANA = -13.0, -13.0, -9.0, -11.5
_BOX, _PRIVATE, _OTHER, _C1, _BROKEN = -15.0, -17.0, -16.0, -18.0, -22.0

BOUNDARY, DIGIT, UPPER, LOWER = 0, 1, 2, 3
_FIRST = LOWER + 26
HAN, HANGUL = 16, 2
"""How many classes of Chinese characters (see `classes`) and of Hangul syllables there are."""


@dataclass(frozen=True, slots=True)
class Classes:
    """The class of each code point below U+10000, and what classes are."""

    of: NDArray[np.uint16]
    count: int
    size: tuple[int, ...]
    """How many characters a class has."""
    symbols: tuple[int, ...]
    """Score of each class of symbols; 0 for letters."""


@cache
def classes() -> Classes:
    """The classes of characters."""
    of = np.zeros(0x10000, np.uint16)
    size = [1] * _FIRST
    rates = [0] * _FIRST
    for digit in range(0x30, 0x3A):
        of[digit] = DIGIT
    for i in range(26):
        of[0x41 + i], of[0x61 + i] = UPPER, LOWER + i

    def new(codes: Any, rate: float, count: int = 1) -> None:
        of[codes] = len(size)
        size.append(count)
        rates.append(round(rate * UNIT))

    new(slice(0x80, 0x10000), _OTHER)
    new(slice(0x80, 0xA0), _C1)
    new(slice(0xA0, 0xC0), _SYMBOL)
    new(slice(0x2000, 0x2500), _SYMBOL)
    new(slice(0x2500, 0x25A0), _BOX)
    new(slice(0xE000, 0xF900), _PRIVATE)
    new(slice(0xFF01, 0xFF60), _FULLWIDTH)
    new(slice(0xFF61, 0xFFA0), _HALF_KANA)
    new(slice(0xFFFD, 0xFFFE), _BROKEN)
    for chars, rate in _RATES:
        for char in chars:
            new(ord(char), rate)
    for first, last in LETTERS:
        for code in range(first, last + 1):
            new(code, 0.0)
    members = _east_asian()
    for kind in range(HAN + HANGUL):
        codes = np.array([c for c, k in members.items() if k == kind], np.int64)
        new(codes, 0.0, max(1, len(codes)))
    for char in dict.fromkeys("".join(FREQUENT.values())):
        new(ord(char), 0.0)
    return Classes(of, len(size), tuple(size), tuple(rates))


def _east_asian() -> dict[int, int]:
    """Code point → class number: bits for GB 2312, Big5 and JIS levels of frequent characters
    and for none of them; Hangul in KS X 1001 or not."""
    found: dict[int, int] = {}
    for code in range(0x4E00, 0xA000):
        char = chr(code)
        gb, big5, jis = _bytes(char, "gb2312"), _bytes(char, "big5"), _bytes(char, "euc_jp")
        kind = int(0xB0 <= gb <= 0xD7) | int(0xA4 <= big5 <= 0xC6) << 1
        kind |= int(0xB0 <= jis <= 0xCF) << 2
        kind |= int(_bytes(char, "euc_kr") >= 0xCA) << 3
        found[code] = kind
    for code in range(0xAC00, 0xD7A4):
        found[code] = HAN + int(_bytes(chr(code), "euc_kr") == 0)
    return found


def _bytes(char: str, codec: str) -> int:
    try:
        return char.encode(codec)[0]
    except UnicodeEncodeError:
        return 0


@dataclass(frozen=True, slots=True)
class Model:
    """Tables of scores; see `load`."""

    languages: tuple[str, ...]
    pairs: NDArray[np.int64]
    """Codes of known pairs, ``before * classes + class``, ascending."""
    known: NDArray[np.int32]
    """Score of each pair in each language."""
    alone: NDArray[np.int32]
    """Score of each class in each language, whatever stands before it."""
    after: NDArray[np.int32]
    """What is added to `alone` for an unknown pair, by the class before it."""


@cache
def load() -> Model:
    """The model. Raises AssetError if the file is not the one that is pinned."""
    raw = MODEL.read_bytes()
    if hashlib.sha256(raw).hexdigest() != SHA256:
        raise AssetError(f"{MODEL.name} is not the file that is pinned", hint="check it out again")
    data = zlib.decompress(raw)
    n_names, n_pairs, n_entries = struct.unpack_from("<3I", data)
    at = 12
    names = tuple(data[at : at + n_names].decode("ascii").split())
    at += n_names
    n, count = len(names), classes().count

    def take(dtype: str, number: int) -> NDArray[Any]:
        nonlocal at
        part = np.frombuffer(data, dtype, number, at)
        at += part.nbytes
        return part

    pairs = take("<u4", n_pairs).astype(np.int64)
    alone = take("<i2", count * n).reshape(count, n).astype(np.int32)
    after = take("<i2", count * n).reshape(count, n).astype(np.int32)
    known = alone[pairs % count] + after[pairs // count]
    where, scores = take("<u4", n_entries), take("<i2", n_entries)
    known.reshape(-1)[where] = scores
    return Model(names, pairs, known, alone, after)


def habit(text: str) -> NDArray[np.int64]:
    """What the ASCII letters around others say of the language: 0 for the most likely one, less for
    others. Languages of other alphabets pay for each ASCII letter, as words of other languages
    are rarer than words of their own."""
    model, table = load(), classes()
    kinds = table.of[np.frombuffer(text.encode("ascii", "replace"), np.uint8)].astype(np.int64)
    before, now = kinds[:-1], kinds[1:]
    use = (now >= LOWER) | (before >= LOWER)
    codes, times = np.unique(before[use] * table.count + now[use], return_counts=True)
    if not len(codes):
        return np.zeros(len(model.languages), np.int64)
    found: NDArray[np.int64] = times @ _pair_scores(codes).astype(np.int64) // 2
    found[~_latin()] = found[_latin()].max() - UNIT * int(times.sum()) // 10
    below: NDArray[np.int64] = np.maximum(found - found.max(), -_STRONGEST)
    return below


_STRONGEST = 300 * UNIT
"""What habits can weigh at most: as much as 40 to 60 characters beyond ASCII."""


@cache
def _latin() -> NDArray[np.bool_]:
    others = {"rus", "ukr", "bel", "bul", "srp_cyrl", "mkd", "ell_monotonic", "heb", "arb", "pes_1",
              "urd", "tha", "jpn", "cmn_hans", "cmn_hant", "kor"}  # fmt: skip
    return np.array([name not in others for name in load().languages])


def _pair_scores(codes: NDArray[np.int64]) -> NDArray[np.int32]:
    model, count = load(), classes().count
    place = np.minimum(np.searchsorted(model.pairs, codes), len(model.pairs) - 1)
    hit = model.pairs[place] == codes
    scores = model.alone[codes % count] + model.after[codes // count]
    scores[hit] = model.known[place[hit]]
    return scores


def scores(texts: Sequence[str], habits: NDArray[np.int64]) -> list[int]:
    """How well each text reads in its best language: the log-likelihood of its characters beyond
    ASCII and of those behind them, in 1/64 of a nat, with the `habit` of their page."""
    table, n = classes(), len(texts)
    joined = "\n" + "".join(text + "\n" for text in texts)
    raw = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), "<u4")
    beyond = raw >= 0x80
    beyond[1:] |= beyond[:-1]
    here = np.flatnonzero(beyond)  # never 0, which is a line's end
    ends = 1 + np.cumsum([len(text) + 1 for text in texts])
    owner = np.searchsorted(ends, here, side="right")
    kinds = table.of[np.minimum(raw[here], 0xFFFF)].astype(np.int64)
    before = table.of[np.minimum(raw[here - 1], 0xFFFF)].astype(np.int64)
    square = table.count * table.count
    codes = (owner * table.count + before) * table.count + kinds
    codes, times = np.unique(codes, return_counts=True)
    owner, codes = codes // square, codes % square
    before, now = codes // table.count, codes % table.count
    symbol, symbol_before = _is_symbol()[now], _is_symbol()[before]
    scripts = _scripts()
    fixed = _symbol_scores()[now] - _MIXED[scripts[before], scripts[now]]
    # A symbol is a border of words.
    fixed -= _INSIDE * (symbol & (scripts[before] > 0) & ~_closes()[now])
    fixed -= _INSIDE * (symbol_before & (scripts[now] > 0) & ~_opens()[before])
    total = np.zeros(n, np.int64)
    np.add.at(total, owner, times * fixed)
    letter = ~symbol & ((now >= _FIRST) | ~symbol_before)
    per_language = np.zeros((n, len(habits)), np.int64)
    if letter.any():
        pairs = np.where(symbol_before, BOUNDARY, before)[letter] * table.count + now[letter]
        found = _pair_scores(pairs)
        found *= times[letter, None].astype(np.int32)  # 64 KiB of the rarest are -10**8
        owners, starts = np.unique(owner[letter], return_index=True)
        per_language[owners] = np.add.reduceat(found, starts, axis=0)
    best: list[int] = (total + (per_language + habits).max(axis=1)).tolist()
    return best


_INSIDE = 3 * UNIT // 2
_MIXED = np.zeros((10, 10), np.int64)
for _one in range(1, 9):
    for _other in range(1, 9):
        if _one != _other:
            _MIXED[_one, _other] = UNIT * (1 if {_one, _other} == {1, 8} else 5)
"""What neighbours of two scripts cost: 1 is Latin, 8 East Asian, 0 no letter."""


@cache
def _scripts() -> NDArray[np.int64]:
    """The script of each class: 0 none, 1 Latin, 2 Greek, 3 Cyrillic, …, 8 East Asian."""
    table = classes()
    found = np.zeros(table.count, np.int64)
    found[UPPER:_FIRST] = 1
    for first, last, script in (
        (0xC0, 0x24F, 1), (0x1E00, 0x1EFF, 1), (0x386, 0x3CE, 2), (0x401, 0x491, 3),
        (0x5B0, 0x5F2, 4), (0x60C, 0x6D3, 5), (0xE01, 0xE5B, 6), (0x3041, 0x30FC, 8),
        (0x4E00, 0x9FFF, 8), (0xAC00, 0xD7A3, 8),
    ):  # fmt: skip
        found[np.unique(table.of[first : last + 1])] = script
    found[_is_symbol()] = 0
    return found


@cache
def _is_symbol() -> NDArray[np.bool_]:
    return np.array(classes().symbols) < 0


@cache
def _symbol_scores() -> NDArray[np.int64]:
    return np.array(classes().symbols, np.int64)


_JOINS = "–—·\u00a0、。「」・，（）：；！？【】《》『』～\u3000\u00ad"


@cache
def _closes() -> NDArray[np.bool_]:
    """Symbols that may stand behind a letter."""
    return _these("’”»…™®°ªº²³›“‘" + _JOINS)


@cache
def _opens() -> NDArray[np.bool_]:
    """Symbols that may stand before a letter."""
    return _these("‘“«‚„¿¡‹›»”•" + _JOINS)


def _these(chars: str) -> NDArray[np.bool_]:
    found = np.zeros(classes().count, np.bool_)
    found[[classes().of[ord(c)] for c in chars]] = True
    return found
