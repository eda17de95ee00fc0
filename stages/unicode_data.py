"""Character classes and case folding from one pinned Unicode version (15.1.0).

Python's own tables (`unicodedata`, `str.casefold`, `str.isalpha`, ``\\w`` in `re`) change with
the Python version: 3.11 has Unicode 14.0, 3.12 15.0, 3.13 15.1. Whatever decides about a
document reads this module instead, so that every supported Python gives the same bytes. The
tables lie in ``data/unicode.bin`` (100 kB), written by ``data/build_unicode.py``.

Classes of a code point (bits of `Tables.flags`):

    WORD        letters, marks and numbers (general categories L*, M*, N*), but not IGNORABLE
    ALPHA       letters (L*), as `str.isalpha`
    DIGIT       decimal digits (Nd), as `str.isdecimal`
    SPACE       white space, the same set as `str.isspace`
    PUNCT       punctuation (P*)
    UNSPACED    letters and marks of scripts written without spaces between words: Han, Kana
                (Hiragana and Katakana), Thai, Lao, Khmer, Myanmar, each by its Unicode blocks
    IGNORABLE   neither part nor end of a word: soft hyphen, joiners, direction marks, variation
                selectors. Zero width space (U+200B) is not one of them: it does end a word
    MARK        marks (M*) and the halfwidth voiced sound marks U+FF9E and U+FF9F

`fold` is NFKD, full casefold, NFKD (the caseless form of The Unicode Standard, section 3.13,
definition D146, without its removal of default ignorables), after removing IGNORABLE code
points: composed and decomposed, upper and lower case spellings become equal.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from corpusmill.pipeline.errors import IntegrityError

from .kept import kept_arrays

if TYPE_CHECKING:
    import numpy.typing as npt

PATH = Path(__file__).with_name("data") / "unicode.bin"
UNICODE_VERSION = "15.1.0"
PAYLOAD_SHA256 = "067b58dd9ae5cd49081b4e1c01f5f1d6fb217b8e1599e6859d53c866b3b3ede6"

CODE_POINTS = 0x110000

WORD, ALPHA, DIGIT, SPACE, PUNCT, UNSPACED, IGNORABLE, MARK = (1 << bit for bit in range(8))

Script = Literal["other", "han", "kana", "thai", "lao", "khmer", "myanmar"]
SCRIPTS: tuple[Script, ...] = ("other", "han", "kana", "thai", "lao", "khmer", "myanmar")
"""Names of the numbers in `Tables.script`; all but ``other`` are written without spaces."""

CATEGORIES = (
    "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe",
    "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn",
)  # fmt: skip
"""Names of the numbers in `Tables.category`."""

_SCRIPT_BLOCKS: tuple[tuple[Script, tuple[tuple[int, int], ...]], ...] = (
    ("han", ((0x3005, 0x3007), (0x3021, 0x3029), (0x3038, 0x303B), (0x3400, 0x4DBF),
             (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x323AF))),
    ("kana", ((0x3031, 0x3035), (0x3040, 0x30FF), (0x31F0, 0x31FF), (0xFF66, 0xFF9F),
              (0x1AFF0, 0x1AFFF), (0x1B000, 0x1B16F))),
    ("thai", ((0x0E00, 0x0E7F),)),
    ("lao", ((0x0E80, 0x0EFF),)),
    ("khmer", ((0x1780, 0x17FF),)),
    ("myanmar", ((0x1000, 0x109F), (0xA9E0, 0xA9FF), (0xAA60, 0xAA7F))),
)  # fmt: skip

_SPACES = (
    (0x09, 0x0D), (0x1C, 0x20), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A),
    (0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000),
)  # fmt: skip

_IGNORABLES = (
    (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x180B, 0x180D), (0x180F, 0x180F),
    (0x200C, 0x200F), (0x2060, 0x2060), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xE0100, 0xE01EF),
)  # fmt: skip

_IOTA_SUBSCRIPT, _IOTA = "\u0345", "\u03b9"


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables by code point, as read-only arrays; see ``data/build_unicode.py``."""

    category: npt.NDArray[np.uint8]
    """Index into `CATEGORIES`, one a code point."""
    flags: npt.NDArray[np.uint8]
    """Bits ``WORD`` … ``MARK``, one byte a code point."""
    script: npt.NDArray[np.uint8]
    """Index into `SCRIPTS`, one a code point; 0 for numbers and punctuation."""
    ccc: npt.NDArray[np.uint8]
    """Canonical combining class, one a code point."""
    fold: npt.NDArray[np.uint16]
    """0: folds to itself; k: to ``pool[offsets[k - 1]:offsets[k]]``. Before canonical ordering,
    and with U+0345 kept: it is replaced by iota (U+03B9) after that."""
    offsets: npt.NDArray[np.uint32]
    pool: npt.NDArray[np.uint32]


@lru_cache(maxsize=1)
def tables() -> Tables:
    """The tables, made once for a machine (about 8 MB) and shared by its processes.

    Raises IntegrityError if the file is missing or is not the one that this code was made for.
    """
    try:
        arrays: Any = kept_arrays(
            f"unicode-{PAYLOAD_SHA256[:8]}", (PATH, Path(__file__)), _unpacked
        )
    except (OSError, zlib.error) as exc:
        raise IntegrityError(
            f"{PATH}: cannot read the Unicode tables: {exc}", hint="reinstall corpusmill"
        ) from exc
    return Tables(**arrays)


