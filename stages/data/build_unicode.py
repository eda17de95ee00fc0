"""Writes ``unicode.bin``, the pinned Unicode tables, from the running Python's ``unicodedata``.

    python3.13 stages/data/build_unicode.py stages/data/unicode.bin

Needs the standard library only. Refuses a Python whose Unicode version is not `VERSION`. Prints
the SHA-256 of the payload, which stands in `corpusmill.stages.unicode_data` and is checked at
every load. The facts come from the Unicode Character Database, (c) Unicode, Inc., used under
the Unicode Licence v3 (https://www.unicode.org/license.txt).

The file is one zlib stream. Its payload, little-endian, without padding:

    magic      8 bytes  b"CMUNI001"
    sizes      2 uint32  number of fold sequences, of code points in them
    category   0x110000 uint8   index into `CATEGORIES`
    ccc        0x110000 uint8   canonical combining class
    fold       0x110000 uint16  0: folds to itself; k: folds to sequence k - 1
    offsets    (sequences + 1) uint32  sequence k is pool[offsets[k]:offsets[k + 1]]
    pool       uint32 code points
"""

from __future__ import annotations

import hashlib
import struct
import sys
import unicodedata
import zlib
from array import array
from pathlib import Path

VERSION = "15.1.0"
CATEGORIES = (
    "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe",
    "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn",
)  # fmt: skip
IOTA_SUBSCRIPT = "\u0345"


def fold_of(char: str) -> str:
    """NFKD, full casefold, NFKD of one code point, U+0345 left as it is.

    U+0345 is the only mark that folds to a letter (iota). It must be sorted among the marks of
    its base first, so the reader of the table replaces it after canonical ordering.
    """
    text = char
    while True:
        once = unicodedata.normalize(
            "NFKD",
            "".join(
                c if c == IOTA_SUBSCRIPT else c.casefold()
                for c in unicodedata.normalize("NFKD", text)
            ),
        )
        if once == text:
            return once
        text = once


def build() -> bytes:
    """The payload. Raises SystemExit where an assumption of the readers does not hold."""
    if unicodedata.unidata_version != VERSION:
        raise SystemExit(
            f"Unicode {unicodedata.unidata_version}, want {VERSION}: use another Python"
        )
    category, ccc = bytearray(0x110000), bytearray(0x110000)
    fold = array("H", bytes(2 * 0x110000))
    numbers: dict[str, int] = {}
    for code in range(0x110000):
        char = chr(code)
        category[code] = CATEGORIES.index(unicodedata.category(char))
        ccc[code] = unicodedata.combining(char)
        if 0xD800 <= code < 0xE000:
            continue
        if ccc[code] and char != IOTA_SUBSCRIPT and char.casefold() != char:
            raise SystemExit(f"U+{code:04X} is a mark with a folding, like U+0345")
        folded = fold_of(char)
        if folded != char:
            fold[code] = numbers.setdefault(folded, len(numbers)) + 1
    offsets, pool = array("I", [0]), array("I")
    for sequence in numbers:  # in order of first use
        pool.extend(map(ord, sequence))
        offsets.append(len(pool))
    if array("H").itemsize != 2 or array("I").itemsize != 4 or sys.byteorder != "little":
        raise SystemExit("needs a little-endian machine with 2-byte H and 4-byte I")
    return (
        b"CMUNI001"
        + struct.pack("<2I", len(numbers), len(pool))
        + bytes(category) + bytes(ccc) + fold.tobytes() + offsets.tobytes() + pool.tobytes()
    )  # fmt: skip


if __name__ == "__main__":
    payload = build()
    Path(sys.argv[1]).write_bytes(zlib.compress(payload, 9))
    print(hashlib.sha256(payload).hexdigest())