def _unpacked() -> dict[str, npt.NDArray[Any]]:
    """The arrays of `Tables`, from the file."""
    payload = zlib.decompress(PATH.read_bytes())
    digest = hashlib.sha256(payload).hexdigest()
    if digest != PAYLOAD_SHA256:
        raise IntegrityError(
            f"{PATH}: sha256 of the payload is {digest}, want {PAYLOAD_SHA256}",
            hint="reinstall corpusmill",
        )
    sequences, points = (int(n) for n in np.frombuffer(payload, "<u4", 2, 8))
    at = 16
    category = np.frombuffer(payload, np.uint8, CODE_POINTS, at)
    at += CODE_POINTS
    ccc = np.frombuffer(payload, np.uint8, CODE_POINTS, at)
    at += CODE_POINTS
    fold_index = np.frombuffer(payload, "<u2", CODE_POINTS, at)
    at += 2 * CODE_POINTS
    offsets = np.frombuffer(payload, "<u4", sequences + 1, at)
    at += 4 * (sequences + 1)
    pool = np.frombuffer(payload, "<u4", points, at)
    script = _script_table(category)
    return {
        "category": category, "flags": _flag_table(category, script), "script": script,
        "ccc": ccc, "fold": fold_index, "offsets": offsets, "pool": pool,
    }  # fmt: skip


_CATEGORY_FLAGS = np.array(
    [
        WORD * (name[0] in "LMN")
        | ALPHA * (name[0] == "L")
        | DIGIT * (name == "Nd")
        | PUNCT * (name[0] == "P")
        | MARK * (name[0] == "M")
        for name in CATEGORIES
    ],
    dtype=np.uint8,
)


def _script_table(category: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    script = np.zeros(CODE_POINTS, np.uint8)
    # Nl in these blocks are the Han numerals, which are written like letters.
    letter = np.array([name[0] in "LM" or name == "Nl" for name in CATEGORIES], dtype=np.uint8)
    for name, blocks in _SCRIPT_BLOCKS:
        for first, last in blocks:
            script[first : last + 1] = letter[category[first : last + 1]] * SCRIPTS.index(name)
    script.flags.writeable = False
    return script


def _flag_table(
    category: npt.NDArray[np.uint8], script: npt.NDArray[np.uint8]
) -> npt.NDArray[np.uint8]:
    flags = _CATEGORY_FLAGS[category]
    flags[script > 0] |= np.uint8(UNSPACED)
    flags[0xFF9E : 0xFF9F + 1] |= np.uint8(MARK)
    for first, last in _SPACES:
        flags[first : last + 1] |= np.uint8(SPACE)
    for first, last in _IGNORABLES:
        flags[first : last + 1] = IGNORABLE
    flags.flags.writeable = False
    return flags


def flags_of(char: str) -> int:
    """The class bits of one character."""
    return int(tables().flags[ord(char)])


def category_of(char: str) -> str:
    """The general category of one character (``Lu``, ``Nd``, …)."""
    return CATEGORIES[int(tables().category[ord(char)])]


def is_word(char: str) -> bool:
    """Whether the character belongs to words (`WORD`)."""
    return bool(flags_of(char) & WORD)


def class_pattern(flag: int) -> str:
    """The inside of a regular-expression class (``re`` or RE2) of all code points with `flag`,
    for example ``[`` + ``class_pattern(SPACE)`` + ``]+``. Surrogates are left out."""
    member = (tables().flags & np.uint8(flag)) != 0
    member[0xD800:0xE000] = False
    return _class_of(member)


def _class_of(member: npt.NDArray[np.bool_]) -> str:
    edges = np.flatnonzero(np.diff(np.concatenate(([False], member, [False]))))
    return "".join(
        f"{re.escape(chr(first))}-{re.escape(chr(end - 1))}"
        for first, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
    )


_SPACE_RUN = re.compile(
    "[" + "".join(f"{re.escape(chr(a))}-{re.escape(chr(b))}" for a, b in _SPACES) + "]+"
)


def collapse_space(text: str) -> str:
    """`text` with every run of white space (`SPACE`) as one blank, none at either end."""
    return _SPACE_RUN.sub(" ", text).strip(" ")


@lru_cache(maxsize=1)
def _translation() -> dict[int, str]:
    t = tables()
    points = "".join(map(chr, t.pool.tolist()))
    offsets = t.offsets.tolist()
    mapping = {
        code: points[offsets[t.fold[code] - 1] : offsets[t.fold[code]]]
        for code in np.flatnonzero(t.fold).tolist()
    }
    mapping.update(
        (code, "") for code in np.flatnonzero((t.flags & np.uint8(IGNORABLE)) != 0).tolist()
    )
    return mapping


@lru_cache(maxsize=1)
def _mark_runs() -> re.Pattern[str]:
    return re.compile("[" + _class_of(tables().ccc != 0) + "]{2,}")


@lru_cache(maxsize=1)
def _nonspacing() -> re.Pattern[str]:
    return re.compile("[" + _class_of(tables().category == CATEGORIES.index("Mn")) + "]+")


def _in_canonical_order(match: re.Match[str]) -> str:
    ccc = tables().ccc
    return "".join(sorted(match[0], key=lambda char: int(ccc[ord(char)])))


def fold(text: str, *, marks: bool = True) -> str:
    """The caseless, compatibility-decomposed form of `text`: equal for spellings that differ
    only in case, composition, width, ligatures or invisible code points.

    With `marks` false also without nonspacing marks (accents), as ``ecole`` for ``École``.
    Lone surrogates stay as they are.
    """
    if text.isascii():
        return text.lower()
    folded = text.translate(_translation())
    folded = _mark_runs().sub(_in_canonical_order, folded)
    if not marks:
        folded = _nonspacing().sub("", folded)
    return folded.replace(_IOTA_SUBSCRIPT, _IOTA)
